"""What a caller asks for, and what is shown of it: of each run a line or its document. Joins.

That its ending was seen is written down here, too.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.registry.database import Scope
from tmuxagents.runs import words
from tmuxagents.runs.words import SnapshotRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tmuxagents.registry.database import Registry, Row
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.status.snapshot import Snapshot

# What is wanted of the runs that are shown.
LINES = "lines"  # what a line about them holds
DOCUMENTS = "documents"
RUNS = "runs"  # all that their directories hold


class Query:
    """Which runs somebody asks about: a scope to count, and of it or besides it those to show."""

    __slots__ = ("active", "alone", "ended", "ids", "references", "scope", "wanted")

    def __init__(
        self,
        scope: Scope,
        *,
        ids: Iterable[str] = (),
        active: bool = True,
        ended: bool = False,
        wanted: str = RUNS,
    ) -> None:
        self.scope = scope
        self.ids = tuple(ids)  # shown in any case
        self.active = active  # those of the scope that have not ended are shown
        self.ended = ended  # those that have, too
        self.wanted = wanted
        self.references: tuple[str, ...] = ()
        self.alone = False  # of a named scope: nobody else is looked at


def named(references: Iterable[str], wanted: str = RUNS) -> Query:
    """Ask about runs by whatever means one; they are found when it is looked."""
    asked = Query(Scope("named"), active=False, wanted=wanted)
    asked.references = tuple(references)
    return asked


_LAST = ',"elapsedSeconds":'  # the one key of a document that each look has another value for, and its end


def show(
    found: Snapshot, caller: Caller, book: Registry, ids: Iterable[str], *, known_rows: Iterable[Row] = ()
) -> None:
    """Make these runs the shown ones, newest first, and remember that somebody saw how they ended.

    `known_rows`: those of them that were taken out of the registry already.
    """
    rows = {row.run_id: row for row in known_rows}
    wanted = list(dict.fromkeys(ids))
    if found.asked.wanted == RUNS:
        found.read_on(caller, wanted, book)
    there = [run_id for run_id in wanted if _is_seen(found, caller, book, run_id, rows)]
    there.sort(key=lambda run_id: (found.rows[run_id].created_at, run_id), reverse=True)
    documents = (
        _briefs(found, there) if found.asked.wanted == LINES else _documents(found, caller, book, there)
    )
    alike = book.alike(there, words.SHORT_ID)
    found.shown = [
        _shown(found.rows[run_id], document, alike.get(run_id, ())) for run_id, document in documents.items()
    ]
    _mark(found, book, [run_id for run_id in there if found.rows[run_id].status in records.ENDED], rows)


def _is_seen(found: Snapshot, caller: Caller, book: Registry, run_id: str, rows: dict[str, Row]) -> bool:
    if found.asked.wanted == RUNS:
        return run_id in found.runs
    return run_id in found.rows or found.see(caller, run_id, rows.get(run_id) or book.row(run_id))


def _shown(row: Row, document: dict[str, Any], alike: Iterable[str]) -> SnapshotRow:
    activity = None if row.status in records.ENDED else row.activity
    return SnapshotRow(document, words.short_id(row.run_id, alike), activity=activity, host=row.host)


def _briefs(found: Snapshot, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return of each run what a line about it holds."""
    return {run_id: _brief(found.rows[run_id], found.at) for run_id in ids}


def _brief(row: Row, at: float) -> dict[str, Any]:
    return {
        "runId": row.run_id,
        "name": row.name,
        "preset": row.preset,
        "status": row.status,
        "reason": row.reason,
        "timeout": row.timeout,
        "startedAt": row.started_at,
        "elapsedSeconds": _elapsed(row, at),
        "errorMessage": row.activity if row.status in records.ENDED else None,
    }


def _elapsed(row: Row, at: float) -> float:
    if row.elapsed_s is not None:
        return round(row.elapsed_s, 1)
    return 0.0 if row.started_at is None else round(max(0.0, at - row.started_at), 1)


def _documents(found: Snapshot, caller: Caller, book: Registry, ids: list[str]) -> dict[str, dict[str, Any]]:
    """Return the whole document of each run: the registry's, where it stands as that says."""
    from tmuxagents.text import jsonline  # noqa: PLC0415  (for documents only)

    saved = book.documents([found.rows[run_id] for run_id in ids if run_id not in found.runs])
    documents: dict[str, dict[str, Any]] = {}
    for run_id in ids:
        if run_id in saved:
            document = documents[run_id] = jsonline.decode(saved[run_id])
            document["elapsedSeconds"] = _elapsed(found.rows[run_id], found.at)
            found.texts[run_id] = f"{saved[run_id].rpartition(_LAST)[0]}{_LAST}{document['elapsedSeconds']}}}"
        elif found.read(caller, run_id):
            documents[run_id] = found.runs[run_id].document(found.at)
    sizes = book.session_sizes(str(document["sessionId"]) for document in documents.values())
    for run_id, document in documents.items():
        count = max(1, sizes.get(str(document["sessionId"]), 0))
        if document["runCount"] != count:
            document["runCount"] = count
            found.texts.pop(run_id, None)
    return documents


def _mark(found: Snapshot, book: Registry, ended: Iterable[str], rows: dict[str, Row]) -> None:
    """Remember that somebody has seen how these runs ended."""
    new = [run_id for run_id in ended if found.rows[run_id].polled_at is None]
    there = [row for run_id in new if (row := rows.get(run_id) or book.row(run_id)) is not None]
    if unseen := [row.run_id for row in there if row.polled_at is None]:
        book.mark_polled(unseen, found.at)
