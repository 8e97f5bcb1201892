"""Launch a run for a tmuxagents on another machine: once, however often the run is requested. Joins."""

from __future__ import annotations

import os

from tmuxagents.agents import AGENTS
from tmuxagents.errors import BadRequest, TmuxAgentsError, Unusable
from tmuxagents.launch import checks
from tmuxagents.launch.launch import Launcher
from tmuxagents.launch.plan import HERE, InCall, LaunchRequest
from tmuxagents.presets.preset import SENT, PresetFile
from tmuxagents.records import is_run_id
from tmuxagents.runs import directory, prompt, writing
from tmuxagents.system import places, project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.registry.lookup import Caller

_LOCK_S = 60.0
_TEXTS = ("agent", "mode", "model", "name", "owner", "driver", "permission", "callId")


def launch(
    asked: Mapping[str, Any], caller: Caller, environment: Mapping[str, str], *, umask: int
) -> dict[str, Any]:
    """Launch the requested run, unless it is here already; return the receipt for the other machine."""
    run_id = asked.get("runId")
    if asked.get("v") != 1 or not isinstance(run_id, str) or not is_run_id(run_id):
        raise BadRequest("This is no request for a run.", kind="bad-argument")
    run_dir = f"{caller.runs}/{run_id}"
    places.make_folders(caller.runs)
    # The same run may be requested twice at once. Many runs share a lock, since its file is never removed.
    held = writing.lock(os.path.realpath(caller.home), _LOCK_S, f"far-{run_id[0]}.lock")
    if held is None:
        raise Unusable("Another launch takes too long.", kind="window", hint="try it again")
    try:
        known = directory.read_plan(run_dir) is not None
        warnings = [] if known else _launch(asked, caller, environment, umask=umask)
    finally:
        os.close(held)
    meta = directory.read_bytes(f"{run_dir}/{directory.META}", limit=64 * 1024 * 1024)
    if meta is None:
        raise Unusable(f"The run {run_id} was removed as soon as it was made.", kind="window")
    return {
        "v": 1,
        "runId": run_id,
        "home": caller.home,
        "runDir": run_dir,
        "meta": meta.decode("utf-8", "surrogateescape"),
        "warnings": warnings,
    }


def _launch(
    asked: Mapping[str, Any], caller: Caller, environment: Mapping[str, str], *, umask: int
) -> list[str]:
    """Launch the run; return warnings. Once the run exists, a failure is only a warning."""
    run_id = str(asked["runId"])
    most = asked.get("maxRunning")
    if type(most) is int:
        environment = {**environment, "TMUXAGENTS_MAX_RUNNING": str(most)}
    launcher = Launcher(caller, environment, umask=umask)
    number = asked.get("number")
    call = InCall(run_id, str(asked.get("callId") or run_id), number if type(number) is int else 0)
    preset, sent = None, asked.get("preset")
    if isinstance(sent, dict):  # its file came with the request: it is the only preset that there is
        from tmuxagents.text import yaml  # noqa: PLC0415  (few requests have a preset)

        whose = AGENTS.get(str(sent.get("of")))
        about: dict[str, Any] = {key: str(sent.get(key)) for key in SENT}
        launcher.preparing.take_preset(PresetFile(**about, brand=whose.agent_files() if whose else None))
        preset = yaml.parse(str(sent.get("text"))).fields.get("name")
    request = _request(asked, environment, preset=preset if isinstance(preset, str) else None)
    before = asked.get("resumes") or asked.get("retries")
    try:
        if before is not None:
            return _again(launcher, request, str(before), call, resumes=bool(asked.get("resumes")))
        checks.check_cwd(request.cwd)
        return launcher.launch(request, call).warnings
    except TmuxAgentsError as error:
        if directory.read_plan(f"{caller.runs}/{run_id}") is None:
            raise
        return [error.message]


def _again(
    launcher: Launcher, request: LaunchRequest, before: str, call: InCall, *, resumes: bool
) -> list[str]:
    """Continue the session of a run that is here, or repeat the run; return warnings."""
    from tmuxagents.launch import resume  # noqa: PLC0415  (most requests begin a session)

    wanted = resume.WantedRun(
        request.task,
        model=request.model,
        timeout=request.timeout,
        name=request.name,
        driver=request.driver,
        blocks=request.blocks,
    )
    if resumes:
        how, launched = resume.resume(launcher, before, wanted, call)
        return [how, *launched.warnings]
    return resume.retry(launcher, f"{launcher.caller.runs}/{before}", wanted, call)[1].warnings


def _request(
    asked: Mapping[str, Any], environment: Mapping[str, str], *, preset: str | None
) -> LaunchRequest:
    """Return the launch request for this machine: `~` and the project are those here."""
    texts = {key: value if isinstance(value := asked.get(key), str) else None for key in _TEXTS}
    home = places.user_home(environment)
    named = str(asked.get("cwd") or "~")
    cwd = f"{home}{named[1:]}" if named == "~" or named.startswith("~/") else named
    timeout = asked.get("timeout")
    blocks = asked.get("blocks")
    return LaunchRequest(
        task=str(asked.get("task") or ""),
        cwd=os.path.normpath(cwd),
        project=project.project_of(os.path.normpath(cwd), home),
        preset=preset,
        agent=texts["agent"],
        mode=texts["mode"] or "background",
        model=texts["model"],
        name=texts["name"],
        owner=texts["owner"],
        timeout=float(timeout) if isinstance(timeout, int | float) else None,
        files=[prompt.read(value, field="files") for value in asked.get("files") or ()],
        blocks=[str(block) for block in blocks] if isinstance(blocks, list) else [],
        allow_outside=asked.get("allowOutside") is True,
        keep_background=asked.get("keepBackground") is True,
        driver=texts["driver"],
        permission=texts["permission"],
        needs_model=False,
        on=asked["on"] if isinstance(asked.get("on"), str) else HERE,
        sbatch=[str(word) for word in asked.get("sbatch") or ()],
    )
