"""Wait for runs: one poll() over all their wrappers, which the kernel ends with the end of any of them."""

from __future__ import annotations

import math
import os
import select
import time

from tmuxagents import records
from tmuxagents.commands.inspect import Follower
from tmuxagents.edges import lookout, process, rundir
from tmuxagents.errors import NoSuchRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from tmuxagents.commands.inspect import Run

LOOK_S = 0.05  # before there is a wrapper to wait for
LOOK_ELSEWHERE_S = 1.0  # of another host; of a live child, which a person may have taken over
_LONGEST_S = 86400.0  # the kernel counts milliseconds, and not to the end of days


def is_done(run: Run) -> bool:
    """Say whether a run is over for who waits: it has ended, or settled in the hands of a person."""
    return run.ended or (run.state.attended and run.state.settled)


def wait(
    run_dirs: Iterable[str], seen: list[Run], *, any_of_them: bool = False, deadline: float = math.inf
) -> bool:
    """Wait until all of these runs are done, or any of them; say whether that came in time.

    Those that are done are added to `seen`, as they were read then.
    """
    with Waiting(run_dirs, seen) as waiting:
        waiting.ensure_watchers()
        while True:
            done = waiting.done()
            if not waiting.left or (any_of_them and done):
                return True
            if time.monotonic() >= deadline:
                return False
            waiting.pause(deadline)


class Waiting:
    """Runs that are waited for."""

    __slots__ = ("_seen", "left")

    def __init__(self, run_dirs: Iterable[str] = (), seen: list[Run] | None = None) -> None:
        self.left = [_One(run_dir) for run_dir in run_dirs]
        self._seen = seen  # gets the runs that are done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self.left:
            one.let_go()

    def ensure_watchers(self) -> None:
        """Have somebody who concludes a run that is lost meanwhile."""
        for home in {os.path.dirname(os.path.dirname(one.run_dir)) for one in self.left}:
            lookout.ensure(home)

    def add(self, run_dir: str) -> None:
        """Wait for one more."""
        self.left.append(_One(run_dir))

    def done(self) -> list[str]:
        """Return the runs that are done since the last look."""
        done = [one for one in self.left if one.is_due() and one.look()]
        self.left = [one for one in self.left if one not in done]
        if self._seen is not None:
            self._seen += [one.run for one in done if one.run is not None]
        return [one.run_dir for one in done]

    def pause(self, deadline: float, wake: int | None = None) -> None:
        """Sleep until a wrapper is gone, it is time to look or to give up, or a descriptor can be read."""
        poll = select.poll()
        by_handle = {one.handle: one for one in self.left if one.handle is not None}
        for handle in (*by_handle, *([] if wake is None else [wake])):
            poll.register(handle, select.POLLIN)
        left = min([deadline, *(one.next_look for one in self.left)]) - time.monotonic()
        for handle, _ in poll.poll(math.ceil(max(0.0, min(left, _LONGEST_S)) * 1000)):
            if handle in by_handle:
                by_handle[handle].let_go()


class _One:
    """One run that is waited for, and its wrapper as far as there is one to wait on."""

    __slots__ = ("_follower", "_woken", "handle", "next_look", "run", "run_dir")

    def __init__(self, run_dir: str) -> None:
        self.run_dir = run_dir
        self.handle: int | None = None
        self.next_look = 0.0
        self.run: Run | None = None  # as it was read last
        self._woken = False
        self._follower: Follower | None = None

    def is_due(self) -> bool:
        """Say whether it is time to look."""
        return time.monotonic() >= self.next_look

    def look(self) -> bool:
        """Look; say whether it is done."""
        woken, self._woken = self._woken, False
        if woken and self._is_done():  # almost always, and somebody waits
            return True
        self._take_hold()  # first: what ends from now on is noticed
        if self._is_done():
            self.let_go()
            return True
        self.next_look = time.monotonic() + self._pause_for(self.run)
        return False

    def _is_done(self) -> bool:
        try:
            self._follower = self._follower or Follower(self.run_dir)
            self.run = self._follower.look()
        except NoSuchRun:  # removed; its wrapper, if it lives, will make it again
            self._follower = self.run = None
            return self.handle is None
        return is_done(self.run)

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
            self._woken = True
        self.next_look = 0.0
