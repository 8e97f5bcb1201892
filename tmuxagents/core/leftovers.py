"""Rule S: which processes end with a run, and which outlive it on purpose.

Ended: descendants of the wrapper, and carriers of the run's marker with all below them. Spared, with
everything below it: another run's process, a process of ours with a role, another user's process, and a
service (it leads its own session and listens on a unix socket: others may be using it by now).
"""

from __future__ import annotations

from tmuxagents.records import Spared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.records import ProcessRow


class Leftovers:
    """What is left of a run's processes."""

    __slots__ = ("ended", "spared")

    def __init__(self, ended: list[ProcessRow], spared: list[Spared]) -> None:
        self.ended = ended
        self.spared = spared


def sort_out(
    table: Iterable[ProcessRow], *, run_id: str, uid: int, wrapper: int | None, keep: bool = False
) -> Leftovers:
    """Decide over the whole process table. `wrapper` is our own pid if its descendants count.

    `keep`: background processes are to be kept, so everything is spared.
    """
    rows = {row.pid: row for row in table}
    children: dict[int, list[ProcessRow]] = {}
    for row in rows.values():
        children.setdefault(row.ppid, []).append(row)
    roots = list(children.get(wrapper, ())) if wrapper is not None else []
    roots += [row for row in rows.values() if row.marker == run_id and row.uid == uid and row.pid != wrapper]
    reached = _reach(children, roots)
    reasons = {row.pid: why for row in reached if (why := _why(row, run_id, uid) or _kept(keep=keep))}
    left = Leftovers([], [])
    for row in reached:
        if _is_below(row, rows, reasons):
            continue
        if row.pid in reasons:
            left.spared.append(Spared(row.pid, row.comm, reasons[row.pid]))
        else:
            left.ended.append(row)
    return left


def _kept(*, keep: bool) -> str | None:
    return "is kept in the background" if keep else None


def _why(row: ProcessRow, run_id: str, uid: int) -> str | None:
    """Return why a process is spared, None if it is not."""
    if row.uid != uid:
        return "belongs to another user"
    if row.role:
        return f"is a {row.role} of tmuxagents"
    if row.marker and row.marker != run_id:
        return f"belongs to run {row.marker[:16]}"
    if row.listens and row.session == row.pid:
        return "is a service: it leads its own session and listens on a unix socket"
    return None


def _reach(children: dict[int, list[ProcessRow]], roots: list[ProcessRow]) -> list[ProcessRow]:
    """Return the roots and all below them, each once."""
    found: dict[int, ProcessRow] = {}
    queue = list(roots)
    for row in queue:
        if row.pid not in found:
            found[row.pid] = row
            queue += children.get(row.pid, ())
    return list(found.values())


def _is_below(row: ProcessRow, rows: dict[int, ProcessRow], reasons: dict[int, str]) -> bool:
    """Say whether a spared process is among the ancestors."""
    seen = {row.pid}
    while (parent := rows.get(row.ppid)) is not None and parent.pid not in seen:
        if parent.pid in reasons:
            return True
        seen.add(parent.pid)
        row = parent
    return False
