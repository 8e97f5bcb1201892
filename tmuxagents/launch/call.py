"""Carry out a call with several runs: a limited number work at once, and the next begins when one ends.

A call is refused before its first window opens, or not at all. Afterwards, a run whose window cannot be
opened has failed like any other, and the other runs continue.

Joins.
"""

from __future__ import annotations

import contextlib
import os
import time

from tmuxagents import tmux
from tmuxagents.errors import BadRequest, TmuxAgentsError
from tmuxagents.launch.arrival import heard
from tmuxagents.records import FAILED
from tmuxagents.runs.endings import CWD_CHANGED, PARENT, Cause, misconfigured
from tmuxagents.runs.inspect import inspect
from tmuxagents.status.stop import stop
from tmuxagents.status.wait import Waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tmuxagents.launch.arrival import Arrival
    from tmuxagents.launch.elsewhere import FarArrival
    from tmuxagents.launch.launch import Launcher
    from tmuxagents.launch.prepare import Prepared

_OPEN_AT_ONCE = 8  # windows whose wrappers have not answered yet: enough to keep any machine busy
_ANSWER_S = 0.05  # how long we wait for an answer before everything else is checked again


class Task:
    """One task of a call, and its run."""

    def __init__(self, number: int, prepared: Prepared, runs: str, failed: Cause | None = None) -> None:
        self.number = number
        self.prepared = prepared
        self.failed_before_start = failed  # the cause of a run that ends before it begins
        self.run_id: str = prepared.plan.run_id
        self.run_dir = f"{runs}/{self.run_id}"
        self.ended = False
        self.arrival: Arrival | FarArrival | None = None  # until its wrapper has answered
        self.window: str | None = None
        self.warnings: list[str] = []

    @property
    def opened(self) -> bool:
        """Say whether there is a run yet."""
        return self.ended or os.path.isdir(self.run_dir)

    @property
    def is_there(self) -> bool:
        """Say whether the wrapper has answered, or none will come."""
        return self.opened and self.arrival is None

    def give_up_name(self, error: TmuxAgentsError) -> bool:
        """Drop the name if the error is that another run took it a moment ago; say whether it was."""
        request = self.prepared.request
        if request.name is None or error.faults[0].field != "name" or os.path.isdir(self.run_dir):
            return False
        self.prepared = self.prepared.unnamed()
        return True


class Call:
    """The runs of one call.

    `failed`: the causes of the runs that end before they begin, by number. `named`: a run whose name is taken
    by then has failed; otherwise it gets no name.
    """

    def __init__(
        self,
        launcher: Launcher,
        prepared: Sequence[Prepared],
        *,
        most: int,
        failed: Mapping[int, Cause] | None = None,
        named: bool = True,
    ) -> None:
        self._launcher = launcher
        self.settings = launcher.settings
        self._most = most
        self._named = named
        self.cancelled = False
        self._waiting = Waiting()
        self._tell_at = 0.0
        runs = launcher.caller.runs
        self.tasks = [
            Task(number, one, runs, (failed or {}).get(number)) for number, one in enumerate(prepared)
        ]

    def carry_out(self, tell: Callable[[], float], wake: int, is_cancelled: Callable[[], bool]) -> None:
        """Open the windows, wait for their runs, report them. Return when every run has ended.

        `tell` reports, and returns the (monotonic) moment of the next report. `wake` becomes readable when
        the call may have been cancelled.
        """
        with self._waiting:
            try:
                for task in self.tasks:
                    if task.failed_before_start is not None:
                        self._end(task, task.failed_before_start)
                while not all(task.ended for task in self.tasks):
                    self._go_on(tell, wake, is_cancelled)
            except BaseException:  # no caller waits for the runs any more
                self._cancel()
                raise
        tell()

    def _end(self, task: Task, cause: Cause) -> None:
        self._launcher.end_unopened(task.prepared, cause)
        task.ended = True

    def _go_on(self, tell: Callable[[], float], wake: int, is_cancelled: Callable[[], bool]) -> None:
        """Open one more window if there is room, else wait for something to happen; then check all runs."""
        arrivals = len(self._arrivals())
        has_room = arrivals < _OPEN_AT_ONCE and arrivals + len(self._waiting.left) < self._most
        following = next((task for task in self.tasks if not task.opened), None) if has_room else None
        if following is not None:
            self._open(following)
        if self._arrivals():
            self._hear(0.0 if following is not None else _ANSWER_S)
            # Each report reads all runs. After every window, that would be most of the work of a large call.
            if time.monotonic() >= self._tell_at:
                self._tell_at = tell()
        elif following is None:
            self._tell_at = tell()
            self._waiting.pause(self._tell_at, wake)
        done = self._waiting.done()
        for task in self.tasks:
            if not task.ended and task.run_dir in done:
                task.ended = True
                self._mark(task)
        if is_cancelled() and not self.cancelled:
            self._cancel()

    def _arrivals(self) -> list[Arrival | FarArrival]:
        return [task.arrival for task in self.tasks if task.arrival is not None]

    def _open(self, task: Task) -> None:
        """Open a task's window; a failure is the end of its run."""
        try:
            task.arrival = self._launcher.begin(task.prepared)
        except TmuxAgentsError as error:
            if not self._named and task.give_up_name(error):
                self._open(task)
                return
            if not os.path.isdir(task.run_dir):  # refused at the last moment
                if error.kind == "bad-cwd":
                    cause = CWD_CHANGED
                elif isinstance(error, BadRequest):
                    cause = misconfigured(error.message)
                else:
                    cause = Cause(FAILED, "window", error.message)
                self._launcher.end_unopened(task.prepared, cause)
            self._failed(task, error)

    def _hear(self, limit_s: float) -> None:
        """Wait for wrappers to answer, and from then on for the ends of their runs."""
        for arrival in heard(self._arrivals(), limit_s):
            task = next(task for task in self.tasks if task.arrival is arrival)
            task.arrival = None
            try:
                launched = arrival.launched()
            except TmuxAgentsError as error:
                self._failed(task, error)
            else:
                task.warnings, task.window = launched.warnings, launched.window
                self._waiting.add(task.run_dir)

    def _failed(self, task: Task, error: TmuxAgentsError) -> None:
        task.warnings = [error.message]
        task.ended = inspect(task.run_dir).ended
        if not task.ended:  # its wrapper has the run
            self._waiting.add(task.run_dir)

    def _mark(self, task: Task) -> None:
        """Mark the window of an ended run before the next window opens.

        Otherwise a person would see more windows of running runs than the limit allows. After the last window
        was opened, the watcher marks them soon enough.
        """
        if task.window is None or self.cancelled or all(one.opened for one in self.tasks):
            return
        run = inspect(task.run_dir)
        if run.ended:
            with contextlib.suppress(TmuxAgentsError):  # the call goes well without a mark
                windows = tmux.Tmux(self._launcher.place.socket).windows
                windows.set_state(task.window, task.run_id, run.standing.status)

    def _cancel(self) -> None:
        """Stop all runs of the call; those that were not opened yet end, too."""
        self.cancelled = True
        for task in self.tasks:
            if task.arrival is not None:
                task.arrival.give_up(PARENT.message, PARENT)
                task.arrival = None
                self._waiting.add(task.run_dir)
            if not task.opened:
                self._end(task, PARENT)
        stop([task.run_dir for task in self.tasks if not task.ended], PARENT)
