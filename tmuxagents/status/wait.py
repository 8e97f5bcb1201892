"""Wait for runs: one poll() over all their wrappers, then a look at them as soon as they have ended. Joins.

To answer fast, imports and the database connection are made before sleeping. The idle connection holds no
transaction, so it blocks nobody.
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
from tmuxagents.status.show import Query
from tmuxagents.status.snapshot import ensure_watcher, look_by, look_in
from tmuxagents.system import process, watcher_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from tmuxagents.registry.database import Registry
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.status.snapshot import Snapshot

LOOK_S = 0.05  # before there is a wrapper to wait for
LOOK_ELSEWHERE_S = 1.0  # of another host; of a live child, which a person may have taken over
_LONGEST_S = 86400.0  # the kernel counts milliseconds, and not to the end of days


def is_done(run: RunView) -> bool:
    """Say whether a run is over for who waits: it has ended, or settled in the hands of a person."""
    return run.ended or (run.state.attended and run.state.settled)


def wait(
    run_dirs: Iterable[str], seen: list[RunView], *, any_of_them: bool = False, deadline: float = math.inf
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

    def __init__(self, run_dirs: Iterable[str] = (), seen: list[RunView] | None = None) -> None:
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
            watcher_lock.ensure(home)

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
        self.run: RunView | None = None  # as it was read last
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

    def _pause_for(self, run: RunView | None) -> float:
        if self.handle is None:
            return LOOK_ELSEWHERE_S if run is not None and run.standing.foreign else LOOK_S
        return LOOK_ELSEWHERE_S if run is not None and run.meta.get("driver") == "live" else math.inf

    def _take_hold(self) -> None:
        if self.handle is None:
            identity = directory.identity_of(directory.read_wrapper(self.run_dir))
            if identity is not None and process.presence(identity) == records.HERE:
                self.handle = process.open_handle(identity.pid, identity.start_time)

    def let_go(self) -> None:
        """Close what it is waited on with, and look at once."""
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None
            self._woken = True
        self.next_look = 0.0


class Awaited:
    """A wait: what for, and what came of it. `since`: what has changed since that cursor is told then."""

    __slots__ = (
        *("_again", "_any", "_asked", "_caller", "_deadline", "_since", "found", "ids", "in_time"),
        "told",
    )

    def __init__(
        self,
        caller: Caller,
        asked: Query,
        *,
        any_of_them: bool,
        limit_s: float | None,
        since: str | None = None,
    ) -> None:
        self._caller = caller
        self._asked = asked
        self._any = any_of_them
        self._deadline = math.inf if limit_s is None else time.monotonic() + limit_s
        self._since = since
        self._again: Query | None = None
        self.ids: Sequence[str] = ()  # which were waited for
        self.in_time = False
        self.told: tuple[Snapshot, bool] | None = None  # the changes, and whether the cursor meant nothing
        found, warnings = lookup.with_registry(caller, self._ask, last=True)
        self.found = ensure_watcher(found, warnings, caller)

    def _ask(self, book: Registry) -> Snapshot:
        """Wait, and look. Begun again where the registry fails, for the same runs."""
        again = self._again = self._again or self._found(book)
        seen: list[RunView] = []
        name = book.name()
        if not self._has_news(book):
            # What will be asked and told at the end is so once before: then all of it is at hand.
            look_by(book, self._caller, again)
            book.get_ready()
            folders = [f"{self._caller.runs}/{run_id}" for run_id in self.ids]
            self.in_time = wait(folders, seen, any_of_them=self._any, deadline=self._deadline)
        if not (book.is_still(name) and again.alone):
            reconcile(book, self._caller.runs)
        found = look_by(book, self._caller, again, [run for run in seen if run.result is not None])
        if self._since is not None:
            self.told = poll.changes_by(book, self._caller, self._asked, self._since)
        return found

    def _found(self, book: Registry) -> Query:
        """Return what is asked when it is over: about the runs that are meant now."""
        first = look_in(book, self._caller, self._asked)
        self.ids = (*first.asked.ids, *first.active) if first.asked.active else first.asked.ids
        again = Query(first.asked.scope, ids=self.ids, active=False, wanted=self._asked.wanted)
        again.ended = self._asked.ended
        again.alone = again.scope.kind == "named"
        return again

    def _has_news(self, book: Registry) -> bool:
        """Say whether there is something to tell at once."""
        if self._any and self._since is not None:
            self.in_time = poll.has_ends(book, self._caller, self._asked, self._since)
        return self.in_time
