"""Conclude a run whose wrapper is gone or never came: write the result in the wrapper's place.

Under the lock, it reads the run again, ends the run's leftovers (which ones: runs/leftovers), folds the
events and writes the result, with the ending that `runs/endings.conclude` computes. The files of a run show
what it did, but prove nothing about processes: for those, it asks runs/seal and system/process_table.

Joins.
"""

from __future__ import annotations

import os
import time

from tmuxagents import records
from tmuxagents.cpython import ignoring
from tmuxagents.records import Spared, Verdict
from tmuxagents.runs import directory, documents, endings, leftovers, seal, writing
from tmuxagents.runs.inspect import last_sign
from tmuxagents.runs.leftovers import LeftoverScope
from tmuxagents.runs.reading import gather
from tmuxagents.system import process_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.runs.endings import Cause
    from tmuxagents.runs.lifecycle import RunState

LOCK_LIMIT_S = 5.0
NEVER_OPENED = "The window was never opened."


def conclude(
    run_dir: str, *, cause: Cause | None = None, never_came: str | None = None, gone: bool = False
) -> dict[str, Any] | None:
    """Return the result of a run; write it first if it is missing.

    Return None if the run lives, or if this process may not conclude it. `cause`: why its wrapper was ended
    on purpose. `never_came`: the error message for a run whose wrapper did not come in time; without it, such
    a run is left alone. `gone`: the machine where the run works reports that the run is no longer there.
    """
    run_dir = os.path.normpath(run_dir)
    try:
        held = writing.lock(run_dir, 0.0)
        if held is None:  # maybe a leftover of a dead wrapper inherited the lock
            facts, wrapper, state = _gather(run_dir, gone=gone)
            if facts.presence == records.GONE:
                _end_leftovers(run_dir, wrapper, state)
            held = writing.lock(run_dir, LOCK_LIMIT_S)
    except FileNotFoundError:
        return None  # the run was removed
    if held is None:
        return None
    try:
        return _conclude_locked(run_dir, cause, never_came, gone=gone)
    finally:
        os.close(held)


def _conclude_locked(
    run_dir: str, cause: Cause | None, never_came: str | None, *, gone: bool
) -> dict[str, Any] | None:
    facts, wrapper, state = _gather(run_dir, gone=gone)
    plan = directory.read_plan(run_dir)
    if plan is None or facts.presence in (records.HERE, records.ELSEWHERE, records.MIRRORED):
        return None
    if facts.result is not None:
        return facts.result
    if facts.presence == records.NEVER_CAME and never_came is None:
        return None
    spared = _end_leftovers(run_dir, wrapper, state)
    writing.remove_half_written(run_dir)
    with ignoring(OSError):
        writing.remove(run_dir, directory.HANDED)
    state.left_behind += [{"pid": s.pid, "comm": s.comm, "why": s.why} for s in spared]
    if facts.presence == records.NEVER_CAME:
        verdict = cause.verdict() if cause else Verdict(records.FAILED, "window", never_came)
        ended_at = time.time()
    else:
        verdict, ended_at = endings.conclude(state, cause=cause), last_sign(plan, wrapper, state)
    result = documents.result(
        plan, state, verdict, ended_at=ended_at, duration_s=ended_at - (state.started_at or ended_at)
    )
    if state.text is not None and directory.place_of(f"{run_dir}/{directory.OUTPUT}") is None:
        writing.replace(run_dir, directory.OUTPUT, state.text.encode("utf-8", "replace"))
    writing.write_result(run_dir, result)
    return result


def _gather(run_dir: str, *, gone: bool) -> tuple[records.Facts, dict[str, Any] | None, RunState]:
    """Gather the facts of a run. Only the wrapper's own process proves that the wrapper lives."""
    facts, wrapper, state = gather(run_dir)
    if gone and facts.presence == records.MIRRORED:
        facts.presence = records.NEVER_CAME if wrapper is None else records.GONE
    if facts.presence in (records.HERE, records.GONE):
        proven = process_table.wrapper_of(os.path.basename(run_dir), directory.identity_of(wrapper))
        facts.presence = records.GONE if proven is None else records.HERE
    return facts, wrapper, state


def _end_leftovers(run_dir: str, wrapper: dict[str, Any] | None, state: RunState) -> list[Spared]:
    identity = directory.identity_of(wrapper)
    run_id = os.path.basename(run_dir)
    child = seal.child_of(run_dir)
    if child is None:  # no seal: the child named in the events counts if that process carries the run's mark
        named = state.child_pid or 0, state.child_start_time or 0
        child = named if process_table.carries(*named, run_id) else None
    plan = directory.read_plan(run_dir)
    keep = plan is not None and plan.keep_background
    starts = [started for started in (identity and identity.start_time, child and child[1]) if started]
    since = min(starts, default=0)
    scope = LeftoverScope(run_id=run_id, uid=os.getuid(), child=child, keep=keep, since=since)
    leftovers.freeze(scope)
    return leftovers.end(scope)
