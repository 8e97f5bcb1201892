"""Launch a run on another machine: make its directory here, then hand the run over. Joins.

`launch/far_side` is the other end. The run's id is chosen here, so a run that is handed over twice is made
only once there. The run's directory here keeps the request until the far machine has the run.
"""

from __future__ import annotations

import os

from tmuxagents import records
from tmuxagents.errors import BadRequest, NotPossible, Unusable
from tmuxagents.launch import checks, continued, elsewhere, predecessors
from tmuxagents.launch import plan as plans
from tmuxagents.launch.plan import LaunchRequest, parse_on
from tmuxagents.launch.prepare import Prepared, file_blocks, new_call, parse_files
from tmuxagents.machines import build, code, hosts, refs, refusals, requests, ssh
from tmuxagents.machines.refusals import Unreachable
from tmuxagents.records import SUBMITTED, SUBMITTING, WAITING
from tmuxagents.registry import lookup
from tmuxagents.runs import directory, prompt, writing
from tmuxagents.runs.conclude import conclude
from tmuxagents.runs.endings import Cause
from tmuxagents.system import project, watcher_lock
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.launch.arrival import Launched
    from tmuxagents.launch.elsewhere import FarArrival
    from tmuxagents.launch.launch import Launcher
    from tmuxagents.launch.plan import InCall
    from tmuxagents.launch.resume import WantedRun
    from tmuxagents.machines.hosts import Host
    from tmuxagents.presets.preset import Preset
    from tmuxagents.runs.inspect import RunView

REQUEST = "request.json"
_LIMIT_S = 60.0  # a far agent may have to be asked for its models first
_HOME = "~"
_UNCLEAR = ("internal", "far-answer")  # kinds of errors after which the run may exist there


def _host(request: LaunchRequest, environment: Mapping[str, str]) -> Host:
    """Return the host of a request, or refuse it."""
    found = hosts.find_host(parse_on(request.on or "").host or "", environment)
    build.refuse_other(found)
    return found


def prepare(launcher: Launcher, request: LaunchRequest, call: InCall | None = None) -> Prepared:
    """Plan a run on another machine, or refuse it for a reason that is known here."""
    host = _host(request, launcher.environment)
    call = call or new_call()
    plans.check(request._replace(cwd="/"))
    sent, cwd, notes = _carried(launcher, request, host, call.run_id)
    if not cwd.startswith(("/", _HOME)) or ".." in cwd.split("/"):
        message = f"--cwd is a path on {host.name}: it begins with / or ~, and has no '..'."
        raise BadRequest(message, kind="bad-cwd", hint="as in --cwd ~/project", field="cwd")
    preset = None
    if request.preset is not None:
        preset = launcher.preparing.chooser().choose(request.preset)
        plans.check_preset(preset, request)
        if preset.api_key is not None or preset.account is not None:
            message = (
                f"The key or account of {preset.kind} {preset.name} stays here: logins are never copied."
            )
            raise BadRequest(message, kind="bad-profile", hint=f"log in on {host.name}", field="preset")
    if request.name is not None:
        lookup.with_registry(
            launcher.caller, lambda book: checks.refuse_namesake(book, launcher.caller, request)
        )
    # The far machine makes the plan in force; until then, this sketch of it is the run's plan here.
    sketched = launcher.sketch(request._replace(cwd=cwd), call)
    asked = _asked(request, sketched.plan, cwd, preset, host)
    here = {
        "project": request.project,
        "owner": sketched.plan.owner,
        "socket": sketched.plan.tmux_socket,
        "session": sketched.plan.tmux_session,
        "launcher": sketched.plan.tmux_launcher,
        "after": list(request.after),
        "environment": watcher_lock.surroundings(launcher.caller.home, launcher.environment),
    }
    machine = elsewhere.marker(
        host.name,
        hosts.SSH,  # also for a job over there: from here, only its machine is asked
        state=WAITING if request.after else SUBMITTING,
        here=here,
        tmux=None,
    )
    if sent is not None:
        machine["code"] = sent
    texts = {**sketched.texts, REQUEST: jsonline.encode(asked), directory.MACHINE: jsonline.encode(machine)}
    plan = sketched.plan
    if request.resumes is not None and request.session is not None:
        plan = plan.changed(resumes=request.resumes, session_id=request.session)
    warnings = [*sketched.warnings, *notes]
    return sketched._replace(request=request, plan=plan, texts=texts, warnings=warnings)


def _carried(
    launcher: Launcher, request: LaunchRequest, host: Host, run_id: str
) -> tuple[dict[str, Any] | None, str, Sequence[str]]:
    """Return the code that goes with a run, the folder there in which its child works, and warnings."""
    before = request.resumes or request.retries
    if before is not None:
        return code.of_run_before(f"{launcher.caller.runs}/{before}"), request.far_cwd or _HOME, ()
    found = None if request.far_cwd is not None else code.look(request.cwd, launcher.environment)
    if found is None:
        return None, request.far_cwd or host.cwd or _HOME, ()
    checkout = refs.checkout_of(host.home, found.code.key, run_id)
    return found.code.document(), f"{checkout}/{found.code.folder}".rstrip("/"), found.warnings


def _asked(
    request: LaunchRequest, plan: records.Plan, cwd: str, preset: Preset | None, host: Host
) -> dict[str, Any]:
    """Return the request to the far machine. The settings there decide what the request leaves open."""
    blocks: list[str] = []
    if request.files:
        blocks = file_blocks(request.files, request.cwd, allow_outside=request.allow_outside)
    on = None  # of the launch over there
    wanted = parse_on(request.on or "")
    if wanted.is_slurm or host.engine == hosts.SLURM:
        on = f"{records.SLURM}:{wanted.partition}" if wanted.partition else records.SLURM
    return {
        "v": 1,
        "runId": plan.run_id,
        "callId": plan.call_id,
        "number": plan.task_index,
        "task": request.task,
        "cwd": cwd,
        "files": [spec.document() for spec in request.files],
        "blocks": blocks,
        "preset": None if preset is None else preset.file.document(),
        "agent": request.agent or (preset.agent if preset else None) or host.agent,
        "mode": request.mode,
        "model": request.model,
        "name": request.name,
        "owner": request.owner,
        "timeout": request.timeout,
        "keepBackground": request.keep_background,
        "allowOutside": request.allow_outside,
        "driver": request.driver,
        "permission": request.permission,
        "maxRunning": host.max_running,
        "resumes": request.resumes,
        "retries": request.retries,
        "on": on,
        "sbatch": list(request.sbatch),
    }


def begin(launcher: Launcher, prepared: Prepared) -> FarArrival:
    """Make the run here, hand it over, and open the window that shows it. A refusal leaves no run here."""
    request = prepared.request
    host = _host(request, launcher.environment)
    with checks.claimed_name(launcher.caller, request):
        run_dir = launcher.make(prepared)
    warnings = [*launcher.warnings, *prepared.warnings]
    if not request.after:
        held = writing.lock(run_dir, _LIMIT_S)  # so that no mirror hands it over at the same time
        try:
            if not is_submitted(run_dir):  # a mirror may have been first
                warnings += submit(run_dir, host, launcher.environment)
        except BaseException as error:
            may_be_there = isinstance(error, (Unreachable, ssh.CutOff)) and error.asked
            if not may_be_there:
                writing.remove_unbegun(run_dir)
            raise
        finally:
            if held is not None:
                os.close(held)
    launcher.register(run_dir)
    project.link(request.project, run_dir)
    return elsewhere.start_following(launcher, prepared, run_dir, host.name, warnings)


def is_submitted(run_dir: str) -> bool:
    """Say whether the far machine has a run, as far as is known here."""
    return (directory.read_machine(run_dir) or {}).get("state") == SUBMITTED


def submit(run_dir: str, host: Host, environment: Mapping[str, str]) -> Sequence[str]:
    """Hand a run over, for the first time or again; return warnings.

    Raises if the far machine refuses the run, or never got the request. If the connection breaks after the
    request, the run may be there. Then a mirror hands it over again as soon as the host answers.
    """
    asked = directory.read_bytes(f"{run_dir}/{REQUEST}")
    if asked is None:
        raise Unusable("The request of this run is gone.", kind="window")
    asked = code.send_with(run_dir, host, environment, asked)
    try:
        receipt = _receipt(asked, host, environment)
    except Unreachable as why:
        if not why.asked:
            raise
        return [f"{why.message} The run is handed over again when {host.name} answers."]
    except Unusable as why:
        if why.kind not in _UNCLEAR:
            raise
        # If the run was made before the error, this request makes no second one.
        receipt = _receipt(asked, host, environment)
    take_receipt(run_dir, receipt, host)
    return [str(one) for one in refusals.many(receipt.get("warnings"))]


def _receipt(asked: bytes, host: Host, environment: Mapping[str, str]) -> dict[str, Any]:
    """Send the request for a run to the far machine; return the receipt."""
    words, greeting = ["_far", "launch"], requests.HELLO
    return requests.ask(host, words, environment, text=asked, limit_s=_LIMIT_S, greeting=greeting)


def take_receipt(run_dir: str, receipt: Mapping[str, Any], host: Host) -> None:
    """Record that the far machine has a run, and its plan. Raises Unusable if the receipt has no plan."""
    meta = receipt.get("meta")
    try:
        text = meta.encode("utf-8", "surrogateescape") if isinstance(meta, str) else b""
    except UnicodeEncodeError:
        text = b""
    if not directory.is_plan(run_dir, text):
        message = f"{host.name} answered with no plan of this run."
        raise Unusable(message, kind="far-answer", hint=f"tmuxagents hosts check {host.name}")
    handle = {"home": receipt.get("home"), "runDir": receipt.get("runDir")}
    writing.change_machine(run_dir, {"state": SUBMITTED, "handle": handle, "waiting": None})
    writing.take_plan(run_dir, text)
    writing.remove(run_dir, REQUEST)


def readiness(run_dir: str) -> tuple[bool, Cause | None]:
    """Say whether a run that waits for others can be handed over, or why it ends before it begins.

    If it can, this puts the answers of the others into its task.
    """
    machine = directory.read_machine(run_dir) or {}
    here = machine.get("here")
    after = here.get("after") if isinstance(here, dict) else None
    folders = [
        f"{os.path.dirname(run_dir)}/{run_id}" for run_id in (after if isinstance(after, list) else [])
    ]
    for folder in folders:
        run, how = predecessors.judge(folder)
        if how is not None:
            return False, Cause(how.status, how.reason, str(how.error_message))
        if run is not None:
            return False, None
    text = directory.read_bytes(f"{run_dir}/{REQUEST}")
    asked = jsonline.decode(text) if text else None
    if isinstance(asked, dict):
        task = str(asked.get("task"))
        outputs = [predecessors.output(folder) for folder in folders]
        changed = {**asked, "task": prompt.with_outputs(task, task, outputs)}
        writing.replace(run_dir, REQUEST, jsonline.encode(changed))
    writing.change_machine(run_dir, {"state": SUBMITTING})
    return True, None


def end_unsent(run_dir: str, cause: Cause) -> None:
    """End a run that never reached the far machine, or that it has lost."""
    conclude(run_dir, cause=cause, never_came=cause.message, gone=True)


def again(
    launcher: Launcher, run: RunView, wanted: WantedRun, *, retries: bool = False, reopens: bool = False
) -> tuple[str, Launched]:
    """Let a run's machine continue its session or repeat the run; return words for that, and the new run."""
    plan, host = run.plan, str(run.host)
    if reopens:
        message = f"The session is on {host}, and can be opened again only there."
        hint = f"on {host}: tmuxagents attach --resume {run.run_id[:8]}"
        raise NotPossible(message, kind="no-window", hint=hint)
    if wanted.replay:
        message = f"The session is on {host}, where --replay is not possible."
        raise NotPossible(message, kind="run-busy", hint="leave out --replay")
    folder = launcher.caller.folder
    request = LaunchRequest(
        task=wanted.task,
        cwd=folder,
        project=plan.project or launcher.caller.project,
        preset=continued.preset(plan) if retries else None,  # it may be unknown there
        model=wanted.model,
        name=wanted.name,
        owner=launcher.caller.owner,
        timeout=wanted.timeout,
        files=parse_files(wanted.files, folder) if wanted.files else (),
        driver=wanted.driver,
        needs_model=False,
        on=host,
        far_cwd=plan.cwd,
        resumes=None if retries else run.run_id,
        retries=run.run_id if retries else None,
        session=plan.session_id,
    )
    request, warnings = checks.keep_name(launcher.caller, request, plan.name if run.ended else None)
    launched = launcher.launch(request)
    launched.warnings[:0] = warnings
    way = "does run {} again" if retries else "continues the session of run {}"
    return f"{way.format(run.run_id[:8])} on {host}", launched
