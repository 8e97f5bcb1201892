"""Ends what is left of a run, by rule S (core/leftovers): for the wrapper, and to conclude a lost run."""

from __future__ import annotations

import os
import signal
import time

from tmuxagents.core import leftovers
from tmuxagents.edges import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.core.leftovers import Leftovers
    from tmuxagents.records import ProcessRow, Spared

TERM_S = 2.0  # what a leftover gets to leave by itself
_LIMIT_S = 10.0  # something unkillable (a dead disk, a fork bomb) must not keep the result from being written
_ROUND_S = 0.25


class Scope:
    """Which processes are meant: those of one run. `wrapper` is our own pid if our descendants count."""

    __slots__ = ("keep", "run_id", "since", "wrapper")

    def __init__(self, *, run_id: str, since: int, wrapper: int | None, keep: bool = False) -> None:
        self.run_id = run_id
        self.since = since
        self.wrapper = wrapper
        self.keep = keep

    def look(self) -> Leftovers:
        """Return what is left now."""
        rows = process.table(since=self.since)
        return leftovers.sort_out(
            rows, run_id=self.run_id, uid=os.getuid(), wrapper=self.wrapper, keep=self.keep
        )


def ask(scope: Scope) -> None:
    """Ask all that is left to leave."""
    _signal(scope.look().ended, signal.SIGTERM, signal.SIGCONT)


def end(scope: Scope, *, hard: bool = False) -> list[Spared]:
    """End all that is left and is not spared; return the spared. `hard`: they had their time to leave."""
    begun = time.monotonic()
    kill_at = begun if hard else begun + TERM_S
    asked: set[tuple[int, int]] = set()
    while True:
        left = scope.look()
        now = time.monotonic()
        if not left.ended or now - begun > _LIMIT_S:
            return left.spared
        if now >= kill_at:
            _signal(left.ended, signal.SIGKILL)
            process.wait_all_gone(left.ended, _ROUND_S)
        else:
            fresh = [row for row in left.ended if (row.pid, row.start_time) not in asked]
            asked.update((row.pid, row.start_time) for row in fresh)
            _signal(fresh, signal.SIGTERM, signal.SIGCONT)
            process.wait_all_gone(left.ended, min(_ROUND_S, kill_at - now))


def _signal(rows: list[ProcessRow], *numbers: int) -> None:
    for row in rows:
        process.send(row.pid, row.start_time, *numbers)
