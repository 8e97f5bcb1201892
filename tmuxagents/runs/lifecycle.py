"""The life of a run: events folded into a state, by one table. Pure.

Nothing else may change a state. An event that the phase does not allow is counted and ignored, never an
error: a child may write anything. `runs/endings` decides what a state means for the run.
"""

from __future__ import annotations

from tmuxagents.records import Exit
from tmuxagents.runs.events import is_figure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.runs.events import Event

# Phases of the child.
WAITING = "waiting"  # not started
WORKING = "working"
SETTLED = "settled"  # done for now; may begin again
LEAVING = "leaving"  # settled, and we are ending it: what it still says changes nothing
EXITED = "exited"

_WORK = (
    *("assistant_text", "thinking", "tool_call", "usage", "retry"),
    *("human_input", "message_sent", "resumed"),
)
_ASIDE = (
    *("tool_result", "stderr", "needs_input", "input_given", "left_behind"),
    *("session_started", "denied"),
)

TRANSITIONS: dict[str, dict[str, str]] = {
    WAITING: {"queued": WAITING, "run_started": WORKING},
    WORKING: {
        **dict.fromkeys(_WORK, WORKING),
        **dict.fromkeys(_ASIDE, WORKING),
        "turn_end": WORKING,
        "settled": SETTLED,
        "child_exited": EXITED,
    },
    SETTLED: {
        **dict.fromkeys(_WORK, WORKING),
        **dict.fromkeys(_ASIDE, SETTLED),
        "settled": SETTLED,
        "child_exited": EXITED,
    },
    LEAVING: {"stderr": LEAVING, "left_behind": LEAVING, "child_exited": EXITED},
    EXITED: {"stderr": EXITED, "left_behind": EXITED},
}
_MOST_LEFT, _WORD = 1000, 256  # processes, and letters of each text about one
_MOST_DENIED, _WHY = 100, 200
_MOST_ASKS, _MOST_OPTIONS, _QUESTION = 20, 20, 1000
_KNOWN = frozenset(kind for row in TRANSITIONS.values() for kind in row)


class RunState:
    """What the events of one run add up to."""

    __slots__ = (
        *(
            "agent_version",
            "asks",
            "attended",
            "child_pid",
            "child_session",
            "child_start_time",
            "denials",
            "denied",
            "error_message",
            "evidence",
            "exit",
            "finished_text",
            "ignored",
            "last_event_at",
        ),
        *(
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
        ),
        *("started_at", "stderr_tail", "stop_reason", "text", "tool_count", "turns", "usage", "window"),
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
        self.finished_text: str | None = None  # of the last turn that ended with a finished answer
        self.stop_reason: str | None = None
        self.evidence: str | None = None  # of the last turn's end, if no line of the child proves it
        self.stderr_tail: str | None = None
        self.settled_aborted = False
        self.settled = False
        self.attended = False
        self.needs_input = False
        self.asks: list[dict[str, Any]] = []  # open questions that can be answered, the oldest first
        self.exit: Exit | None = None
        self.child_session: str | None = None  # the id of the child's own session, where it has one
        self.denied = 0  # how many tool calls were denied; `denials` has the first of them
        self.denials: list[dict[str, Any]] = []
        self.left_behind: list[dict[str, Any]] = []
        # The wrapper takes these two from the reader; of all events, only session_started has the model.
        self.model: str | None = None
        self.error_message: str | None = None


def apply(state: RunState, event: Event) -> None:
    """Fold one event into the state."""
    following = TRANSITIONS[state.phase].get(event.type)
    if following is None:
        state.ignored += event.type in _KNOWN
        return
    if not _starts_nothing(event):
        state.phase = following
    if state.phase != EXITED:
        state.settled = state.phase in (SETTLED, LEAVING)
    state.seq = max(state.seq, event.seq)
    state.last_event_at = event.at
    take = _TAKE.get(event.type)
    if take is not None:
        take(state, event.fields, event.at)


def _starts_nothing(event: Event) -> bool:
    """Say whether an event is no sign of work: a stop, or the usage of a whole run, reported at its end."""
    if event.type == "usage":
        return event.fields.get("basis") in ("run", "session")
    return event.type == "message_sent" and event.fields.get("kind") == "stop"


def leave(state: RunState) -> None:
    """Record that we are ending a settled child."""
    if state.phase == SETTLED:
        state.phase = LEAVING


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


def _message_sent(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.message_count += fields.get("kind") != "stop"


def _usage(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.message_count += 1  # one usage for each assistant message
    if not state.settled:
        state.stop_reason = None  # unknown until the turn ends
    if is_figure(fields.get("reasoning")):
        state.usage.setdefault("reasoning", 0)
    for key in state.usage:
        figure = fields.get(key)
        if is_figure(figure):
            state.usage[key] += figure
    state.usage["cost"] = round(state.usage["cost"], 10)  # a sum of floats must not grow a tail of digits
    for key in ("costKind", "basis"):
        if (word := _str(fields.get(key))) is not None:
            state.usage[key] = word[:_WORD]


def _turn_end(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.turns += 1
    state.stop_reason = _str(fields.get("stopReason"))
    state.evidence = _str(fields.get("evidence"))
    if state.stop_reason == "stop":
        state.finished_text = state.text
    elif state.stop_reason in ("aborted", "error") and state.finished_text is not None:
        state.text = state.finished_text  # a later, unfinished answer does not replace it


def _settled(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.settled_aborted = fields.get("aborted") is True
    state.attended = state.attended or fields.get("attended") is True


def _human_input(state: RunState, _fields: dict[str, Any], _at: float) -> None:
    state.message_count += 1
    state.attended = True


def _needs_input(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.needs_input = True
    ask = _str(fields.get("ask"))
    if ask is not None and len(state.asks) < _MOST_ASKS:
        words = {key: (_str(fields.get(key)) or "")[:_QUESTION] for key in ("kind", "text")}
        state.asks.append({"ask": ask[:_WORD], **words, "options": _options(fields.get("options"))})


def _options(value: Any) -> list[dict[str, str]]:
    found = [option for option in value if isinstance(option, dict)] if isinstance(value, list) else []
    return [
        {key: (_str(option.get(key)) or "")[:_WORD] for key in ("id", "text")}
        for option in found[:_MOST_OPTIONS]
    ]


def _input_given(state: RunState, fields: dict[str, Any], _at: float) -> None:
    ask = (_str(fields.get("ask")) or "")[:_WORD]
    state.asks = [one for one in state.asks if one["ask"] != ask]
    state.needs_input = bool(state.asks)


def _stderr(state: RunState, fields: dict[str, Any], _at: float) -> None:
    text = _str(fields.get("text"))
    if text and text.strip():
        state.stderr_tail = text


def _left_behind(state: RunState, fields: dict[str, Any], _at: float) -> None:
    if len(state.left_behind) < _MOST_LEFT:
        words = {key: value and value[:_WORD] for key in ("comm", "why") for value in [_str(fields.get(key))]}
        state.left_behind.append({"pid": _int(fields.get("pid")), **words})


def _session_started(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.child_session = (_str(fields.get("session")) or "")[:_WORD] or state.child_session
    state.model = _str(fields.get("model")) or state.model


def _denied(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.denied += 1
    if len(state.denials) < _MOST_DENIED:
        tool, why = _str(fields.get("toolName")) or "tool", _str(fields.get("why")) or ""
        state.denials.append({"tool": tool[:_WORD], "why": why[:_WHY]})


def _child_exited(state: RunState, fields: dict[str, Any], _at: float) -> None:
    state.exit = Exit(_int(fields.get("exitCode")), _str(fields.get("signal")))


_TAKE = {
    "queued": _queued,
    "run_started": _run_started,
    "assistant_text": _assistant_text,
    "tool_call": _tool_call,
    "tool_result": _message,
    "message_sent": _message_sent,
    "usage": _usage,
    "turn_end": _turn_end,
    "settled": _settled,
    "human_input": _human_input,
    "needs_input": _needs_input,
    "input_given": _input_given,
    "stderr": _stderr,
    "session_started": _session_started,
    "denied": _denied,
    "left_behind": _left_behind,
    "child_exited": _child_exited,
}


def _int(value: Any) -> int | None:
    return value if type(value) is int else None


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) else None
