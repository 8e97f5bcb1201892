"""The life of a run, as a pure function of what is written down about it.

Rules that this file alone holds:
1. `apply` folds events into a RunState by the table below. An event that the phase does not allow is counted
   and ignored, never raised: a child may write anything.
2. `verdict` says how a run ended; the wrapper asks it at the end of the child, and whoever concludes a run
   whose wrapper is gone asks `conclude`, which is the same judgement on what the events alone can prove.
3. `state_of` is the one function that says what state a run is in. Nothing stores another one.
What came first decides: after the child has settled, a stop, a timeout or a loop changes nothing.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.records import Exit, Facts, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tmuxagents.core.events import Event

_MOST = 2**53  # of a figure; more is no count of tokens, and less than all readers can hold
_SIGNALLED = 128  # a larger exit code means a signal that the child caught
GRACE_S = 2.0  # what a settled child gets to leave by itself

# Phases of the child.
WAITING = "waiting"  # not started
WORKING = "working"
SETTLED = "settled"  # done for now; may begin again
EXITED = "exited"

_WORK = (
    "assistant_text",
    "thinking",
    "tool_call",
    "usage",
    "turn_end",
    "retry",
    "human_input",
    "message_sent",
)
_ASIDE = ("tool_result", "stderr", "needs_input", "input_given", "left_behind")

TRANSITIONS: dict[str, dict[str, str]] = {
    WAITING: {"queued": WAITING, "run_started": WORKING},
    WORKING: {
        **dict.fromkeys(_WORK, WORKING),
        **dict.fromkeys(_ASIDE, WORKING),
        "settled": SETTLED,
        "child_exited": EXITED,
    },
    SETTLED: {
        **dict.fromkeys(_WORK, WORKING),
        **dict.fromkeys(_ASIDE, SETTLED),
        "settled": SETTLED,
        "child_exited": EXITED,
    },
    EXITED: {"stderr": EXITED, "left_behind": EXITED},
}
_KNOWN = frozenset(kind for row in TRANSITIONS.values() for kind in row)


class RunState:
    """What the events of one run add up to."""

    __slots__ = (
        "agent_version",
        "attended",
        "child_pid",
        "child_start_time",
        "error_message",
        "exit",
        "exited_at",
        "ignored",
        "last_event_at",
        "left_behind",
        "message_count",
        "model",
        "needs_input",
        "pane",
        "phase",
        "position",
        "seq",
        "settled",
        "settled_aborted",
        "settled_at",
        "started_at",
        "stderr_tail",
        "stop_reason",
        "text",
        "tool_count",
        "turns",
        "usage",
        "window",
    )

    def __init__(self) -> None:
        self.phase = WAITING
        self.seq = 0
        self.ignored = 0
        self.started_at: float | None = None
        self.last_event_at: float | None = None
        self.child_pid: int | None = None
        self.child_start_time: int | None = None
        self.agent_version: str | None = None
        self.pane: str | None = None
        self.window: str | None = None
        self.position: int | None = None
        self.turns = 0
        self.tool_count = 0
        self.message_count = 0
        self.usage: dict[str, Any] = dict.fromkeys(
            ("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0
        ) | {"cost": 0}
        self.text: str | None = None
        self.stop_reason: str | None = None
        self.stderr_tail: str | None = None
        self.settled_aborted = False
        self.settled = False
        self.settled_at = 0.0
        self.attended = False
        self.needs_input = False
        self.exit: Exit | None = None
        self.exited_at = 0.0
        self.left_behind: list[dict[str, Any]] = []
        # No event carries these two; the wrapper takes them from the reader.
        self.model: str | None = None
        self.error_message: str | None = None


def apply(state: RunState, event: Event) -> None:
    """Fold one event into the state."""
    following = TRANSITIONS[state.phase].get(event.type)
    if following is None:
        state.ignored += event.type in _KNOWN
        return
    state.phase = following
    if following != EXITED:
        state.settled = following == SETTLED
    state.seq = max(state.seq, event.seq)
    state.last_event_at = event.at
    take = _TAKE.get(event.type)
    if take is not None:
        take(state, event.fields, event.at)


def fold(events: Iterable[Event]) -> RunState:
    """Fold events from the beginning."""
    state = RunState()
    for event in events:
        apply(state, event)
    return state


def resume_work(state: RunState) -> None:
    """Take a settling back: the child has begun again and no event says so yet."""
    if state.phase == SETTLED:
        state.phase = WORKING
        state.settled = False


def _queued(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.position = _int(fields.get("position"))


def _run_started(state: RunState, fields: dict[str, Any], at: float) -> None:
    state.started_at = at
    state.child_pid = _int(fields.get("pid"))
    state.child_start_time = _int(fields.get("pidStartTime"))
    state.agent_version = _str(fields.get("agentVersion"))
    state.pane = _str(fields.get("pane"))
    state.window = _str(fields.get("window"))
    state.message_count = 1  # the prompt


def _assistant_text(state: RunState, fields: dict[str, Any], _at: float) -> None:
    text = _str(fields.get("text"))
    if text:
        state.text = text


def _tool_call(state: RunState, _fields: dict[str, Any], _at: float) -> None:
    state.tool_count += 1


def _message(state: RunState, _fields: dict[str, Any], _at: float) -> None:
    state.message_count += 1


def _usage(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.message_count += 1  # one usage for each assistant message
    for key in state.usage:
        figure = fields.get(key)
        if isinstance(figure, (int, float)) and type(figure) is not bool and abs(figure) <= _MOST:
            state.usage[key] += figure
    state.usage["cost"] = round(state.usage["cost"], 10)  # a sum of floats must not grow a tail of digits


def _turn_end(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.turns += 1
    state.stop_reason = _str(fields.get("stopReason"))


def _settled(state: RunState, fields: dict[str, Any], at: float) -> None:
    state.settled_at = at
    state.settled_aborted = fields.get("aborted") is True
    state.attended = state.attended or fields.get("attended") is True


def _human_input(state: RunState, _fields: dict[str, Any], _at: float) -> None:
    state.message_count += 1
    state.attended = True


def _needs_input(state: RunState, _fields: dict[str, Any], _at: float) -> None:
    state.needs_input = True


def _input_given(state: RunState, _fields: dict[str, Any], _at: float) -> None:
    state.needs_input = False


def _stderr(state: RunState, fields: dict[str, Any], _at: float) -> None:
    text = _str(fields.get("text"))
    if text and text.strip():
        state.stderr_tail = text


def _left_behind(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.left_behind.append({key: fields.get(key) for key in ("pid", "comm", "why")})


def _child_exited(state: RunState, fields: dict[str, Any], at: float) -> None:
    state.exited_at = at
    state.exit = Exit(_int(fields.get("exitCode")), _str(fields.get("signal")))


_TAKE = {
    "queued": _queued,
    "run_started": _run_started,
    "assistant_text": _assistant_text,
    "tool_call": _tool_call,
    "tool_result": _message,
    "message_sent": _message,
    "usage": _usage,
    "turn_end": _turn_end,
    "settled": _settled,
    "human_input": _human_input,
    "needs_input": _needs_input,
    "input_given": _input_given,
    "stderr": _stderr,
    "left_behind": _left_behind,
    "child_exited": _child_exited,
}


def _int(value: Any) -> int | None:
    return value if type(value) is int else None


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) else None


# --- how it ended -----------------------------------------------------------------------------------------


class Cause:
    """Why we ended a child that had not settled: decided once, before the first signal."""

    __slots__ = ("message", "reason", "status")

    def __init__(self, status: str, reason: str, message: str) -> None:
        self.status = status
        self.reason = reason
        self.message = message


STOPPED = Cause(records.ABORTED, "stopped", "Stopped.")
PARENT = Cause(records.ABORTED, "parent", "The parent cancelled the call.")
WINDOW_CLOSED = Cause(records.ABORTED, "closed", "The window was closed.")
SERVER_ENDED = Cause(records.ABORTED, "closed", "The tmux server ended.")
LOOP = Cause(records.FAILED, "loop", "Loop detected: sub-agent is repeating the same tool calls")


def timed_out(timeout_s: float) -> Cause:
    """Return the cause of a timeout, with the configured figure."""
    message = f"Timed out after {timeout_s:.15g}s. Consider resuming with a longer timeout."
    return Cause(records.FAILED, "timeout", message)


def verdict(state: RunState, exit: Exit, *, cause: Cause | None, lingered: bool) -> Verdict:  # noqa: A002
    """Say how a run ended whose child has been reaped.

    `cause` is set if we ended the child before it had settled, `lingered` if we ended it after.
    """
    if cause is not None:
        return Verdict(cause.status, cause.reason, cause.message, exit=exit)
    if not state.settled and not lingered:
        return _unsettled(state, exit)
    answer = _bad_answer(state)
    if answer is not None:
        return Verdict(records.FAILED, answer[0], answer[1], exit=exit)
    if lingered or (exit.exit_code == 0 and exit.signal is None):
        return Verdict(records.COMPLETED, "done", exit=exit)
    if exit.signal is not None:
        return Verdict(records.FAILED, "signal", f"The child was killed by {exit.signal}.", exit=exit)
    message = f"The child finished its answer, then exited with code {exit.exit_code}."
    return Verdict(records.FAILED, "exit", message, exit=exit)


def _bad_answer(state: RunState) -> tuple[str, str] | None:
    """Return reason and message if the answer that the child settled with is not a finished one."""
    if state.stop_reason == "length":
        return "length", "The answer was cut at the model's output limit."
    if state.settled_aborted or state.stop_reason in ("error", "aborted"):
        by_model = state.stop_reason == "error" and not state.settled_aborted
        fallback = "The model failed." if by_model else "The child aborted its answer."
        return "error", state.error_message or fallback
    if state.stop_reason != "stop":
        return "unfinished", "The child ended without finishing its answer."
    return None


def _unsettled(state: RunState, exit: Exit) -> Verdict:  # noqa: A002
    if exit.signal is not None:
        return Verdict(records.FAILED, "signal", f"The child was killed by {exit.signal}.", exit=exit)
    if exit.exit_code == 0:
        return Verdict(
            records.FAILED, "unfinished", "The child ended without finishing its answer.", exit=exit
        )
    message = f"The child exited with code {exit.exit_code}."
    if (
        exit.exit_code is not None and exit.exit_code < _SIGNALLED
    ):  # else a signal is the reason, not its words
        message = (state.stderr_tail or "").strip() or message
    return Verdict(records.FAILED, "exit", message, exit=exit)


def conclude(state: RunState, *, stopped: bool = False) -> Verdict:
    """Say how a run ended whose wrapper is gone without a result: only what its events prove.

    `stopped`: asked by one who ended the wrapper because somebody wanted the run stopped.
    """
    if state.settled and _bad_answer(state) is None:
        ending = state.exit or Exit(None)
        in_time = state.exit is not None and state.exited_at - state.settled_at < GRACE_S
        signalled = ending.signal is not None or (ending.exit_code or 0) > _SIGNALLED
        by_itself = in_time and not (stopped and signalled)  # that was ours: no failure of its own
        if by_itself and (ending.exit_code, ending.signal) != (0, None):
            how = verdict(state, ending, cause=None, lingered=False)
        else:
            how = Verdict(records.COMPLETED, "done", exit=ending)
        how.note = "wrapper lost"
        return how
    if stopped:
        return Verdict(STOPPED.status, STOPPED.reason, STOPPED.message)
    return Verdict(records.ABORTED, "lost", records.LOST_MESSAGE)


# --- what state it is in ----------------------------------------------------------------------------------


class Standing:
    """The state of a run: what `poll` shows. `verdict` is there exactly when the run has ended."""

    __slots__ = ("foreign", "status", "verdict")

    def __init__(self, status: str, verdict: Verdict | None = None, *, foreign: bool = False) -> None:
        self.status = status
        self.verdict = verdict
        self.foreign = foreign  # on another host: shown as it is written, never concluded from here


def state_of(facts: Facts, state: RunState) -> Standing:
    """Return the state of a run: the one table, row by row (docs/run-directory.md)."""
    if facts.presence in (records.HERE, records.ELSEWHERE):
        foreign = facts.presence == records.ELSEWHERE
        if foreign and facts.result is not None:
            return _recorded(facts.result, foreign=True)
        return Standing(records.RUNNING if facts.started else records.QUEUED, foreign=foreign)
    if facts.result is not None:
        return _recorded(facts.result)
    if facts.presence == records.NEVER_CAME:
        return Standing(records.QUEUED)
    if not facts.started:
        return Standing(records.ABORTED, Verdict(records.ABORTED, "lost", records.LOST_MESSAGE))
    how = conclude(state)
    return Standing(how.status, how)


def _recorded(result: dict[str, Any], *, foreign: bool = False) -> Standing:
    ending = Exit(_int(result.get("exitCode")), _str(result.get("signal")))
    how = Verdict(
        result["status"],
        result["reason"],
        _str(result.get("errorMessage")),
        exit=ending,
        note=_str(result.get("note")),
    )
    return Standing(how.status, how, foreign=foreign)
