"""Talk to a Qwen Code whose stdin stays open: prompts, interrupts, and its questions for permission.

It asks for whatever its approval mode does not allow by itself. Where no person is to be asked, the answer is
no: that is the permission level.
Prompts are read one after the other, each when the turn before it is over. It waits ten minutes for an answer
at most, and then takes it as no; no line says so but the result of the tool.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import envelope_asks
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Ask, Reading
from tmuxagents.agents.qwen.reader import QwenReader
from tmuxagents.runs.messages import STOP
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar

    from tmuxagents.runs.messages import InboxMessage

_LONGEST_MS = 600_000  # that it waits for an answer
_LEVEL = "the permission level"


class QwenTalker(QwenReader):
    """Reads and talks to one Qwen Code. `asks_people`: else the level says no to all that it asks."""

    acknowledges = False

    def __init__(self, baseline: Mapping[str, Any] | None = None, *, asks_people: bool = False) -> None:
        super().__init__(baseline)
        self._asks_people = asks_people
        self._in_turn = True
        self._is_interrupted = False
        self._asked: dict[str, tuple[Ask, dict[str, Any]]] = {}  # its questions: request -> the question

    @property
    def asks(self) -> Sequence[Ask]:
        """Return the open questions, the oldest first."""
        return [ask for ask, _ in self._asked.values()]

    @property
    def is_idle(self) -> bool:
        """Say whether no turn runs."""
        return not self._in_turn

    def begin(self, prompt: str) -> bytes:
        """Return the greeting, without which it would ask nothing, and the prompt."""
        greeting = envelope_asks.request("begin", subtype="initialize", timeout={"canUseTool": _LONGEST_MS})
        return greeting + self._say(prompt)

    def say(self, message: InboxMessage) -> bytes | None:
        """Return the words of a message, or of an interrupt; None while a turn runs."""
        if message.kind == STOP:
            if not self._in_turn:
                return b""
            self._is_interrupted = True
            return envelope_asks.request(f"stop-{message.inbox_id}", subtype="interrupt")
        return None if self._in_turn else self._say(message.text or "")

    def _say(self, text: str) -> bytes:
        self._in_turn, self.settled = True, False
        said = {"role": "user", "content": [{"type": "text", "text": text}]}
        return jsonline.encode(
            {"type": "user", "session_id": "", "message": said, "parent_tool_use_id": None}
        )

    def answer(self, ask_id: str, answer: str, by: str) -> Reading:
        """Answer a question."""
        _, request = self._asked.pop(ask_id, (None, None))
        return NOTHING if request is None else self._answered(ask_id, request, answer, by)

    def _answered(self, known: str, request: dict[str, Any], answer: str, by: str) -> Reading:
        told = envelope_asks.decision(request, answer, by, by_index=True)
        denied = []
        if told["behavior"] == envelope_asks.DENY:
            denied = self.deny(request.get("tool_use_id"), request.get("tool_name"), f"denied by {by}")
        return Reading(denied, active=True, reply=envelope_asks.respond(known, told))

    # --- lines ---

    def _request(self, raw: dict[str, Any], _now: float) -> Reading:
        """Take a question; any other request of its is refused, or it would wait for ever."""
        known, request = raw_json.key(raw.get("request_id")), raw.get("request")
        if known is None or not isinstance(request, dict):
            return ACTIVE
        if request.get("subtype") != "can_use_tool":
            return Reading(reply=envelope_asks.refuse(known))
        if not self._asks_people:
            return self._answered(known, request, envelope_asks.DENY, _LEVEL)
        self._asked[known] = envelope_asks.question(known, request), request
        return ACTIVE

    def is_refused(self, _raw: dict[str, Any], call: Any, _text: str) -> bool:
        """Say whether a call ends with its question still open."""
        return self._forget(call) and not self._is_interrupted

    def _forget(self, call: Any) -> bool:
        """Forget the question about a call; say whether there was one."""
        found = [known for known, (_, request) in self._asked.items() if request.get("tool_use_id") == call]
        for known in found:
            del self._asked[known]
        return bool(found)

    def _result(self, raw: dict[str, Any], now: float) -> Reading:
        told = super()._result(raw, now)
        self._asked.clear()
        self._in_turn = self._is_interrupted = False
        return told

    def ending(self, raw: dict[str, Any]) -> str | None:
        """Return how the turn ended: one that was interrupted ends as a failed one does."""
        how = super().ending(raw)
        return "aborted" if how == "error" and self._is_interrupted else how

    takes: ClassVar = QwenReader.takes | {"result": _result, "control_request": _request}
