"""What is to be done, decided before anything is made: a request becomes the plan of a run, or is refused.

Every refusal happens here. So far the part that a run without preset needs; presets and models join with
their features.
"""

from __future__ import annotations

import re

from tmuxagents.errors import BadRequest, Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_NAME = re.compile("[a-z0-9][a-z0-9_-]{0,31}")
_LIKE_AN_ID = re.compile("[0-9a-f]{4,16}")
ARTIFACTS = {
    "events": "events.jsonl",
    "stdout": "stdout.log",
    "stderr": "stderr.log",
    "transcript": "transcript.log",
    "session": "child-session.jsonl",
    "result": "result.json",
}


class LaunchRequest:
    """What somebody wants done."""

    __slots__ = ("agent", "cwd", "mode", "model", "name", "owner", "project", "task", "timeout")

    def __init__(  # noqa: PLR0913  (one field an option)
        self,
        *,
        task: str,
        cwd: str,
        project: str,
        agent: str = "pi",
        mode: str = "background",
        model: str | None = None,
        name: str | None = None,
        owner: str | None = None,
        timeout: float = 600,
    ) -> None:
        self.task = task
        self.cwd = cwd
        self.project = project
        self.agent = agent
        self.mode = mode
        self.model = model
        self.name = name
        self.owner = owner
        self.timeout = timeout


def plan_launch(request: LaunchRequest, *, run_id: str, now: float) -> dict[str, Any]:
    """Return the plan of a run (meta.json), or raise BadRequest."""
    faults = [
        *_task_faults(request.task),
        *_cwd_faults(request.cwd),
        *_name_faults(request.name),
        *_timeout_faults(request.timeout),
    ]
    if faults:
        first, hint = faults[0]
        raise BadRequest(first.message, kind=first.kind, hint=hint, faults=[fault for fault, _ in faults])
    return {
        "v": 1,
        "runId": run_id,
        "sessionId": run_id,
        "callId": run_id,
        "name": request.name,
        "mode": request.mode,
        "taskIndex": 0,
        "step": None,
        "agent": request.agent,
        "driver": "batch",
        "preset": None,
        "presetKind": None,
        "presetSource": None,
        "presetPath": None,
        "presetHash": None,
        "presetHides": None,
        "tools": [],
        "systemPrompt": None,
        "systemPromptPath": None,
        "appendSystemPromptPath": None,
        "requestedModel": request.model,
        "resolvedModel": request.model,
        "modelSource": "call" if request.model else None,
        "task": request.task,
        "cwd": request.cwd,
        "project": request.project,
        "owner": request.owner,
        "root": None,
        "timeout": request.timeout,
        "files": [],
        "after": [],
        "resumes": None,
        "sessionPath": ARTIFACTS["session"],
        "artifacts": ARTIFACTS,
        "createdAt": round(now, 3),
        "tmux": {"socket": None, "session": None},
    }


def prompt_bytes(task: str) -> bytes:
    """Return the bytes that the child reads: the task, to the byte."""
    return task.encode("utf-8")


def _task_faults(task: str) -> Iterator[tuple[Fault, str | None]]:
    if not task.strip():
        hint = "say what the child should do; `-` reads it from stdin"
        yield Fault("empty-task", "The task is empty.", field="task"), hint
    if "\0" in task:
        yield Fault("bad-argument", "The task holds a NUL character.", field="task"), None
    try:
        task.encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"The task is not valid Unicode (character {error.start + 1})."
        yield Fault("bad-argument", message, field="task"), "save it as UTF-8"


def _cwd_faults(cwd: str) -> Iterator[tuple[Fault, str | None]]:
    if not cwd.startswith("/"):
        yield Fault("bad-cwd", "cwd must be an absolute path", field="cwd"), None
    elif ".." in cwd.split("/"):
        yield Fault("bad-cwd", "cwd must not contain '..' path segments", field="cwd"), None


def _name_faults(name: str | None) -> Iterator[tuple[Fault, str | None]]:
    if name is not None and (not _NAME.fullmatch(name) or _LIKE_AN_ID.fullmatch(name)):
        message = f"The name {name[:40]!r} cannot be used."
        hint = "up to 32 of a-z, 0-9, _ and -, not beginning with a sign, and not 4 to 16 hex digits"
        yield Fault("bad-argument", message, field="name"), hint


def _timeout_faults(timeout: float) -> Iterator[tuple[Fault, str | None]]:
    if not 1 <= timeout < float("inf"):  # no number is no timeout, either
        message = f"timeout must be at least 1 second, not {timeout:g}"
        yield Fault("bad-argument", message, field="timeout"), None
