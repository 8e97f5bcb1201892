"""Do a run's task once more: its plan becomes a request again, decided anew with what holds today."""

from __future__ import annotations

from tmuxagents.commands.inspect import inspect
from tmuxagents.core import filespecs
from tmuxagents.core.events import is_figure
from tmuxagents.core.plan import LaunchRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.commands.known import Caller


def _preset(meta: Mapping[str, Any]) -> str | None:
    """Return the preset of a run by the name that means the same file today."""
    name, source = meta.get("preset"), meta.get("presetSource")
    if not isinstance(name, str):
        return None
    return f"{source}:{name}" if isinstance(source, str) else name


def request(
    run_dir: str, caller: Caller, *, model: str | None = None, timeout: float | None = None
) -> LaunchRequest:
    """Return the request for a new run like one that was."""
    run = inspect(run_dir)
    meta = run.meta
    before = meta.get("timeout")
    allowed = float(before) if before is not None and is_figure(before) else None
    asked_model = meta.get("requestedModel") if meta.get("modelSource") == "call" else None
    return LaunchRequest(
        task=str(meta.get("task") or ""),
        cwd=str(meta.get("cwd") or ""),
        project=str(meta.get("project") or caller.project),
        preset=_preset(meta),
        agent=str(meta.get("agent") or ""),
        model=model or asked_model,
        name=meta.get("name") if run.ended else None,  # while that one lives, the name is its
        owner=caller.owner,
        timeout=allowed if timeout is None else timeout,
        files=[filespecs.read(value, field="files") for value in meta.get("files") or ()],
        after=[str(other) for other in meta.get("after") or ()],
        allow_outside=meta.get("allowOutside") is True,
        keep_background=meta.get("keepBackground") is True,
    )
