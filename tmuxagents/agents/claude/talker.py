"""Talk to a Claude Code that keeps its stdin open: prompt, messages, interrupts and answers.

Every message has an id, and Claude Code says when it takes up and when it has done what has that
id. A message that steers is read between two calls of the model, a follow-up when the turn is over. If
stdin ends while a question is open, that is a denial.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import envelope_asks
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Ask, Reading
from tmuxagents.agents.claude.reader import ClaudeReader
from tmuxagents.runs import events
from tmuxagents.runs.messages import FOLLOW_UP, STOP
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, ClassVar

    from tmuxagents.runs.events import Event
    from tmuxagents.runs.messages import InboxMessage

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
            return envelope_asks.request(request, subtype="interrupt")
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
        return Reading(reply=envelope_asks.respond(ask_id, envelope_asks.decision(request, answer, by)))

    # --- lines ---

    def _request(self, raw: dict[str, Any], _now: float) -> Reading:
        """Take a question; any other request of its is refused, or it would wait for ever."""
        known, request = raw_json.key(raw.get("request_id")), raw.get("request")
        if known is None or not isinstance(request, dict):
            return ACTIVE
        if request.get("subtype") == "can_use_tool":
            self._asked[known] = envelope_asks.question(known, request), request
            return ACTIVE
        return Reading(reply=envelope_asks.refuse(known))

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
