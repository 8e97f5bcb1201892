"""What is to be done, decided before anything is made: a request becomes the plan of a run, or is refused.

Every refusal happens here. So far the part that a run without preset needs; presets and models join with
their features.
"""

from __future__ import annotations

from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
    _check_task(request.task)
    _check_cwd(request.cwd)
    if request.timeout < 1:
        message = f"timeout must be at least 1 second, not {request.timeout:g}"
        raise BadRequest(message, kind="bad-argument", field="timeout")
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


def _check_task(task: str) -> None:
    if not task.strip():
        hint = "say what the child should do; `-` reads it from stdin"
        raise BadRequest("The task is empty.", kind="empty-task", hint=hint, field="task")
    if "\0" in task:
        raise BadRequest("The task holds a NUL character.", kind="bad-argument", field="task")
    try:
        task.encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"The task is not valid Unicode (character {error.start + 1})."
        raise BadRequest(message, kind="bad-argument", hint="save it as UTF-8", field="task") from error


def _check_cwd(cwd: str) -> None:
    if not cwd.startswith("/"):
        raise BadRequest("cwd must be an absolute path", kind="bad-cwd", field="cwd")
    if ".." in cwd.split("/"):
        raise BadRequest("cwd must not contain '..' path segments", kind="bad-cwd", field="cwd")
