"""Do a run's task once more: its plan becomes a request again, decided anew with what holds today."""

from __future__ import annotations

from tmuxagents.commands.inspect import inspect
from tmuxagents.core.events import is_figure
from tmuxagents.core.plan import LaunchRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.commands.known import Caller


def request(
    run_dir: str, caller: Caller, *, model: str | None = None, timeout: float | None = None
) -> LaunchRequest:
    """Return the request for a new run like one that was."""
    run = inspect(run_dir)
    meta = run.meta
    before = meta.get("timeout")
    allowed = float(before) if before is not None and is_figure(before) else 600.0
    asked_model = meta.get("requestedModel") if meta.get("modelSource") == "call" else None
    return LaunchRequest(
        task=str(meta.get("task") or ""),
        cwd=str(meta.get("cwd") or ""),
        project=str(meta.get("project") or caller.project),
        agent=str(meta.get("agent") or ""),
        model=model or asked_model,
        name=meta.get("name") if run.ended else None,  # while that one lives, the name is its
        owner=caller.owner,
        timeout=allowed if timeout is None else timeout,
    )
