"""Format the answers of the tools as text and JSON: results, refusals, progress.

Runs come in as documents. The texts of delegate_to_subagents and of its sessions are in views/board and
runs/conversation.

Pure.
"""

from __future__ import annotations

import json

from tmuxagents import records
from tmuxagents.machines import refs
from tmuxagents.runs import documents, words
from tmuxagents.text import figures, safe
from tmuxagents.tools import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.errors import TmuxAgentsError
    from tmuxagents.runs.words import SnapshotRow

    Run = Mapping[str, Any]

SINGLE, PARALLEL, BACKGROUND = "single", "parallel", "background"
NO_ACTIVE = "No active background runs."
NONE_AT_ALL = "No background runs."
_FEW, _SHORT_ACTIVITY = 5, 40  # rows with whole activities; columns of an activity in a longer list
NO_PROFILES = (
    "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/."
)
# The keys of a run that a parent's model gets: each word costs context.
_SHOWN = (
    *("runId", "sessionId", "name", "preset", "profileName", "status", "state", "reason", "errorMessage"),
    *("activity", "model", "elapsedSeconds", "toolCount", "code"),
)
_MOST_OTHERS = 5  # further faults of a refused call
MOST_BYTES = 16 * 1024  # of an answer
_COUNTED = (records.QUEUED, records.RUNNING, *records.ENDED)


# --- documents --------------------------------------------------------------------------------------------


def _content(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def result(text: str, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a call that was carried out, whatever the endings of its children."""
    return {"content": _content(text), "details": details, "isError": False}


def refused(problem: TmuxAgentsError, *, log: str | None = None, tool: str | None = None) -> dict[str, Any]:
    """Return the document of a refused call: all faults, what to do, and an example of a valid call."""
    others = [fault.message for fault in problem.faults if fault.message != problem.message]
    lines = [problem.message, *(f"also: {message}" for message in others[:_MOST_OTHERS])]
    lines += [f"hint: {problem.hint}"] if problem.hint else []
    if tool is not None and tool in catalogue.EXAMPLES and problem.kind in ("bad-argument", "removed"):
        lines.append(f"example: {json.dumps(catalogue.EXAMPLES[tool])}")
    return {
        "content": _content("\n".join(map(safe.text, lines))),
        "details": documents.error(problem, log=log),
        "isError": True,
    }


def progress(text: str, details: Mapping[str, Any], *, view: str | None = None) -> dict[str, Any]:
    """Return the document of a call's progress. `view`: the text in a form that fits on a screen."""
    shown = {} if view is None else {"view": view}
    return {"type": "progress", "content": _content(text), "details": details, **shown}


def compact(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return details without the parts that the text repeats or that cost too much context."""
    return {key: _compact(value) for key, value in details.items()}


def _compact(value: Any) -> Any:
    if isinstance(value, list):
        return [_compact(entry) for entry in value]
    if not isinstance(value, dict) or "runId" not in value:
        return value
    return {key: value[key] for key in _SHOWN if value.get(key) is not None}


def counts(runs: Iterable[Run]) -> dict[str, int]:
    """Return the counts of these runs by status."""
    found = [run["status"] for run in runs]
    return {**{status: found.count(status) for status in _COUNTED}, "total": len(found)}


# --- subagent ---------------------------------------------------------------------------------------------


def call_details(mode: str, runs: Sequence[Run], *, ended: bool) -> dict[str, Any]:
    """Return `details` of the tool subagent, during the call and at its end."""
    good = all(run["status"] == records.COMPLETED for run in runs)
    status = "running" if not ended else records.COMPLETED if good else records.FAILED
    return {"mode": mode, "status": status, "runs": list(runs), "counts": counts(runs)}


def call_progress(mode: str, runs: Sequence[Run]) -> str:
    """Return the current activity of each child of a call of subagent."""
    if mode == SINGLE:
        return safe.text(_doing(runs[0]))
    return "\n".join(
        f"[{number}] {label(run)}: {safe.line(_doing(run))}" for number, run in enumerate(runs, 1)
    )


def _doing(run: Run) -> str:
    activity = run["activity"] if run["status"] == records.RUNNING else None
    return str(activity or run["status"])


# --- the background ---------------------------------------------------------------------------------------


def started(run: Run, status_line: str) -> str:
    """Return the text for a run that has started."""
    return f"Started {label(run)} in the background: run {run['runId']}. {status_line}"


def listed(shown: Sequence[SnapshotRow], status_line: str, *, ended: bool, more: int, others: int = 0) -> str:
    """Return the counts and rows of background runs. `ended`: the request includes ended runs.

    `more`: the number of further runs; `others`: the number of active runs that other parents launched here.
    """
    rows = [row(one, _SHORT_ACTIVITY if len(shown) > _FEW else words.WIDTH) for one in shown]
    rows = rows or [NONE_AT_ALL if ended else NO_ACTIVE]
    tail = [f"… {more} more: tmuxagents poll{' --all' if ended else ''}"] if more else []
    tail += [f"{others} active of other parents in this project: tmuxagents poll --others"] if others else []
    return "\n".join([status_line, *rows, *tail])


def row(shown: SnapshotRow, width: int = words.WIDTH) -> str:
    """Return one run as a line: id, name or preset, status, duration, activity of at most `width`."""
    run = shown.run
    ended = run["status"] in records.ENDED
    why = run["reason"] if ended and run["status"] != records.COMPLETED else None
    parts = [
        run["runId"],
        label(run),
        f"{run['status']} ({why})" if why else words.status(run),
        words.NONE if run["startedAt"] is None else f"{int(run['elapsedSeconds'])}s",
        "" if ended else safe.cut(safe.line(words.doing(shown) or ""), width),
    ]
    return " ".join(part for part in parts if part)


def one(shown: SnapshotRow, answer: str | None) -> str:
    """Return the line of one run and, once it has ended, its answer or the reason for having none."""
    run = shown.run
    text = cut(answer, run["runId"]) if answer else None
    if run["status"] not in records.ENDED:
        text = None
    elif run["status"] != records.COMPLETED:
        text = "\n\n".join(part for part in (run["errorMessage"], text) if part)
    return with_work(f"{row(shown)}\n\n{text}" if text else row(shown), run)


def with_work(text: str, run: Run) -> str:
    """Return a text about a run and, if its code came back from another machine, hints about the code."""
    lines = refs.hints(run["runId"], run["code"]) if "code" in run else ()
    return "\n\n".join((text, "\n".join(lines))) if lines else text


def not_found(reference: str) -> str:
    """Return the message for an unknown run."""
    return f'Run "{safe.cut(safe.line(reference), 40)}" not found.'


def delivered(run_id: str) -> str:
    """Return the text for a message that the child has taken."""
    return f"Delivered to run {run_id}."


def stopped(run: Run, *, before: str) -> str:
    """Return the text for a run that was stopped, or that had ended before."""
    if before in records.ENDED:
        return f"Run {run['runId']} had ended already: {run['status']}."
    return f"Stopped run {run['runId']}."


def blocks(runs: Iterable[tuple[Mapping[str, Any], str | None]]) -> str:
    """Return the text for runs: a block for each document with its whole answer."""
    return "\n\n".join(
        with_work(block(number, run, answer), run) for number, (run, answer) in enumerate(runs, 1)
    )


def block(number: int, run: Mapping[str, Any], answer: str | None) -> str:
    """Return the block of one run: its status, and its answer once that is finished.

    An attended run may have finished an answer although it has not ended.
    """
    head = f"[{number}] {label(run)}: {words.status(run)}"
    if run["status"] != records.COMPLETED and not run.get("settled"):
        why = safe.line(run["errorMessage"] or "")
        reason = f", {run['reason']}" if run["reason"] else ""
        return f"{head}{reason}{': ' if why else ''}{why} (run {run['runId']})"
    head = f"{head} (run {run['runId']})"
    return f"{head}\n\n{cut(answer, run['runId'])}" if answer else head


def label(run: Mapping[str, Any]) -> str:
    """Return the label of a task: its name, else its preset, else its agent."""
    for name in (run["name"], run["preset"], run["agent"]):
        if isinstance(name, str) and name:
            return safe.line(name) or "task"
    return "task"


def cut(answer: str, run_id: str) -> str:
    """Return an answer. A long one is cut, and the text names the command that prints it whole."""
    size = safe.size_of(answer)
    if size <= MOST_BYTES:
        return answer
    head = safe.first_bytes(answer, MOST_BYTES)
    more = size - safe.size_of(head)
    return f"{head}\n… {figures.counted(more, 'byte')} more: tmuxagents output {run_id}"


def answered(run_id: str, question: str, by: str) -> str:
    """Return the text for an answered question. `by`: the parent or person who answered it."""
    return f"Answered the question of run {run_id} ({safe.cut(safe.line(question), 80)}; by {safe.line(by)})."
