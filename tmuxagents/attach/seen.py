"""Which runs need a person: failures that no person has looked at, and runs that wait. Joins."""

from __future__ import annotations

import contextlib

from tmuxagents.records import FAILED
from tmuxagents.runs import directory, writing
from tmuxagents.system import watcher_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.registry.database import Row
    from tmuxagents.registry.lookup import Caller


def see(run_dir: str, caller: Caller) -> None:
    """Record that a person looks at a run; a watcher takes its failure out of the status line."""
    with contextlib.suppress(OSError):  # a child may have put something there; the run is shown all the same
        writing.see(run_dir)
        if directory.read_result(run_dir) is not None:
            watcher_lock.ensure(caller.home)


def needs_since(row: Row) -> float | None:
    """Return since when a run needs a person; None if it does not."""
    if row.status == FAILED:
        return row.ended_at or 0.0
    return (row.last_event_at or row.created_at) if row.needs_input else None


def is_unseen(row: Row, runs: str) -> bool:
    """Say whether a run needs a person, and none has looked at it since."""
    since = needs_since(row)
    return since is not None and directory.seen_at(f"{runs}/{row.run_id}") < since
