"""The table of `top`: the columns that fit, the order of the runs, and the lines. Pure.

The widths depend on all runs. The cells of a line are made only when it is drawn.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.text import figures, safe
from tmuxagents.text.width import columns, fit
from tmuxagents.top import rows
from tmuxagents.top.rows import ASIDE, PLAIN, STRONG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from tmuxagents.top.rows import Entry, Spans


class Column(NamedTuple):
    """One column: its title and width, the cell it shows for a run, and the value it sorts by."""

    title: str
    width: int
    cell: Callable[[Entry, float], str]
    order: Callable[[Entry, float], Any]
    is_figure: bool = False


def _cell_of(key: str) -> Callable[[Entry, float], str]:
    """Return the function that makes a run's cell from a text; the column is ordered by it, too."""
    return lambda entry, _: safe.line(str(entry.run[key] or ""))


def _order_by_usage(key: str) -> Callable[[Entry, float], float]:
    """Return the function by which a column of usage is ordered, the highest usage first."""
    return lambda entry, _: -entry.run["usage"][key]


NAME, STATUS, TIME, AGE, COST, TOKENS = "name", "status", "time", "age", "cost", "tokens"
MODEL, PRESET, ID, ACTIVITY = "model", "preset", "id", "activity"
# From left to right; the name comes before them, the activity after them.
COLUMNS = {
    STATUS: Column("STATUS", 9, lambda entry, _: entry.state, lambda entry, _: rows.rank(entry)),
    TIME: Column(
        "TIME",
        7,
        lambda entry, now: figures.span(entry.elapsed(now)) if entry.run["startedAt"] is not None else "",
        lambda entry, now: -entry.elapsed(now),
        is_figure=True,
    ),
    AGE: Column("AGE", 4, lambda entry, now: figures.age(entry.age(now)), rows.Entry.age, is_figure=True),
    COST: Column("COST", 7, lambda entry, _: rows.amount(entry), _order_by_usage("cost"), is_figure=True),
    TOKENS: Column(
        "TOKENS", 6, lambda entry, _: rows.tokens(entry), _order_by_usage("totalTokens"), is_figure=True
    ),
    MODEL: Column("MODEL", 16, _cell_of("model"), _cell_of("model")),
    PRESET: Column("PRESET", 12, _cell_of("preset"), _cell_of("preset")),
    ID: Column("ID", 8, lambda entry, _: entry.short, lambda entry, _: entry.run_id),
}
_NAMED = Column("NAME", 0, lambda entry, _: entry.label, lambda entry, _: entry.label.lower())
CHOSEN_AT_FIRST = (STATUS, TIME, AGE, COST, TOKENS, MODEL)
_FIRST_TO_STAY = (STATUS, TIME, COST, AGE, TOKENS, PRESET, MODEL, ID)
_MAY_BE_EMPTY = (COST, TOKENS, PRESET)
_GAP = 2
_LEFT = 3  # a margin, and a glyph
_LEAST_NAME, _WIDEST_NAME = 8, 28
_LEAST_ACTIVITY = 20  # a column that would leave less is not shown
_NOTHING = "·"
_ARROWS = "▾▴"


class SortOrder(NamedTuple):
    """The order of the runs: by a column or, without one, active runs first and then the newest."""

    column: str | None = None
    is_reversed: bool = False

    def of(self, entries: Iterable[Entry], now: float) -> list[Entry]:
        """Return runs in this order; equal runs keep the usual order."""
        found = sorted(entries, key=rows.Entry.order)
        if self.column is not None:
            column = _column(self.column)
            found.sort(key=lambda entry: column.order(entry, now))
        return found[::-1] if self.is_reversed else found

    def by(self, name: str) -> SortOrder:
        """Return the order after a choice: a column; the same one reversed; then the usual order."""
        if self.column != name:
            return SortOrder(name)
        return SortOrder() if self.is_reversed else SortOrder(name, is_reversed=True)


def _column(name: str) -> Column:
    return _NAMED if name == NAME else COLUMNS[name]


class Table:
    """The table of some runs, for one width."""

    def __init__(
        self, entries: Sequence[Entry], width: int, *, wanted: Sequence[str], order: SortOrder
    ) -> None:
        self.entries = entries
        self.width = width
        self._order = order
        longest = max((entry.name_columns for entry in entries), default=0)
        self._name = min(max(longest, _LEAST_NAME), _WIDEST_NAME, max(_LEAST_NAME, width // 3))
        # The columns that have something to show, as many as fit.
        room = width - _LEFT - self._name - _GAP - _LEAST_ACTIVITY
        fitting: list[str] = []
        for name in _FIRST_TO_STAY:
            column = COLUMNS[name]
            needed = column.width + _GAP
            if name not in wanted or needed > room:
                continue
            if name in _MAY_BE_EMPTY and not any(column.cell(entry, 0.0) for entry in entries):
                continue
            fitting.append(name)
            room -= needed
        self.shown = [name for name in COLUMNS if name in fitting]

    def _widths(self) -> list[tuple[str, int]]:
        before = [(NAME, self._name), *((name, COLUMNS[name].width) for name in self.shown)]
        left = self.width - _LEFT - sum(width + _GAP for _, width in before)
        return [*before, (ACTIVITY, max(0, left))]

    def column_at(self, x: int) -> str | None:
        """Return the column that is drawn at a place, if runs can be sorted by it."""
        end = _LEFT
        for name, width in self._widths():
            end += width + _GAP
            if x < end:
                return None if name == ACTIVITY else name
        return None

    def head(self) -> Spans:
        """Return the titles; the sorted column has an arrow."""
        spans: Spans = [(ASIDE, " " * _LEFT)]
        for name, width in self._widths():
            title = "ACTIVITY" if name == ACTIVITY else _column(name).title
            is_sorted = self._order.column == name
            if is_sorted:
                title = fit(title, max(1, width - 1), "") + _ARROWS[self._order.is_reversed]
            is_figure = name not in (NAME, ACTIVITY) and COLUMNS[name].is_figure
            spans.append((STRONG if is_sorted else ASIDE, _aligned(title, width, right=is_figure)))
            spans.append((ASIDE, " " * _GAP))
        return rows.cut(spans, self.width)

    def line(self, number: int, now: float) -> Spans:
        """Return the line of a run."""
        entry = self.entries[number]
        quiet = ASIDE if entry.ended else PLAIN
        spans: Spans = [(entry.style, f" {entry.glyph} ")]
        for name, width in self._widths():
            if name == ACTIVITY:
                text, style = rows.activity(entry, now), entry.style if entry.state in rows.TROUBLE else ASIDE
            elif name == NAME:
                text, style = entry.label, quiet if entry.ended else STRONG
            else:
                text = COLUMNS[name].cell(entry, now) or _NOTHING
                style = entry.style if name == STATUS else ASIDE if text == _NOTHING else quiet
            right = name in COLUMNS and COLUMNS[name].is_figure
            spans += [(style, _aligned(text, width, right=right)), (PLAIN, " " * _GAP)]
        return rows.cut(spans, self.width)


def _aligned(text: str, width: int, *, right: bool) -> str:
    text = fit(text, width) if width else ""
    blanks = " " * (width - columns(text))
    return blanks + text if right else text + blanks
