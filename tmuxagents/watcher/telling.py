"""Tell people which runs wait, have ended or have failed: marks, desktop notices, their own hooks. Joins."""

from __future__ import annotations

import functools
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

from tmuxagents import records
from tmuxagents.attach import seen
from tmuxagents.records import FAILED
from tmuxagents.runs import directory, words, writing
from tmuxagents.settings import load
from tmuxagents.system import process
from tmuxagents.watcher.screens import Chore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from tmuxagents import tmux
    from tmuxagents.registry.database import Row
    from tmuxagents.watcher.runs import Ending
    from tmuxagents.watcher.screens import Screens

WAITING = "waiting"  # for a person: the state on a run's window meanwhile
_MARKED = ("status", "message", "desktop")  # values of `notify` that put a mark into the status line
_NOTIFIER = "notify-send"
KEPT_S = 24 * 3600.0  # a failure is marked for this long
LIMIT_S = 10.0
_GRACE_S = 1.0
_AT_ONCE = 4
ROLE = "hook"  # so that a hook does not end as a leftover of the announced run


class Telling:
    """Announces ends and waits. It reads the settings each time, since a person may have changed them."""

    def __init__(self, runs: str, environment: Mapping[str, str], screens: Screens, hooks: Hooks) -> None:
        self._runs = runs
        self._environment = environment
        self._screens = screens
        self._hooks = hooks
        self.attention = Attention(runs)
        self._waiting: set[str] = set()  # runs whose wait was announced
        self._states: dict[str, str] = {}  # run -> the state that we have set on its window

    def show_standing(self, rows: Iterable[Row], waited: Container[str] = ()) -> None:
        """Show on the window of each active run whether it works, waits for its turn, or waits for a person.

        Notify people when a run begins to wait for one of them. `waited`: the runs whose windows may show
        another state than `running` since they opened.
        """
        for row in rows:
            state = None  # the run has ended
            if row.status == records.QUEUED:
                # Without an activity, the run is about to begin, as every run is at first.
                state = records.QUEUED if row.activity else records.RUNNING
            elif row.status == records.RUNNING:
                state = WAITING if row.needs_input else records.RUNNING
            if state != WAITING:
                self._waiting.discard(row.run_id)
            elif row.run_id not in self._waiting:
                self._waiting.add(row.run_id)
                settings = load.load(self._environment, None)
                if settings.notify == "desktop":
                    self._notify(row, f"? {words.mark(label(row))[2:]} waits for you")
                if settings.on_attention:
                    self._hooks.start("onAttention", settings.on_attention, run_id=row.run_id, status=WAITING)
            if state is None:
                self._states.pop(row.run_id, None)
                continue
            at_first = None if row.run_id in waited else records.RUNNING
            if state != self._states.get(row.run_id, at_first) and row.server and row.window:
                self._states[row.run_id] = state
                chore = Chore(run_id=row.run_id, window=row.window, state=state)
                self._screens.add(row.server, chore)

    def begin(self, rows: Iterable[Row]) -> None:
        """Mark the failures that were announced before this watcher began."""
        if load.load(self._environment, None).notify in _MARKED:
            self.attention.add(rows)

    def tell(self, endings: Iterable[Ending]) -> None:
        """Announce the endings that we have claimed, and show on windows how runs ended."""
        for ending in endings:
            row = ending.row
            if ending.claimed:
                settings, mark = load.load(self._environment, None), words.mark(label(row), row.status)
                if settings.notify in _MARKED:
                    self._screens.mark(_servers(row), mark, message=settings.notify == "message")
                    self.attention.add([row])
                if settings.notify == "desktop":
                    self._notify(row, f"{mark} {row.status}")
                if settings.on_end:
                    self._hooks.start("onEnd", settings.on_end, run_id=row.run_id, status=row.status)
            if ending.ended:
                self.see_off(row)

    def _notify(self, row: Row, text: str) -> None:
        """Notify people on the terminals at the run's servers, and by `notify-send` if there is one."""
        self._screens.notify(_servers(row), text)
        if process.find_program(_NOTIFIER, os.environ.get("PATH", "")) is not None:
            argv = [_NOTIFIER, "--app-name=tmuxagents", "--", "tmuxagents", text]
            self._hooks.start(_NOTIFIER, argv, run_id=row.run_id, status=row.status)

    def see_off(self, row: Row, window: str | None = None) -> None:
        """Show on a run's window how the run ended, and have it closed after the time in the settings."""
        window = window or row.window
        if row.server is None or window is None:
            return
        settings = load.load(self._environment, row.project)
        close_s: float | None = None
        if row.status != records.COMPLETED:
            close_s = 0.0 if settings.close_failed else None
        elif settings.keep_windows_s is not None:
            close_s = max(0.0, settings.keep_windows_s - (time.time() - (row.ended_at or 0.0)))
        chore = Chore(run_id=row.run_id, window=window, state=row.status, close_s=close_s)
        if row.status == records.FAILED:
            chore.seen = functools.partial(writing.see, f"{self._runs}/{row.run_id}")
        self._screens.add(row.server, chore)

    def see_to_found(self, rows: Iterable[Row], windows: Mapping[str, tmux.RunWindow]) -> None:
        """Update windows that were found: their runs may have ended or changed while no watcher ran."""
        for row in rows:
            window = windows[row.run_id]
            if row.concluded:
                self.see_off(row, window.window)
            elif window.state is not None and row.run_id not in self._states:
                self._states[row.run_id] = window.state
                self.show_standing([row])


def label(row: Row) -> str:
    """Return the name of a run in a status line."""
    return row.name or row.preset or words.short_id(row.run_id)


def _servers(row: Row) -> set[str]:
    """Return the servers on which a run is, and from which it was launched."""
    return {server for server in (row.server, row.launcher) if server is not None}


# --- failures that no person has seen ---------------------------------------------------------------------


class Attention:
    """The failed runs of a state directory that no person has looked at since."""

    def __init__(self, runs: str) -> None:
        self._runs = runs
        self._unseen: dict[str, Row] = {}

    def add(self, rows: Iterable[Row]) -> None:
        """Add those of these runs that have failed unseen."""
        self._unseen |= {row.run_id: row for row in rows if self._is_unseen(row)}

    def look(self, names: Iterable[str] | None = None) -> bool:
        """Check whether these runs, or all, were seen meanwhile; say whether any mark has gone."""
        before = len(self._unseen)
        for name in self._unseen.keys() & (self._unseen.keys() if names is None else names):
            if not self._is_unseen(self._unseen[name]):
                del self._unseen[name]
        return len(self._unseen) < before

    def marks(self, server: str) -> list[str]:
        """Return the marks for the status line of a server, those of the latest failures last."""
        rows = sorted(self._unseen.values(), key=lambda row: row.ended_at or 0.0)
        return [words.mark(label(row), row.status) for row in rows if server in (row.server, row.launcher)]

    def _is_unseen(self, row: Row) -> bool:
        is_fresh = row.status == FAILED and time.time() - (row.ended_at or 0.0) < KEPT_S
        is_there = is_fresh and directory.place_of(f"{self._runs}/{row.run_id}") is not None
        return is_there and seen.is_unseen(row, self._runs)


# --- commands of the settings ----------------------------------------------------------------------------


class Hooks:
    """The commands in the settings, a few of which run at once."""

    def __init__(self, wake: Callable[[], None], complain: Callable[[str], None]) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE)
        self._wake = wake
        self._complain = complain
        self._at_work: dict[Future[None], str] = {}  # command -> how a complaint about it begins

    @property
    def busy(self) -> bool:
        """Say whether any command is at work."""
        return bool(self._at_work)

    def start(self, what: str, argv: Sequence[str], *, run_id: str, status: str) -> None:
        """Run a command about a run. `what`: how a complaint about it begins."""
        variables = {"TMUXAGENTS_RUN": run_id, "TMUXAGENTS_STATUS": status, "TMUXAGENTS_ROLE": ROLE}
        work = self._pool.submit(carry_out, list(argv), {**os.environ, **variables})
        self._at_work[work] = what
        work.add_done_callback(lambda _: self._wake())

    def step(self) -> None:
        """Forget the commands that have ended, and complain about those that could not run."""
        for work in [work for work in self._at_work if work.done()]:
            what = self._at_work.pop(work)
            if (error := work.exception()) is not None:
                self._complain(f"{what} cannot be run: {error}")


def carry_out(argv: list[str], environment: Mapping[str, str], limit_s: float = LIMIT_S) -> None:
    """Run a command to its end; at the limit, end it with all processes of its group."""
    path = process.find_program(argv[0], environment.get("PATH", ""))
    if path is None:
        raise FileNotFoundError(f"there is no {argv[0]}")
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        child = process.spawn(path, argv, environment, streams=(nothing, nothing, nothing))
    finally:
        os.close(nothing)
    started = process.start_time(child, zombie=True) or 0
    if not process.wait_gone(child, started, limit_s):
        process.send_group(child, signal.SIGTERM, signal.SIGCONT)
        process.wait_gone(child, started, _GRACE_S)
        process.send_group(child, signal.SIGKILL)
    os.waitpid(child, 0)
