"""Gather what `top` shows, round after round: the status of the runs and the activity of each. Joins.

Nothing is read twice: a live run is followed, one that has ended is taken as the registry has it.
"""

from __future__ import annotations

import os

from tmuxagents.errors import NoSuchRun
from tmuxagents.records import ENDED
from tmuxagents.runs import words
from tmuxagents.runs.inspect import Follower
from tmuxagents.status import poll
from tmuxagents.status.snapshot import DOCUMENTS, take
from tmuxagents.system import watcher_lock
from tmuxagents.views.lines import LastLines
from tmuxagents.views.previews import Place
from tmuxagents.views.top import Board
from tmuxagents.views.top_rows import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.events import Event
    from tmuxagents.runs.words import SnapshotRow
    from tmuxagents.views.lines import LastLine

MOST = 200  # rows; `poll` shows more
_LINES = 20  # of each run


class TopRuns:
    """The runs that a caller watches."""

    def __init__(self, caller: Caller) -> None:
        self.live: list[str] = []  # the live ones, the oldest first
        self._caller = caller
        self._windows: dict[str, _Followed] = {}
        if os.path.isdir(caller.runs):
            watcher_lock.ensure(caller.home)

    def look(self, *, everywhere: bool, ended: bool) -> Board:
        """Look once."""
        asked = poll.query_of(self._caller, (), everywhere=everywhere, ended=ended, wanted=DOCUMENTS)
        found = take(asked, self._caller)
        live = [shown for shown in found.rows if shown.run["status"] not in ENDED]
        self.live = [str(shown.run["runId"]) for shown in reversed(live)]
        self._windows = {run_id: one for run_id, one in self._windows.items() if run_id in self.live}
        # Live ones first: they must not be lost below what has ended.
        over = [shown for shown in found.rows if shown.run["status"] in ENDED]
        board = Board(
            [self._entry(shown) for shown in (*live, *over)[:MOST]],
            status=words.status_line(found.counts, found.waiting),
            at=found.at,
            project=self._caller.project,
            elsewhere=found.elsewhere,
        )
        board.warnings = found.warnings
        return board

    def _entry(self, shown: SnapshotRow) -> Entry:
        run_id = str(shown.run["runId"])
        lines = self._follow(run_id, str(shown.run["cwd"])) if run_id in self.live else ()
        return Entry(shown.run, shown.short, lines=lines, host=shown.host)

    def _follow(self, run_id: str, cwd: str) -> list[LastLine]:
        followed = self._windows.get(run_id)
        try:
            if followed is None:
                followed = self._windows[run_id] = _Followed(f"{self._caller.runs}/{run_id}", cwd)
            return followed.lines()
        except NoSuchRun:
            self._windows.pop(run_id, None)
            return []


class _Followed:
    """One live run, and the last lines of what it did."""

    def __init__(self, run_dir: str, cwd: str) -> None:
        self._window = LastLines(Place(cwd=cwd, home=os.path.expanduser("~")), _LINES)
        self._follower = Follower(run_dir, self._take)
        self._follower.look()

    def _take(self, event: Event) -> None:
        self._window.take(event)

    def lines(self) -> list[LastLine]:
        """Return the last lines, with what is new."""
        if self._follower.has_news(held=True):
            self._follower.look()
        return self._window.lines
