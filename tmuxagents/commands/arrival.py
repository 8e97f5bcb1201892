"""A run whose window is open, until its wrapper has answered: heard of, or given up.

Several can be open at once: to open a window takes milliseconds, and until a wrapper answers it may be ten
times as long.
"""

from __future__ import annotations

import os
import time

from tmuxagents.commands.conclude import conclude
from tmuxagents.commands.inspect import inspect
from tmuxagents.edges import handover, rundir
from tmuxagents.errors import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tmuxagents.commands.inspect import Run
    from tmuxagents.core.endings import Cause
    from tmuxagents.edges.tmux import Opened

ANSWER_LIMIT_S = 30.0
SLOW_AFTER_S = 2.0


class Launched:
    """What was launched, where it can be seen, and what its person should know."""

    __slots__ = ("run", "session", "warnings", "window")

    def __init__(self, run: Run, *, session: str, window: str, warnings: list[str]) -> None:
        self.run = run
        self.session = session
        self.window = window
        self.warnings = warnings


class Arrival:
    """One such run. `slow` is called once, when its wrapper takes its time."""

    __slots__ = ("_answered", "_begun", "_slow", "opened", "ours", "run_dir", "warnings")

    def __init__(
        self,
        run_dir: str,
        *,
        ours: handover.Launcher,
        opened: Opened,
        warnings: list[str],
        slow: Callable[[], None],
    ) -> None:
        self.run_dir = run_dir
        self.ours = ours
        self.opened = opened
        self.warnings = warnings
        self._slow: Callable[[], None] | None = slow
        self._begun = time.monotonic()
        self._answered = False

    def wait(self) -> Launched:
        """Wait until its wrapper has the run; where nobody takes it, it has ended, and that is raised."""
        try:
            while not heard([self], ANSWER_LIMIT_S):
                pass
        except BaseException as error:  # an interrupt must leave no run that waits for ever
            self.give_up(f"The launch was broken off ({type(error).__name__}).")
            raise
        return self.launched()

    def hear(self, *, answered: bool) -> bool:
        """Say whether there is no more to be waited for; `answered`: its wrapper has."""
        self._answered = answered
        if self._slow is not None and not answered and self._past() >= SLOW_AFTER_S:
            slow, self._slow = self._slow, None
            slow()
        return answered or self._past() >= ANSWER_LIMIT_S

    def due_in(self) -> float:
        """Return in how many seconds there is something to be done, should nobody answer."""
        return max(0.0, (ANSWER_LIMIT_S if self._slow is None else SLOW_AFTER_S) - self._past())

    def _past(self) -> float:
        return time.monotonic() - self._begun

    def launched(self) -> Launched:
        """Return what was launched, or raise that nobody took it: then the run has ended."""
        message = f"The window opened, but nobody answered in it within {ANSWER_LIMIT_S:g} s."
        # One that came and is slow to say so has the run all the same.
        if not self._answered and not self.give_up(message):
            raise Unusable(message, kind="window", hint=f"its run is {os.path.basename(self.run_dir)}")
        self.ours.close()
        where = self.opened
        run = inspect(self.run_dir)
        return Launched(run, session=where.session_name, window=where.window, warnings=self.warnings)

    def give_up(self, message: str, cause: Cause | None = None) -> bool:
        """End the run, unless its wrapper has it by now; say whether it has."""
        return give_up(self.run_dir, self.ours, message, cause)


def give_up(run_dir: str, ours: handover.Launcher | None, message: str, cause: Cause | None = None) -> bool:
    """End a run that no wrapper has yet; say whether one has after all. `ours`: what it was to take."""
    if ours is not None:
        ours.let_go()  # first, and with the names in their place: a wrapper that comes now turns back
    conclude(run_dir, cause=cause, never_came=message)
    if ours is not None:
        ours.close()
    return rundir.read_wrapper(run_dir) is not None


def heard(arrivals: Sequence[Arrival], limit_s: float) -> list[Arrival]:
    """Wait until any of these wrappers has answered or had its time; return those."""
    limit_s = min([limit_s, *(one.due_in() for one in arrivals)])
    answered = handover.answered([one.ours for one in arrivals], limit_s)
    return [one for one in arrivals if one.hear(answered=one.ours in answered)]
