"""A run on another machine: its directory here, handing it over there, and the window that shows it. Joins.

The run's id is chosen here, so that a hand-over that is repeated is the same run: the far machine makes its
directory once. What was asked lies in the run's directory until the far machine has it.
"""

from __future__ import annotations

import os
import sys
import time

from tmuxagents import records, tmux
from tmuxagents.errors import BadRequest, NotPossible, TmuxAgentsError, Unusable
from tmuxagents.launch import before, checks, continued, far_code
from tmuxagents.launch import plan as plans
from tmuxagents.launch import prepare as prompt_files
from tmuxagents.launch.arrival import FarArrival, Launched
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.launch.prepare import Prepared, new_call
from tmuxagents.machines import build, hosts, link, requests, ssh
from tmuxagents.records import SUBMITTED, SUBMITTING, WAITING
from tmuxagents.registry import learn, lookup
from tmuxagents.runs import directory, prompt, writing
from tmuxagents.runs.conclude import conclude
from tmuxagents.runs.endings import Cause
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import project, watcher_lock
from tmuxagents.text import jsonline
from tmuxagents.tmux import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.launch.launch import Launcher
    from tmuxagents.launch.plan import InCall
    from tmuxagents.launch.resume import WantedRun
    from tmuxagents.machines.hosts import Host
    from tmuxagents.presets.preset import Preset
    from tmuxagents.runs.inspect import RunView

REQUEST = "request.json"  # in the run's directory, until the far machine has the run
_LIMIT_S = 60.0  # a far agent may have to be asked for its models first
_HOME = "~"
_UNCLEAR = ("internal", "far-answer")  # errors that do not say whether there is a run
_SLURM_AT = "slurm@"


def _host(request: LaunchRequest, environment: Mapping[str, str]) -> Host:
    """Return the host of a request; `slurm@HOST` is one, too, where the run goes into Slurm."""
    named = request.on or ""
    name = named.removeprefix(_SLURM_AT).partition(":")[0] if named.startswith(_SLURM_AT) else named
    found = hosts.find_host(name, environment)
    build.refuse_other(found)
    return found


def _there(request: LaunchRequest, host: Host) -> str | None:
    """Return where the run goes over there: into Slurm, if that was said, or if the host was added so."""
    named = request.on or ""
    if not named.startswith(_SLURM_AT):
        return records.SLURM if host.engine == hosts.SLURM else None
    partition = named.partition(":")[2]
    return f"{records.SLURM}:{partition}" if partition else records.SLURM


def prepare(launcher: Launcher, request: LaunchRequest, call: InCall | None = None) -> Prepared:
    """Return what a run on another machine is going to be, or refuse it as far as that is known here."""
    host = _host(request, launcher.environment)
    call = call or new_call()
    plans.check(request._replace(cwd="/"))
    carried = far_code.plan(request, host, call.run_id, launcher.caller.runs, launcher.environment)
    cwd = carried.cwd
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
    machine = requests.machine(
        host.name,
        hosts.SSH,  # also if it is a job over there: from here, its machine is all that is asked
        state=WAITING if request.after else SUBMITTING,
        at=time.time(),
        here=here,
    )
    if carried.document is not None:
        machine["code"] = carried.document
    texts = {**sketched.texts, REQUEST: jsonline.encode(asked), directory.MACHINE: jsonline.encode(machine)}
    plan = sketched.plan
    if request.resumes is not None and request.session is not None:
        plan = plan.changed(resumes=request.resumes, session_id=request.session)
    warnings = [*sketched.warnings, *carried.warnings]
    return sketched._replace(request=request, plan=plan, texts=texts, warnings=warnings)


def _asked(
    request: LaunchRequest, plan: records.Plan, cwd: str, preset: Preset | None, host: Host
) -> dict[str, Any]:
    """Return what the far machine is asked for: the far settings fill in what nobody says here."""
    blocks: list[str] = []
    if request.files:
        blocks = prompt_files.file_blocks(request.files, request.cwd, allow_outside=request.allow_outside)
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
        "on": _there(request, host),
        "sbatch": list(request.sbatch),
    }


def begin(launcher: Launcher, prepared: Prepared) -> FarArrival:
    """Make the run here, hand it over, open the window that shows it. What is refused leaves nothing."""
    request = prepared.request
    host = _host(request, launcher.environment)
    with checks.claimed_name(launcher.caller, request):
        run_dir = launcher.make(prepared)
    warnings = [*launcher.warnings, *prepared.warnings]
    if not request.after:
        held = writing.lock(run_dir, _LIMIT_S)  # else a mirror would hand it over, too
        try:
            if not is_submitted(run_dir):  # the mirror may have been first
                warnings += submit(run_dir, host, launcher.environment)
        except BaseException as error:
            if not getattr(error, "asked", False):  # else the far machine may have it
                writing.remove_unbegun(run_dir)
            raise
        finally:
            if held is not None:
                os.close(held)
    _register(launcher, run_dir)
    project.link(request.project, run_dir)
    link.ensure_mirror(launcher.caller.home, host.name, launcher.environment)
    return arrival(launcher, prepared, run_dir, warnings)


def _register(launcher: Launcher, run_dir: str) -> None:
    row = learn.row_of(run_dir)
    lookup.with_registry(launcher.caller, lambda book: book.save([row] if row else []))


def arrival(launcher: Launcher, prepared: Prepared, run_dir: str, warnings: Sequence[str]) -> FarArrival:
    """Return a run that is there by now, with a window here if there can be one: it works without."""
    try:
        session, window = _open_window(launcher, prepared, run_dir)
    except TmuxAgentsError as why:
        session, window, warnings = None, None, [*warnings, f"It has no window here: {why.message}"]
    return FarArrival(Launched(inspect(run_dir), session, window, [*warnings]))


def _open_window(launcher: Launcher, prepared: Prepared, run_dir: str) -> tuple[str, str]:
    """Open the window that shows the mirror of a run, and write down where it is."""
    plan, request = prepared.plan, prepared.request
    name = place.safe_name(request.name or request.preset or "", plan.run_id[:8])
    argv = [sys.executable, "-P", "-m", "tmuxagents", "_far", "window", run_dir]
    state = inspect(run_dir).standing.status
    order = tmux.Order(plan.run_id, name=name, argv=argv, state=state, folder=request.project or "/")
    server = tmux.Tmux(launcher.place.socket, umask=launcher.umask)
    opened = server.windows.open(order, launcher.home_of(request))
    found = {
        "socketPath": opened.server.socket,
        "serverPid": opened.server.pid,
        "serverStartTime": opened.server.start_time,
        "session": opened.session_name,
        "window": opened.window,
        "pane": opened.pane,
    }
    writing.change_machine(run_dir, {"tmux": found})
    return opened.session_name, opened.window


def is_submitted(run_dir: str) -> bool:
    """Say whether the far machine has a run, as far as is known here."""
    return (directory.read_machine(run_dir) or {}).get("state") == SUBMITTED


def submit(run_dir: str, host: Host, environment: Mapping[str, str]) -> Sequence[str]:
    """Hand a run over, once or again: the far machine makes it once. Return warnings.

    Raises where the far machine refuses it or was never asked. If the connection breaks after it was asked,
    the run may be there: it is handed over again as soon as the host answers.
    """
    asked = directory.read_bytes(f"{run_dir}/{REQUEST}")
    if asked is None:
        raise Unusable("The request of this run is gone.", kind="window")
    asked = far_code.send(run_dir, host, environment, asked)
    try:
        receipt = _receipt(asked, host, environment)
    except ssh.Unreachable as why:
        if not why.asked:
            raise
        return [f"{why.message} The run is handed over again when {host.name} answers."]
    except Unusable as why:
        if why.kind not in _UNCLEAR:
            raise
        receipt = _receipt(asked, host, environment)  # the run may have been made before that went wrong
    take_receipt(run_dir, receipt, host)
    return [str(one) for one in requests.many(receipt.get("warnings"))]


def _receipt(asked: bytes, host: Host, environment: Mapping[str, str]) -> dict[str, Any]:
    """Ask the far machine for a run; return its receipt."""
    answer = ssh.run(
        host,
        ["_far", "launch", "--json"],
        input=asked,
        greeting=requests.HELLO,
        timeout=_LIMIT_S,
        environment=environment,
    )
    return requests.document(answer, host)


def take_receipt(run_dir: str, receipt: Mapping[str, Any], host: Host) -> None:
    """Write down that the far machine has a run, and its plan. Raises Unusable for what is no receipt."""
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
    """Say whether a run that waits for others can be handed over, or why it ends before it begins."""
    machine = directory.read_machine(run_dir) or {}
    here = machine.get("here")
    after = here.get("after") if isinstance(here, dict) else None
    folders = [
        f"{os.path.dirname(run_dir)}/{run_id}" for run_id in (after if isinstance(after, list) else [])
    ]
    for folder in folders:
        run, how = before.judge(folder)
        if how is not None:
            return False, Cause(how.status, how.reason, str(how.error_message))
        if run is not None:
            return False, None
    _fill_in(run_dir, [before.output(folder) for folder in folders])
    return True, None


def _fill_in(run_dir: str, outputs: Sequence[str | None]) -> None:
    """Put what the runs before answered into the task."""
    text = directory.read_bytes(f"{run_dir}/{REQUEST}")
    asked = jsonline.decode(text) if text else None
    if isinstance(asked, dict):
        task = str(asked.get("task"))
        changed = {**asked, "task": prompt.with_outputs(task, task, outputs)}
        writing.replace(run_dir, REQUEST, jsonline.encode(changed))
    writing.change_machine(run_dir, {"state": SUBMITTING})


def end_unsent(run_dir: str, cause: Cause) -> None:
    """End a run that the far machine has not got, or has lost."""
    conclude(run_dir, cause=cause, never_came=cause.message, gone=True)


def again(
    launcher: Launcher, run: RunView, wanted: WantedRun, *, retries: bool = False, reopens: bool = False
) -> tuple[str, Launched]:
    """Let the machine of a run continue its session, or do it once more; return which, and the new run."""
    plan, host = run.plan, str(run.host)
    if reopens:
        message = f"The session is on {host}, and can be opened again only there."
        hint = f"on {host}: tmuxagents attach --resume {run.run_id[:8]}"
        raise NotPossible(message, kind="no-window", hint=hint)
    if wanted.replay:
        message = f"The session works on {host}, where no run is given it anew."
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
        files=prompt_files.parse(wanted.files, folder) if wanted.files else (),
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
