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
from tmuxagents.runs.inspect import inspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.launch.arrival import Launched
    from tmuxagents.launch.launch import Launcher
    from tmuxagents.records import Plan
    from tmuxagents.registry.lookup import Caller


def retry(
    launcher: Launcher,
    run_dir: str,
    *,
    model: str | None = None,
    timeout: float | None = None,
    driver: str | None = None,
) -> tuple[str | None, Launched]:
    """Launch a new run like one that was; return in which way it continues a session, if it does."""
    run = inspect(run_dir)
    plan = launched_with(run).plan or run.plan
    if plan.reopens:
        message = f"Run {run.run_id} had no task: a person opened its session again."
        hint = f"tmuxagents attach --resume {run.run_id[:8]} opens it once more"
        raise BadRequest(message, kind="bad-argument", hint=hint)
    if plan.resumes is not None:
        from tmuxagents.launch import resume  # noqa: PLC0415  (few runs are of a session)

        wanted = resume.Wanted(plan.task, model=model, timeout=timeout, driver=driver)
        return resume.again(launcher, run_dir, wanted)
    request = _request(plan, launcher.caller, model=model, timeout=timeout, driver=driver)
    name = plan.name if run.ended else None  # while that one lives, the name is its
    request, warnings = checks.keep_name(launcher.caller, request, name)
    launched = launcher.launch(request)
    launched.warnings[:0] = warnings
    return None, launched


def _request(
    plan: Plan, caller: Caller, *, model: str | None, timeout: float | None, driver: str | None
) -> LaunchRequest:
    """Return the request for it."""
    asked_model = plan.requested_model if plan.model_source == "call" else None
    return LaunchRequest(
        task=plan.task,
        cwd=plan.cwd,
        project=plan.project or caller.project,
        preset=continued.preset(plan),
        agent=plan.agent,
        model=model or asked_model,
        owner=caller.owner,
        timeout=plan.timeout if timeout is None else timeout,
        files=[prompt.read(value, field="files") for value in plan.files],
        after=plan.after,
        allow_outside=plan.allow_outside,
        keep_background=plan.keep_background,
        driver=driver or (LIVE if plan.driver == LIVE else BATCH),
    )
