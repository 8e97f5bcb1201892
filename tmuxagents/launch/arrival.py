"""Wait for the wrapper of a run whose window is open, or give the run up. Joins.

Several windows can be open at once: a wrapper may take ten times as long to answer as a window to open.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import NamedTuple

from tmuxagents import tmux
from tmuxagents.errors import NoSuchRun, Unusable
from tmuxagents.launch import handover
from tmuxagents.runs import directory
from tmuxagents.runs.conclude import conclude
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import process
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tmuxagents.launch.elsewhere import FarArrival
    from tmuxagents.runs.endings import Cause
    from tmuxagents.runs.inspect import RunView

ANSWER_LIMIT_S = 30.0
SLOW_AFTER_S = 2.0
_LOOK_EVERY_S = 0.25
_MOST_QUESTIONS = 8  # to tmux, which may report the end late, or have pids of another namespace
_LONGEST_LINE = 200


class Launched(NamedTuple):
    """A run that was launched, the window that shows it, and warnings."""

    run: RunView
    session: str | None  # None: a run on another machine that has no window here
    window: str | None
    warnings: list[str]


class Arrival:
    """A run whose wrapper has not answered yet. `slow` is called once, if the answer takes long."""

    __slots__ = (
        *("_answered", "_begun", "_looked_at", "_questions", "_slow", "_why", "opened", "ours", "run_dir"),
        "warnings",
    )

    def __init__(
        self,
        run_dir: str,
        *,
        ours: handover.LauncherEnds,
        opened: tmux.Opened,
        warnings: list[str],
        slow: Callable[[], None],
    ) -> None:
        self.run_dir = run_dir
        self.ours = ours
        self.opened = opened
        self.warnings = warnings
        self._slow: Callable[[], None] | None = slow
        self._begun = self._looked_at = time.monotonic()
        self._answered = False
        self._why: str | None = None  # why no answer will come
        self._questions = 0

    def wait(self) -> Launched:
        """Wait until a wrapper has the run. If none takes it, conclude the run and raise."""
        try:
            while not heard([self], ANSWER_LIMIT_S):
                pass
        except BaseException as error:  # an interrupt must leave no run that waits for ever
            self.give_up(f"The launch was broken off ({type(error).__name__}).")
            raise
        return self.launched()

    def hear(self, *, answered: bool) -> bool:
        """Say whether the wait is over. `answered`: whether the wrapper has answered."""
        self._answered = answered
        if answered:
            return True
        past_s = time.monotonic() - self._begun
        if self._slow is not None and past_s >= SLOW_AFTER_S:
            slow, self._slow = self._slow, None
            slow()
        if self.due_in() <= 0:  # can an answer still come? tmux is asked only if the program is gone
            self._looked_at = time.monotonic()
            pid, started = self.opened.program
            gone = started is None or process.start_time(pid) != started
            if gone and self._questions < _MOST_QUESTIONS:
                self._questions += 1
                self._why = self._end()
            if self._why is None and past_s >= ANSWER_LIMIT_S:
                self._why = f"The window opened, but nobody answered in it within {ANSWER_LIMIT_S:g} s."
        return self._why is not None

    def due_in(self) -> float:
        """Return the seconds until the next check, if no answer comes."""
        return max(0.0, self._looked_at + _LOOK_EVERY_S - time.monotonic())

    def _end(self) -> str | None:
        """Return how the program in the window ended; None if tmux does not report an end."""
        windows = tmux.Tmux(self.opened.server.socket).windows
        try:
            end = windows.end_of(self.opened.pane)
        except tmux.NoServer:
            return "The window opened, but its tmux server ended at once."
        except tmux.TmuxRefused:
            return "The window opened, but it was closed at once."
        except Unusable:  # tmux gives no answer
            return None
        if end is None:
            return None
        status, line = end
        if not status and self._questions < _MOST_QUESTIONS:
            self.opened.server.look_for_ended()  # tmux has seen the pane close, but not the program end
            return None
        how = f" with exit code {status}" if status else ""
        cause = safe.cut(safe.line(line), _LONGEST_LINE)
        if not os.access(sys.executable, os.X_OK):
            cause = f"{sys.executable} cannot be executed."
        return f"The window opened, but its program ended at once{how}{f': {cause}' if cause else '.'}"

    def launched(self) -> Launched:
        """Return what was launched. If no wrapper took the run, end it and raise."""
        message = self._why or "Nobody answered in the window."
        # Even a wrapper that answers too late may have taken the run.
        if not self._answered and not self.give_up(message):
            raise Unusable(message, kind="window", hint=f"its run is {os.path.basename(self.run_dir)}")
        self.ours.close()
        where = self.opened
        run = inspect(self.run_dir)
        shown, state = where.state, run.standing.status
        windows = tmux.Tmux(where.server.socket).windows
        with contextlib.suppress(Unusable, NoSuchRun):  # if this fails, the watcher corrects the window
            # The launcher has guessed wrongly whether the run would wait for a slot.
            while shown != state and not run.ended:
                windows.set_state(where.window, run.run_id, state)
                shown, state = state, inspect(self.run_dir).standing.status
        return Launched(run, session=where.session_name, window=where.window, warnings=self.warnings)

    def give_up(self, message: str, cause: Cause | None = None) -> bool:
        """End the run unless a wrapper has it; say whether one has."""
        return give_up(self.run_dir, self.ours, message, cause)


def give_up(
    run_dir: str, ours: handover.LauncherEnds | None, message: str, cause: Cause | None = None
) -> bool:
    """End a run unless a wrapper has it; say whether one has. `ours`: our ends of the handover."""
    if ours is not None:
        ours.let_go()  # before the run is concluded; the names stay, so a wrapper that comes now turns back
    conclude(run_dir, cause=cause, never_came=message)
    if ours is not None:
        ours.close()
    return directory.read_wrapper(run_dir) is not None


def heard(arrivals: Sequence[Arrival | FarArrival], limit_s: float) -> list[Arrival | FarArrival]:
    """Wait until some arrivals are over: a wrapper has answered, or none will. Return them."""
    local = [one for one in arrivals if isinstance(one, Arrival)]
    if len(local) < len(arrivals):  # for runs on other machines there is nothing to wait for
        return [one for one in arrivals if one not in local]
    limit_s = min([limit_s, *(one.due_in() for one in local)])
    answered = handover.answered([one.ours for one in local], limit_s)
    return [one for one in local if one.hear(answered=one.ours in answered)]
