"""The bodies of `poll`, `wait` and `statusline`, called by cli/quick or, through cli/verbs/watching, by click.

It imports little: programs call these verbs often.

Joins.
"""

from __future__ import annotations

import os
import time

from tmuxagents.cli import printing
from tmuxagents.registry import lookup
from tmuxagents.runs import words
from tmuxagents.status import poll as polling
from tmuxagents.status.snapshot import DOCUMENTS, ROWS, Query, take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.words import SnapshotRow
    from tmuxagents.status.snapshot import Snapshot

TIMED_OUT = 124


def poll(
    *,
    runs: Sequence[str],
    ended: bool = False,
    everywhere: bool = False,
    since: str | None = None,
    **how: Any,
) -> int:
    """List runs and their status; return the exit code."""
    _check(since, **how)
    caller = lookup.here()
    wanted = _wanted(as_json=how["as_json"])
    asked = polling.query_of(caller, runs, everywhere=everywhere, ended=ended, wanted=wanted)
    if how["follows"]:
        return _follow(caller, asked, **how)
    if how["waits"]:
        return _wait(caller, asked, since=since, **how)
    if since is not None:
        return _changes(polling.changes(caller, asked, since), as_json=how["as_json"])
    _print(take(asked, caller), caller, as_json=how["as_json"])
    return 0


def _check(since: str | None, *, waits: bool, follows: bool, **how: Any) -> None:
    if since is None and (waits or follows or not (how["any_of_them"] or how["timeout"] is not None)):
        return
    from tmuxagents.errors import BadRequest  # noqa: PLC0415  (rarely is anybody wrong)

    if since is not None and follows:
        raise BadRequest("--follow tells all changes: it goes without --since.", kind="usage")
    if since is not None and waits:
        return
    if how["any_of_them"] or how["timeout"] is not None:
        raise BadRequest("--any and --timeout say how to wait.", kind="usage", hint="add --wait")


def _wanted(*, as_json: bool) -> str:
    return DOCUMENTS if as_json else ROWS


def wait(*, runs: Sequence[str], as_json: bool, **how: Any) -> int:
    """Wait for runs; return the exit code."""
    caller = lookup.here()
    asked = polling.query_of(caller, runs, wanted=_wanted(as_json=as_json))
    return _wait(caller, asked, as_json=as_json, **how)


def statusline(*, everywhere: bool, as_json: bool) -> int:
    """Print the status text; return the exit code."""
    caller = lookup.here()
    scope = None if everywhere else polling.server_scope(os.environ)
    asked = polling.query_of(caller, (), everywhere=everywhere)
    found = take(Query(scope or asked.scope, active=False, wanted=_wanted(as_json=as_json)), caller)
    printing.warn(found.warnings)
    if as_json:
        printing.write(polling.as_json(found, caller))
    else:
        printing.lines([polling.status_text(found)])
    return 0


# --- printed ----------------------------------------------------------------------------------------------


def _document(document: Mapping[str, Any]) -> None:
    from tmuxagents.text import jsonline  # noqa: PLC0415  (for documents only)

    printing.write(jsonline.encode(document))


def _print(found: Snapshot, caller: Caller, *, as_json: bool, timed_out: bool = False) -> None:
    """Print the poll document, or the status text and the table."""
    printing.warn(found.warnings)
    if as_json:
        printing.write(polling.as_json(found, caller, timed_out=timed_out))
        return
    status = words.status_line(found.counts, found.waiting)
    is_whole = printing.columns() is None
    printing.lines((status, *words.table(found.rows, printing.width(), whole=is_whole)))
    if found.elsewhere:  # for people: on stdout nothing comes after the table
        printing.lines([f"{found.elsewhere} more elsewhere (-A)"], printing.ERR)


def _changes(told: tuple[Snapshot, bool], *, as_json: bool) -> int:
    found, reset = told
    printing.warn(found.warnings)
    if as_json:
        _document(polling.changes_document(found, reset=reset))
    else:
        printing.lines(words.changes(found.rows, found.cursor, reset=reset))
    return 0


# --- waited for -------------------------------------------------------------------------------------------


def _wait(
    caller: Caller,
    asked: Query,
    *,
    any_of_them: bool,
    timeout: float | None,
    since: str | None = None,
    **how: Any,
) -> int:
    # Here, since who only looks does not wait; and all that the end will need, while there is time.
    from tmuxagents.registry import learn, schema  # noqa: F401, PLC0415
    from tmuxagents.status import wait as status_wait  # noqa: PLC0415

    done = status_wait.QueryWait(caller, asked, any_of_them=any_of_them, limit_s=timeout, since=since)
    if done.changes is None:
        _print(done.snapshot, caller, as_json=how["as_json"], timed_out=not done.in_time)
    else:
        printing.warn(done.snapshot.warnings)
        _changes(done.changes, as_json=how["as_json"])
    return _outcome(done.snapshot, done.ids, done.ids, caller) if done.in_time else TIMED_OUT


def _outcome(found: Snapshot, ids: Container[str], waited_for: Iterable[str], caller: Caller) -> int:
    gone = polling.missing(found, waited_for)
    printing.warn(f"the run {run_id} is gone: how it ended is unknown" for run_id in gone)
    return 0 if not gone and polling.went_well(found, ids, caller) else 1


def _follow(  # noqa: PLR0913  (the verb's options)
    caller: Caller,
    asked: Query,
    *,
    any_of_them: bool,
    timeout: float | None,
    as_json: bool,
    waits: bool,
    **_: Any,
) -> int:
    deadline = None if timeout is None else time.monotonic() + timeout
    late = False

    def over(found: Snapshot) -> bool:
        nonlocal late
        ended = polling.ended(found)
        done = not ended or (any(ended) if any_of_them else all(ended))
        late = not done and deadline is not None and time.monotonic() >= deadline
        return done or late

    def tell(shown: SnapshotRow) -> None:
        if as_json:
            _document({"v": 1, "type": "run", "run": shown.run})
        else:
            printing.lines([words.follow_line(shown, printing.width())])

    found = polling.follow(caller, asked, tell, over)
    _print(found, caller, as_json=as_json, timed_out=late)
    if late:
        return TIMED_OUT
    return _outcome(found, found.registry_rows, found.query.ids, caller) if waits else 0
