"""Sessions: find a session's runs, and lock an ended one so that no other process continues or removes it.

The lock is `run.lock` of the session's latest run. The kernel frees it if its holder is killed. Pruning takes
the same lock. A run that continues a session belongs to it as soon as the run's directory exists.

Joins.
"""

from __future__ import annotations

import contextlib
import os
import time

from tmuxagents import records
from tmuxagents.errors import NoSuchRun, NotPossible
from tmuxagents.records import is_run_id
from tmuxagents.registry import learn, lookup
from tmuxagents.runs import directory, words, writing
from tmuxagents.runs.conclude import NEVER_OPENED, conclude
from tmuxagents.runs.inspect import inspect, removed
from tmuxagents.system import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView

_LOCK_LIMIT_S = 1.0  # another process may just be checking whether there is anything to conclude
_TRIES = 5


def find(reference: str, caller: Caller) -> list[str]:
    """Return the run directories of the session that a reference means, oldest first."""
    return _of_removed(reference, caller) or lookup.session(lookup.find_run(reference, caller), caller)


def _of_removed(reference: str, caller: Caller) -> list[str]:
    """Return the runs of a session whose first run has been removed; the session keeps that run's id."""
    if not _is_unknown_id(reference, caller):
        return []
    rows, _ = lookup.with_registry(caller, lambda book: book.session(reference))
    return [f"{caller.runs}/{row.run_id}" for row in rows]


def _is_unknown_id(reference: str, caller: Caller) -> bool:
    return is_run_id(reference) and not os.path.isdir(f"{caller.runs}/{reference}")


def document(run: RunView, caller: Caller) -> dict[str, Any]:
    """Return the run's document, with the number of runs in its session."""
    shape = run.document(time.time())
    session_id = str(shape["sessionId"])
    sizes, _ = lookup.with_registry(caller, lambda book: book.session_sizes([session_id]))
    return shape | {"runCount": sizes.get(session_id, 1)}


# --- held -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def held(reference: str, caller: Caller) -> Iterator[list[str]]:
    """Hold a session that has ended, to continue it; yield its run directories, oldest first.

    Raises NoSuchRun, and NotPossible while one of its runs lives or another process continues it.
    """
    run_dirs = _to_continue(reference, caller)
    for _ in range(_TRIES):
        try:
            lock = writing.lock(run_dirs[-1], _LOCK_LIMIT_S)
        except FileNotFoundError as error:  # another process has just removed it
            raise removed(run_dirs[-1]) from error
        if lock is None:
            break
        try:
            # No other process can begin a run here now, but one may have begun before we had the lock. We
            # name the session by its run, since a name or @last may mean another session by now.
            before, run_dirs = run_dirs, _to_continue(os.path.basename(run_dirs[-1]), caller)
            if before == run_dirs:
                yield run_dirs
                return
        finally:
            os.close(lock)
    raise _still_running(run_dirs[-1])


def _to_continue(reference: str, caller: Caller) -> list[str]:
    """Return the runs of a session that can be continued: all have ended. Lost ones are concluded now."""
    run_dirs = _of_removed(reference, caller)
    if not run_dirs and _is_unknown_id(reference, caller):
        hint = "tmuxagents poll -a -A lists all runs"
        raise NoSuchRun(unknown_resume(reference), kind="unknown-run", hint=hint)
    run_dirs = run_dirs or find(reference, caller)
    for run_dir in run_dirs:
        row = learn.row_of(run_dir)
        if row is None and not os.path.isdir(run_dir):
            continue  # removed at this moment: the rest of the session counts
        if row is not None and row.concluded and row.status in records.ENDED:
            continue
        if not inspect(run_dir).is_due(time.time()) or conclude(run_dir, never_came=NEVER_OPENED) is None:
            raise _still_running(run_dir)
    return run_dirs


def _still_running(run_dir: str) -> NotPossible:
    run_id = os.path.basename(run_dir)
    plan = directory.read_plan(run_dir)
    session_id = plan.session_id if plan else run_id
    wrapper = directory.read_wrapper(run_dir) or {}
    elsewhere = process.presence(directory.identity_of(wrapper)) == records.ELSEWHERE
    hint = f"tmuxagents wait {run_id[: words.SHORT_ID]}"
    if elsewhere:
        hint = f"its child lives on another host or in another container: {wrapper.get('host')}"
    return NotPossible(running_resume(session_id), kind="run-running", hint=hint)


# --- refusals ---------------------------------------------------------------------------------------------


def unknown_session(session: str) -> str:
    """Return the message about an unknown session."""
    return f'Session "{session}" not found. The session may have expired or the ID is incorrect.'


def unknown_resume(session: str) -> str:
    """Return the message that an unknown session cannot be resumed."""
    return (
        f'Cannot resume: session "{session}" not found. The session may have expired or the ID is incorrect.'
    )


def running_resume(session: str) -> str:
    """Return the message that a running session cannot be resumed."""
    return f'Cannot resume: session "{session}" is still running. Wait for it to complete before resuming.'
