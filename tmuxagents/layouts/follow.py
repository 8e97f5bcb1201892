"""Keep the session of a layout up to date: a window or pane for each active run, and a view of the newest.

The `top` in that session does this, and nothing else: without it, what is there stays as it is.

Joins.
"""

from __future__ import annotations

import sys
import time

from tmuxagents import records, tmux
from tmuxagents.errors import Unusable
from tmuxagents.layouts.opening import transcript_argv
from tmuxagents.registry import lookup
from tmuxagents.runs import words
from tmuxagents.status import poll
from tmuxagents.system import foreground

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

    from tmuxagents.registry.database import Registry, Row
    from tmuxagents.registry.lookup import Caller

MOST_TILES = 24  # panes that anybody could read something in
_TRIES = 20  # rounds: the window of a run may be on another server, and never come here


TITLE_S = 5.0  # between two titles: each is a redraw of the borders
_WAITING = "waiting"
_SIGNS = {"queued": "…", "running": "▶", "waiting": "?", **records.SIGNS}


def title(row: Row, now: float) -> str:
    """Return the title of a run's tile."""
    status = _WAITING if row.needs_input else row.status
    seconds = row.elapsed_s if row.elapsed_s is not None else max(0.0, now - (row.started_at or now))
    minutes, rest = divmod(int(seconds), 60)
    lasted = f"{minutes}m {rest:02}s" if minutes else f"{rest}s"
    name = row.name or words.short_id(row.run_id, ())
    return f"{_SIGNS[status]} {name} · {status} · {lasted}"


class Keeper:
    """The session of a layout that this program has a pane in."""

    __slots__ = ("_caller", "_folder", "_live", "_server", "_tiles", "_titled", "_tries", "_windows")

    def __init__(self, server: tmux.Tmux, session: str, folder: str) -> None:
        self._server = server
        self._caller = lookup.here()
        self._titled = 0.0  # when the tiles got their titles
        self._tiles = server.sessions.tiles(session)
        self._folder = folder
        self._live: list[str] = []  # the runs that are seen to, or have been
        self._tries = 0  # how often it is still tried to do so
        self._windows: bool | None = None  # whether there is one for each run; None: it is being built

    def keep(self, live: Sequence[str]) -> None:
        """Let there be what is to be there for these runs, the oldest first. What fails is tried again."""
        if self._live != [*live]:
            self._live, self._tries = [*live], _TRIES
        try:
            if self._live and time.monotonic() - self._titled >= TITLE_S:
                self._titled = time.monotonic()
                self._title()
            if not self._tries:
                return
            if self._windows is None and not self._tiles.is_built():
                return
            self._tries -= 1
            self._windows = self._tiles.wants_windows()
            done = self._tile(live[:MOST_TILES])
            done = (not self._windows or self._link(live)) and done
        except Unusable:
            return
        self._tries = 0 if done else self._tries

    def _tile(self, live: Sequence[str]) -> bool:
        """Let there be a pane for each run, and for no other; say whether that is so, as far as it can be."""
        window, there = self._tiles.panes()
        if window is None:
            is_zoomed = self._tiles.wants_panes()
            self._tries += is_zoomed  # however long that takes
            return not is_zoomed
        for run_id, pane in there.items():
            if run_id not in live:
                self._tiles.remove(pane, run_id)
        missing = [run_id for run_id in live if run_id not in there]
        for run_id in missing:
            if not self._tiles.add(window, run_id, transcript_argv(run_id), self._folder):
                break  # no room: until something changes, no other has any
        self._tiles.arrange(window)
        self._titled = 0.0
        return True

    def _title(self) -> None:
        """Give each tile the name, the status and the time of its run."""
        _, there = self._tiles.panes()

        def ask(book: Registry) -> dict[str, str]:
            rows = {run_id: book.row(run_id) for run_id in there}
            return {run_id: title(row, time.time()) for run_id, row in rows.items() if row is not None}

        titles = lookup.with_registry(self._caller, ask)[0] if there else {}
        self._tiles.title({there[run_id]: (run_id, text) for run_id, text in titles.items()})

    def _link(self, live: Sequence[str]) -> bool:
        """Put the windows of runs into the session; say whether those have come that will."""
        found, linked = self._server.windows.all(), self._tiles.linked()
        there = [found[run_id] for run_id in live if run_id in found]
        for window in there:
            if window.window not in linked:
                self._tiles.link(window.window, window.run_id)
        return len(there) == len(live)


def keeper(environment: Mapping[str, str], folder: str) -> Keeper | None:
    """Return the keeper of the session that this program has a pane in; None where that is no layout's."""
    inside = tmux.caller(environment)
    if inside is None or not inside.lives or inside.pane is None:
        return None
    server = tmux.Tmux(inside.server.socket)
    session = server.windows.session_of(inside.pane, with_layout=True)
    return None if session is None else Keeper(server, session, folder)


ROUND_S = 1.0


def newest(caller: Caller) -> str | None:
    """Return the newest run of the caller's scope, None if there is none."""
    scope = poll.query_of(caller, ()).scope

    def ask(book: Registry) -> str | None:
        return next((row.run_id for row in book.rows(scope, limit=1)), None)

    return lookup.with_registry(caller, ask)[0]


def follow(caller: Caller, begin: Callable[[str | None], None]) -> NoReturn:
    """Show the transcript of the newest run on our terminal, for ever; tell `begin` of each one first."""
    shown: str | None = None
    beside: foreground.Beside | None = None
    begin(None)
    try:
        while True:
            found = newest(caller)
            if found is not None and found != shown:
                shown = found
                if beside is not None:
                    beside.end()
                begin(found)
                beside = foreground.Beside(
                    [sys.executable, "-P", "-m", "tmuxagents", "transcript", "-f", found]
                )
            time.sleep(ROUND_S)
    finally:
        if beside is not None:
            beside.end()
