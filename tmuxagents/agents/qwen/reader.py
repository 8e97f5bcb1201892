"""Read the stream of Qwen Code: tries again, and what the session has used. Pure.

Its figures are those of the session, and hold calls in the background. At a limit of its own it exits with 53
or 55 and writes no result. An answer that was cut at the model's output limit looks like a whole one.

Talk to a Qwen Code whose stdin stays open: prompts, interrupts, and its questions for permission.

It asks for whatever its approval mode does not allow by itself. Where no person is to be asked, the answer is
no: that is the permission level.
Prompts are read one after the other, each when the turn before it is over. It waits ten minutes for an answer
at most, and then takes it as no; no line says so but the result of the tool.
"""

from __future__ import annotations

from tmuxagents.agents import capabilities as words
from tmuxagents.agents import envelope
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Ask, Reading
from tmuxagents.agents.envelope import EnvelopeReader
from tmuxagents.runs import events
from tmuxagents.runs.events import STOP
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar

    from tmuxagents.runs.events import Event, InboxMessage


_LIMITS = (53, 55)  # turns; tool calls or time
_FIGURES = ("input", "cacheRead", "output")


class QwenReader(EnvelopeReader):
    """Reads one Qwen Code."""

    tells_cuts = False
    snapshots: tuple[bytes, ...] = (b'{"type":"stream_event",',)

    def __init__(self, baseline: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._before = {key: raw_json.figure((baseline or {}).get(key), integral=True) for key in _FIGURES}
        self._calls_used = dict.fromkeys(_FIGURES, 0)  # without calls in the background

    def usage(self, raw: dict[str, Any]) -> list[Event]:
        """Return what this turn used: the figures less those of the runs and turns before."""
        told, before = figures_of(raw.get("usage")), self._before
        self._before = {key: max(told[key], before[key]) for key in _FIGURES}
        self._calls_used = dict.fromkeys(_FIGURES, 0)
        return usage_of({key: int(self._before[key] - before[key]) for key in _FIGURES})

    def left(self, exit_code: int | None) -> list[Event]:
        """Return how a run ended that wrote no result: at a limit of its own, or not by itself."""
        if self.settled:
            return super().left(exit_code)
        self._texts.clear()  # the beginning of an answer
        told = usage_of(self._calls_used)
        return told + self.finish("limit") if exit_code in _LIMITS else told

    def _assistant(self, raw: dict[str, Any], now: float) -> Reading:
        message = raw.get("message")
        for key, figure in figures_of(message.get("usage") if isinstance(message, dict) else None).items():
            self._calls_used[key] += figure
        return super()._assistant(raw, now)

    def _retry(self, raw: dict[str, Any], _now: float) -> Reading:
        """Report another try; of an answer that was broken off nothing may be left."""
        data = raw.get("data")
        if not isinstance(data, dict):
            return ACTIVE
        if data.get("preserveText") is False:
            self._texts.clear()
        told = events.retry(
            attempt=raw_json.whole(data.get("attempt")),
            most=raw_json.whole(data.get("maxRetries")),
            delay_ms=raw_json.whole(data.get("delayMs")),
            message=None,
        )
        return Reading([told], active=True)

    takes: ClassVar = EnvelopeReader.takes | {"assistant": _assistant, "system:retry": _retry}


def figures_of(raw: Any) -> dict[str, int]:
    """Return figures in our words: its input holds what was read from a cache."""
    used = raw if isinstance(raw, dict) else {}
    names = ("input_tokens", "cache_read_input_tokens", "output_tokens")
    both, cached, output = (int(raw_json.figure(used.get(name), integral=True)) for name in names)
    return {"input": max(0, both - cached), "cacheRead": cached, "output": output}


def usage_of(figures: dict[str, int], basis: str = words.OF_SESSION) -> list[Event]:
    """Return the event of what was used, if that is anything."""
    total = sum(figures.values())
    more = {"totalTokens": total, "costKind": words.NO_COST, "basis": basis}
    return [events.usage({**figures, **more})] if total else []


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
        greeting = envelope.request("begin", subtype="initialize", timeout={"canUseTool": _LONGEST_MS})
        return greeting + self._say(prompt)

    def say(self, message: InboxMessage) -> bytes | None:
        """Return the words of a message, or of an interrupt; None while a turn runs."""
        if message.kind == STOP:
            if not self._in_turn:
                return b""
            self._is_interrupted = True
            return envelope.request(f"stop-{message.inbox_id}", subtype="interrupt")
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
        told = envelope.decision(request, answer, by, by_index=True)
        denied = []
        if told["behavior"] == envelope.DENY:
            denied = self.deny(request.get("tool_use_id"), request.get("tool_name"), f"denied by {by}")
        return Reading(denied, active=True, reply=envelope.respond(known, told))

    # --- lines ---

    def _request(self, raw: dict[str, Any], _now: float) -> Reading:
        """Take a question; any other request of its is refused, or it would wait for ever."""
        known, request = raw_json.key(raw.get("request_id")), raw.get("request")
        if known is None or not isinstance(request, dict):
            return ACTIVE
        if request.get("subtype") != "can_use_tool":
            return Reading(reply=envelope.refuse(known))
        if not self._asks_people:
            return self._answered(known, request, envelope.DENY, _LEVEL)
        self._asked[known] = envelope.question(known, request), request
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
