"""Read the stream of Claude Code: retries, denials, and what each turn used. Pure.

A `result` line has the tokens of its turn, but the cost of the whole session; the cost of the turn is given
by model. Pieces of messages show that the model writes, and what a call used if its turn never ends.

Talk to a Claude Code that keeps its stdin open: prompt, messages, interrupts and answers.

Every message has an id, and Claude Code says when it takes up and when it has done what has that
id. A message that steers is read between two calls of the model, a follow-up when the turn is over. If
stdin ends while a question is open, that is a denial.
"""

from __future__ import annotations

from tmuxagents.agents import envelope
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Ask, Reading
from tmuxagents.agents.capabilities import ESTIMATED, OF_RUN
from tmuxagents.agents.envelope import EnvelopeReader
from tmuxagents.runs import events
from tmuxagents.runs.events import FOLLOW_UP, STOP
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, ClassVar

    from tmuxagents.runs.events import Event, InboxMessage


_FIGURES = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}
_BROKEN = "The connection to the model broke off in the middle of the answer."


class ClaudeReader(EnvelopeReader):
    """Reads one Claude Code."""

    snapshots: tuple[bytes, ...] = (b'{"type":"stream_event","event":{"type":"content_block_',)

    def __init__(self, cost_before: float = 0.0) -> None:
        super().__init__()
        self._cost = cost_before  # of the session so far, for versions that tell nothing else
        self._calls_used = dict.fromkeys(_FIGURES, 0)  # by calls of a turn that has not ended
        self._lacks_end = False  # the last message has begun, and not ended as the model ends one

    def is_refused(self, raw: dict[str, Any], call: Any, _text: str) -> bool:
        """Say whether the line says that permission was refused; a call that was broken off was not."""
        about = raw.get("tool_result_meta")
        for one in about if isinstance(about, list) else []:
            if isinstance(one, dict) and one.get("id") == call:
                decision = one.get("permission_decision")
                return isinstance(decision, dict) and decision.get("decision") == "reject"
        return False

    def usage(self, raw: dict[str, Any]) -> list[Event]:
        """Return the tokens and the cost of the turn."""
        self._calls_used = dict.fromkeys(_FIGURES, 0)
        return self._used(figures_of(raw.get("usage")), self._cost_of(raw))

    def left(self, exit_code: int | None) -> list[Event]:
        """Return what a turn used that has not ended; its cost is not known."""
        told = super().left(exit_code)
        return told + (self._used(self._calls_used, 0) if not self.settled else [])

    def _used(self, figures: dict[str, int], cost: float) -> list[Event]:
        total = sum(figures.values())
        if not total and not cost:
            return []
        words = {"costKind": ESTIMATED, "basis": OF_RUN}
        return [events.usage({**figures, "totalTokens": total, "cost": cost, **words})]

    def _cost_of(self, raw: dict[str, Any]) -> float:
        before, total = self._cost, raw_json.figure(raw.get("total_cost_usd"), integral=False)
        self._cost = max(before, total)
        by_model = raw.get("model_usage_since_last_result")
        if isinstance(by_model, dict):
            costs = [one.get("costUSD") for one in by_model.values() if isinstance(one, dict)]
            return sum(raw_json.figure(cost, integral=False) for cost in costs)
        return max(0.0, total - before)

    def _retry(self, raw: dict[str, Any], _now: float) -> Reading:
        status, error = raw_json.whole(raw.get("error_status")), raw_json.word(raw.get("error"))
        told = events.retry(
            attempt=raw_json.whole(raw.get("attempt")),
            most=raw_json.whole(raw.get("max_retries")),
            delay_ms=raw_json.whole(raw.get("retry_delay_ms")),
            message=f"HTTP {status}: {error}" if status and error else error,
        )
        return Reading([*self._opened(raw), *self.works_again(), told], active=True)

    def _permission_denied(self, raw: dict[str, Any], _now: float) -> Reading:
        why = raw_json.sentence(raw.get("message")) or "It was not allowed."
        return Reading(self.deny(raw.get("tool_use_id"), raw.get("tool_name"), why), active=True)

    def _piece(self, raw: dict[str, Any], _now: float) -> Reading:
        """Read where a message begins or ends."""
        event = raw.get("event")
        if not isinstance(event, dict):
            return ACTIVE
        kind = event.get("type")
        if kind == "message_delta":
            for key, figure in figures_of(event.get("usage")).items():
                self._calls_used[key] += figure
        if raw.get("parent_tool_use_id") is not None:
            return ACTIVE
        if kind in ("message_start", "message_delta"):
            self._lacks_end = kind == "message_start"
        told = self.works_again() if kind == "message_start" else []
        return Reading([*told, *self._told_texts()], active=True)

    def ending(self, raw: dict[str, Any]) -> str | None:
        """Return how the turn ended: a connection that broke off in the last answer reads as success."""
        how = super().ending(raw)
        lacks_end, self._lacks_end = self._lacks_end, False
        if how != "stop" or not lacks_end:
            return how
        self.why = _BROKEN
        return "error"

    takes: ClassVar = EnvelopeReader.takes | {
        "system:api_retry": _retry,
        "system:permission_denied": _permission_denied,
        "stream_event": _piece,
    }


def figures_of(raw: Any) -> dict[str, int]:
    """Return the figures of a usage in our words."""
    used = raw if isinstance(raw, dict) else {}
    return {key: int(raw_json.figure(used.get(name), integral=True)) for key, name in _FIGURES.items()}


_STARTED = "started"
_OVER = ("completed", "cancelled", "failed")


class ClaudeTalker(ClaudeReader):
    """Reads and talks to one Claude Code."""

    acknowledges = True

    def __init__(self, run_id: str, cost_before: float = 0.0) -> None:
        super().__init__(cost_before)
        self._run_id = run_id  # a session takes no message twice, and has those of its earlier runs
        self._open: dict[
            str, InboxMessage | None
        ] = {}  # what was said and is not done: id -> what it has not taken up
        self._interrupts: dict[str, InboxMessage] = {}
        self._asked: dict[str, tuple[Ask, dict[str, Any]]] = {}  # its questions: request -> the question
        self._tells = False  # it says what becomes of a message

    @property
    def asks(self) -> Sequence[Ask]:
        """Return the open questions, the oldest first."""
        return [ask for ask, _ in self._asked.values()]

    @property
    def is_idle(self) -> bool:
        """Say whether no turn runs and nothing that was said is left to do."""
        return self.settled and not self._open and not self._interrupts

    def begin(self, prompt: str) -> bytes:
        """Return the prompt."""
        return self._say(prompt, 0, None)

    def say(self, message: InboxMessage) -> bytes | None:
        """Return the words of a message or an interrupt."""
        if message.kind == STOP:
            request = self._id(message.inbox_id)
            self._interrupts[request] = message
            return envelope.request(request, subtype="interrupt")
        later = {"priority": "later"} if message.kind == FOLLOW_UP else {}
        return self._say(message.text or "", message.inbox_id, message, **later)

    def _say(self, text: str, number: int, message: InboxMessage | None, **more: str) -> bytes:
        known = self._id(number)
        self._open[known] = message
        blocks = [{"type": "text", "text": text}]
        if text.startswith("/"):  # it takes the last block for a command, and leaves a blank one out
            blocks.append({"type": "text", "text": "\n"})
        said = {"role": "user", "content": blocks}
        return jsonline.encode({"type": "user", "uuid": known, "message": said, **more})

    def _id(self, number: int) -> str:
        """Return the id of a message, as a UUID."""
        run = f"{self._run_id:0<16}"
        return f"{run[:8]}-{run[8:12]}-4{run[12:15]}-8{run[15:16]}00-{number:012x}"

    def answer(self, ask_id: str, answer: str, by: str) -> Reading:
        """Answer a question."""
        _, request = self._asked.pop(ask_id, (None, None))
        if request is None:
            return NOTHING
        return Reading(reply=envelope.respond(ask_id, envelope.decision(request, answer, by)))

    # --- lines ---

    def _request(self, raw: dict[str, Any], _now: float) -> Reading:
        """Take a question; any other request of its is refused, or it would wait for ever."""
        known, request = raw_json.key(raw.get("request_id")), raw.get("request")
        if known is None or not isinstance(request, dict):
            return ACTIVE
        if request.get("subtype") == "can_use_tool":
            self._asked[known] = envelope.question(known, request), request
            return ACTIVE
        return Reading(reply=envelope.refuse(known))

    def _withdrawn(self, raw: dict[str, Any], _now: float) -> Reading:
        """Forget a question that it no longer asks."""
        self._asked.pop(raw_json.key(raw.get("request_id")) or "", None)
        return ACTIVE

    def _response(self, raw: dict[str, Any], _now: float) -> Reading:
        """Report that it has taken an interrupt."""
        response = raw.get("response")
        known = raw_json.key(response.get("request_id")) if isinstance(response, dict) else None
        message = self._interrupts.pop(known or "", None)
        return Reading(_sent(message), active=True)

    def _lifecycle(self, raw: dict[str, Any], _now: float) -> Reading:
        """Report that it has taken a message, and note when it has done what that asked."""
        self._tells = True
        known, state = raw_json.key(raw.get("command_uuid")) or "", raw.get("state")
        if state in _OVER:
            return Reading(_sent(self._open.pop(known, None)), active=True)
        message = self._open.get(known)
        if state != _STARTED or message is None:
            return ACTIVE
        self._open[known] = None
        return Reading([*self._told_texts(), *_sent(message)], active=True)

    def _result(self, raw: dict[str, Any], now: float) -> Reading:
        """Read the end of a turn; a version that says nothing of messages has taken them all by then."""
        told = super()._result(raw, now)
        self._asked.clear()
        sent = [] if self._tells else [event for message in self._open.values() for event in _sent(message)]
        is_done = [known for known, message in self._open.items() if message is None or not self._tells]
        for known in is_done:
            del self._open[known]
        return Reading([*sent, *told.events], active=True)

    takes: ClassVar = ClaudeReader.takes | {
        "result": _result,
        "control_request": _request,
        "control_cancel_request": _withdrawn,
        "control_response": _response,
        "command_lifecycle": _lifecycle,
    }


def _sent(message: InboxMessage | None) -> list[Event]:
    return [] if message is None else [events.message_sent(message.inbox_id, message.kind, message.text)]
