"""Decide which processes end with a run and which outlive it on purpose, and end the former. Joins.

These end, with their descendants: processes below the wrapper, those with the run's mark and, if the wrapper
may be gone, those in the child's session. These are spared, with their descendants: processes of another run
or another user, tmuxagents' watcher, its mirrors and its hooks, and services. A service leads its own session
and listens on a unix socket, so other processes may be using it. With `keep`, everything but the child is
spared.
"""

from __future__ import annotations

import os
import time

from tmuxagents.cpython import signal
from tmuxagents.records import Spared, is_run_id
from tmuxagents.system import process, process_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.records import ProcessRow


_LOOKS = 4  # on a machine where some process ends at each look


class Leftovers:
    """A run's leftovers: those to end, and the spared ones."""

    __slots__ = ("ended", "spared")

    def __init__(self, ended: list[ProcessRow], spared: list[Spared]) -> None:
        self.ended = ended
        self.spared = spared


class LeftoverScope:
    """A selection of processes: those of one run of one user.

    `wrapper`: the pid whose descendants count. `child`: pid and start time of the run's own child, given if
    the wrapper may be gone. The child always leads a session, so it is no service, and its whole session is
    the run's. `keep`: everything but the child is spared. `since`: the clock tick since boot at which the
    first of them can have started.
    """

    __slots__ = ("_known", "child", "keep", "run_id", "since", "uid", "wrapper")

    def __init__(  # noqa: PLR0913  (all that selects processes)
        self,
        *,
        run_id: str,
        uid: int,
        wrapper: int | None = None,
        child: tuple[int, int] | None = None,
        keep: bool = False,
        since: int = 0,
    ) -> None:
        self.run_id = run_id
        self.uid = uid
        self.wrapper = wrapper
        self.child = child
        self.keep = keep
        self.since = since
        self._known: set[tuple[int, int]] = set()  # processes that had ended at an earlier look

    def is_root(self, row: ProcessRow, *, session_is_ours: bool) -> bool:
        """Say whether a process belongs to the run by itself, and not only through its parents."""
        if row.pid == self.wrapper or row.uid != self.uid:
            return False
        return row.marker == self.run_id or (
            self.child is not None and session_is_ours and row.session == self.child[0]
        )

    def is_child(self, row: ProcessRow) -> bool:
        """Say whether this is the run's own child."""
        return (row.pid, row.start_time) == self.child

    def look(self) -> Leftovers:
        """Return what is left now.

        A process may start another and end while the table is being read, and then neither is in it. So
        nothing is left only if no process has ended since the table before.
        """
        me = os.getpid()  # a child may stop its own run, and that process must finish the stop
        for _ in range(_LOOKS):
            ended: set[tuple[int, int]] = set()
            left = sort_out(process_table.table(since=self.since, ended=ended), self)
            left.ended = [row for row in left.ended if row.pid != me]
            if left.ended or ended <= self._known:
                break
            self._known |= ended
        return left


def sort_out(table: Iterable[ProcessRow], scope: LeftoverScope) -> Leftovers:
    """Sort out which processes of the whole table end, and which are spared."""
    rows = {row.pid: row for row in table}
    wrapper = scope.wrapper
    children: dict[int, list[ProcessRow]] = {}
    for row in rows.values():
        children.setdefault(row.ppid, []).append(row)
    roots = list(children.get(wrapper, ())) if wrapper is not None else []
    leader = rows.get(scope.child[0]) if scope.child else None
    ours = leader is None or scope.is_child(leader)  # else another process has the pid by now
    roots += [row for row in rows.values() if scope.is_root(row, session_is_ours=ours)]
    reached: dict[int, ProcessRow] = {}
    for row in roots:  # the list grows meanwhile: first the roots, then all below them, each once
        if row.pid not in reached:
            reached[row.pid] = row
            roots += children.get(row.pid, ())
    reasons = {row.pid: why for row in reached.values() if (why := _why_spared(row, scope))}
    left = Leftovers([], [])
    for row in reached.values():
        if _is_below(row, rows, reasons):
            continue
        if row.pid in reasons:
            left.spared.append(Spared(row.pid, row.comm, reasons[row.pid]))
        else:
            left.ended.append(row)
    return left


def _why_spared(row: ProcessRow, scope: LeftoverScope) -> str | None:
    """Return why a process is spared; None if it is not."""
    if scope.is_child(row):
        return None
    if row.uid != scope.uid:
        return "belongs to another user"
    if row.role:
        return f"is a {row.role} of tmuxagents"
    if row.marker is not None and row.marker != scope.run_id and is_run_id(row.marker):
        return f"belongs to run {row.marker}"
    if row.listens and row.session == row.pid:
        return "is a service: it leads its own session and listens on a unix socket"
    return "is kept in the background" if scope.keep else None


def _is_below(row: ProcessRow, rows: dict[int, ProcessRow], reasons: dict[int, str]) -> bool:
    """Say whether one of a process's ancestors is spared."""
    seen = {row.pid}
    while (parent := rows.get(row.ppid)) is not None and parent.pid not in seen:
        if parent.pid in reasons:
            return True
        seen.add(parent.pid)
        row = parent
    return False


TERM_S = 2.0  # the time a leftover has to exit by itself
_LIMIT_S = 10.0  # an unkillable process (a dead disk, a fork bomb) must not delay the result for ever
_ROUND_S = 0.25
_FREEZES = 20


def ask(scope: LeftoverScope) -> None:
    """Ask all leftovers to exit."""
    _signal(scope.look().ended, signal.SIGTERM, signal.SIGCONT)


def freeze(scope: LeftoverScope) -> None:
    """Freeze all leftovers, until no new ones appear.

    Without a living wrapper, a process whose parent has ended can no longer be found.
    """
    known: set[tuple[int, int]] = set()
    for _ in range(_FREEZES):
        fresh = [row for row in scope.look().ended if (row.pid, row.start_time) not in known]
        if not fresh:
            return
        known.update((row.pid, row.start_time) for row in fresh)
        _signal(fresh, signal.SIGSTOP)


def end(scope: LeftoverScope, *, hard: bool = False) -> list[Spared]:
    """End all leftovers but the spared ones; return what lives on. `hard`: kill them without delay."""
    begun = time.monotonic()
    kill_at = begun if hard else begun + TERM_S
    asked: set[tuple[int, int]] = set()
    while True:
        now = time.monotonic()
        try:
            left = scope.look()
        except OSError:  # a lack of descriptors soon passes; until then no process counts as gone
            if now - begun > _LIMIT_S:
                raise
            time.sleep(_ROUND_S)
            continue
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


def _signal(rows: list[ProcessRow], *numbers: int) -> set[tuple[int, int]]:
    """Send signals to processes; return those that were reached or are gone."""
    reached = set()
    for row in rows:
        try:
            process.send(row.pid, row.start_time, *numbers)
        except OSError:
            continue  # the next round tries again
        reached.add((row.pid, row.start_time))
    return reached


def _wait(rows: list[ProcessRow], limit_s: float) -> None:
    try:
        process.wait_all_gone(rows, limit_s)
    except OSError:
        time.sleep(limit_s)
