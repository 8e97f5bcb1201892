"""Blocks as rows of a terminal: signs at the left edge, times at the right, text wrapped between words. Pure.

`Painter` fills a terminal that scrolls: finished blocks stay, and open calls are shown below until they end.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.render import flow, story, styles, tool_calls
from tmuxagents.render.story import WORTH_SHOWING_S
from tmuxagents.text import figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tmuxagents.render.story import Block, Story
    from tmuxagents.render.styles import Row

_SIGNS = {story.WORKS: ("▸", styles.WORK), story.GOOD: ("✓", styles.GOOD), story.BAD: ("✗", styles.BAD)}
_LOOKS = {
    tool_calls.OUTPUT: styles.DIM,
    tool_calls.ADDED: styles.ADDED,
    tool_calls.REMOVED: styles.REMOVED,
    tool_calls.SAME: styles.DIM,
    tool_calls.GAP: styles.DIM,
}
_SAYS = "\u203a "
_BODY = "    "
_TEXT = "  "
_THOUGHT = f"{styles.DIM} {styles.ITALIC}"
_NARROW = 40  # columns; a narrower place shows no times
_WORTH_SAYING_S = 0.1
_TASK_ROWS = 4
_LONG_ROWS = 2  # for one line of a failed call's output
_TIGHT = (story.CALL, story.NOTE)  # no empty row between two of these, if the first has no parts


def all_rows(blocks: Iterable[Block], width: int, before: Block | None = None) -> list[Row]:
    """Return the rows of blocks, the first of them below `before`."""
    found: list[Row] = []
    for block in blocks:
        if is_apart(before, block):
            found.append([])
        found += of(block, width)
        before = block
    return found


def is_apart(before: Block | None, block: Block) -> bool:
    """Say whether an empty row separates two blocks."""
    if before is None:
        return False
    return bool(before.parts) or before.kind not in _TIGHT or block.kind not in _TIGHT


def of(block: Block, width: int) -> list[Row]:
    """Return the rows of one block, at most `width` columns wide."""
    width = max(width, 2 * len(_BODY) + flow.LEAST)
    if not block.stamp or block.kind == story.CALL or width < _NARROW:
        return _drawn(block, width)
    first, *rest = _drawn(block, width - len(block.stamp) - 2) or [[]]
    gap = width - styles.width_of(first) - len(block.stamp)
    return [[*first, (styles.PLAIN, " " * gap), (styles.DIM, block.stamp)], *rest]


def aside(words: str) -> Row:
    """Return a row with a remark of the renderer itself."""
    return [(styles.DIM, f"{_TEXT}{words}")]


def _drawn(block: Block, width: int) -> list[Row]:
    """Return the rows of one block, without its stamp."""
    room = width - len(_TEXT)
    sign: Row = [(styles.PLAIN, _TEXT)]
    match block.kind:
        case story.HEAD:
            return _head(block, width)
        case story.CALL:
            return _call(block, width)
        case story.END:
            _, look = _SIGNS[block.state]
            sign = [(look, f"{records.SIGNS[block.words]} ")]
            reason = f" ({block.label})" if block.label else ""
            spans = [(f"{styles.BOLD} {look}", block.words)]
            spans.append((styles.DIM, f"{reason} in {figures.lasted(block.lasted or 0.0)}"))
            spans += [(styles.DIM, f" · {used}") for _, used in block.parts]
            rows = flow.wrapped(spans, room)
            rows += flow.wrapped([(look, block.aside)], room) if block.aside else []
        case story.THOUGHT:
            return [flow.fitted([(_THOUGHT, f"· {block.words}")], width)]
        case story.SAID:
            rows = flow.markdown_rows(block.words, room)
        case story.NOTE:
            sign = [(styles.DIM, "· ")]
            rows = flow.wrapped([(styles.DIM, block.words)], room)
        case story.ASKS:
            sign = [(styles.ASKS, "? ")]
            who = "an answer" if block.aside else "a person"
            spans = [(styles.ASKS, f"Waits for {who}: {block.words}"), (styles.DIM, f"  {block.aside}")]
            rows = flow.wrapped(spans, room)
        case _:  # SENT
            sign = [(styles.MARKER, _SAYS)]
            spans = [(styles.DIM, f"{block.label}: "), (styles.PLAIN, block.words)]
            rows = flow.wrapped(spans, room)
    return flow.indented(rows, sign, [(styles.PLAIN, _TEXT)])


def _head(block: Block, width: int) -> list[Row]:
    fields = dict(block.parts)
    agent = " ".join(filter(None, (fields["agent"], fields["model"])))
    parts = [(styles.NAME, fields["name"]), (styles.AGENT, agent), (styles.DIM, fields["cwd"])]
    row: Row = []
    for style, text in parts:
        row += [(styles.PLAIN, "  ")] * bool(row and text) + [(style, text)] * bool(text)
    task = flow.wrapped([(styles.TASK, block.words)], width - len(_TEXT))
    if len(task) > _TASK_ROWS:
        task = [*task[: _TASK_ROWS - 1], [(styles.DIM, f"… {len(task) - _TASK_ROWS + 1} more lines")]]
    return [flow.fitted(row, width), *flow.indented(task, [(styles.MARKER, _SAYS)], [(styles.PLAIN, _TEXT)])]


def _call(block: Block, width: int) -> list[Row]:
    # The phrase with a remark behind it, and duration and clock at the right edge.
    lasted = figures.lasted(block.lasted) if block.lasted and block.lasted >= _WORTH_SAYING_S else ""
    times = "" if width < _NARROW else f"{lasted}  {block.stamp or figures.clock(block.since):>5}"
    room = width - len(_TEXT) - len(times) - 2 * bool(times)
    remark: Row = []
    if block.code is not None:
        remark = [(styles.PLAIN, "  "), (styles.BAD, f"exit {block.code}")]
    elif block.aside:
        remark = [(styles.PLAIN, "  "), (styles.DIM, block.aside)]
    if styles.width_of(remark) > room // 2:
        remark = flow.fitted(remark, room // 2)
    phrase = [*[(styles.DIM, "$ ")] * (block.label == "bash"), (styles.CALL, block.words)]
    sign, style = _SIGNS[block.state]
    row = [(style, f"{sign} "), *flow.fitted(phrase, room - styles.width_of(remark)), *remark]
    if times:
        # The sign is as wide as _TEXT. To measure it would load the tables of Unicode into every wrapper.
        gap = width - len(_TEXT) - styles.width_of(row[1:]) - len(times)
        row += [(styles.PLAIN, " " * gap), (styles.DIM, times)]
    # Its output or its change, below.
    found: list[Row] = []
    room = width - len(_BODY)
    for what, words in block.parts:
        if block.state == story.BAD and what == tool_calls.OUTPUT:
            rows = flow.wrapped([(styles.PLAIN, words)], room)
            if len(rows) > _LONG_ROWS:
                rows = [
                    *rows[: _LONG_ROWS - 1],
                    flow.fitted([*rows[_LONG_ROWS - 1], (styles.PLAIN, " …")], room),
                ]
            found += rows
        else:
            found.append(flow.fitted([(_LOOKS[what], tool_calls.SIGNS.get(what, "") + words)], room))
    return [row, *flow.indented(found, [(styles.PLAIN, _BODY)])]


# --- a terminal that scrolls ------------------------------------------------------------------------------

_MOST_OPEN = 5
_AFRESH = "\x1b[H\x1b[2J\x1b[3J"  # an empty screen, and nothing above it


class Painter:
    """Paints one story, or several in turn, on a terminal, and remembers what is painted there."""

    __slots__ = ("_before", "_below", "_below_rows", "_colour", "_moves")

    def __init__(self, *, colour: bool, moves: bool = True) -> None:
        self._colour = colour
        self._moves = moves  # the cursor may be moved, so open calls can be painted over
        self._before: Block | None = None
        self._below = ""
        self._below_rows = 0

    def paint(
        self,
        blocks: Sequence[Block],
        open_calls: Sequence[Block] = (),
        *,
        width: int,
        last: int | None = None,
    ) -> str:
        """Return the text that shows new blocks, or their `last` rows, and the open calls below."""
        found = all_rows(blocks, width, self._before)
        if last is not None:
            found = found[max(0, len(found) - last) :]
        self._before = blocks[-1] if blocks else self._before
        below_rows: list[Row] = []
        if self._moves and open_calls:  # a row for each of the oldest, and the number of the others
            below_rows = [[]] if is_apart(self._before, open_calls[0]) else []
            below_rows += [of(block, width)[0] for block in open_calls[:_MOST_OPEN]]
            more = len(open_calls) - _MOST_OPEN
            below_rows += [aside(f"… {more} more at work")] if more > 0 else []
        below = styles.format_rows(below_rows, colour=self._colour)
        if not found and below == self._below:
            return ""
        away = f"\x1b[{self._below_rows}A\x1b[J" if self._below_rows else ""
        self._below, self._below_rows = below, len(below_rows)
        return away + styles.format_rows(found, colour=self._colour) + below

    def paint_afresh(self, blocks: Sequence[Block], open_calls: Sequence[Block], *, width: int) -> str:
        """Return the text that clears the terminal and shows a whole story."""
        self._before, self._below, self._below_rows = None, "", 0
        return _AFRESH + self.paint(blocks, open_calls, width=width)


def worth_showing(story: Story, now: float) -> list[Block]:
    """Return the open calls that have taken long enough to be shown before they end."""
    return [block for block in story.open if now - block.at >= WORTH_SHOWING_S]
