"""What a call came to, as text: one block a task, in the order in which they were asked for."""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.core import documents, sanitize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

MOST_BYTES = 16 * 1024


def blocks(runs: Iterable[tuple[Mapping[str, Any], str | None]]) -> str:
    """Return the text for runs (their documents, and their whole answers)."""
    return "\n\n".join(block(number, run, answer) for number, (run, answer) in enumerate(runs, 1))


def block(number: int, run: Mapping[str, Any], answer: str | None) -> str:
    """Return one block: how the task ended, and its answer if it was finished.

    A live child that a person has taken over goes on, and may have finished an answer all the same.
    """
    head = f"[{number}] {label(run)}: {run['status']}"
    if run["status"] != records.COMPLETED and not run.get("settled"):
        why = sanitize.line(run["errorMessage"] or "")
        reason = f", {run['reason']}" if run["reason"] else ""
        return f"{head}{reason}{': ' if why else ''}{why} (run {run['runId']})"
    head = f"{head} (run {run['runId']})"
    return f"{head}\n\n{cut(answer, run['runId'])}" if answer else head


def label(run: Mapping[str, Any]) -> str:
    """Return what a task is called: by its preset, else by its name, else by its agent."""
    for name in (run["preset"], run["name"], run["agent"]):
        if isinstance(name, str) and name:
            return sanitize.line(name) or "task"
    return "task"


def cut(answer: str, run_id: str) -> str:
    """Return an answer, or its beginning and where the rest is."""
    size = documents.size_of(answer)
    if size <= MOST_BYTES:
        return answer
    head = documents.first_bytes(answer, MOST_BYTES)
    return f"{head}\n… {size - documents.size_of(head)} bytes more: tmuxagents output {run_id}"
