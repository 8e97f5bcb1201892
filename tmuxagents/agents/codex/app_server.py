"""`codex app-server`: a child whose stdin stays open, in lines of JSON-RPC.

The first words are a greeting; its answer is met with the session, new or continued, and that one's with the
prompt. A message that steers goes into the turn at work; one that follows up waits here until the turn has
ended. A turn that is interrupted never ends its open calls. A session that is continued tells the tokens of
its last call again: figures count only if the total has grown. Lines of other sessions, which sub-agents and
side requests have, are not the child's, but their questions are.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Reading
from tmuxagents.agents.capabilities import ASK
from tmuxagents.agents.codex.asks import DENY, asked_by, refusal
from tmuxagents.agents.codex.items import ItemReader, figures
from tmuxagents.runs import events
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from tmuxagents.agents.base import Ask, Oversized
    from tmuxagents.agents.codex.asks import Asked
    from tmuxagents.runs.events import Event
    from tmuxagents.runs.inbox import InboxMessage

_FOLLOW_UP, _STOP = "followUp", "stop"  # kinds of messages; any other steers
_KEYS = ("inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "reasoningOutputTokens")
# Large or frequent, and nothing of them is used here.
_UNHEARD = ("turn/diff/updated", "item/fileChange/outputDelta", "item/fileChange/patchUpdated")
_GREETING = {
    "clientInfo": {"name": "tmuxagents", "title": "tmuxagents", "version": "1"},
    "capabilities": {"optOutNotificationMethods": list(_UNHEARD)},
}
_OTHERS = "another session"
_BEGINS, _CONTINUES, _GREETS = "thread/start", "thread/resume", "initialize"
_PROMPTS, _STEERS, _INTERRUPTS = "turn/start", "turn/steer", "turn/interrupt"


class AppServer(ItemReader):
    """Talks to one child.

    `settings`: the parameters of its session. `child_session`: the id of the session that it continues.
    `permission`: unless it is `ask`, whatever the child asks for is refused at once.
    """

    acknowledges = True
    # Snapshots of a streaming answer and of a command's output: they show work, and nothing else.
    snapshots: tuple[bytes, ...] = (
        b'{"method":"item/agentMessage/delta"',
        b'{"method":"item/commandExecution/outputDelta"',
    )

    def __init__(
        self, settings: Mapping[str, Any], *, child_session: str | None, permission: str | None
    ) -> None:
        super().__init__()
        self._settings = settings
        self._continues = child_session
        self._asks_people = permission == ASK
        self._prompt = ""
        self._turn: str | None = None  # the turn at work
        self._last_turn: str | None = None  # the last one that ended
        self._number = 0
        self._requests: dict[int, tuple[str, InboxMessage | None]] = {}  # ours that have no answer yet
        self._held: list[InboxMessage] = []  # messages that wait for their turn
        self._asked: dict[str, Asked] = {}
        self._total: Any = None

    # --- what is said ---

    @property
    def asks(self) -> list[Ask]:
        """Return the open questions, the oldest first."""
        return [asked.ask for asked in self._asked.values()]

    @property
    def is_idle(self) -> bool:
        """Say whether no turn runs and nothing that was said is left to do."""
        return not (self._turn or self._requests or self._held or self._asked)

    def begin(self, prompt: str) -> bytes:  # type: ignore[override]  # a talker's
        """Return the greeting."""
        self._prompt = prompt
        return self._request(_GREETS, _GREETING)

    def say(self, message: InboxMessage) -> bytes:
        """Return the words of a message, or keep it until it can be said."""
        self._held.append(message)
        return self._say_held()

    def _say_held(self) -> bytes:
        """Say what waits, as far as it can be said now."""
        words, waiting, self._held = b"", self._held, []
        for message in waiting:
            said = self._words(message)
            if said is None:
                self._held.append(message)
            else:
                words += said
        return words

    def _words(self, message: InboxMessage) -> bytes | None:
        """Return the words of a message; None while it has to wait."""
        is_coming = any(
            method in (_GREETS, _BEGINS, _CONTINUES, _PROMPTS) for method, _ in self._requests.values()
        )
        if self.session is None or is_coming:
            return None
        if message.kind == _STOP:  # where no turn runs, there is nothing to stop
            return self._to_turn(_INTERRUPTS, {"turnId": self._turn}, message) if self._turn else b""
        if self._turn is None:
            return self._to_turn(_PROMPTS, {"input": _input(message.text)}, message)
        if message.kind == _FOLLOW_UP:
            return None
        return self._to_turn(_STEERS, {"expectedTurnId": self._turn, "input": _input(message.text)}, message)

    def _to_turn(self, method: str, more: Mapping[str, Any], message: InboxMessage | None = None) -> bytes:
        return self._request(method, {"threadId": self.session, **more}, message)

    def _request(
        self, method: str, parameters: Mapping[str, Any], message: InboxMessage | None = None
    ) -> bytes:
        self._number += 1
        self._requests[self._number] = method, message
        return jsonline.encode({"method": method, "id": self._number, "params": parameters})

    def answer(self, ask_id: str, answer: str, by: str) -> Reading:
        """Answer a question. Words that are no option refuse, and steer the turn."""
        asked = self._asked.pop(ask_id, None)
        if asked is None:
            return NOTHING
        reply = asked.reply(answer)
        if asked.refuses(answer):
            self.refused[asked.item] = by
            if asked.is_text(answer) and self._turn:
                reply += self._to_turn(_STEERS, {"expectedTurnId": self._turn, "input": _input(answer)})
        return Reading(reply=reply)

    # --- what is read ---

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
        return self._turn_over({"status": raw_json.word_after(line.tail, "status", last=True)}, now)

    def kind(self, raw: Mapping[str, Any]) -> str:
        """Return the method of a line, or what else it is."""
        method = raw_json.word(raw.get("method"))
        if method is None:
            return "answer"
        if "id" in raw:
            return "request"
        thread = _object(raw.get("params")).get("threadId")
        return (
            _OTHERS if thread is not None and self.session is not None and thread != self.session else method
        )

    def _answer(self, raw: dict[str, Any], _now: float) -> Reading:
        """Take the answer to one of our requests."""
        number = raw_json.whole(raw.get("id"))
        method, message = self._requests.pop(number or 0, ("", None))
        result = _object(raw.get("result"))
        if "error" in raw:
            return self._refusal(method, message, _object(raw["error"]))
        if method == _GREETS:
            words = self._open()
            return Reading(reply=jsonline.encode({"method": "initialized"}) + words)
        if method in (_BEGINS, _CONTINUES):
            told = self.takes_session(_object(result.get("thread")).get("id"), result.get("model"))
            words = self._to_turn(_PROMPTS, {"input": _input(self._prompt)})
            return Reading(told, reply=words)
        told = []
        if method == _PROMPTS:
            told += self._turn_came(_object(result.get("turn")).get("id"))
        if message is not None:
            told.append(events.message_sent(message.inbox_id, message.kind, message.text))
        return Reading(told, active=True, reply=self._say_held())

    def _open(self) -> bytes:
        """Ask for the session: a new one, or the one that goes on, without its earlier turns."""
        if self._continues is None:
            return self._request(_BEGINS, self._settings)
        more = {"threadId": self._continues, "excludeTurns": True}
        return self._request(_CONTINUES, {**more, **self._settings})

    def _refusal(self, method: str, message: InboxMessage | None, error: dict[str, Any]) -> Reading:
        """Take the refusal of a request: without a session or a turn the run is over."""
        said = raw_json.sentence(error.get("message"))
        if method in (_GREETS, _BEGINS, _CONTINUES):
            self._held.clear()
            self.error_message = said
            return Reading(self.finish("config"))
        if method == _PROMPTS:
            return Reading(self.failed(said), reply=self._say_held())
        if method == _STEERS and message is not None:  # its turn had ended
            return Reading(reply=self.say(message))
        return NOTHING

    def _turn_came(self, turn: Any) -> list[Event]:
        known = raw_json.key(turn)
        if known is None or known == self._last_turn:
            return []
        self._turn = known
        return super().begin()

    def _began(self, raw: dict[str, Any], _now: float) -> Reading:
        told = self._turn_came(_object(_params(raw).get("turn")).get("id"))
        return Reading(told, reply=self._say_held())

    def _ended(self, raw: dict[str, Any], now: float) -> Reading:
        return self._turn_over(_object(_params(raw).get("turn")), now)

    def _turn_over(self, turn: dict[str, Any], now: float) -> Reading:
        self._last_turn, self._turn = raw_json.key(turn.get("id")) or self._turn, None
        self._asked.clear()
        status, error = turn.get("status"), _object(turn.get("error"))
        told: list[Event] = []
        if status == "completed":
            told = self.finish("stop")
        elif status == "failed":
            told = self.failed(raw_json.sentence(error.get("message")), error.get("codexErrorInfo"))
        elif status == "interrupted":
            told = [*self.broken_off(now), *self.finish("aborted", aborted=True)]
        else:
            told = self.finish(None)
        return Reading(told, reply=self._say_held())

    def _item_began(self, raw: dict[str, Any], now: float) -> Reading:
        return self.item_began(_params(raw).get("item"), now)

    def _item_ended(self, raw: dict[str, Any], now: float) -> Reading:
        return self.item_ended(_params(raw).get("item"), now)

    def _tokens(self, raw: dict[str, Any], _now: float) -> Reading:
        usage = _object(_params(raw).get("tokenUsage"))
        is_known, self._total = usage.get("total") == self._total, usage.get("total")
        if is_known or _params(raw).get("turnId") != self._turn:
            return NOTHING
        return Reading([events.usage(figures(usage.get("last"), _KEYS, "call"))])

    def _error(self, raw: dict[str, Any], _now: float) -> Reading:
        error = _object(_params(raw).get("error"))
        message = raw_json.sentence(error.get("message")) or ""
        if _params(raw).get("willRetry") is True:
            return Reading([self.retry(message, raw_json.sentence(error.get("additionalDetails")))])
        self.error_message = message or self.error_message
        return NOTHING

    def _rerouted(self, raw: dict[str, Any], _now: float) -> Reading:
        self.model = raw_json.word(_params(raw).get("toModel")) or self.model
        return NOTHING

    def _request_of_child(self, raw: dict[str, Any], _now: float) -> Reading:
        """Take a question of the child. One without an answer here is refused, so that the child works on."""
        asked = asked_by(raw, self.subjects)
        if asked is None:
            return Reading(reply=refusal(raw), active=True)
        if not self._asks_people:
            self.refused[asked.item] = "the permission of the run"
            return Reading(reply=asked.reply(DENY), active=True)
        self._asked[asked.ask.id] = asked
        return ACTIVE

    def _resolved(self, raw: dict[str, Any], _now: float) -> Reading:
        self._asked.pop(str(_params(raw).get("requestId")), None)
        return NOTHING

    def _work_elsewhere(self, _raw: dict[str, Any], _now: float) -> Reading:
        return ACTIVE

    def left(self, exit_code: int | None) -> list[Event]:
        """Judge a child that left before it had a session."""
        return self.finish("config") if self.session is None and exit_code and not self.settled else []

    takes: ClassVar = {
        "answer": _answer,
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


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _params(raw: dict[str, Any]) -> dict[str, Any]:
    return _object(raw.get("params"))


def _input(text: str | None) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text or ""}]
