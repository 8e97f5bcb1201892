"""What one tmux server shows of its runs. The calls to it are made by a thread of its own.

So one that does not answer keeps nobody waiting. What is wanted of it is kept here, newest only: nothing
grows while it is silent.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait

from tmuxagents.edges import tmux
from tmuxagents.edges.tmux.servers import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

EVERY_S = 0.25  # between two pushes
AGAIN_S = 5.0  # until a server that did not answer, or whose socket is gone, is asked again


class View:
    """What a server is to show."""

    __slots__ = ("message", "then", "values")

    def __init__(
        self, values: dict[str, str], then: Sequence[tuple[float, str]], *, message: bool = False
    ) -> None:
        self.values = values
        self.then = then
        self.message = message


class Chore:
    """What is to be done about a run's window. `close_s`: in how long it is closed, None: it stays."""

    __slots__ = ("close_s", "run_id", "state", "window")

    def __init__(self, run_id: str, *, window: str, state: str, close_s: float | None) -> None:
        self.run_id = run_id
        self.window = window
        self.state = state
        self.close_s = close_s


class Screen:
    """One server in one of its lives."""

    def __init__(
        self, server: tmux.Server, wake: Callable[[], None], complain: Callable[[str], None]
    ) -> None:
        self._server = server
        self._tmux = tmux.Tmux(server.socket)
        self._thread = ThreadPoolExecutor(1)
        self._wake = wake
        self._complain = complain
        self._wanted: View | None = None
        self._shown: dict[str, str] | None = None
        self._chores: dict[str, Chore] = {}
        self._known = False  # whether its format is set, and its windows were looked for
        self._work: Future[dict[str, tmux.Window]] | None = None
        self._at_work: tuple[View | None, list[Chore]] = (None, [])
        self._not_before = 0.0
        self.over = False

    @property
    def due(self) -> float | None:
        """Return when there is something to be done; None if there is nothing, or it is being done."""
        return None if self._work is not None or not self._is_behind else self._not_before

    def is_busy(self, now: float) -> bool:
        """Say whether something is being done, or can be without waiting for a server that is silent."""
        ready = self._is_behind and self._not_before <= now + EVERY_S
        return not self.over and (self._work is not None or ready)

    @property
    def _is_behind(self) -> bool:
        changed = self._wanted is not None and (self._wanted.values != self._shown or self._wanted.message)
        return changed or bool(self._chores)

    def want(self, view: View) -> None:
        """Show this from now on."""
        begun = self._work is not None and self._at_work[0] is self._wanted
        if self._wanted is not None and self._wanted.message and not begun:
            view.message = True  # it has not been said yet
        self._wanted = view

    def add(self, chore: Chore) -> None:
        """Do this about a window."""
        self._chores[chore.run_id] = chore

    def has_ended(self) -> bool:
        """Say whether the server has ended; then nothing more is done."""
        if not self.over and not self._server.lives:
            self.over = True
            self._thread.shutdown(wait=False)
        return self.over

    def step(self, now: float) -> dict[str, tmux.Window]:
        """Go on; return the windows of runs where they have just been found."""
        found = self._finish(now) if self._work is not None and self._work.done() else {}
        if self._work is None and not self.over and self._is_behind and now >= self._not_before:
            self._begin(now)
        return found

    def wait(self, limit_s: float) -> None:
        """Wait until nothing is being done, or something may be begun."""
        if self._work is not None:
            wait([self._work], limit_s)
        else:
            time.sleep(min(limit_s, max(0.0, self._not_before - time.monotonic())))

    def _begin(self, now: float) -> None:
        view, chores = self._wanted, list(self._chores.values())
        pushed = view if view is not None and (view.values != self._shown or view.message) else None
        self._at_work = (pushed, chores)
        self._not_before = now + EVERY_S
        self._work = self._thread.submit(self._carry_out, pushed, chores)
        self._work.add_done_callback(lambda _: self._wake())

    def _finish(self, now: float) -> dict[str, tmux.Window]:
        work, self._work = self._work, None
        view, chores = self._at_work
        error = work.exception() if work is not None else None
        if error is not None:
            self._fail(error, now)
            return {}
        if view is not None:
            self._shown = view.values
            if self._wanted is view:
                view.message = False
        for chore in chores:
            if self._chores.get(chore.run_id) is chore:
                del self._chores[chore.run_id]
        return work.result() if work is not None else {}

    def _fail(self, error: BaseException, now: float) -> None:
        """Take what happened for no answer: it is asked again, unless its process is gone."""
        self._shown = None  # nobody knows
        if self._at_work[0] is not None:
            self._at_work[0].message = False  # it is said once or never
        self._not_before = now + AGAIN_S
        if not self.has_ended():
            self._complain(f"tmux at {self._server.socket}: {error}")

    def _carry_out(self, view: View | None, chores: Sequence[Chore]) -> dict[str, tmux.Window]:
        """Make the calls; in the thread."""
        if tmux.listening(self._server.socket) not in (self._server.pid, UNKNOWN):
            raise tmux.NoServer(f"{self._server.socket} is not its socket any more", kind="tmux-unreachable")
        found: dict[str, tmux.Window] = {}
        if not self._known:
            self._tmux.status.declare()
            found = self._tmux.windows.all()
        if view is not None:
            self._tmux.status.push(view.values, view.then)
            if view.message and not self._tmux.status.message():
                self._complain("notify: message needs tmux 3.6; before, a message would stop every screen")
        for chore in chores:
            self._see_to(chore)
        self._known = True
        return found

    def _see_to(self, chore: Chore) -> None:
        there = self._tmux.windows.set_state(chore.window, chore.run_id, chore.state)
        if there and chore.close_s is not None:
            self._tmux.windows.arm_close(chore.window, chore.run_id, round(chore.close_s))
