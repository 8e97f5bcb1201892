"""The view `top` as rules: the text for a screen of a given size, and the effect of each key.

Pure.
"""

from __future__ import annotations

from tmuxagents.text import safe
from tmuxagents.text.width import GAP, columns, fit
from tmuxagents.views.top_rows import ASIDE, CALLS, HEAD, PLAIN, TITLE, Table, haystack, lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tmuxagents.views.top_rows import Entry, Spans

# What a key asks for that is not for the view itself to do.
ATTACH, OUTPUT, STOP, LEAVE = "attach", "output", "stop", "leave"

LEAST = (20, 4)  # a smaller screen shows nothing that helps
_DETAIL, _LEAST_DETAIL = 10, 4  # lines about the chosen run
_HELPS = (  # the first that there is room for
    "Enter attach  o output  s stop  / filter  a {ended}  A {scope}  q leave",
    "Enter attach  o output  s stop  / filter  q leave",
    "Enter attach  s stop  q leave",
    "q leave",
)


class Board:
    """All that is shown at one moment."""

    __slots__ = ("at", "elsewhere", "entries", "project", "status", "warnings")

    def __init__(
        self, entries: Sequence[Entry], *, status: str, at: float, project: str, elsewhere: int
    ) -> None:
        self.entries = entries
        self.status = status
        self.at = at
        self.project = project
        self.elsewhere = elsewhere
        self.warnings: Sequence[str] = ()


# --- keys -------------------------------------------------------------------------------------------------


class TopView:
    """What the person has chosen, filtered and been asked. `ended`, `everywhere`: which runs they want."""

    def __init__(self, *, ended: bool = False, everywhere: bool = False) -> None:
        self.ended = ended
        self.everywhere = everywhere
        self.filter = ""
        self.message = ""
        self.chosen: str | None = None
        self._typing = False
        self._stopping: str | None = None  # the run that is to be stopped, once the person says yes
        self._entries: Sequence[Entry] = ()
        self._first = 0  # the row at the top of the list

    def take(self, entries: Sequence[Entry]) -> None:
        """Show other entries; what was chosen stays so as long as it is there."""
        words = self.filter.lower().split()
        self._entries = [one for one in entries if all(word in haystack(one) for word in words)]
        ids = [one.run_id for one in self._entries]
        if self.chosen not in ids:
            self.chosen = ids[min(self._first, len(ids) - 1)] if ids else None
        if self._stopping not in (None, *ids):
            self._stopping = None

    @property
    def entry(self) -> Entry | None:
        """Return the chosen run."""
        return next((one for one in self._entries if one.run_id == self.chosen), None)

    def press(self, key: str) -> str | None:
        """Do what a key does to the view; return what it asks for besides."""
        self.message = ""
        if self._typing:
            self._type(key)
            return None
        if self._stopping is not None:
            is_meant, self._stopping = key in ("y", "Y"), None
            return STOP if is_meant else None
        if key in ("up", "k", "down", "j", "home", "g", "end", "G", "page-up", "page-down"):
            self._move(key)
        elif key == "/":
            self._typing = True
        elif key == "a":
            self.ended = not self.ended
        elif key == "A":
            self.everywhere = not self.everywhere
        elif key == "escape":
            self.filter = ""
        elif key == "s":
            self._ask()
        else:
            return self._wish(key)
        return None

    def _wish(self, key: str) -> str | None:
        if key == "q":
            return LEAVE
        wish = {"enter": ATTACH, "o": OUTPUT}.get(key)
        return wish if self.entry is not None else None

    def _type(self, key: str) -> None:
        if key in ("enter", "escape"):
            self._typing = False
            self.filter = "" if key == "escape" else self.filter
        elif key == "backspace":
            self.filter = self.filter[:-1]
        elif len(key) == 1:
            self.filter += key

    def _ask(self) -> None:
        entry = self.entry
        if entry is None or entry.ended:
            self.message = "It has ended already." if entry else ""
        else:
            self._stopping = entry.run_id

    def _move(self, key: str) -> None:
        ids = [one.run_id for one in self._entries]
        if not ids:
            return
        now = ids.index(self.chosen) if self.chosen in ids else 0
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "page-up": -10, "page-down": 10}
        there = {"home": 0, "g": 0}.get(key, len(ids) - 1) if key not in steps else now + steps[key]
        self.chosen = ids[max(0, min(len(ids) - 1, there))]

    # --- drawn --------------------------------------------------------------------------------------------

    def draw(self, board: Board, width: int, height: int) -> list[Spans]:
        """Return the lines of a screen, one for each row of it."""
        if width < LEAST[0] or height < LEAST[1]:
            return [[(PLAIN, "too small"[:width])], *([] for _ in range(height - 1))]
        detail = self._detail(width, min(_DETAIL, (height - 3) // 2))
        shown = [self._title(board, width), *self._table(board, width, height - 3 - len(detail))]
        shown += [[] for _ in range(height - 1 - len(detail) - len(shown))]
        return [*shown, *detail, self._bottom(width)]

    def _title(self, board: Board, width: int) -> Spans:
        whose = "all projects" if self.everywhere else safe.line(board.project)
        more = f", {board.elsewhere} more elsewhere" if board.elsewhere else ""
        narrowed = f', only "{safe.line(self.filter)}"' if self.filter else ""
        left = fit(board.status, width)
        room = width - columns(left) - len(GAP)
        right = fit(f"{whose}{more}{narrowed}", room) if room > len(GAP) else ""
        return [(TITLE, left), (ASIDE, f"{GAP}{right}")] if right else [(TITLE, left)]

    def _table(self, board: Board, width: int, room: int) -> Iterator[Spans]:
        if not self._entries:
            yield []
            yield [(ASIDE, fit(self._nothing(), width))]
            return
        table = Table(self._entries, width, board.at)
        yield table.head()
        ids = [one.run_id for one in self._entries]
        at = ids.index(self.chosen) if self.chosen in ids else 0
        self._first = max(min(self._first, at, max(0, len(ids) - room)), at - room + 1, 0)
        for number in range(self._first, min(len(ids), self._first + room)):
            yield table.line(number, is_chosen=number == at)

    def _nothing(self) -> str:
        if self.filter:
            return "No run fits the filter."
        return "No run yet." if self.ended else "No run is live. a shows those that have ended, too."

    def _detail(self, width: int, most: int) -> list[Spans]:
        """Return what is known of the chosen run: three lines, and what it did last."""
        entry = self.entry
        if entry is None or most < _LEAST_DETAIL:
            return []
        run = entry.run
        named = [
            entry.short,
            *(safe.line(str(run[key])) for key in ("name", "preset", "model") if run[key]),
        ]
        return [
            [(ASIDE, "─" * width)],
            [(HEAD, fit("  ".join(named), width))],
            [(ASIDE, fit(safe.line(str(run["task"] or "")), width))],
            *lines(entry.lines[-(most - _LEAST_DETAIL + 1) :], width),
        ]

    def _bottom(self, width: int) -> Spans:
        if self._typing:
            return [(CALLS, fit(f"filter: {self.filter}_", width))]
        entry = self.entry
        if self._stopping is not None and entry is not None:
            return [(CALLS, fit(f"Stop {entry.label}? y stops it, any other key does not", width))]
        if self.message:
            return [(CALLS, fit(safe.line(self.message), width))]
        wishes = {"ended": "live only" if self.ended else "all"}
        wishes["scope"] = "here" if self.everywhere else "everywhere"
        helps = [words.format(**wishes) for words in _HELPS]
        return [(ASIDE, next((words for words in helps if len(words) <= width), helps[-1]))]
