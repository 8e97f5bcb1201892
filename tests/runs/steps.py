"""Scripts of events: what a child does step by step, and the state that follows from them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tests import strategies
from tmuxagents.runs import events, lifecycle
from tmuxagents.runs.events import Event
from tmuxagents.runs.lifecycle import RunState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.records import Verdict

USAGE = {"input": 100, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 120, "cost": 0.25}
STARTED = events.run_started(
    {"pid": 11, "pidStartTime": 22, "pane": "%5", "window": "@3", "agentVersion": "0.87.1"}
)
TEXT = events.assistant_text("Found it.")
CALL = events.tool_call("c1", "read", {"path": "a"})
RESULT = events.tool_result("c1", "read", is_error=False, text="x", duration_ms=1)
FAILED_RESULT = events.tool_result("c1", "read", is_error=True, text="no", duration_ms=1)
RETRY = events.retry(attempt=1, most=3, delay_ms=2000, message="500")
FIGURES = events.usage(USAGE)
SETTLED = events.settled(aborted=False)
GAVE_UP = events.settled(aborted=True)
WARNED = events.stderr("Warning: custom model id")
REFUSED = events.stderr("Error: no such flag")
EXITED = events.child_exited(0, None)
RESUMED = events.resumed()
# No event: from here on we end the settled child.
LEAVE = Event("-", {})


def turn(reason: str | None) -> Event:
    return events.turn_end(reason)


ANSWERED = (STARTED, TEXT, FIGURES, turn("stop"), SETTLED)


def script(*steps: Event) -> list[Event]:
    """Number and time the steps, from 1 and from 100 s on."""
    return [Event(step.type, dict(step.fields), seq=at + 1, at=100.0 + at) for at, step in enumerate(steps)]


def folded(log: Iterable[Event]) -> RunState:
    state = RunState()
    for event in log:
        lifecycle.apply(state, event)
    return state


def fold(*steps: Event) -> RunState:
    state = RunState()
    for step in script(*steps):
        if step.type == LEAVE.type:
            lifecycle.leave(state)
        else:
            lifecycle.apply(state, step)
    return state


def seen(state: RunState) -> dict[str, Any]:
    """Return everything in a state, in a form that can be compared."""
    held = copy.deepcopy({name: getattr(state, name) for name in RunState.__slots__})
    return {**held, "exit": state.exit and (state.exit.exit_code, state.exit.signal)}


def told(how: Verdict) -> tuple[object, ...]:
    return how.status, how.reason, how.exit_code, how.signal, how.error_message


# Random events rarely get past the start. So most logs here begin like real ones.
begun = st.sampled_from([[], [STARTED], [*ANSWERED], [*ANSWERED, RESUMED], [*ANSWERED, EXITED]])
whole_logs = st.builds(
    lambda first, rest: [*script(*first), *rest],
    begun,
    st.lists(strategies.events(strategies.json_values), max_size=8),
)
wild_logs = st.builds(
    lambda first, rest: [*script(*first), *rest], begun, st.lists(strategies.wild_events, max_size=6)
)
