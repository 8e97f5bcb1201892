"""What is to be done, decided before anything is made: a request becomes the plan of a run, or is refused.

Every refusal happens here. What a preset decides: see presets/fields; which model it is: see agents/models.

Pure.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.errors import BadRequest, Fault
from tmuxagents.presets import fields
from tmuxagents.records import BATCH
from tmuxagents.settings import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tmuxagents.agents.models import Resolved
    from tmuxagents.launch.continued import Continued
    from tmuxagents.presets.preset import Preset
    from tmuxagents.runs.prompt import FileSpec

_SHORTEST_ID = 4  # so much of the beginning of an id names its run
DEFAULT_AGENT = "pi"
DEFAULT_TIMEOUT_S = 600.0
ARTIFACTS = {
    "events": "events.jsonl",
    "stdout": "stdout.log",
    "stderr": "stderr.log",
    "transcript": "transcript.log",
    "session": "child-session.jsonl",
    "result": "result.json",
}


class LaunchRequest:
    """What somebody wants done. What is None is for the preset to say, or the settings."""

    __slots__ = (
        *("after", "agent", "allow_outside", "continues", "cwd", "driver", "files", "keep_background"),
        *("mode", "model", "reopens"),
        *("name", "needs_model", "owner", "preset", "project", "task", "timeout"),
    )

    def __init__(  # noqa: PLR0913  (one field an option)
        self,
        *,
        task: str,
        cwd: str,
        project: str,
        preset: str | None = None,
        agent: str | None = None,
        mode: str = "background",
        model: str | None = None,
        name: str | None = None,
        owner: str | None = None,
        timeout: float | None = None,
        files: Sequence[FileSpec] = (),
        after: Sequence[str] = (),
        allow_outside: bool = False,
        keep_background: bool = False,
        needs_model: bool = True,
        continues: Continued | None = None,
        driver: str | None = None,
        reopens: bool = False,
    ) -> None:
        self.task = task
        self.cwd = cwd
        self.project = project
        self.preset = preset
        self.agent = agent
        self.mode = mode
        self.model = model
        self.name = name
        self.owner = owner
        self.timeout = timeout
        self.files = list(files)
        self.after = list(after)  # run ids
        self.allow_outside = allow_outside  # files of other folders may go into the prompt
        self.keep_background = keep_background
        self.needs_model = needs_model  # else the child's own default will do
        self.continues = continues
        self.driver = driver
        self.reopens = reopens  # the child gets no prompt: a person is to go on with its session


def check(request: LaunchRequest) -> None:
    """Refuse a request that is wrong whatever a preset or a model may be."""
    _raise(
        [
            *_task_faults(request.task),
            *_cwd_faults(request.cwd),
            *_name_faults(request.name),
            *_timeout_faults(request.timeout),
        ]
    )


def check_preset(preset: Preset | None, request: LaunchRequest) -> None:
    """Refuse a profile that contradicts itself: before its model is asked about."""
    _raise([*_preset_faults(preset, request)])


def _raise(faults: Sequence[tuple[Fault, str | None]]) -> None:
    if faults:
        first, hint = faults[0]
        raise BadRequest(first.message, kind=first.kind, hint=hint, faults=[fault for fault, _ in faults])


def plan_launch(
    request: LaunchRequest,
    *,
    run_id: str,
    now: float,
    model: Resolved | None = None,
    preset: Preset | None = None,
) -> dict[str, Any]:
    """Return the plan of a run (meta.json), or raise BadRequest."""
    check(request)
    check_preset(preset, request)
    return {
        "v": 1,
        "runId": run_id,
        "sessionId": run_id,
        "callId": run_id,
        "name": request.name,
        "mode": request.mode,
        "taskIndex": 0,
        "step": None,
        "agent": request.agent or DEFAULT_AGENT,
        "driver": request.driver or BATCH,
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
        "requestedModel": model.requested if model else request.model,
        "resolvedModel": model.resolved if model else request.model,
        "modelSource": model.source if model else "call" if request.model else None,
        "task": request.task,
        "cwd": request.cwd,
        "project": request.project,
        "owner": request.owner,
        "root": None,
        "timeout": DEFAULT_TIMEOUT_S if request.timeout is None else request.timeout,
        "files": [spec.document() for spec in request.files],
        "after": request.after,
        "resumes": None,
        "sessionPath": ARTIFACTS["session"],
        "artifacts": ARTIFACTS,
        "createdAt": round(now, 3),
        "tmux": {"socket": None, "session": None},
        **{key: True for key, wished in _wishes(request).items() if wished},
        **(_agent_fields(model) if model else {}),
        **(fields.keys(preset) if preset else {}),
        **(request.continues.plan() if request.continues else {}),
    }


def _wishes(request: LaunchRequest) -> dict[str, bool]:
    """Return what a plan holds besides the documented keys where it is wished."""
    return {
        "keepBackground": request.keep_background,
        "allowOutside": request.allow_outside,
        "reopens": request.reopens,
    }


def _agent_fields(model: Resolved) -> dict[str, Any]:
    """Return what a wrapper needs not find out again, besides the documented keys."""
    return {
        "agentCommand": model.agent_command,
        "agentVersion": model.agent_version,
        "initiator": model.initiator,
    }


def prompt_files(preset: Preset | None) -> dict[str, bytes]:
    """Return the files of system prompts that stand beside the plan, by name."""
    texts = fields.files(preset) if preset else {}
    return {name: text.encode("utf-8") for name, text in texts.items()}


def prompt_bytes(task: str) -> bytes:
    """Return the bytes that the child reads: the task, to the byte."""
    return task.encode("utf-8")


def _preset_faults(preset: Preset | None, request: LaunchRequest) -> Iterator[tuple[Fault, str | None]]:
    hint = f"correct {preset.path}" if preset else None
    for fault in fields.faults(preset, has_model=bool(request.model)) if preset else ():
        yield fault, hint


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


def is_name(name: str) -> bool:
    """Say whether a run can be called so."""
    return records.is_name(name) and not (len(name) >= _SHORTEST_ID and records.could_begin_run_id(name))


def _name_faults(name: str | None) -> Iterator[tuple[Fault, str | None]]:
    if name is not None and not is_name(name):
        message = f"The name {name[:40]!r} cannot be used."
        hint = "up to 32 of a-z, 0-9, _ and -, not beginning with a sign, and not 4 to 16 hex digits"
        yield Fault("bad-argument", message, field="name"), hint


def _timeout_faults(timeout: float | None) -> Iterator[tuple[Fault, str | None]]:
    wrong = None if timeout is None else rules.time_limit_fault(timeout)
    if wrong:
        yield Fault("bad-argument", f"timeout {wrong}, not {timeout:.15g}", field="timeout"), None
