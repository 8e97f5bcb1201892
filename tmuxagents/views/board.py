"""The words of `delegate_to_subagents`: its call, the view of its children, and a line for each ended one.

The keys and words of the tool differ from ours: runs/words translates the status. Each line of the view comes
with its kind, which decides how the line looks.

Pure.
"""

from __future__ import annotations

from tmuxagents.runs.words import COMPLETED, ERROR, RUNNING, status_word
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.views.lines import LastLines

_ICONS = {RUNNING: "⏳", COMPLETED: "✓", ERROR: "✗"}
_SEPARATOR = " • "
_INDENT, _ID_INDENT = "  ", "    "
NOTHING = "(no sub-agent details)"
_STARTING, _NO_OUTPUT = "(starting...)", "(no output)"

# The kinds of the view's lines. Lines of a child's window have kinds of their own, `text` and `tool`.
HEAD, TITLE, PROBLEM, ASIDE, BLANK = "head", "title", "error", "muted", "blank"


# --- the call ---------------------------------------------------------------------------------------------


def call_line(args: Any) -> str:
    """Return the call as one line."""
    table = args if isinstance(args, dict) else {}
    tasks = table.get("tasks")
    tasks = tasks if isinstance(tasks, list) else [None]  # not known yet: there is at least one
    profiles = [_line(task.get("profile")) for task in tasks if isinstance(task, dict)]
    named = [profile for profile in profiles if profile]
    default = _line(table.get("profile"))
    parts = [
        f"delegate_to_subagents {len(tasks)} {'sub-agents' if len(tasks) > 1 else 'sub-agent'}",
        f"(default profile: {default})" if default else "",
        f"profiles: [{', '.join(named)}]" if named else "",
    ]
    return " ".join(filter(None, parts))


# --- counts -----------------------------------------------------------------------------------------------


def _counts(statuses: Iterable[str]) -> str:
    words = [status_word(status) for status in statuses]
    failed = words.count(ERROR)
    counts = (
        (words.count(RUNNING), "running"),
        (words.count(COMPLETED), "done"),
        (failed, "error" if failed == 1 else "errors"),
    )
    return ", ".join(f"{count} {word}" for count, word in counts if count)


def progress_text(statuses: Iterable[str]) -> str:
    """Return the progress of a call."""
    return _counts(statuses) or "processing..."


# --- the view ---------------------------------------------------------------------------------------------


def view(windows: Sequence[Mapping[str, Any]], *, expanded: bool, now_ms: float) -> list[tuple[str, str]]:
    """Return the lines of a call's view as (kind, words); windows are as in `details.windows`."""
    if not windows:
        return [(ASIDE, NOTHING)]
    lines = [(HEAD, header(window["status"] for window in windows)), (BLANK, "")]
    for window in windows:
        lines += [*block(window, expanded=expanded, now_ms=now_ms), (BLANK, "")]
    running = sum(status_word(window["status"]) == RUNNING for window in windows)
    if running:
        return [*lines, (ASIDE, f"{running} running...")]
    ids = [(ASIDE, f"{_ID_INDENT}{_line(window['name'])}: {window['sessionId']}") for window in windows]
    return [*lines, (ASIDE, "Session IDs (use with get_subagent_output):"), *ids]


def view_text(windows: Sequence[Mapping[str, Any]], *, now_ms: float) -> str:
    """Return the view as text, for the screen of a parent."""
    return "\n".join(text for _, text in view(windows, expanded=False, now_ms=now_ms))


def header(statuses: Iterable[str]) -> str:
    """Return the line above all children."""
    return f"Sub-agents: {_counts(statuses)}"


def block(window: Mapping[str, Any], *, expanded: bool, now_ms: float) -> list[tuple[str, str]]:
    """Return the lines of one child."""
    rows = window["allMessages" if expanded else "lines"]
    lines = [(row["kind"], _INDENT + line) for row in rows for line in row["text"].split("\n")]
    if not lines:
        lines = [(ASIDE, _INDENT + (_NO_OUTPUT if expanded else _STARTING))]
    message = _line(window.get("errorMessage"))
    if message and status_word(window["status"]) == ERROR:
        lines.append((PROBLEM, f"{_INDENT}Error: {message}"))
    return [(TITLE, title(window, now_ms)), *lines]


def title(window: Mapping[str, Any], now_ms: float) -> str:
    """Return the header of one child's window; the time in it stops when the child ends."""
    profile = _line(window.get("profileName"))
    provider, model = _line(window.get("provider")), _line(window.get("model"))
    if not model.startswith(f"{provider}/"):
        model = "/".join(filter(None, (provider, model)))
    setup = " ".join(filter(None, (model, _line(window.get("thinkingLevel")))))
    todos, done = window.get("todoTotal"), window.get("todoCompleted") or 0
    started, ended = window.get("startedAt"), window.get("completedAt")  # no start: it waits for its turn
    until = now_ms if ended is None else ended
    seconds = 0 if started is None else max(0, int((until - started) // 1000))
    parts = [
        f"{_ICONS[status_word(window['status'])]} {_line(window['name'])}",
        f"{profile} ({setup})" if profile and setup else profile,
        f"{window['toolCount']} tools",
        f"{window['fileCount']} files" if window.get("fileCount") else "",
        f"[{done}/{todos}]" if todos and todos != done else "",
        f"{seconds}s/{window['timeout']:.10g}s",
    ]
    return _SEPARATOR.join(filter(None, parts))


def window_document(
    run: Mapping[str, Any], name: str, window: LastLines, profile: Any = None
) -> dict[str, Any]:
    """Return one entry of `details.windows`. `run` is the run's document, `profile` its profile's fields.

    The caller fills in `profileInfo`, since only the caller knows the summary of a profile.
    """
    fields = profile if isinstance(profile, dict) else {}
    return {
        "name": name,
        "sessionId": run["sessionId"],
        "runId": run["runId"],
        "status": status_word(run["status"]),
        "state": run["status"],
        "reason": run["reason"],
        "exitCode": run["exitCode"],
        "lines": [row._asdict() for row in window.lines],
        "allMessages": [row._asdict() for row in window.all],
        "startedAt": _ms(run["startedAt"]),
        "completedAt": _ms(run["endedAt"]),
        "timeout": run["timeout"],
        "toolCount": run["toolCount"],
        "fileCount": len(run["files"] or ()),
        "profileName": run["preset"],
        "profileInfo": None,
        "provider": fields.get("provider"),
        "model": run["model"],
        "thinkingLevel": fields.get("thinkingLevel"),
        "stopReason": run["stopReason"],
        "errorMessage": run["errorMessage"],
        "todoTotal": window.todo_total,
        "todoCompleted": window.todo_completed,
    }


def _ms(seconds: Any) -> int | None:
    return None if seconds is None else round(seconds * 1000)


# --- the end ----------------------------------------------------------------------------------------------


def outcome_line(
    name: str, status: str, session_id: str, *, message: str | None = None, profile: str | None = None
) -> str:
    """Return the outcome of one task. `profile` is the summary of its profile, or only the name."""
    word = status_word(status)
    why = f" — {safe.line(message)}" if word == ERROR and message else ""
    setup = f" ({safe.line(profile)})" if profile else ""
    return f"{_ICONS[word]} {_line(name)}: {word}{why} (session: {session_id}){setup}"


def _line(value: Any) -> str:
    return safe.line(value) if isinstance(value, str) else ""
