"""The sessions that a parent's tools know: found by id, until newer ones have taken their place.

Kept are the latest of those that delegate_to_subagents has made for one parent (core/sessions). The command
line forgets none of them as long as their files are there.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.commands import known
from tmuxagents.commands import sessions as held
from tmuxagents.core import answers, sessions
from tmuxagents.core.sessions import Session
from tmuxagents.edges import rundir
from tmuxagents.edges.registry import Scope
from tmuxagents.errors import NoSuchRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.commands.known import Caller
    from tmuxagents.edges.registry import Registry, Row

TASK_NAME = "taskName"  # in the plan of a run: what its delegated task is called, in whatever letters


def find(reference: str, caller: Caller, refusal: Callable[[str], str], *, field: str) -> list[str]:
    """Return the run directories of a session, oldest first; or refuse one that nobody knows any more."""
    try:
        run_dirs = held.find(reference, caller)
    except NoSuchRun as unknown:
        if unknown.kind != "unknown-run":
            raise
        raise _unknown(reference, refusal, field) from unknown
    meta = rundir.read_meta(run_dirs[0]) if run_dirs else None
    if meta is None or not _is_kept(meta, caller):
        raise _unknown(reference, refusal, field)
    return run_dirs


def _unknown(reference: str, refusal: Callable[[str], str], field: str) -> NoSuchRun:
    hint = "tmuxagents poll --all lists all runs, tmuxagents output RUN prints what is left of one"
    return NoSuchRun(refusal(reference), kind="unknown-run", hint=hint, field=field)


def task_name(run: Mapping[str, Any], meta: Mapping[str, Any]) -> str:
    """Return what the task of a run is called."""
    name = meta.get(TASK_NAME)
    return name if isinstance(name, str) and name else answers.label(run)


# --- which are kept ---------------------------------------------------------------------------------------


def _is_kept(meta: Mapping[str, Any], caller: Caller) -> bool:
    """Say whether a session is still known to the tools, by the plan of its first run."""
    if TASK_NAME not in meta:
        return True  # delegate_to_subagents has not made it
    own = str(meta.get("sessionId"))
    owner, project = meta.get("owner"), meta.get("project")
    scope = Scope("owner", owner) if owner else Scope("project", str(project))

    def ask(book: Registry) -> Sequence[Row]:
        return [row for row in book.rows(scope) if row.owner == owner]

    rows, _ = known.consult(caller, ask)
    made = _of_delegates(rows, own, caller)
    return any(session.session_id == own for session in sessions.remembered(made))


def _of_delegates(rows: Iterable[Row], own: str, caller: Caller) -> list[Session]:
    """Return one session, those begun after it, and those that work: the others do not count for it."""
    begun: dict[str, float] = {}
    live: set[str] = set()
    for row in rows:
        begun[row.session_id] = min(row.created_at, begun.get(row.session_id, row.created_at))
        if row.status not in records.ENDED:
            live.add(row.session_id)
    found: list[Session] = []
    for session_id, since in sorted(begun.items(), key=lambda item: -item[1]):
        newer = since >= begun.get(own, 0.0) and len(found) <= sessions.MOST_SESSIONS
        if session_id == own or ((newer or session_id in live) and _is_delegated(session_id, caller)):
            found.append(Session(session_id, since, is_live=session_id in live))
    return found


def _is_delegated(session_id: str, caller: Caller) -> bool:
    meta = rundir.read_meta(f"{caller.runs}/{session_id}")
    return meta is not None and TASK_NAME in meta
