"""Ends what is left of a run, by rule S (core/leftovers): for the wrapper, and to conclude a lost run."""

from __future__ import annotations

import os
import time

from tmuxagents.core import leftovers
from tmuxagents.edges import process, process_table
from tmuxagents.edges.bare import signal
from tmuxagents.records import Spared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.core.leftovers import Leftovers, Whose
    from tmuxagents.records import ProcessRow

TERM_S = 2.0  # what a leftover gets to leave by itself
_LIMIT_S = 10.0  # something unkillable (a dead disk, a fork bomb) must not keep the result from being written
_ROUND_S = 0.25
_FREEZES = 20


class Scope:
    """Whose processes are meant, and since when there can be any (clock ticks since boot)."""

    __slots__ = ("since", "whose")

    def __init__(self, whose: Whose, *, since: int) -> None:
        self.whose = whose
        self.since = since

    def look(self) -> Leftovers:
        """Return what is left now."""
        left = leftovers.sort_out(process_table.table(since=self.since), self.whose)
        me = os.getpid()  # a child may ask for the end of its own run: who carries it out stays
        left.ended = [row for row in left.ended if row.pid != me]
        return left


def ask(scope: Scope) -> None:
    """Ask all that is left to leave."""
    _signal(scope.look().ended, signal.SIGTERM, signal.SIGCONT)


def freeze(scope: Scope) -> None:
    """Stop all that is left until nothing new appears.

    Without a wrapper above them, what they found just now is lost from sight as soon as its founder ends.
    """
    known: set[tuple[int, int]] = set()
    for _ in range(_FREEZES):
        fresh = [row for row in scope.look().ended if (row.pid, row.start_time) not in known]
        if not fresh:
            return
        known.update((row.pid, row.start_time) for row in fresh)
        _signal(fresh, signal.SIGSTOP)


def end(scope: Scope, *, hard: bool = False) -> list[Spared]:
    """End all that is left and is not spared; return what lives on. `hard`: they had their time to leave."""
    begun = time.monotonic()
    kill_at = begun if hard else begun + TERM_S
    asked: set[tuple[int, int]] = set()
    while True:
        left = _look(scope, begun + _LIMIT_S)
        now = time.monotonic()
        if not left.ended:
            return left.spared
        if now - begun > _LIMIT_S:
            return left.spared + [Spared(row.pid, row.comm, "could not be ended") for row in left.ended]
        if now >= kill_at:
            _signal(left.ended, signal.SIGKILL)
            _wait(left.ended, _ROUND_S)
        else:
            fresh = [row for row in left.ended if (row.pid, row.start_time) not in asked]
            asked |= _signal(fresh, signal.SIGTERM, signal.SIGCONT)
            _wait(left.ended, min(_ROUND_S, kill_at - now))


# A machine that has run out of descriptors has some again in a moment. Until then nobody is known to be gone.


def _look(scope: Scope, until: float) -> Leftovers:
    while True:
        try:
            return scope.look()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(_ROUND_S)


def _signal(rows: list[ProcessRow], *numbers: int) -> set[tuple[int, int]]:
    """Signal these; return who was reached, or has gone."""
    reached = set()
    for row in rows:
        try:
            process.send(row.pid, row.start_time, *numbers)
        except OSError:
            continue  # it is there in the next round, too
        reached.add((row.pid, row.start_time))
    return reached


def _wait(rows: list[ProcessRow], limit_s: float) -> None:
    try:
        process.wait_all_gone(rows, limit_s)
    except OSError:
        time.sleep(limit_s)
