"""The verbs `poll`, `wait` and `statusline`, as cli/quick and cli/verbs/overseeing call them. Joins.

This module imports little, because programs call these verbs often.
"""

from __future__ import annotations

import os
import time

from tmuxagents import records
from tmuxagents.cli import printing
from tmuxagents.registry import lookup
from tmuxagents.runs import words
from tmuxagents.status import poll as polling
from tmuxagents.status import table
from tmuxagents.status.snapshot import DOCUMENTS, ROWS, VIEWS, Query, take
from tmuxagents.text.width import fit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.words import SnapshotRow
    from tmuxagents.status.snapshot import EndedRuns, Snapshot


TIMED_OUT = 124
_MOST = 1_000_000  # rows of a list
_SELECTING = ("-n", "--status", "--since TIME", "--unread")
# Options that exclude each other.
_APART = (
    *((one, other) for one in _SELECTING for other in ("RUN", "--wait", "--follow", "--since CURSOR")),
    *(("--follow", other) for other in ("--since CURSOR", "--format")),
    *(("--watch", other) for other in ("--wait", "--follow", "--since CURSOR", "--json", "--format")),
    *(("--format", other) for other in ("--since CURSOR", "--json")),
)


def poll(*, runs: Sequence[str], since: str | None, everywhere: bool, others: bool, **how: Any) -> int:
    """List runs and their status; return the exit code."""
    since = since and since.removeprefix("cursor ")  # a caller may pass the whole last line of an answer
    within = _within(since)
    cursor = since if within is None else None
    _check({"RUN": runs, "--since TIME": within is not None, "--since CURSOR": cursor is not None}, how)
    caller = lookup.here()

    def ask() -> Query:
        return polling.query_of(
            caller,
            runs,
            everywhere=everywhere,
            others=others,
            ended=_ended(how, within, cursor),
            statuses=how["statuses"] or (),
            unread=how["unread"],
            wanted=_wanted(as_json=how["as_json"] or how["template"] is not None),
        )

    asked = ask()
    if how["follows"]:
        return _follow(caller, asked, **how)
    if how["waits"]:
        return _wait(caller, asked, since=cursor, **how)
    if cursor is not None:
        return _changes(polling.changes(caller, asked, cursor), as_json=how["as_json"])
    if how["watches"]:
        from tmuxagents.cli import rendered  # noqa: PLC0415  (only for this option)

        return rendered.watch_picture(lambda: _lines(take(ask(), caller)))
    _print(take(asked, caller), caller, **how)
    return 0


def _within(since: str | None) -> float | None:
    """Return the seconds that `--since` names; None if it names a cursor."""
    if since is None or since == "0" or "." in since:
        return None
    from tmuxagents.text import figures  # noqa: PLC0415  (only for this option)

    within = figures.parse_duration(since)
    if within is None:
        from tmuxagents.errors import BadRequest  # noqa: PLC0415  (rare)
        from tmuxagents.text import safe  # noqa: PLC0415  (as above)

        hint = "a time like 90s or 1h30m, or the last line of poll --since 0"
        message = f'"{safe.cut(safe.line(since), 40)}" is neither a time nor a cursor.'
        raise BadRequest(message, kind="usage", hint=hint)
    return within


def _check(given: dict[str, Any], how: Mapping[str, Any]) -> None:
    """Refuse options that exclude each other."""
    given |= {"--wait": how["waits"], "--follow": how["follows"], "--watch": how["watches"]}
    given |= {
        "--json": how["as_json"],
        "--format": how["template"],
        "--status": how["statuses"],
        "-n": how["most"],
        "--unread": how["unread"],
    }
    waiting = how["any_of_them"] or how["timeout"] is not None
    apart = next((pair for pair in _APART if given[pair[0]] and given[pair[1]]), None)
    if apart is None and (not waiting or how["waits"] or how["follows"]):
        return
    from tmuxagents.errors import BadRequest  # noqa: PLC0415  (rare)

    if apart is not None:
        raise BadRequest(
            f"{apart[0]} does not go with {apart[1]}.", kind="usage", hint="leave one of them out"
        )
    raise BadRequest("--any and --timeout are about waiting.", kind="usage", hint="add --wait")


def _ended(how: Mapping[str, Any], within: float | None, cursor: str | None) -> bool | EndedRuns:
    """Return which ended runs to list: since when, and how many. A document has only the requested ones."""
    most = None if how["most"] is None else min(how["most"], _MOST)
    if how["ended"] and most is None:
        is_list = not (how["as_json"] or how["template"] is not None or printing.is_terminal())
        return (0.0, polling.MOST_RECENT) if is_list else True  # each line costs an agent's context
    if within is not None:
        return time.time() - within, most
    if most is not None or how["statuses"] or how["unread"]:
        return 0.0, most or polling.MOST_RECENT
    if how["waits"] or how["follows"] or how["as_json"] or cursor is not None:
        return False
    return time.time() - polling.RECENT_S, polling.MOST_RECENT


def _wanted(*, as_json: bool) -> str:
    return DOCUMENTS if as_json else ROWS


def wait(*, runs: Sequence[str], as_json: bool, outputs: bool, max_bytes: int | None, **how: Any) -> int:
    """Wait for runs; return the exit code."""
    if max_bytes is not None and not outputs:
        from tmuxagents.errors import BadRequest  # noqa: PLC0415  (rare)

        raise BadRequest("--max-bytes is about answers.", kind="usage", hint="add --output")
    caller = lookup.here()
    asked = polling.query_of(
        caller, runs, wanted=VIEWS if outputs and not as_json else _wanted(as_json=as_json)
    )
    return _wait(caller, asked, as_json=as_json, outputs=outputs, max_bytes=max_bytes, **how)


def statusline(*, everywhere: bool, as_json: bool) -> int:
    """Print the status text; return the exit code."""
    caller = lookup.here()
    scope = None if everywhere else polling.server_scope(os.environ)
    asked = polling.query_of(caller, everywhere=everywhere)
    found = take(Query(scope or asked.scope, active=False, wanted=_wanted(as_json=as_json)), caller)
    printing.warn(found.warnings)
    if as_json:
        printing.document(polling.as_json(found, caller))
    else:
        printing.lines([polling.status_text(found)])
    return 0


# --- printing ---


def _print(  # noqa: PLR0913  (what is printed, and how)
    found: Snapshot,
    caller: Caller,
    *,
    as_json: bool,
    template: str | None = None,
    ended: bool = False,
    timed_out: bool = False,
    **_: Any,
) -> None:
    """Print the poll document, each run by a template, or the counts and the table."""
    printing.warn(found.warnings)
    if as_json:
        printing.document(polling.as_json(found, caller, timed_out=timed_out))
        return
    if template is not None:
        printing.formatted(template, [row.run for row in found.rows])
        return
    printing.lines(_lines(found))
    # The runs that the list lacks, with the option that shows them: on stderr, since this is for people.
    left = []
    of_others = found.others or {"active": 0, "total": 0}
    elsewhere = found.elsewhere - of_others["active"]
    if of_others["total"]:
        left.append(f"{of_others['total']} of other parents here, {of_others['active']} active (--others)")
    if elsewhere > 0:
        left.append(f"{elsewhere} more elsewhere (-A)")
    if found.is_cut and ended:
        total = sum(found.counts[status] for status in records.ENDED)
        shown = sum(row.run["status"] in records.ENDED for row in found.rows)
        left.append(f"{total - shown} more have ended (-n {total})")
    elif found.is_cut:
        left.append(f"more have ended ({'-a' if printing.is_terminal() else '-n N'})")
    printing.lines(left, printing.ERR)


def _print_ends(found: Snapshot, caller: Caller, ids: Sequence[str], max_bytes: int | None) -> None:
    """Print the ending and the answer of each run, in the order in which the runs were named."""
    from tmuxagents.runs import output  # noqa: PLC0415  (for answers only)
    from tmuxagents.status import ending_text  # noqa: PLC0415  (as above)
    from tmuxagents.text import safe  # noqa: PLC0415  (as above)

    printing.warn(found.warnings)
    rows = sorted(found.rows, key=lambda row: ids.index(row.run["runId"]))
    over = dict(zip((row.run["runId"] for row in found.rows), polling.ended(found), strict=True))
    texts = (output.answer(found.views[row.run["runId"]]) if over[row.run["runId"]] else None for row in rows)
    runs = ({**row.run, "doing": words.doing(row)} for row in rows)
    lookup.mark_answered(caller, (run_id for run_id in ids if over.get(run_id)))
    text = ending_text.blocks(zip(runs, texts, strict=True), max_bytes or ending_text.MOST_BYTES)
    printing.lines([safe.text(text) if printing.is_terminal() else text])


def _lines(found: Snapshot) -> list[str]:
    """Return the counts and the table, active runs first."""
    width = printing.columns()
    counts = polling.counts_line(found, os.environ)
    rows = sorted(found.rows, key=lambda shown: shown.run["endedAt"] or float("inf"), reverse=True)
    lines = table.lines(rows, found.at, width=width, paints=printing.paints())
    return [counts if width is None else fit(counts, width), *lines]


def _changes(changes: tuple[Snapshot, bool], *, as_json: bool) -> int:
    found, reset = changes
    printing.warn(found.warnings)
    if as_json:
        printing.document(polling.changes_document(found, reset=reset))
    else:
        printing.lines(words.changes(found.rows, found.cursor, reset=reset))
    return 0


# --- waiting ---


def _wait(
    caller: Caller,
    asked: Query,
    *,
    any_of_them: bool,
    timeout: float | None,
    since: str | None = None,
    **how: Any,
) -> int:
    # Only a wait needs these. Importing them before the wait makes its end quick.
    from tmuxagents.registry import learn, schema  # noqa: F401, PLC0415  (for its end, see above)
    from tmuxagents.status import wait as status_wait  # noqa: PLC0415  (as above)

    wait = status_wait.QueryWait(caller, asked, any_of_them=any_of_them, limit_s=timeout, since=since)
    found = wait.run()
    if how.get("outputs") and not how["as_json"]:
        _print_ends(found, caller, wait.ids, how["max_bytes"])
    elif wait.changes is None:
        _print(found, caller, timed_out=not wait.in_time, **how)
    else:
        printing.warn(found.warnings)
        _changes(wait.changes, as_json=how["as_json"])
    return _outcome(found, wait.ids, wait.ids, caller) if wait.in_time else TIMED_OUT


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
    """Print each change of the runs until they have ended, then all of them; return the exit code."""
    deadline = None if timeout is None else time.monotonic() + timeout

    def is_done(found: Snapshot) -> bool:
        ended = polling.ended(found)
        return not ended or (any(ended) if any_of_them else all(ended))

    def is_over(found: Snapshot) -> bool:
        return is_done(found) or (deadline is not None and time.monotonic() >= deadline)

    found = polling.follow(caller, asked, lambda shown: _print_change(shown, as_json=as_json), is_over)
    in_time = is_done(found)
    _print(found, caller, as_json=as_json, timed_out=not in_time)
    if not in_time:
        return TIMED_OUT
    return _outcome(found, found.registry_rows, found.query.ids, caller) if waits else 0


def _print_change(shown: SnapshotRow, *, as_json: bool) -> None:
    """Print a run that has changed: its document, or a line, which a terminal shows with the time."""
    if as_json:
        from tmuxagents.text import jsonline  # noqa: PLC0415  (for documents only)

        printing.write(jsonline.encode({"v": 1, "type": "run", "run": shown.run}))
    elif printing.is_terminal():
        sign, colour = table.STATES[table.state(shown.run)]
        clock = time.strftime("%H:%M:%S ")
        room = printing.width() - len(clock) - 2
        parts = [("2", clock), (colour, f"{sign} "), ("", words.follow_line(shown, room))]
        printing.lines([table.painted(parts if printing.paints() else [("", text) for _, text in parts])])
    else:
        printing.lines([words.follow_line(shown)])
