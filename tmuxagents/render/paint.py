"""A story on a terminal that scrolls: finished blocks stay, and open calls are below them until they end.

Pure.
"""

from __future__ import annotations

from tmuxagents.render import rows, styles
from tmuxagents.render.story import WORTH_SHOWING_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.render.story import Block, Story
    from tmuxagents.render.styles import Row

_MOST_OPEN = 5
_AFRESH = "\x1b[H\x1b[2J\x1b[3J"  # an empty screen, and nothing above it


class Painter:
    """What a terminal has been given of one story, or of several, one after the other."""

    __slots__ = ("_before", "_below", "_below_rows", "_colour", "_moves")

    def __init__(self, *, colour: bool, moves: bool = True) -> None:
        self._colour = colour
        self._moves = moves  # the cursor may be moved: open calls can be painted over
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
        found = rows.all_rows(blocks, width, self._before)
        if last is not None:
            found = found[max(0, len(found) - last) :]
        self._before = blocks[-1] if blocks else self._before
        below_rows = self._rows_below(open_calls, width) if self._moves else []
        below = styles.format_rows(below_rows, colour=self._colour)
        if not found and below == self._below:
            return ""
        away = f"\x1b[{self._below_rows}A\x1b[J" if self._below_rows else ""
        self._below, self._below_rows = below, len(below_rows)
        return away + styles.format_rows(found, colour=self._colour) + below

    def paint_afresh(self, blocks: Sequence[Block], open_calls: Sequence[Block], *, width: int) -> str:
        """Return what shows all of a story on an empty terminal."""
        self._before, self._below, self._below_rows = None, "", 0
        return _AFRESH + self.paint(blocks, open_calls, width=width)

    def _rows_below(self, open_calls: Sequence[Block], width: int) -> list[Row]:
        """Return a row for each of the oldest open calls, and how many there are besides."""
        if not open_calls:
            return []
        found: list[Row] = [[]] if rows.is_apart(self._before, open_calls[0]) else []
        found += [rows.of(block, width)[0] for block in open_calls[:_MOST_OPEN]]
        more = len(open_calls) - _MOST_OPEN
        return [*found, rows.aside(f"… {more} more at work")] if more > 0 else found


def worth_showing(told: Story, now: float) -> list[Block]:
    """Return the open calls that have taken long enough to be shown before they end."""
    return [block for block in told.open if now - block.at >= WORTH_SHOWING_S]
