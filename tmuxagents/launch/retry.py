"""Do a run's task once more: its plan becomes a request again, decided anew with what holds today. Joins.

One that went on with a session does so again, from where it began: see launch/resume.
"""

from __future__ import annotations

from tmuxagents.errors import BadRequest
from tmuxagents.launch import checks, continued
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.launch.resume import launched_with
from tmuxagents.records import BATCH, LIVE
from tmuxagents.runs import prompt
from tmuxagents.runs.events import is_figure
from tmuxagents.runs.inspect import inspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.launch.arrival import Launched
    from tmuxagents.launch.launch import Launcher
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView


def retry(
    launcher: Launcher,
    run_dir: str,
    *,
    model: str | None = None,
    timeout: float | None = None,
    driver: str | None = None,
) -> tuple[str | None, Launched]:
    """Launch a new run like one that was; return in which way it goes on with a session, if it does."""
    run = inspect(run_dir)
    run.meta = launched_with(run).meta or run.meta
    if run.meta.get("reopens") is True:
        message = f"Run {run.run_id} had no task: a person opened its session again."
        hint = f"tmuxagents attach --resume {run.run_id[:8]} opens it once more"
        raise BadRequest(message, kind="bad-argument", hint=hint)
    if isinstance(run.meta.get("resumes"), str):
        from tmuxagents.launch import resume  # noqa: PLC0415  (few runs are of a session)

        task = str(run.meta.get("task") or "")
        wanted = resume.Wanted(task, model=model, timeout=timeout, driver=driver)
        return resume.again(launcher, run_dir, wanted)
    request = _request(run, launcher.caller, model=model, timeout=timeout, driver=driver)
    name = run.meta.get("name") if run.ended else None  # while that one lives, the name is its
    warnings = checks.keep_name(launcher.caller, request, name)
    launched = launcher.launch(request)
    launched.warnings[:0] = warnings
    return None, launched


def _request(
    run: RunView, caller: Caller, *, model: str | None, timeout: float | None, driver: str | None
) -> LaunchRequest:
    """Return the request for it."""
    meta = run.meta
    before = meta.get("timeout")
    allowed = float(before) if before is not None and is_figure(before) else None
    asked_model = meta.get("requestedModel") if meta.get("modelSource") == "call" else None
    return LaunchRequest(
        task=str(meta.get("task") or ""),
        cwd=str(meta.get("cwd") or ""),
        project=str(meta.get("project") or caller.project),
        preset=continued.preset(meta),
        agent=str(meta.get("agent") or ""),
        model=model or asked_model,
        owner=caller.owner,
        timeout=allowed if timeout is None else timeout,
        files=[prompt.read(value, field="files") for value in meta.get("files") or ()],
        after=[str(other) for other in meta.get("after") or ()],
        allow_outside=meta.get("allowOutside") is True,
        keep_background=meta.get("keepBackground") is True,
        driver=driver or (LIVE if meta.get("driver") == LIVE else BATCH),
    )
