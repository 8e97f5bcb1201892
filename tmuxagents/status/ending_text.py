"""How runs ended and what they answered, as text: for `output`, `wait --output` and `run`.

A line with the ending comes before the text of a run that failed, so that nobody takes it for an answer.

Pure.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.runs import words
from tmuxagents.runs.endings import PARENT
from tmuxagents.status import table
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Run = Mapping[str, Any]  # a run document, or the part of it in a row; and what the run is `doing`


MOST_BYTES = 4000  # of each answer, unless the caller sets another limit
NO_TEXT = "no text output"
_UNFINISHED, _MAYBE = "what follows is unfinished", "what follows may be unfinished"
_STOP = "stop"  # the stop reason of a model that has finished its answer


def has_failed(run: Run) -> bool:
    """Say whether a run has ended without success."""
    return run["status"] in (records.FAILED, records.ABORTED)


def state_text(run: Run) -> str:
    """Return the state of a run; of one that failed, also the reason: `failed (error): 401: no such key`."""
    if not has_failed(run):
        doing = safe.line(run.get("doing") or run.get("activity") or "")
        refused = f", {words.denied(run['denied'])}" if run.get("denied") else ""
        return f"{table.state(run)}{refused}{': ' if doing else ''}{doing}"
    why = words.cause(run["errorMessage"] or "").rstrip(".")
    if run["reason"] == PARENT.reason:
        why = "cancelled"
    if why.lower() == run["reason"]:  # "stopped" appears only once
        why = ""
    return f"{run['status']} ({run['reason']}){': ' if why else ''}{why}"


def warning(run: Run, text: str | None) -> str | None:
    """Return the line before the text of a run that failed; None for other runs."""
    if not has_failed(run):
        return None
    follows = _MAYBE if run.get("stopReason") == _STOP else _UNFINISHED
    return f"{state_text(run)}; {follows if text else NO_TEXT}"


def blocks(runs: Iterable[tuple[Run, str | None]], most_bytes: int | None) -> str:
    """Return how several runs ended, each with its answer."""
    pairs = enumerate(runs, 1)
    return "\n\n".join(block(number, run, text, most_bytes) for number, (run, text) in pairs)


def block(number: int, run: Run, text: str | None, most_bytes: int | None) -> str:
    """Return how one of several runs ended, and its answer or last text, unless it was cancelled."""
    head = f"[{number}] {words.title(run['name'], run['task'])}: "
    if not text or run["reason"] == PARENT.reason:
        return f"{head}{state_text(run)} (run {run['runId']})"
    head += warning(run, text) or state_text(run)
    return f"{head} (run {run['runId']})\n\n{cut(text, run['runId'], most_bytes)}"


def cut(text: str, run_id: str, most_bytes: int | None) -> str:
    """Return head and tail of a long text, and between them the command that prints all of it."""
    if most_bytes is None:
        return text
    hint = f"; tmuxagents output {run_id} prints all"
    return safe.head_and_tail([text.encode("utf-8", "replace")], most_bytes, hint)
