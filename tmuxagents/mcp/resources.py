"""Resources: the answers, transcripts and results of runs, by address. Joins."""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.errors import BadRequest, NotPossible
from tmuxagents.launch import nesting
from tmuxagents.registry import lookup
from tmuxagents.runs import output
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import poll
from tmuxagents.system import watcher_lock
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.registry.lookup import Caller

SCHEME = "tmuxagents://runs/"
MOST_RUNS = 20
MOST_BYTES = 256 * 1024
_KINDS = {"output": "text/markdown", "transcript": "text/plain", "result": "application/json"}


def listed(caller: Caller, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the resources of the caller's latest runs, the newest first."""
    nesting.check(environment, caller.runs)
    scope = poll.query_of(caller, ()).scope
    rows, _ = lookup.with_registry(caller, lambda book: list(book.rows(scope, limit=MOST_RUNS)))
    return [
        {
            "uri": f"{SCHEME}{row.run_id}/{kind}",
            "name": f"{row.run_id}/{kind}",
            "title": f"{safe.line(row.name or row.preset or 'agent')}: {kind}",
            "description": f"{row.status}: {safe.cut(safe.line(row.task or ''), 80)}",
            "mimeType": mime,
        }
        for row in rows
        for kind, mime in _KINDS.items()
        if kind == "transcript" or row.status in records.ENDED
    ]


def read(address: str, caller: Caller, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the content of an address, or refuse it."""
    nesting.check(environment, caller.runs)
    run_dir, kind = locate(address, caller)
    run = inspect(run_dir)
    if kind == "output":
        text = output.answer(run, MOST_BYTES) or ""
    elif kind == "transcript":
        lines = output.transcript_lines(run.run_dir, follow=False)
        texts = (safe.text(f"{line.decode('utf-8', 'replace')}\n") for line in lines)
        text = safe.head_and_tail(map(str.encode, texts), MOST_BYTES)
    elif run.result is not None:
        text = jsonline.encode(run.result).decode()
    else:
        if run.ended:
            watcher_lock.ensure(caller.home)
        message = f"Run {run.run_id} is {run.standing.status}: its result is not written yet."
        raise NotPossible(message, kind="run-running", hint="ask again later", field="uri")
    if run.ended and kind != "transcript":
        lookup.mark_answered(caller, [run.run_id])
    return [{"uri": address, "mimeType": _KINDS[kind], "text": text}]


def locate(address: str, caller: Caller) -> tuple[str, str]:
    """Return the run directory and the kind of a resource. Raises BadRequest or NoSuchRun."""
    reference, _, kind = address.removeprefix(SCHEME).rpartition("/")
    if not address.startswith(SCHEME) or kind not in _KINDS or not reference:
        shown = safe.cut(safe.line(address), 80)
        message = f'There is no resource "{shown}": an address is {SCHEME}RUN/{"|".join(_KINDS)}.'
        raise BadRequest(message, kind="bad-argument", field="uri")
    return lookup.find_run(reference, caller), kind
