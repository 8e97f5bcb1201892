"""Plans for tests: as the launcher makes them, and as documents that a test may change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tmuxagents.launch import plan
from tmuxagents.launch.plan import InCall, LaunchRequest, Target
from tmuxagents.runs import documents

if TYPE_CHECKING:
    from tmuxagents.agents.models import Resolved
    from tmuxagents.presets.preset import Preset

NOWHERE = Target(socket=None, session=None, launcher=None)


def document(
    request: LaunchRequest,
    *,
    run_id: str,
    now: float = 1.0,
    model: Resolved | None = None,
    preset: Preset | None = None,
) -> dict[str, Any]:
    """Return the meta.json of a request that is checked here, too."""
    plan.check(request)
    if preset is not None:
        plan.check_preset(preset, request)
    set_up = plan.set_up_of(request, preset)
    call = InCall(run_id, run_id)
    made = plan.plan_run(request, call=call, target=NOWHERE, now=now, set_up=set_up, model=model)
    return dict(documents.meta(made))
