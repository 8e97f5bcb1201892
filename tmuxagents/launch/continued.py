"""The set-up, model, conversation and usage that a run takes over from the session it continues; messages.

The set-up comes from the session's own plans. A preset file that has changed since then does not count.

Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.agents.base import ChildSession
from tmuxagents.agents.models import OWN, Resolved
from tmuxagents.launch.plan import HERE
from tmuxagents.records import SLURM, SetUp
from tmuxagents.runs.events import is_figure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from tmuxagents.presets.preset import Preset
    from tmuxagents.records import Plan
    from tmuxagents.runs.lifecycle import RunState

_TICK_S = 0.001  # the precision of moments in a plan
_SHORT = 8

ASKED = "--replay was given"
REOPENED = "(opened again by a person)"  # the task of a run that gets none
AS_BEFORE = "as that run did"


class Continued(NamedTuple):
    """The session that a run continues, and what the run takes over from it.

    `set_up` goes into the plan, `texts` into the run directory. `transcript` is the conversation so far, if
    the prompt replays it. Without `model`, the call, a preset or a setting names one. `preset` is read anew,
    but only for its key and its account, whose secrets no file of a run holds.
    """

    session_id: str
    run_id: str  # the run from which the session continues
    created_at: float = 0.0
    transcript: str | None = None
    set_up: SetUp | None = None
    texts: Mapping[str, bytes] = {}
    model: Resolved | None = None
    preset: Preset | None = None
    child_session: str | None = None  # of an agent that keeps its sessions itself
    baseline: Mapping[str, Any] | None = None

    def moment(self, now: float) -> float:
        """Return the new run's creation time: after the run it continues, even if the clock was set back."""
        return max(now, self.created_at + _TICK_S)


def place(machine: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return where to continue or repeat a run whose files are here: here, or in Slurm with its options."""
    if machine is None:
        return {"on": HERE}
    partition, options = machine.get("partition"), machine.get("options")
    return {
        "on": f"{SLURM}:{partition}" if partition else SLURM,
        "sbatch": tuple(map(str, options)) if isinstance(options, list) else (),
    }


def set_up(plan: Plan) -> SetUp:
    """Return the part of a plan that a preset or profile has decided."""
    return SetUp(**{name: getattr(plan, name) for name in SetUp.__slots__})


def preset(plan: Plan) -> str | None:
    """Return the name of a run's preset with its source, so that no other file of that name is meant."""
    return f"{plan.preset_source}:{plan.preset}" if plan.preset and plan.preset_source else plan.preset


def model(plan: Plan, used: str | None) -> Resolved | None:
    """Return the model in a plan, else the one that the child reported (`used`)."""
    planned = plan.resolved_model
    if planned and plan.model_source != OWN:
        return Resolved(plan.requested_model or planned, planned, plan.model_source or None)
    return Resolved(None, used or planned) if used or planned else None


def kept_session(plan: Plan, state: RunState, *, keeps_unanswered: bool) -> ChildSession:
    """Return the child's session if its agent keeps sessions itself, or why it cannot be continued."""
    if state.child_session is None:
        return ChildSession(
            problem=f"run {plan.run_id[:_SHORT]} ended before its child reported the session's id"
        )
    if state.child_session.startswith("-") or not state.child_session.isprintable():  # it becomes an argument
        return ChildSession(problem=f"run {plan.run_id[:_SHORT]} has a session whose id cannot be used")
    is_answered = plan.child_session is not None or state.text is not None or state.tool_count > 0
    if state.stop_reason == "error" and not (is_answered or keeps_unanswered):
        return ChildSession(problem=f"run {plan.run_id[:_SHORT]} has no session, as the model gave no answer")
    return ChildSession(id=state.child_session, cwd=plan.cwd)


def baseline(plan: Plan, state: RunState) -> dict[str, Any]:
    """Return the usage of a session up to the end of a run: the run's own, added to the usage before it."""
    earlier = plan.baseline or {}
    figures = {key: value for key, value in state.usage.items() if is_figure(value)}
    return {
        key: value + earlier[key] if is_figure(earlier.get(key)) else value for key, value in figures.items()
    }


# --- words ------------------------------------------------------------------------------------------------


def natively(run_id: str) -> str:
    """Say that the child continues its own session."""
    return f"continues run {run_id[:_SHORT]} in the child's own session"


def replayed(run_id: str, why: str) -> str:
    """Say that the prompt replays the conversation so far."""
    return f"continues run {run_id[:_SHORT]} by replaying the session in the prompt: {why}"


def unsealed(run_id: str, name: str) -> str:
    """Say that a preset is read anew, since no seal confirms how the run was set up."""
    return f"run {run_id[:_SHORT]} has no seal that says how it was set up: preset {name} is read anew"


def changed(run_id: str, names: Iterable[str]) -> str:
    """Say that the files of a run are not those that it was launched with."""
    files = " and ".join(names)
    return f"Run {run_id} is not as it was launched: {files} in it has been changed or removed."


def not_kept(run_id: str) -> str:
    """Say that the agent has no session of a run."""
    return f"run {run_id[:_SHORT]} ended before its child kept the session"


def file_problem(run_id: str, what: str) -> str:
    """Say what is wrong with the session file of a run."""
    return f"the session file of run {run_id[:_SHORT]} {what}"
