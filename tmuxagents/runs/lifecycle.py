"""The life of a run: events folded into a state, by one table. Pure.

Nothing else may change a state. An event that the phase does not allow is counted and ignored, never an
error: a child may write anything. `runs/endings` decides what a state means for the run.
"""

from __future__ import annotations

from tmuxagents.records import Exit
from tmuxagents.runs.events import USAGE_KEYS, is_figure

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
        self.usage: dict[str, Any] = dict.fromkeys(USAGE_KEYS, 0)
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
        # The wrapper sets these two from the agent's output; of the events, only session_started has a model.
        self.model: str | None = None
        self.error_message: str | None = None


def apply(state: RunState, event: Event) -> None:
    """Fold one event into the state."""
    kind, fields = event.type, event.fields
    following = TRANSITIONS[state.phase].get(kind)
    if following is None:
        state.ignored += kind in _KNOWN
        return
    # A stop is no sign of work, nor is the usage of a whole run, which is reported at its end.
    is_stop = kind == "message_sent" and fields.get("kind") == "stop"
    if not is_stop and not (kind == "usage" and fields.get("basis") in ("run", "session")):
        state.phase = following
    if state.phase != EXITED:
        state.settled = state.phase in (SETTLED, LEAVING)
    state.seq = max(state.seq, event.seq)
    state.last_event_at = event.at
    if kind in _SAID:
        _take_message(state, kind, fields)
    else:
        _take_facts(state, kind, fields, event.at)


def leave(state: RunState) -> None:
    """Record that we are ending a settled child."""
    if state.phase == SETTLED:
        state.phase = LEAVING


_SAID = frozenset(("assistant_text", "tool_call", "tool_result", "message_sent", "usage", "turn_end"))


def _take_message(state: RunState, kind: str, fields: dict[str, Any]) -> None:  # noqa: C901, PLR0912  (a case for each type of event)
    """Fold a part of the conversation: an answer, a call, a message, the end of a turn."""
    match kind:
        case "assistant_text":
            state.text = _str(fields.get("text")) or state.text
        case "tool_call":
            state.tool_count += 1
        case "tool_result":
            state.message_count += 1
        case "message_sent":
            state.message_count += fields.get("kind") != "stop"
        case "usage":
            state.message_count += 1  # one usage for each assistant message
            if not state.settled:
                state.stop_reason = None  # unknown until the turn ends
            for key in (*USAGE_KEYS, "reasoning"):
                if is_figure(figure := fields.get(key)):
                    state.usage[key] = state.usage.get(key, 0) + figure
            state.usage["cost"] = round(state.usage["cost"], 10)  # no stray digits of a float sum
            for key in ("costKind", "basis"):
                if (word := _str(fields.get(key), _WORD)) is not None:
                    state.usage[key] = word
        case _:  # turn_end
            state.turns += 1
            state.stop_reason = _str(fields.get("stopReason"))
            state.evidence = _str(fields.get("evidence"))
            if state.stop_reason == "stop":
                state.finished_text = state.text
            elif state.stop_reason in ("aborted", "error") and state.finished_text is not None:
                state.text = state.finished_text  # a later, unfinished answer does not replace it


def _take_facts(state: RunState, kind: str, fields: dict[str, Any], at: float) -> None:  # noqa: C901, PLR0912  (a case for each type of event)
    """Fold an event about the child itself: its start and exit, its questions, what it leaves behind."""
    match kind:
        case "queued":
            state.position = _int(fields.get("position"))
        case "run_started":
            state.started_at = at
            state.child_pid = _int(fields.get("pid"))
            state.child_start_time = _int(fields.get("pidStartTime"))
            state.agent_version = _str(fields.get("agentVersion"))
            state.pane = _str(fields.get("pane"))
            state.window = _str(fields.get("window"))
            state.message_count = 1  # the prompt
        case "session_started":
            state.child_session = _str(fields.get("session"), _WORD) or state.child_session
            state.model = _str(fields.get("model")) or state.model
        case "settled":
            state.settled_aborted = fields.get("aborted") is True
            state.attended = state.attended or fields.get("attended") is True
        case "human_input":
            state.message_count += 1
            state.attended = True
        case "needs_input":
            state.needs_input = True
            if len(state.asks) < _MOST_ASKS and (ask := _str(fields.get("ask"), _WORD)) is not None:
                words = {key: _str(fields.get(key), _QUESTION) or "" for key in ("kind", "text")}
                state.asks.append({"ask": ask, **words, "options": _options(fields.get("options"))})
        case "input_given":
            ask = _str(fields.get("ask"), _WORD) or ""
            state.asks = [one for one in state.asks if one["ask"] != ask]
            state.needs_input = bool(state.asks)
        case "denied":
            state.denied += 1
            if len(state.denials) < _MOST_DENIED:
                tool, why = _str(fields.get("toolName"), _WORD), _str(fields.get("why"), _WHY)
                state.denials.append({"tool": tool or "tool", "why": why or ""})
        case "stderr":
            if (text := _str(fields.get("text")) or "").strip():
                state.stderr_tail = text
        case "left_behind":
            if len(state.left_behind) < _MOST_LEFT:
                about = {key: _str(fields.get(key), _WORD) for key in ("comm", "why")}
                state.left_behind.append({"pid": _int(fields.get("pid")), **about})
        case "child_exited":
            state.exit = Exit(_int(fields.get("exitCode")), _str(fields.get("signal")))


def _options(value: Any) -> list[dict[str, str]]:
    """Return the options of a question, which anyone may have written."""
    found = [option for option in value if isinstance(option, dict)] if isinstance(value, list) else []
    return [
        {key: _str(option.get(key), _WORD) or "" for key in ("id", "text")}
        for option in found[:_MOST_OPTIONS]
    ]


def _int(value: Any) -> int | None:
    return value if type(value) is int else None


def _str(value: Any, most: int | None = None) -> str | None:
    return value[:most] if isinstance(value, str) else None
