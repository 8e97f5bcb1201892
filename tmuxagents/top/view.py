"""The view of `top`: the chosen run, the searches, the order and the columns; and the lines around the table.

Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.runs import words
from tmuxagents.text import figures, safe
from tmuxagents.text.width import columns
from tmuxagents.top import keys, rows
from tmuxagents.top.rows import ACCENT, ASIDE, CALLS, PLAIN, STRONG
from tmuxagents.top.table import CHOSEN_AT_FIRST, NAME, SortOrder, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tmuxagents.top.rows import Entry, Spans

HERE, ALL = "bg here", "bg all"
RECENT_S = 3600.0  # an ended run is shown for this long
_SIDE_BY_SIDE = 110  # columns that table and detail need beside each other
_MOST_OF_TABLE = 96
_LEAST_ROWS = 3


class Board(NamedTuple):
    """The runs and their counts at one moment."""

    entries: Sequence[Entry]
    counts: Mapping[str, int]
    waiting: int
    at: float
    project: str
    elsewhere: int
    unreachable: int = 0
    warnings: Sequence[str] = ()


class TopView:
    """The table as a person has arranged it.

    `ended`: with runs that ended long ago; `everywhere`: with the runs of all projects.
    """

    def __init__(self, *, ended: bool = False, everywhere: bool = False) -> None:
        self.ended = ended
        self.everywhere = everywhere
        self.search = ""  # of runs
        self.sought = ""  # in the detail
        self.order = SortOrder()
        self.wanted: list[str] = [*CHOSEN_AT_FIRST]
        self.chosen: str | None = None
        self.board: Board | None = None
        self.entries: Sequence[Entry] = ()
        self.at = 0  # the chosen run's last place in the list

    # --- what is shown ------------------------------------------------------------------------------------

    def take(self, board: Board) -> None:
        """Show these runs; the chosen one stays chosen while it is there."""
        self.board = board
        self.arrange()

    def arrange(self) -> None:
        """Search and sort again."""
        if self.board is None:
            return
        words_ = self.search.lower().split()
        found = [one for one in self.board.entries if all(word in one.haystack for word in words_)]
        self.entries = self.order.of(found, self.board.at)
        places = {entry.run_id: number for number, entry in enumerate(self.entries)}
        if self.chosen not in places:
            self.choose(self.at)
        else:
            self.at = places[self.chosen]

    @property
    def entry(self) -> Entry | None:
        """Return the chosen run."""
        return self.entries[self.at] if self.at < len(self.entries) else None

    def choose(self, number: int) -> None:
        """Choose the run at a place of the list; the last one if there are fewer."""
        self.at = max(0, min(len(self.entries) - 1, number))
        self.chosen = self.entries[self.at].run_id if self.entries else None

    def go(self, move: str, page: int) -> None:
        """Choose another run by the move of a key."""
        steps = {keys.UP: -1, keys.DOWN: 1, keys.PAGE_UP: -page, keys.PAGE_DOWN: page}
        end = 0 if move == keys.FIRST else len(self.entries) - 1
        self.choose(self.at + steps[move] if move in steps else end)

    def filter(self, text: str) -> None:
        """Show only the runs that a text fits."""
        self.search = text.strip()
        self.arrange()

    def seek(self, text: str) -> None:
        """Mark a text in the detail."""
        self.sought = text.strip()

    def sort(self, name: str) -> None:
        """Sort by a column; the same one again reverses the order, then restores the usual one."""
        self.order = self.order.by(name)
        self.arrange()

    def sort_beside(self, steps: int, shown: Sequence[str]) -> None:
        """Sort by the next column to the right or left; beyond the last one comes the usual order."""
        names = [None, NAME, *shown]
        at = names.index(self.order.column) if self.order.column in names else 0
        self.order = SortOrder(names[(at + steps) % len(names)])
        self.arrange()

    def toggle(self, name: str) -> None:
        """Show or hide a column."""
        if name in self.wanted:
            self.wanted.remove(name)
        else:
            self.wanted.append(name)

    def table(self, width: int) -> Table:
        """Return the table for a width."""
        return Table(self.entries, width, wanted=self.wanted, order=self.order)

    # --- the lines around it ------------------------------------------------------------------------------

    def head(self, width: int, clock: str) -> Spans:
        """Return the line at the top: counts, the search, the project, the usage, and the time."""
        board = self.board
        if board is None:
            return []
        whose = ALL if self.everywhere else HERE
        counts = words.status_line(board.counts, board.waiting, whose, unreachable=board.unreachable)
        left: Spans = [(STRONG, f" {counts}")]
        used = words.total([entry.run["usage"] for entry in board.entries])
        parts = [
            (ACCENT, f'"{safe.line(self.search)}"' if self.search else ""),
            (ASIDE, f"{board.elsewhere} more elsewhere" if board.elsewhere and not self.everywhere else ""),
            (ASIDE, "" if self.everywhere else safe.line(board.project)),
            (ASIDE, figures.tokens(used)),
            (PLAIN, figures.money(used["cost"])),
            (ASIDE, clock),
        ]
        right = [(style, text) for style, text in parts if text]
        room = width - columns(left[0][1]) - 1
        while right and sum(columns(text) + 2 for _, text in right) > room:
            del right[next((number for number, part in enumerate(right) if part[0] == ASIDE), 0)]
        spaced = [span for style, text in right for span in ((PLAIN, "  "), (style, text))]
        blanks = room - sum(columns(text) for _, text in spaced)
        return rows.cut([*left, (PLAIN, " " * max(0, blanks)), *spaced], width)

    def title(self, width: int, now: float, *, in_detail: bool, is_rule: bool) -> Spans:
        """Return the line above the detail. `is_rule`: the line is a rule between table and detail."""
        entry = self.entry
        mark = (ACCENT, "▌") if in_detail else (ASIDE, "─" if is_rule else " ")
        line = [mark, *rows.title(entry, now, width - 1)] if entry is not None else [mark]
        left = width - sum(columns(text) for _, text in line)
        return rows.cut([*line, (ASIDE, f" {'─' * (left - 1)}")] if is_rule and left > 1 else line, width)

    def nothing(self) -> list[Spans]:
        """Return the lines of an empty table, which suggest what to do."""
        if self.search:
            return [
                [],
                [(PLAIN, f' No run fits "{safe.line(self.search)}".')],
                [(ASIDE, " Esc shows all again.")],
            ]
        first = "No run yet." if self.ended else "No run is active, and none ended in the last hour."
        lines: list[Spans] = [[], [(STRONG, f" {first}")], []]
        hints = [
            ('tmuxagents launch "Find the slow tests"', "starts an agent in the background"),
            ('tmuxagents launch --live "Help me here"', "starts one that you can type to"),
            ('tmuxagents run "What does this do?"', "waits for the answer, and prints it"),
        ]
        for command, does in hints:
            lines += [[(ACCENT, f" {command}")], [(ASIDE, f"   {does}")]]
        more = [
            "" if self.ended else "a shows what ended earlier",
            "" if self.everywhere else "A shows all projects",
        ]
        return [*lines, [], [(ASIDE, f" {', '.join(filter(None, more)) or '? shows all keys'}")]]

    def foot(self, width: int, message: str, *, in_detail: bool) -> Spans:
        """Return the line at the bottom: the message or, without one, the keys that are useful now."""
        if message:
            return rows.cut([(CALLS, f" {safe.line(message)}")], width)
        spans: Spans = []
        room = width - 1
        for key, does in keys.hints(self.entry, in_detail=in_detail, ended=self.ended):
            needed = columns(key) + columns(does) + 3
            if needed > room:
                break
            spans += [(ACCENT, f" {key}"), (ASIDE, f" {does} ")]
            room -= needed
        return spans


class Areas(NamedTuple):
    """The sizes of table and detail on a screen, and whether they are side by side."""

    is_wide: bool
    table: int  # the table's columns if they are side by side, else its rows


def areas(width: int, height: int, runs: int) -> Areas:
    """Return how a screen is divided."""
    if width >= _SIDE_BY_SIDE:
        return Areas(is_wide=True, table=min(_MOST_OF_TABLE, width * 9 // 20))
    inside = height - 2
    wanted = max(_LEAST_ROWS, runs) + 1
    return Areas(is_wide=False, table=max(1, min(wanted, inside * 2 // 5)))
