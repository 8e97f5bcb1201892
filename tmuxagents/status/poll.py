"""What `poll` and `statusline` print: a caller's query, changes since a cursor, documents, counts. Joins."""

from __future__ import annotations

import time

from tmuxagents import records
from tmuxagents.registry import lookup
from tmuxagents.registry.database import Scope, server_key
from tmuxagents.runs import words
from tmuxagents.status.snapshot import ALL_ENDED, VIEWS, Query, SnapshotBuilder, take
from tmuxagents.system import identity, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.registry.database import Registry
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.words import SnapshotRow
    from tmuxagents.status.snapshot import EndedRuns, Snapshot

RECENT_S = 3600.0  # a list shows the runs that have ended since then,
MOST_RECENT = 20  # but no more than these
_FIRST = "0"  # the cursor of a caller that has none
ROUND_S = 1.0  # while following: at most one line a second for each run


def query_of(  # noqa: PLR0913  (one parameter per choice)
    caller: Caller,
    references: Iterable[str] = (),
    *,
    everywhere: bool = False,
    others: bool = False,
    ended: bool | EndedRuns = False,
    statuses: Sequence[str] = (),
    unread: bool = False,
    wanted: str = VIEWS,
) -> Query:
    """Return the query of a caller: for the named runs, for all, or for those of its owner or project.

    `ended`: also show ended runs, all or these. `others`: also those of other parents in the project.
    """
    if references := tuple(references):
        return Query(Scope("named"), references=references, active=False, wanted=wanted)
    which = ended if isinstance(ended, tuple) else ALL_ENDED if ended else None
    own = Scope("project", caller.project) if others else caller.scope
    return Query(
        Scope("all") if everywhere else own,
        active=not unread,
        ended=which,
        statuses=statuses,
        unread=unread,
        wanted=wanted,
    )


def named(ids: Iterable[str]) -> Query:
    """Return the query for exactly these runs."""
    ids = tuple(ids)
    return Query(Scope("named", *ids), ids=ids, active=False)


def background(caller: Caller, wanted: str = VIEWS) -> Query:
    """Return the query for the caller's background runs, and for those that it has taken over."""
    kind, key = ("owner", caller.owner) if caller.owner else ("project", caller.project)
    return Query(Scope(kind, key, mode="background", also=caller.taken_over), wanted=wanted)


def server_scope(environment: Mapping[str, str]) -> Scope | None:
    """Return the scope of the tmux server around this process; None without a living one."""
    socket, pid, _ = places.tmux_server(environment)
    if not socket or pid is None:
        return None
    started = identity.start_time(pid)
    return None if started is None else Scope("server", server_key(socket, pid, started))


def counts(caller: Caller) -> dict[str, int]:
    """Return the counts for a receipt: those of the caller's own scope."""
    query = query_of(caller)
    return lookup.with_registry(
        caller, lambda registry: SnapshotBuilder(registry, query, caller).snapshot.counts
    )[0]


def changes(caller: Caller, query: Query, cursor: str) -> tuple[Snapshot, bool]:
    """Return a snapshot of the runs that have changed since a cursor, and whether the cursor was unknown."""
    (snapshot, reset), warnings = lookup.with_registry(
        caller, lambda registry: changes_by(registry, caller, query, cursor)
    )
    snapshot.warnings = warnings
    return snapshot, reset


def changes_by(registry: Registry, caller: Caller, query: Query, cursor: str) -> tuple[Snapshot, bool]:
    """Return the same through an open registry. For a first cursor, recent endings count as changes."""
    builder = SnapshotBuilder(registry, query, caller)
    snapshot = builder.snapshot
    with registry.reading():
        scope = snapshot.query.scope
        rows, reset = registry.changes(cursor, scope)
        if cursor == _FIRST:
            since = 0.0 if scope.kind == "named" else snapshot.at - RECENT_S
            rows += registry.ended_rows(scope, records.ENDED, since, MOST_RECENT)
        snapshot.cursor = registry.cursor(registry.last_change(), snapshot.at)
    return builder.show([row.run_id for row in rows], rows), reset


def follow(
    caller: Caller, query: Query, tell: Callable[[SnapshotRow], None], over: Callable[[Snapshot], bool]
) -> Snapshot:
    """Report each change of status or activity until `over`; return a snapshot of all reported runs."""
    reported: dict[str, tuple[Any, ...]] = {}
    warnings: dict[str, None] = {}
    while True:
        begun = time.monotonic()
        snapshot = take(query, caller)
        warnings |= dict.fromkeys(snapshot.warnings)
        for row in reversed(snapshot.rows):
            now = (row.run["status"], row.run["reason"], row.activity)
            if reported.get(row.run["runId"]) != now:
                reported[row.run["runId"]] = now
                tell(row)
        if over(snapshot):
            snapshot.warnings = list(warnings)
            return snapshot
        asked = snapshot.query
        query = Query(asked.scope, ids=(*asked.ids, *reported), active=asked.active, wanted=asked.wanted)
        time.sleep(max(0.0, begun + ROUND_S - time.monotonic()))


# --- what a snapshot shows --------------------------------------------------------------------------------


def ended(snapshot: Snapshot) -> list[bool]:
    """Return for each shown run whether a wait for it is over: it has ended, or settled while attended."""
    rows = [snapshot.registry_rows[row.run["runId"]] for row in snapshot.rows]
    return [row.status in records.ENDED or (row.attended and row.settled) for row in rows]


def went_well(snapshot: Snapshot, ids: Container[str], caller: Caller) -> bool:
    """Say whether none of these runs failed, was aborted, or was interrupted while attended."""
    rows = [snapshot.registry_rows[row.run["runId"]] for row in snapshot.rows if row.run["runId"] in ids]
    if any(row.status in (records.FAILED, records.ABORTED) for row in rows):
        return False
    settled = [row.run_id for row in rows if row.attended and row.settled]
    if not settled:
        return True
    from tmuxagents.errors import NoSuchRun  # noqa: PLC0415  (few runs are attended)
    from tmuxagents.runs.inspect import inspect  # noqa: PLC0415  (as above)

    try:
        views = [snapshot.views.get(one) or inspect(f"{caller.runs}/{one}") for one in settled]
    except NoSuchRun:
        return False
    return all(view.state.stop_reason == "stop" for view in views)


def missing(snapshot: Snapshot, ids: Iterable[str]) -> list[str]:
    """Return the runs that are not in the snapshot, whose ending is thus unknown."""
    shown = {row.run["runId"] for row in snapshot.rows}
    return [run_id for run_id in ids if run_id not in shown]


def counts_line(snapshot: Snapshot, environment: Mapping[str, str]) -> str:
    """Return the counts above a list. In tmux they name the scope, as its status line counts other runs."""
    kind = snapshot.query.scope.kind
    whose = (
        "bg all" if kind == "all" else "bg here" if kind == "project" and environment.get("TMUX") else "bg"
    )
    return words.status_line(snapshot.counts, snapshot.waiting, whose, unreachable=snapshot.unreachable)


def status_text(snapshot: Snapshot) -> str:
    """Return the text of the status line; some time after the last ending, it is empty."""
    return words.status_text(
        snapshot.counts,
        snapshot.waiting,
        last_end=snapshot.last_end,
        now=snapshot.at,
        unreachable=snapshot.unreachable,
    )


def as_document(snapshot: Snapshot, caller: Caller, *, timed_out: bool = False) -> dict[str, Any]:
    """Return the poll document."""
    runs = [row.run for row in snapshot.rows]
    return {
        "v": 1,
        "at": round(snapshot.at, 3),
        "scope": snapshot.query.scope.kind,
        "project": caller.project,
        "owner": caller.owner,
        "counts": snapshot.counts,
        "others": snapshot.others,
        "runs": runs,
        "usage": words.total([run["usage"] for run in runs]),
        "cursor": snapshot.cursor,
        "timedOut": timed_out,
    }


def as_json(snapshot: Snapshot, caller: Caller, *, timed_out: bool = False) -> bytes:
    """Encode the poll document. Run documents that the registry stores are copied, not encoded again."""
    from tmuxagents.text import jsonline  # noqa: PLC0415  (for documents only)

    document = as_document(snapshot, caller, timed_out=timed_out)
    items = (snapshot.json.get(run["runId"]) or jsonline.encode(run)[:-1] for run in document["runs"])
    return jsonline.with_items(document, "runs", items)


def changes_document(snapshot: Snapshot, *, reset: bool) -> dict[str, Any]:
    """Return the document of changes."""
    keys = ("runId", "status", "reason", "activity", "name")
    return {
        "v": 1,
        "at": round(snapshot.at, 3),
        "counts": snapshot.counts,
        "changes": [{key: row.run[key] for key in keys} for row in snapshot.rows],
        "cursor": snapshot.cursor,
        "reset": reset,
    }
