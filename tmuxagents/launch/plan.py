"""Make the plan of a run from a request, or refuse it; parse `--on`; write the receipt. Pure.

`presets/fields` has the rules for a preset's part of the plan, `agents/models` those for the model.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents import records
from tmuxagents.errors import BadRequest, Fault
from tmuxagents.presets import fields
from tmuxagents.records import BATCH, Plan, SetUp
from tmuxagents.runs import words
from tmuxagents.settings import keys, rules
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.agents.models import Resolved
    from tmuxagents.launch.continued import Continued
    from tmuxagents.presets.preset import Preset
    from tmuxagents.runs.prompt import FileSpec

_LONGEST_NAME = 32
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
    account=None,
    preset_from=None,
)
DEFAULT_TIMEOUT_S = 600.0
HERE = "here"  # for `--on`: this machine, even if the preset names another
_SLURM_AT = f"{records.SLURM}@"
ARTIFACTS = {
    "events": "events.jsonl",
    "stdout": "stdout.log",
    "stderr": "stderr.log",
    "transcript": "transcript.log",
    "session": "child-session.jsonl",
    "result": "result.json",
}
# The fields that are the same in every new plan.
_FIXED: dict[str, Any] = {
    "initiator": None,  # unknown until a child is prepared
    "step": None,
    "session_path": ARTIFACTS["session"],
    "artifacts": ARTIFACTS,
    "written": None,
}
_AGENT_FACTS = ("agent_command", "agent_version", "agent_kind")  # found out with the model


class Destination(NamedTuple):
    """Where `--on` puts a run: HOST, slurm, slurm:PARTITION, slurm@HOST or slurm@HOST:PARTITION."""

    host: str | None  # None: the Slurm of this machine
    is_slurm: bool = False  # Slurm was named
    partition: str | None = None


def parse_on(on: str) -> Destination:
    """Parse `--on`, without a check whether there is such a host."""
    place, _, partition = on.partition(":")
    if place == records.SLURM:
        return Destination(None, is_slurm=True, partition=partition or None)
    if place.startswith(_SLURM_AT):
        return Destination(place.removeprefix(_SLURM_AT), is_slurm=True, partition=partition or None)
    return Destination(on)


class LaunchRequest(NamedTuple):
    """A run that a caller requests. Each None is filled in from the preset, else from the settings."""

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
    needs_model: bool = True  # if False, the agent's own default is good enough
    keeps: Resolved | None = None  # the model of the run that is repeated, unless the call names one
    continues: Continued | None = None
    driver: str | None = None
    permission: str | None = None
    reopens: bool = False  # the child gets no prompt: a person continues its session
    on: str | None = None  # another machine, by its name among the user's hosts
    sbatch: Sequence[str] = ()  # options for Slurm, if the run becomes a job
    far_cwd: str | None = None  # the working directory on the other machine, as the caller named it
    resumes: str | None = None  # the far run whose session it continues
    retries: str | None = None  # the far run that it repeats
    session: str | None = None  # the session of that run
    blocks: Sequence[str] | None = None  # the files of a prompt that another machine has read already


class InCall(NamedTuple):
    """A run's id and its place in its call. The id of a call is that of its first run."""

    run_id: str
    call_id: str
    number: int = 0
    task_name: str | None = None  # of a task of delegate_to_subagents


class Target(NamedTuple):
    """Where the window of a run opens; `launcher`: the tmux server from which the run is launched."""

    socket: str | None
    session: str | None
    launcher: str | None


def check(request: LaunchRequest) -> None:
    """Refuse a request that is wrong whatever its preset and model are."""
    task, cwd, name, timeout = request.task, request.cwd, request.name, request.timeout
    found: list[tuple[Fault, str | None]] = []  # each with a hint
    if not task.strip():
        hint = "say what the child should do; `-` reads it from stdin"
        found.append((Fault("empty-task", "The task is empty.", field="task"), hint))
    if "\0" in task:
        found.append((Fault("bad-argument", "The task holds a NUL character.", field="task"), None))
    try:
        task.encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"The task is not valid Unicode (character {error.start + 1})."
        found.append((Fault("bad-argument", message, field="task"), "save it as UTF-8"))
    if not cwd.startswith("/"):
        found.append((Fault("bad-cwd", "cwd must be an absolute path", field="cwd"), None))
    elif ".." in cwd.split("/"):
        found.append((Fault("bad-cwd", "cwd must not contain '..' path segments", field="cwd"), None))
    if name is not None and not is_name(name):
        message = f"The name {name[:40]!r} cannot be used."
        hint = f"use up to {_LONGEST_NAME} letters, digits and . _ - /, the first of them a letter or digit"
        found.append((Fault("bad-argument", message, field="name"), hint))
    wrong = None if timeout is None else rules.time_limit_fault(timeout)
    if wrong:
        found.append((Fault("bad-argument", f"timeout {wrong}, not {timeout:.15g}", field="timeout"), None))
    if found:
        first, hint_of_first = found[0]
        faults = [fault for fault, _ in found]
        raise BadRequest(first.message, kind=first.kind, hint=hint_of_first, faults=faults)


def check_preset(preset: Preset, request: LaunchRequest) -> None:
    """Refuse a profile that contradicts itself, before its model is looked up."""
    found = list(fields.faults(preset, has_model=bool(request.model)))
    if found:
        hint = f"correct {preset.path}"
        raise BadRequest(found[0].message, kind=found[0].kind, hint=hint, faults=found)


def plan_run(  # noqa: PLR0913  (a plan depends on all of these)
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
    of_agent = model.of_agent() if model else dict.fromkeys(_AGENT_FACTS)
    others: dict[str, Any] = {**_FIXED, **set_up.fields(), **of_agent}
    return Plan(
        **others,
        root=root,
        run_id=call.run_id,
        session_id=before.session_id if before else call.run_id,
        call_id=call.call_id,
        name=request.name,
        mode=request.mode,
        task_index=call.number,
        agent=request.agent or keys.DEFAULT_AGENT,
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
        created_at=round(before.moment(now) if before else now, 3),
        tmux_socket=target.socket,
        tmux_session=target.session,
        tmux_launcher=target.launcher,
        keep_background=request.keep_background,
        allow_outside=request.allow_outside,
        reopens=request.reopens,
        replayed=None if before is None or before.transcript is None else len(before.transcript),
        task_name=call.task_name,
        permission=request.permission,
        child_session=before.child_session if before else None,
        baseline=before.baseline if before else None,
    )


def set_up_of(request: LaunchRequest, preset: Preset | None) -> SetUp:
    """Return the set-up of a child: that of the session it continues, else its preset's, else a plain one."""
    if request.continues is not None and request.continues.set_up is not None:
        return request.continues.set_up
    return fields.set_up(preset) if preset else NO_PRESET


def initiator(environment: Mapping[str, str], *, owner: str | None, terminal: bool) -> str:
    """Say who launches: a person at a terminal without an agent in between; else an agent."""
    is_person = terminal and not owner and not environment.get("PI_CODING_AGENT")
    return "person" if is_person else "agent"


def prompt_files(preset: Preset | None) -> dict[str, bytes]:
    """Return the system prompt files that go beside the plan, by name."""
    texts = fields.files(preset) if preset else {}
    return {name: text.encode("utf-8") for name, text in texts.items()}


def prompt_bytes(task: str) -> bytes:
    """Return a prompt as the bytes that the child reads."""
    return task.encode("utf-8")


def receipt(plan: Plan, status: str, *, host: str | None = None) -> str:
    """Return the receipt of a run for a person."""
    started = "Queued" if status == records.QUEUED else "Started"
    whose = " of this project" if plan.preset_source == "project" else ""
    if plan.preset_from:
        whose = f" from {fields.whose(plan.preset_from, plan.preset_source)}"
    preset = [f"preset {safe.line(plan.preset)}{whose}"] if plan.preset else []
    live = ["live"] if plan.driver == records.LIVE else []
    title = words.title(plan.name, plan.task)
    called = title if plan.name else f'"{title}"'
    called += f" on {safe.line(host)}" if host is not None else ""
    if plan.resolved_model is not None:
        default = f", {plan.agent}'s default" if plan.model_source == "agent" else ""
        model = [f"model {safe.line(plan.resolved_model)}{default}"]
    else:  # on another machine, the model is decided once that machine has the run
        model = [f"{plan.agent}'s default model"] if host is None else []
    parts = ", ".join([*preset, *live, *model])
    return f"{started} {called} ({parts})." if parts else f"{started} {called}."


def is_name(name: str) -> bool:
    """Say whether a run can have this name. Letters of all languages are safe on a screen and in a shell."""
    letters = all(letter.isalnum() or letter in "._-/" for letter in name)
    return 0 < len(name) <= _LONGEST_NAME and letters and name[0].isalnum() and not records.is_run_id(name)
