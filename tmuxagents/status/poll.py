"""What `poll` and `statusline` answer: which runs are asked about, a look or their changes, documents.

Joins.
"""

from __future__ import annotations

import time

from tmuxagents import records
from tmuxagents.registry import lookup
from tmuxagents.registry.database import Scope, server_key
from tmuxagents.runs import words
from tmuxagents.status.show import RUNS, Query, named, show
from tmuxagents.status.snapshot import look, look_in
from tmuxagents.system import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping
    from typing import Any

    from tmuxagents.registry.database import Registry, Row
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.words import SnapshotRow
    from tmuxagents.status.snapshot import Snapshot

_BACKGROUND = "background"  # as a run's plan says it
ROUND_S = 1.0  # of following: at most one line a second a run


def asked_by(
    caller: Caller,
    references: Iterable[str],
    *,
    everywhere: bool = False,
    ended: bool = False,
    wanted: str = RUNS,
) -> Query:
    """Return what is asked about: named runs, or everybody's, or the caller's own, or the project's."""
    if references := tuple(references):
        return named(references, wanted)
    if everywhere:
        return Query(Scope("all"), ended=ended, wanted=wanted)
    own = Scope("owner", caller.owner) if caller.owner else Scope("project", caller.project)
    return Query(own, ended=ended, wanted=wanted)


def background(caller: Caller) -> Query:
    """Return the background runs that are the caller's, those that it has taken over, too."""
    kind, key = ("owner", caller.owner) if caller.owner else ("project", caller.project)
    return Query(Scope(kind, key, mode=_BACKGROUND, also=caller.taken_over))


def server_scope(environment: Mapping[str, str]) -> Scope | None:
    """Return the runs of the tmux server that we are in; None outside, or where it has gone."""
    socket, *figures = environment.get("TMUX", "").rsplit(",", 2)
    if not socket or not figures or not figures[0].isdigit():
        return None
    started = identity.start_time(int(figures[0]))
    return None if started is None else Scope("server", server_key(socket, int(figures[0]), started))


def counts(caller: Caller) -> dict[str, int]:
    """Return the counts that a receipt shows: those of the caller's own scope."""
    asked = asked_by(caller, ())
    return lookup.with_registry(caller, lambda book: look_in(book, caller, asked).counts)[0]


def changes(caller: Caller, asked: Query, cursor: str) -> tuple[Snapshot, bool]:
    """Return a look at what has changed since a cursor, and whether that meant nothing any more."""
    (found, reset), warnings = lookup.with_registry(
        caller, lambda book: changes_by(book, caller, asked, cursor)
    )
    found.warnings = warnings
    return found, reset


def changes_by(book: Registry, caller: Caller, asked: Query, cursor: str) -> tuple[Snapshot, bool]:
    """Return the same by an open registry."""
    found = look_in(book, caller, asked)
    with book.reading():
        rows, reset = book.changes(cursor, found.asked.scope)
        found.cursor = book.cursor(book.last_change(), found.at)
    show(found, caller, book, [row.run_id for row in rows], known_rows=rows)
    return found, reset


def has_ends(book: Registry, caller: Caller, asked: Query, cursor: str) -> bool:
    """Say whether any of these runs has come to its end since a cursor."""
    found, _ = changes_by(book, caller, asked, cursor)
    return any(_is_done(found.rows[shown.run["runId"]]) for shown in found.shown)


def follow(
    caller: Caller, asked: Query, tell: Callable[[SnapshotRow], None], over: Callable[[Snapshot], bool]
) -> Snapshot:
    """Tell each change of status or activity until it is over; return a look at all that was told of."""
    told: dict[str, tuple[Any, ...]] = {}
    warnings: dict[str, None] = {}
    while True:
        begun = time.monotonic()
        found = look(caller, asked)
        warnings |= dict.fromkeys(found.warnings)
        for shown in reversed(found.shown):
            now = (shown.run["status"], shown.run["reason"], shown.activity)
            if told.get(shown.run["runId"]) != now:
                told[shown.run["runId"]] = now
                tell(shown)
        if over(found):
            found.warnings = list(warnings)
            return found
        ids = (*found.asked.ids, *told)
        asked = Query(found.asked.scope, ids=ids, active=found.asked.active, wanted=asked.wanted)
        time.sleep(max(0.0, begun + ROUND_S - time.monotonic()))


# --- answered ---------------------------------------------------------------------------------------------


def is_over(found: Snapshot, *, any_of_them: bool) -> bool:
    """Say whether what was waited for has come: all shown runs are done, or any of them."""
    done = [_is_done(found.rows[shown.run["runId"]]) for shown in found.shown]
    return not done or (any(done) if any_of_them else all(done))


def _is_done(row: Row) -> bool:
    return row.status in records.ENDED or (row.attended and row.settled)


def went_well(found: Snapshot, ids: Container[str], caller: Caller) -> bool:
    """Say whether none of these runs has failed or was aborted, or was broken off in a person's hands."""
    rows = [found.rows[shown.run["runId"]] for shown in found.shown if shown.run["runId"] in ids]
    if any(row.status in (records.FAILED, records.ABORTED) for row in rows):
        return False
    theirs = [row.run_id for row in rows if row.attended and row.settled]
    return all(found.read(caller, one) and found.runs[one].state.stop_reason == "stop" for one in theirs)


def missing(found: Snapshot, ids: Iterable[str]) -> list[str]:
    """Return those of these runs that are not there to be shown: nobody knows how they ended."""
    there = {shown.run["runId"] for shown in found.shown}
    return [run_id for run_id in ids if run_id not in there]


def status_text(found: Snapshot) -> str:
    """Return what the status line shows: nothing, some time after nothing is left to be said."""
    return words.status_text(found.counts, found.waiting, last_end=found.last_end, now=found.at)


def document(found: Snapshot, caller: Caller, *, timed_out: bool = False) -> dict[str, Any]:
    """Return the poll document."""
    runs = [shown.run for shown in found.shown]
    return {
        "v": 1,
        "at": round(found.at, 3),
        "scope": found.asked.scope.kind,
        "project": caller.project,
        "owner": caller.owner,
        "counts": found.counts,
        "runs": runs,
        "usage": words.total([run["usage"] for run in runs]),
        "cursor": found.cursor,
        "timedOut": timed_out,
    }


def document_text(found: Snapshot, caller: Caller, *, timed_out: bool = False) -> bytes:
    """Return the poll document as JSON. What the registry has as text is not written out once more."""
    from tmuxagents.text import jsonline  # noqa: PLC0415  (as above)

    whole = document(found, caller, timed_out=timed_out)
    keys = list(whole)
    at = keys.index("runs")
    texts = [
        found.texts[run["runId"]].encode() if run["runId"] in found.texts else jsonline.encode(run)[:-1]
        for run in whole["runs"]
    ]
    before = jsonline.encode({key: whole[key] for key in keys[:at]})[:-2]
    after = jsonline.encode({key: whole[key] for key in keys[at + 1 :]}, before=",")
    return b'%b,"runs":[%b]%b' % (before, b",".join(texts), after)


def changes_document(found: Snapshot, *, reset: bool) -> dict[str, Any]:
    """Return the document of changes."""
    keys = ("runId", "status", "reason", "activity", "name")
    return {
        "v": 1,
        "at": round(found.at, 3),
        "counts": found.counts,
        "changes": [{key: shown.run[key] for key in keys} for shown in found.shown],
        "cursor": found.cursor,
        "reset": reset,
    }
