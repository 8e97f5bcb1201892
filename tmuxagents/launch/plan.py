"""What is to be done, decided before anything is made: a request becomes the plan of a run, or is refused.

Every refusal happens here. What a preset decides: see presets/fields; which model it is: see agents/models.

Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents import records
from tmuxagents.errors import BadRequest, Fault
from tmuxagents.presets import fields
from tmuxagents.records import BATCH, Plan, SetUp
from tmuxagents.settings import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tmuxagents.agents.models import Resolved
    from tmuxagents.launch.continued import Continued
    from tmuxagents.presets.preset import Preset
    from tmuxagents.runs.prompt import FileSpec

_SHORTEST_ID = 4  # so much of the beginning of an id names its run
NO_PRESET = SetUp(
    preset=None,
    preset_kind=None,
    preset_source=None,
    preset_path=None,
    preset_hash=None,
    preset_hides=None,
    tools=[],
    system_prompt=None,
    system_prompt_path=None,
    append_system_prompt_path=None,
    nesting=None,
    profile=None,
)
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


class LaunchRequest(NamedTuple):
    """A run that a caller asks for. The preset fills in each None, else the settings."""

    task: str
    cwd: str
    project: str
    preset: str | None = None
    agent: str | None = None
    mode: str = "background"
    model: str | None = None
    name: str | None = None
    owner: str | None = None
    timeout: float | None = None
    files: Sequence[FileSpec] = ()
    after: Sequence[str] = ()  # run ids
    allow_outside: bool = False  # files of other folders may go into the prompt
    keep_background: bool = False
    needs_model: bool = True  # else the child's own default will do
    continues: Continued | None = None
    driver: str | None = None
    reopens: bool = False  # the child gets no prompt: a person is to go on with its session


class InCall(NamedTuple):
    """A run's id and its place in its call, which has the id of its first run."""

    run_id: str
    call_id: str
    number: int = 0
    task_name: str | None = None  # of a task of delegate_to_subagents


class Target(NamedTuple):
    """Where the window of a run is to open; `launcher`: the tmux server that it is launched from."""

    socket: str | None
    session: str | None
    launcher: str | None


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


def plan_run(  # noqa: PLR0913  (whatever decides something of a run)
    request: LaunchRequest,
    *,
    call: InCall,
    target: Target,
    now: float,
    set_up: SetUp = NO_PRESET,
    root: str | None = None,
    model: Resolved | None = None,
) -> Plan:
    """Return the plan of a run whose request was checked. `root`: see launch/nesting."""
    before = request.continues
    return Plan(
        **set_up.fields(),
        root=root,
        run_id=call.run_id,
        session_id=before.session_id if before else call.run_id,
        call_id=call.call_id,
        name=request.name,
        mode=request.mode,
        task_index=call.number,
        step=None,
        agent=request.agent or DEFAULT_AGENT,
        driver=request.driver or BATCH,
        requested_model=model.requested if model else request.model,
        resolved_model=model.resolved if model else request.model,
        model_source=model.source if model else "call" if request.model else None,
        task=request.task,
        cwd=request.cwd,
        project=request.project,
        owner=request.owner,
        timeout=DEFAULT_TIMEOUT_S if request.timeout is None else request.timeout,
        files=[spec.document() for spec in request.files],
        after=list(request.after),
        resumes=before.run_id if before else None,
        session_path=ARTIFACTS["session"],
        artifacts=ARTIFACTS,
        created_at=round(before.moment(now) if before else now, 3),
        tmux_socket=target.socket,
        tmux_session=target.session,
        tmux_launcher=target.launcher,
        keep_background=request.keep_background,
        allow_outside=request.allow_outside,
        reopens=request.reopens,
        replayed=None if before is None or before.transcript is None else len(before.transcript),
        task_name=call.task_name,
        agent_command=model.agent_command if model else None,
        agent_version=model.agent_version if model else None,
        initiator=model.initiator if model else None,
        written=None,
    )


def set_up_of(request: LaunchRequest, preset: Preset | None) -> SetUp:
    """Return how the child of a run is set up: as its session was, by its preset, or plainly."""
    if request.continues is not None and request.continues.set_up is not None:
        return request.continues.set_up
    return fields.set_up(preset) if preset else NO_PRESET


def prompt_files(preset: Preset | None) -> dict[str, bytes]:
    """Return the system prompt files beside the plan, by name."""
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
