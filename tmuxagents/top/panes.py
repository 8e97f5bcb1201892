"""The widgets of `top`: lines, the table, the detail. They draw only visible lines. Touches: textual."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from tmuxagents.top import keys, rows
from tmuxagents.top.rows import ASIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from tmuxagents.top.rows import Spans
    from tmuxagents.top.table import Table

_CHOSEN, _CHOSEN_WITHOUT_COLOUR = "black on cyan", "reverse"


def strip(spans: Spans, width: int) -> Strip:
    """Return a line of exactly this width."""
    segments = [Segment(text, Style.parse(style)) for style, text in spans if text]
    return Strip(segments).adjust_cell_length(width)


def chosen(spans: Spans, width: int, *, has_colours: bool) -> Strip:
    """Return the line of the chosen row: one style for all its cells."""
    style = Style.parse(_CHOSEN if has_colours else _CHOSEN_WITHOUT_COLOUR)
    text = "".join(text for _, text in spans)
    return Strip([Segment(text, style)]).adjust_cell_length(width, style)


class StillLine(Widget):
    """A line that does not scroll. With a `filler`, each line of the widget repeats that instead."""

    def __init__(self, *, name: str, filler: str = "") -> None:
        super().__init__(name=name, id=name)
        self._line: Spans = []
        self._filler = filler

    def show(self, line: Spans) -> None:
        """Show another line."""
        if self._line != line:
            self._line = line
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        if self._filler:
            return strip([(ASIDE, self._filler * self.size.width)], self.size.width)
        return strip([] if y else self._line, self.size.width)


class Sized(Message):
    """A widget has a new size, so its lines must be made again."""


class RunTable(ScrollView):
    """The table of runs, with its titles on top."""

    class Chosen(Message):
        """A person has clicked on a line."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class Sorted(Message):
        """A person has clicked on a title."""

        def __init__(self, column: str) -> None:
            super().__init__()
            self.column = column

    def __init__(self) -> None:
        super().__init__(id="runs")
        self.can_focus = False
        self._table: Table | None = None
        self._empty: Sequence[Spans] = ()
        self._at = 0
        self._now = 0.0
        self._drawn: dict[int, tuple[bool, Spans]] = {}  # line of the widget -> what was drawn there

    def show(self, table: Table, at: int, now: float, empty: Sequence[Spans]) -> None:
        """Show other runs, or the same ones at another moment; draw the lines that differ."""
        self._table, self._at, self._now, self._empty = table, at, now, empty
        size = Size(table.width, len(table.entries) + 1)
        if self.virtual_size != size:
            self.virtual_size = size
        for y, drawn in list(self._drawn.items()):
            if self._line(y) != drawn:
                self.refresh(Region(0, y, self.size.width, 1))

    def room(self, runs: int) -> int:
        """Return how wide a line may be, beside the scroll bar if this number of runs needs one."""
        needs_bar = runs + 1 > self.size.height
        return self.size.width - needs_bar

    @property
    def columns(self) -> list[str]:
        """Return the columns that are shown."""
        return self._table.shown if self._table is not None else []

    def follow(self) -> None:
        """Scroll so that the chosen line can be seen."""
        room = self.size.height - 1
        first = self.scroll_offset.y
        if room > 0 and not first <= self._at < first + room:
            self.scroll_to(y=self._at if self._at < first else self._at - room + 1, animate=False, force=True)

    def _line(self, y: int) -> tuple[bool, Spans]:
        table = self._table
        if table is None:
            return False, []
        if not table.entries:
            return False, self._empty[y] if y < len(self._empty) else []
        if y == 0:
            return False, table.head()
        number = y - 1 + self.scroll_offset.y
        return number == self._at, table.line(number, self._now) if number < len(table.entries) else []

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        self._drawn = {at: drawn for at, drawn in self._drawn.items() if at < self.size.height}
        is_chosen, spans = self._drawn[y] = self._line(y)
        if is_chosen and spans:
            return chosen(spans, self.size.width, has_colours=not self.app.no_color)
        return strip(spans, self.size.width)

    def on_resize(self) -> None:
        """Request lines of the new width."""
        self.post_message(Sized())

    def on_click(self, event: events.Click) -> None:
        """Choose a line, or sort by a title."""
        if self._table is None:
            return
        if event.y > 0:
            self.post_message(self.Chosen(event.y - 1 + self.scroll_offset.y))
        elif (column := self._table.column_at(event.x)) is not None:
            self.post_message(self.Sorted(column))


class Detail(ScrollView):
    """The transcript of the chosen run. While the end is shown, new rows are followed."""

    def __init__(self) -> None:
        super().__init__(id="detail")
        self.can_focus = False
        self._rows: Sequence[Spans] = ()
        self._search = ""
        self._follows = True  # the end is shown, and stays in view when rows come
        self.found: list[int] = []  # numbers of the rows that hold the searched text

    @property
    def room(self) -> int:
        """Return how wide a row may be."""
        return max(1, self.size.width - 2)  # a scroll bar may come, and a gap before it

    def show(self, lines: Sequence[Spans], search: str, *, is_new: bool) -> None:
        """Show these rows. `is_new`: go to their end, and follow new ones."""
        follows = is_new or self._follows
        self._rows, self._search = lines, search
        self.found = rows.found_in(lines, search)
        self.virtual_size = Size(max(1, self.size.width), len(lines))
        if follows:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)
        self._follows = follows
        self.refresh()
        self.call_after_refresh(self._place_bar)

    def _place_bar(self) -> None:
        """Move the scroll bar to the shown rows: a new bar does not know of earlier scrolls."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = self.scroll_y

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow new rows only while the end is shown."""
        super().watch_scroll_y(old_value, new_value)
        self._follows = new_value >= self.max_scroll_y

    def on_resize(self) -> None:
        """Request rows of the new width, and stay at the end."""
        if self._follows:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)
        self.post_message(Sized())

    def go(self, move: str) -> None:
        """Scroll by the move of a key."""
        page = max(1, self.size.height - 1)
        steps = {keys.UP: -1, keys.DOWN: 1, keys.PAGE_UP: -page, keys.PAGE_DOWN: page}
        end = 0 if move == keys.FIRST else self.max_scroll_y
        self.scroll_to(
            y=self.scroll_offset.y + steps[move] if move in steps else end, animate=False, force=True
        )

    def find(self, *, steps: int) -> None:
        """Scroll to the next row that holds the searched text, or to the previous one."""
        at = self.scroll_offset.y
        ahead = (
            [row for row in self.found if row > at] if steps > 0 else [row for row in self.found if row < at]
        )
        if ahead:
            self.scroll_to(y=ahead[0] if steps > 0 else ahead[-1], animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        number = y + self.scroll_offset.y
        spans = self._rows[number] if number < len(self._rows) else []
        return strip(rows.marked(spans, self._search) if self._search else spans, self.size.width)


CSS = """
Screen { layout: vertical; overflow: hidden; }
#head, #foot, #title { height: 1; }
TopApp Input { height: 1; border: none; padding: 0 1; background: ansi_default; color: ansi_default; }
Screen > Input { display: none; }
#body { layout: vertical; height: 1fr; }
RunTable, Detail { scrollbar-size: 0 1; overflow-x: hidden; }
RunTable, Detail { scrollbar-color: ansi_bright_black; scrollbar-background: ansi_default; }
#divider { display: none; width: 1; height: 1fr; }
#side { layout: vertical; width: 1fr; height: 1fr; }
Detail { height: 1fr; padding: 0 0 0 1; }
.wide #body { layout: horizontal; }
.wide #divider { display: block; }
.zoomed #runs, .zoomed #divider { display: none; }
.typing #foot { display: none; }
.typing > Input { display: block; }
ModalScreen { align: center middle; background: transparent; }
.box { background: ansi_default; }
.box { width: 72; max-width: 100%; max-height: 90%; height: auto; border: round ansi_cyan; }
.small { width: 64; }
.narrow { width: 24; }
.box OptionList { height: auto; max-height: 16; border: none; background: ansi_default; }
"""
