"""Wait for runs: one poll() over all their wrappers, which the kernel ends with the end of any of them."""

from __future__ import annotations

import math
import os
import select
import time

from tmuxagents import records
from tmuxagents.commands.inspect import inspect
from tmuxagents.edges import process, rundir
from tmuxagents.errors import NoSuchRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tmuxagents.commands.inspect import Run

LOOK_S = 0.05  # before there is a wrapper to wait for
LOOK_ELSEWHERE_S = 1.0  # of another host; of a live child, which a person may have taken over
_LONGEST_S = 86400.0  # the kernel counts milliseconds, and not to the end of days


def is_done(run: Run) -> bool:
    """Say whether a run is over for who waits: it has ended, or settled in the hands of a person."""
    return run.ended or (run.state.attended and run.state.settled)


def wait(run_dirs: Iterable[str], *, any_of_them: bool = False, limit_s: float | None = None) -> bool:
    """Wait until all of these runs are done, or any of them; say whether that came in time."""
    deadline = math.inf if limit_s is None else time.monotonic() + limit_s
    waiting = [_One(run_dir) for run_dir in run_dirs]
    try:
        while True:
            done = [one for one in waiting if one.is_due() and one.look()]
            waiting = [one for one in waiting if one not in done]
            if not waiting or (any_of_them and done):
                return True
            if time.monotonic() >= deadline:
                return False
            _pause(waiting, deadline)
    finally:
        for one in waiting:
            one.let_go()


class _One:
    """One run that is waited for, and its wrapper as far as there is one to wait on."""

    __slots__ = ("handle", "next_look", "run_dir")

    def __init__(self, run_dir: str) -> None:
        self.run_dir = run_dir
        self.handle: int | None = None
        self.next_look = 0.0

    def is_due(self) -> bool:
        """Say whether it is time to look."""
        return time.monotonic() >= self.next_look

    def look(self) -> bool:
        """Look; say whether it is done."""
        self._take_hold()  # first: what ends from now on is noticed
        try:
            run = inspect(self.run_dir)
        except NoSuchRun:  # removed; its wrapper, if it lives, will make it again
            run = None
        if self.handle is None if run is None else is_done(run):
            self.let_go()
            return True
        self.next_look = time.monotonic() + self._pause_for(run)
        return False

    def _pause_for(self, run: Run | None) -> float:
        if self.handle is None:
            return LOOK_ELSEWHERE_S if run is not None and run.standing.foreign else LOOK_S
        return LOOK_ELSEWHERE_S if run is not None and run.meta.get("driver") == "live" else math.inf

    def _take_hold(self) -> None:
        if self.handle is None:
            identity = rundir.identity_of(rundir.read_wrapper(self.run_dir))
            if identity is not None and process.presence(identity) == records.HERE:
                self.handle = process.open_handle(identity.pid, identity.start_time)

    def let_go(self) -> None:
        """Close what it is waited on with, and look at once."""
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None
        self.next_look = 0.0


def _pause(waiting: Sequence[_One], deadline: float) -> None:
    """Sleep until a wrapper is gone, or it is time to look or to give up."""
    poll = select.poll()
    by_handle = {one.handle: one for one in waiting if one.handle is not None}
    for handle in by_handle:
        poll.register(handle, select.POLLIN)
    left = min(deadline, *(one.next_look for one in waiting)) - time.monotonic()
    for handle, _ in poll.poll(math.ceil(max(0.0, min(left, _LONGEST_S)) * 1000)):
        by_handle[handle].let_go()
