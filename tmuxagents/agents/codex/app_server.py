"""`codex app-server`: a child whose stdin stays open, in lines of JSON-RPC.

The first words are a greeting; its answer is met with the session, new or continued, and that one's with the
prompt. A message that steers goes into the turn at work; one that follows up waits here until the turn has
ended.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import NOTHING, Reading
from tmuxagents.agents.codex.thread import ANSWER, ThreadReader, as_object
from tmuxagents.runs import events
from tmuxagents.runs.messages import FOLLOW_UP, STOP
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from tmuxagents.agents.base import Ask
    from tmuxagents.runs.events import Event
    from tmuxagents.runs.messages import InboxMessage

# Large or frequent, and nothing of them is used here.
_UNHEARD = ("turn/diff/updated", "item/fileChange/outputDelta", "item/fileChange/patchUpdated")
_GREETING = {
    "clientInfo": {"name": "tmuxagents", "title": "tmuxagents", "version": "1"},
    "capabilities": {"optOutNotificationMethods": list(_UNHEARD)},
}
_BEGINS, _CONTINUES, _GREETS = "thread/start", "thread/resume", "initialize"
_PROMPTS, _STEERS, _INTERRUPTS = "turn/start", "turn/steer", "turn/interrupt"


class AppServer(ThreadReader):
    """Talks to one child.

    `settings`: the parameters of its session. `child_session`: the id of the session that it continues.
    """

    acknowledges = True

    def __init__(self, settings: Mapping[str, Any], *, child_session: str | None, asks_people: bool) -> None:
        super().__init__(asks_people=asks_people)
        self._settings = settings
        self._continues = child_session
        self._prompt: str | None = None
        self._number = 0
        self._requests: dict[int, tuple[str, InboxMessage | None]] = {}  # ours that have no answer yet
        self._held: list[InboxMessage] = []  # messages that wait for their turn
        self._refused: set[int] = set()  # those that the turn at work would not take

    # --- what is said ---

    @property
    def asks(self) -> list[Ask]:
        """Return the open questions, the oldest first."""
        return [asked.ask for asked in self.questions.values()]

    @property
    def is_idle(self) -> bool:
        """Say whether no turn runs and nothing that was said is left to do."""
        return not (self.turn or self._requests or self._held or self.questions)

    def begin(self, prompt: str | None) -> bytes:
        """Return the greeting. Without a prompt, the session is opened and nothing else is done."""
        self._prompt = prompt
        return self._request(_GREETS, _GREETING)

    def say(self, message: InboxMessage) -> bytes:
        """Return the words of a message, or keep it until it can be said."""
        self._held.append(message)
        return self.unsaid()

    def unsaid(self) -> bytes:
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
        if message.kind == STOP:  # where no turn runs, there is nothing to stop
            return self._to_turn(_INTERRUPTS, {"turnId": self.turn}, message) if self.turn else b""
        if self.turn is None:
            return self._to_turn(_PROMPTS, {"input": _input(message.text)}, message)
        if message.kind == FOLLOW_UP or message.inbox_id in self._refused:
            return None
        return self._to_turn(_STEERS, {"expectedTurnId": self.turn, "input": _input(message.text)}, message)

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
        asked = self.questions.pop(ask_id, None)
        if asked is None:
            return NOTHING
        reply = asked.reply(answer)
        if asked.refuses(answer):
            self.refused[asked.item] = by
            if asked.is_text(answer) and self.turn:
                reply += self._to_turn(_STEERS, {"expectedTurnId": self.turn, "input": _input(answer)})
        return Reading(reply=reply)

    # --- what is read ---

    def _answer(self, raw: dict[str, Any], _now: float) -> Reading:
        """Take the answer to one of our requests."""
        number = raw_json.whole(raw.get("id"))
        method, message = self._requests.pop(number or 0, ("", None))
        result = as_object(raw.get("result"))
        if "error" in raw:
            return self._refusal(method, message, as_object(raw["error"]))
        if method == _GREETS:
            words = self._open()
            return Reading(reply=jsonline.encode({"method": "initialized"}) + words)
        if method in (_BEGINS, _CONTINUES):
            told = self.takes_session(as_object(result.get("thread")).get("id"), result.get("model"))
            begins = self._prompt is not None
            return Reading(
                told, reply=self._to_turn(_PROMPTS, {"input": _input(self._prompt)}) if begins else b""
            )
        told = []
        if method == _PROMPTS:
            told += self.turn_came(as_object(result.get("turn")).get("id"))
        if message is not None:
            told.append(events.message_sent(message.inbox_id, message.kind, message.text))
        return Reading(told, active=True, reply=self.unsaid())

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
            return Reading(self.failed(said), reply=self.unsaid())
        if method == _STEERS and message is not None:  # its turn has ended, or takes no messages
            self._refused.add(message.inbox_id)
            return Reading(reply=self.say(message))
        return NOTHING

    def left(self, exit_code: int | None) -> list[Event]:
        """Judge a child that left before it had a session."""
        return self.finish("config") if self.session is None and exit_code and not self.settled else []

    takes: ClassVar = ThreadReader.takes | {ANSWER: _answer}


def _input(text: str | None) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text or ""}]
