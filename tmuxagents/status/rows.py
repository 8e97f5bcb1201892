"""The rows of a snapshot: what a line shows of each run, from what the registry stores about it. Joins."""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.runs import words
from tmuxagents.runs.words import SnapshotRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from tmuxagents.registry.database import Row

# The members of a run that a row holds.
_BRIEF = {key: key for key in ("name", "task", "preset", "status", "reason", "settled", "model", "timeout")}
_BRIEF |= {"runId": "run_id", "needsInput": "needs_input", "createdAt": "created_at"}
_BRIEF |= {"startedAt": "started_at", "endedAt": "ended_at"}


def as_rows(
    rows: Iterable[Row],
    documents: Mapping[str, dict[str, Any]] | None,
    alike: Mapping[str, Iterable[str]],
    at: float,
    unreachable: Mapping[str, float],
) -> list[SnapshotRow]:
    """Return the rows of a snapshot. Without documents a run has only the members that its line needs."""
    return [
        SnapshotRow(
            _brief(row, at) if documents is None else documents[row.run_id],
            words.short_id(row.run_id, alike.get(row.run_id, ())),
            activity=None if row.status in records.ENDED else row.activity,
            host=row.host,
            quiet_s=_quiet(row, at),
            unreachable_s=_unreachable(row, at, unreachable),
        )
        for row in rows
        if documents is None or row.run_id in documents
    ]


def _brief(row: Row, at: float) -> dict[str, Any]:
    said = {records.COMPLETED: "output", records.FAILED: "errorMessage", records.ABORTED: "errorMessage"}
    return {
        **{key: getattr(row, column) for key, column in _BRIEF.items()},
        "usage": {"cost": row.cost},
        "elapsedSeconds": elapsed(row, at),
        **dict.fromkeys(said.values()),
        **({said[row.status]: row.activity} if row.status in said else {}),
    }


def _quiet(row: Row, at: float) -> float:
    """Return how long a child that works has said and done nothing new."""
    works = row.status == records.RUNNING and not (row.settled or row.needs_input)
    return max(0.0, at - row.last_event_at) if works and row.last_event_at is not None else 0.0


def _unreachable(row: Row, at: float, unreachable: Mapping[str, float]) -> float | None:
    """Return how long the machine of a run that has not ended has not answered."""
    since = unreachable.get(row.host) if row.host is not None and row.status not in records.ENDED else None
    return None if since is None else max(0.0, at - since)


def elapsed(row: Row, at: float) -> float:
    """Return how long a run has worked."""
    if row.elapsed_s is not None:
        return round(row.elapsed_s, 1)
    return 0.0 if row.started_at is None else round(max(0.0, at - row.started_at), 1)
