"""Wait for runs: sleep in one `select.poll` until their wrappers end, then take a snapshot. Joins.

Modules are imported and the database is opened before the wait, so that the answer after it is fast. The idle
connection holds no transaction, so it blocks no other program.
"""

from __future__ import annotations

import math
import os
import select
import time

from tmuxagents import records
from tmuxagents.errors import NoSuchRun
from tmuxagents.registry import lookup
from tmuxagents.registry.lookup import reconcile
from tmuxagents.runs import directory
from tmuxagents.runs.inspect import Follower
from tmuxagents.status import poll
from tmuxagents.status.snapshot import Query, SnapshotBuilder, ensure_watcher, take_by
from tmuxagents.system import process, watcher_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

    from tmuxagents.registry.database import Registry
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.status.snapshot import Snapshot

LOOK_S = 0.05  # until there is a wrapper to wait for
LOOK_FAR_S = 0.2  # for a run whose files come from another machine
# For a run whose wrapper may be on a host that we cannot see into, or for a live run, which a person may have
# taken over.
LOOK_ELSEWHERE_S = 1.0
_LONGEST_S = 86400.0  # the kernel counts milliseconds in 32 bits


def is_over(run: RunView) -> bool:
    """Say whether a wait for a run is over: it has ended, or settled while attended."""
    return run.ended or (run.state.attended and run.state.settled)


def wait_until(
    run_dirs: Iterable[str],
    condition: Callable[[RunView], bool] = is_over,
    *,
    any_of_them: bool = False,
    deadline: float = math.inf,
) -> tuple[bool, list[RunView]]:
    """Wait until all of these runs, or any of them, meet a condition.

    Return whether they did in time, and the runs that met it, as they were read then.
    """
    over: list[RunView] = []
    with Waiting(run_dirs, condition) as waiting:
        for home in {os.path.dirname(os.path.dirname(one.run_dir)) for one in waiting.left}:
            watcher_lock.ensure(home)  # it concludes runs that are lost meanwhile
        while True:
            done = waiting.take_done()
            over += [one.run for one in done if one.run is not None]
            if not waiting.left or (any_of_them and done):
                return True, over
            if time.monotonic() >= deadline:
                return False, over
            waiting.pause(deadline)


class Waiting:
    """Runs to wait for, until each of them meets a condition."""

    __slots__ = ("_condition", "left")

    def __init__(self, run_dirs: Iterable[str] = (), condition: Callable[[RunView], bool] = is_over) -> None:
        self._condition = condition
        self.left: list[WaitedRun] = []
        for run_dir in run_dirs:
            self.add(run_dir)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self.left:
            one.let_go()

    def add(self, run_dir: str) -> None:
        """Wait for one more."""
        self.left.append(WaitedRun(run_dir, self._condition))

    def done(self) -> list[str]:
        """Return the directories of the runs that have met the condition since the last call."""
        return [one.run_dir for one in self.take_done()]

    def take_done(self) -> list[WaitedRun]:
        """Return the runs that have met the condition, and stop waiting for them."""
        done = [one for one in self.left if time.monotonic() >= one.next_look and one.look()]
        self.left = [one for one in self.left if one not in done]
        return done

    def pause(self, deadline: float, wake: int | None = None) -> None:
        """Sleep until a wrapper ends, a run is due to be read, `wake` is readable, or the deadline comes."""
        kernel = select.poll()
        by_handle = {one.handle: one for one in self.left if one.handle is not None}
        for handle in (*by_handle, *([] if wake is None else [wake])):
            kernel.register(handle, select.POLLIN)
        left = min([deadline, *(one.next_look for one in self.left)]) - time.monotonic()
        for handle, _ in kernel.poll(math.ceil(max(0.0, min(left, _LONGEST_S)) * 1000)):
            if handle in by_handle:
                by_handle[handle].let_go()


class WaitedRun:
    """One run to wait for, with a handle of its wrapper if there is one."""

    __slots__ = ("_condition", "_follower", "_woken", "handle", "next_look", "run", "run_dir")

    def __init__(self, run_dir: str, condition: Callable[[RunView], bool]) -> None:
        self.run_dir = run_dir
        self._condition = condition
        self.handle: int | None = None
        self.next_look = 0.0
        self.run: RunView | None = None  # as last read
        self._woken = False
        self._follower: Follower | None = None

    def look(self) -> bool:
        """Read the run; say whether the wait for it is over."""
        woken, self._woken = self._woken, False
        if woken and self._is_over():  # the usual case, and the caller waits for it
            return True
        is_far = directory.read_machine(self.run_dir) is not None
        if self.handle is None and not is_far:  # opened before the run is read, so that no ending is missed
            wrapper = directory.identity_of(directory.read_wrapper(self.run_dir))
            self.handle = process.open_wrapper(wrapper)
        if self._is_over():
            self.let_go()
            return True
        if is_far:
            pause_s = LOOK_FAR_S
        elif self.handle is None:
            pause_s = LOOK_ELSEWHERE_S if self.run is not None and self.run.standing.foreign else LOOK_S
        else:
            is_live = self.run is not None and self.run.plan.driver == records.LIVE
            pause_s = LOOK_ELSEWHERE_S if is_live else math.inf
        self.next_look = time.monotonic() + pause_s
        return False

    def _is_over(self) -> bool:
        try:
            self._follower = self._follower or Follower(self.run_dir)
            self.run = self._follower.look()
        except NoSuchRun:  # the run was removed; its wrapper makes it again, if it lives
            self._follower = self.run = None
            return self.handle is None
        return self._condition(self.run)

    def let_go(self) -> None:
        """Close the handle of its wrapper; the next look reads the run."""
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None
            self._woken = True
        self.next_look = 0.0


class QueryWait:
    """A wait for the runs of a query. `run` waits, and sets `ids`, `in_time` and `changes`.

    `since`: also take the changes since that cursor, and do not wait if a run has ended since then.
    """

    __slots__ = (
        *("_again", "_any", "_caller", "_deadline", "_query", "_since"),
        *("changes", "ids", "in_time"),
    )

    def __init__(
        self,
        caller: Caller,
        query: Query,
        *,
        any_of_them: bool,
        limit_s: float | None,
        since: str | None = None,
    ) -> None:
        self._caller = caller
        self._query = query
        self._any = any_of_them
        self._deadline = math.inf if limit_s is None else time.monotonic() + limit_s
        self._since = since
        self._again: Query | None = None  # the query after the wait, for the runs that the first query found
        self.ids: Sequence[str] = ()  # the runs to wait for
        self.in_time = False
        self.changes: tuple[Snapshot, bool] | None = None  # and whether the cursor was unknown

    def run(self) -> Snapshot:
        """Wait for the runs; return the snapshot after the wait."""
        snapshot, warnings = lookup.with_registry(self._caller, self._wait_and_take, last=True)
        return ensure_watcher(snapshot, warnings, self._caller)

    def _wait_and_take(self, registry: Registry) -> Snapshot:
        """Wait, then take the snapshot, and the changes if they are wanted.

        If the registry fails, this is called again, for the same runs.
        """
        if self._again is None:
            self._again = self._choose_runs(registry)
        name = registry.name()
        over = self._wait(registry, self._again)
        if not (registry.is_still(name) and self._again.alone):
            reconcile(registry, self._caller.runs)
        ended = [run for run in over if run.result is not None]
        snapshot = take_by(registry, self._again, self._caller, ended)
        if self._since is not None:
            self.changes = poll.changes_by(registry, self._caller, self._query, self._since)
        return snapshot

    def _choose_runs(self, registry: Registry) -> Query:
        """Find the runs to wait for; return the query for them."""
        first = SnapshotBuilder(registry, self._query, self._caller).snapshot
        query = first.query
        self.ids = (*query.ids, *first.active) if query.active else query.ids
        return Query(
            query.scope,
            ids=self.ids,
            active=False,
            ended=self._query.ended,
            wanted=self._query.wanted,
            alone=query.scope.kind == "named",
        )

    def _wait(self, registry: Registry, again: Query) -> list[RunView]:
        """Wait, unless a run that has ended since the cursor will do; return the runs that the wait read."""
        if self._any and self._since is not None:
            changed, _ = poll.changes_by(registry, self._caller, self._query, self._since)
            self.in_time = any(poll.ended(changed))
        if self.in_time:
            return []
        # A snapshot before the wait loads modules, files and statements. So the one after it is fast.
        take_by(registry, again, self._caller)
        registry.get_ready()
        run_dirs = [f"{self._caller.runs}/{run_id}" for run_id in self.ids]
        self.in_time, over = wait_until(run_dirs, any_of_them=self._any, deadline=self._deadline)
        return over
