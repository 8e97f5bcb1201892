"""The notifications of a Codex app server about one session, as events; what is said to it is elsewhere.

A turn that is interrupted never ends its open calls. A session that is continued tells the tokens of its last
call again: figures count only if the total has grown. Lines of other sessions, which sub-agents and side
requests have, are not the child's, but their questions are.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Reading
from tmuxagents.agents.codex.asks import DENY, asked_by, refusal
from tmuxagents.agents.codex.items import ItemReader, figures
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from tmuxagents.agents.base import Oversized
    from tmuxagents.agents.codex.asks import Asked
    from tmuxagents.runs.events import Event

_KEYS = ("inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "reasoningOutputTokens")
_OTHERS = "another session"
ANSWER = "answer"  # the kind of a line that answers a request


class ThreadReader(ItemReader):
    """Reads what an app server tells of one session.

    Unless `asks_people`, whatever the child asks for is refused at once. Where we are not `alone`, another
    client answers.
    """

    # Snapshots of a streaming answer and of a command's output: they show work, and nothing else.
    snapshots: tuple[bytes, ...] = (
        b'{"method":"item/agentMessage/delta"',
        b'{"method":"item/commandExecution/outputDelta"',
    )

    def __init__(self, *, asks_people: bool) -> None:
        super().__init__()
        self.turn: str | None = None  # the turn at work
        self.questions: dict[str, Asked] = {}  # open ones, the oldest first
        self.alone = True
        self._asks_people = asks_people
        self._last_turn: str | None = None  # the last one that ended
        self._total: Any = None

    def unsaid(self) -> bytes:
        """Return what can be said now that could not be said before: nothing, for one who only reads."""
        return b""

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line; a piece of a streaming answer only shows that the child works."""
        if line.startswith(self.snapshots):
            self.is_torn = not line.endswith(b"}")
            return NOTHING if self.is_torn else ACTIVE
        return super().feed(line, now)

    def feed_oversized(self, line: Oversized, now: float) -> Reading:
        """Read the two ends of a line; a turn's end has the whole answer again, and then its status."""
        super().feed_oversized(line, now)
        if not line.head.startswith(b'{"method":"turn/completed"'):
            return ACTIVE
        return self.turn_over({"status": raw_json.word_after(line.tail, "status", last=True)}, now)

    def kind(self, raw: Mapping[str, Any]) -> str:
        """Return the method of a line, or what else it is."""
        method = raw_json.word(raw.get("method"))
        if method is None:
            return ANSWER
        if "id" in raw:
            return "request"
        thread = as_object(raw.get("params")).get("threadId")
        return (
            _OTHERS if thread is not None and self.session is not None and thread != self.session else method
        )

    def turn_came(self, turn: Any) -> list[Event]:
        """Take note of a turn that has begun."""
        known = raw_json.key(turn)
        if known is None or known == self._last_turn:
            return []
        self.turn = known
        return self.works_again()

    def _began(self, raw: dict[str, Any], _now: float) -> Reading:
        told = self.turn_came(as_object(params_of(raw).get("turn")).get("id"))
        return Reading(told, reply=self.unsaid())

    def _ended(self, raw: dict[str, Any], now: float) -> Reading:
        return self.turn_over(as_object(params_of(raw).get("turn")), now)

    def turn_over(self, turn: dict[str, Any], now: float) -> Reading:
        """Report the end of the turn at work."""
        self._last_turn, self.turn = raw_json.key(turn.get("id")) or self.turn, None
        self.questions.clear()
        status, error = turn.get("status"), as_object(turn.get("error"))
        told: list[Event] = []
        if status == "completed":
            told = self.finish("stop")
        elif status == "failed":
            told = self.failed(raw_json.sentence(error.get("message")), error.get("codexErrorInfo"))
        elif status == "interrupted":
            told = [*self.broken_off(now), *self.finish("aborted", aborted=True)]
        else:
            told = self.finish(None)
        return Reading(told, reply=self.unsaid())

    def _item_began(self, raw: dict[str, Any], now: float) -> Reading:
        return self.item_began(params_of(raw).get("item"), now)

    def _item_ended(self, raw: dict[str, Any], now: float) -> Reading:
        return self.item_ended(params_of(raw).get("item"), now)

    def _tokens(self, raw: dict[str, Any], _now: float) -> Reading:
        usage = as_object(params_of(raw).get("tokenUsage"))
        is_known, self._total = usage.get("total") == self._total, usage.get("total")
        if is_known or params_of(raw).get("turnId") != self.turn:
            return NOTHING
        return Reading([events.usage(figures(usage.get("last"), _KEYS, "call"))])

    def _error(self, raw: dict[str, Any], _now: float) -> Reading:
        error = as_object(params_of(raw).get("error"))
        message = raw_json.sentence(error.get("message")) or ""
        if params_of(raw).get("willRetry") is True:
            return Reading([self.retry(message, raw_json.sentence(error.get("additionalDetails")))])
        self.error_message = message or self.error_message
        return NOTHING

    def _rerouted(self, raw: dict[str, Any], _now: float) -> Reading:
        self.model = raw_json.word(params_of(raw).get("toModel")) or self.model
        return NOTHING

    def _request_of_child(self, raw: dict[str, Any], _now: float) -> Reading:
        """Take a question of the child. One without an answer here is refused, so that the child works on."""
        asked = asked_by(raw, self.subjects)
        if self.alone and asked is None:
            return Reading(reply=refusal(raw), active=True)
        if self.alone and asked is not None and not self._asks_people:
            self.refused[asked.item] = "the permission of the run"
            return Reading(reply=asked.reply(DENY), active=True)
        if asked is not None:
            self.questions[asked.ask.id] = asked
        return ACTIVE

    def _resolved(self, raw: dict[str, Any], _now: float) -> Reading:
        self.questions.pop(str(params_of(raw).get("requestId")), None)
        return NOTHING

    def _work_elsewhere(self, _raw: dict[str, Any], _now: float) -> Reading:
        return ACTIVE

    takes: ClassVar = {
        "request": _request_of_child,
        _OTHERS: _work_elsewhere,
        "turn/started": _began,
        "turn/completed": _ended,
        "item/started": _item_began,
        "item/completed": _item_ended,
        "thread/tokenUsage/updated": _tokens,
        "error": _error,
        "model/rerouted": _rerouted,
        "serverRequest/resolved": _resolved,
    }


def as_object(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def params_of(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a line."""
    return as_object(raw.get("params"))
