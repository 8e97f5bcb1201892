"""`codex app-server`: a child whose stdin stays open, in lines of JSON-RPC. Pure.

We greet the server first. When it has answered, we open a session, new or continued. When the session is
open, we send the prompt. A steering message goes into the current turn; a follow-up waits here until the turn
has ended.

A live Codex is an app server and Codex's own screen. The bridge starts both and is the server's first client.
It gives the server the task before the screen opens, and passes on what the server reports. Codex reports no
keys. So a person has typed if the screen sends a message, or if a turn is interrupted and we have not asked
for that.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import NOTHING, LiveAgent, Reading, Talker
from tmuxagents.agents.brand import LiveReader
from tmuxagents.agents.codex.thread import ANSWER, ThreadReader
from tmuxagents.runs import events
from tmuxagents.runs.events import FOLLOW_UP, STOP
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.agents.base import Ask, Sent
    from tmuxagents.runs.events import Event, InboxMessage


# Large or frequent reports that we do not use.
_UNHEARD = ("turn/diff/updated", "item/fileChange/outputDelta", "item/fileChange/patchUpdated")
_GREETING = {
    "clientInfo": {"name": "tmuxagents", "title": "tmuxagents", "version": "1"},
    "capabilities": {"optOutNotificationMethods": list(_UNHEARD)},
}
_BEGINS, _CONTINUES, _GREETS = "thread/start", "thread/resume", "initialize"
_PROMPTS, _STEERS, _INTERRUPTS = "turn/start", "turn/steer", "turn/interrupt"
_OPENING = (_GREETS, _BEGINS, _CONTINUES, _PROMPTS)  # a message waits for the answers to these


class AppServer(Talker, ThreadReader):
    """Talks to one child.

    `settings`: the parameters of the session. `child_session`: the id of a session to continue.
    """

    acknowledges = True

    def __init__(self, settings: Mapping[str, Any], *, child_session: str | None, asks_people: bool) -> None:
        super().__init__(asks_people=asks_people)
        self._settings = settings
        self._continues = child_session
        self._prompt: str | None = None
        self._number = 0
        self._requests: dict[int, tuple[str, InboxMessage | None]] = {}  # ours that have no answer yet
        self._held: list[InboxMessage] = []  # messages that cannot be sent yet
        self._refused: set[int] = set()  # messages that the current turn did not take

    # --- our requests ---

    @property
    def asks(self) -> list[Ask]:
        """Return the open questions, the oldest first."""
        return [asked.ask for asked in self.questions.values()]

    @property
    def is_idle(self) -> bool:
        """Say whether no turn runs, and no request, message or question is open."""
        return not (self.turn or self._requests or self._held or self.questions)

    def begin(self, prompt: str | None) -> bytes:
        """Return the greeting. Without a prompt, only the session is opened."""
        self._prompt = prompt
        return self._request(_GREETS, _GREETING)

    def say(self, message: InboxMessage) -> bytes:
        """Return the request for a message, or keep the message until it can be sent."""
        self._held.append(message)
        return self.unsaid()

    def unsaid(self) -> bytes:
        """Return the requests for all waiting messages that can be sent now."""
        words, waiting, self._held = b"", self._held, []
        for message in waiting:
            open_ones = {method for method, _ in self._requests.values()}
            if self.session is None or not open_ones.isdisjoint(_OPENING):
                self._held.append(message)
            elif message.kind == STOP:  # where no turn runs, there is nothing to stop
                words += self._to_turn(_INTERRUPTS, {"turnId": self.turn}, message) if self.turn else b""
            elif self.turn is None:
                words += self._to_turn(_PROMPTS, {"input": _input(message.text)}, message)
            elif message.kind == FOLLOW_UP or message.inbox_id in self._refused:
                self._held.append(message)
            else:
                params = {"expectedTurnId": self.turn, "input": _input(message.text)}
                words += self._to_turn(_STEERS, params, message)
        return words

    def _to_turn(self, method: str, more: Mapping[str, Any], message: InboxMessage | None = None) -> bytes:
        return self._request(method, {"threadId": self.session, **more}, message)

    def _request(
        self, method: str, parameters: Mapping[str, Any], message: InboxMessage | None = None
    ) -> bytes:
        self._number += 1
        self._requests[self._number] = method, message
        return jsonline.encode({"method": method, "id": self._number, "params": parameters})

    def answer(self, ask_id: str, answer: str, by: str) -> Reading:
        """Answer a question. For a permission, free text is a refusal, and steers the turn."""
        asked = self.questions.pop(ask_id, None)
        if asked is None:
            return NOTHING
        reply = asked.reply(answer)
        if asked.refuses(answer):
            self.refused[asked.item] = by
            if asked.is_text(answer) and self.turn:
                reply += self._to_turn(_STEERS, {"expectedTurnId": self.turn, "input": _input(answer)})
        return Reading(reply=reply)

    # --- the lines of the server ---

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:
        """Read one line: the answer to one of our requests, or a report of the session."""
        if kind != ANSWER:
            return super().take(kind, raw, now)
        number = raw_json.whole(raw.get("id"))
        method, message = self._requests.pop(number or 0, ("", None))
        result = raw_json.table(raw.get("result"))
        if "error" in raw:
            return self._refusal(method, message, raw_json.table(raw["error"]))
        if method == _GREETS:  # request the session: a new one, or a continued one without its earlier turns
            before = {"threadId": self._continues, "excludeTurns": True} if self._continues else {}
            opens = self._request(_CONTINUES if before else _BEGINS, {**before, **self._settings})
            return Reading(reply=jsonline.encode({"method": "initialized"}) + opens)
        if method in (_BEGINS, _CONTINUES):
            reported = self.takes_session(raw_json.table(result.get("thread")).get("id"), result.get("model"))
            prompt = {"input": _input(self._prompt)}
            return Reading(reported, reply=b"" if self._prompt is None else self._to_turn(_PROMPTS, prompt))
        reported = []
        if method == _PROMPTS:
            reported += self.turn_came(raw_json.table(result.get("turn")).get("id"))
        if message is not None:
            reported.append(events.message_sent(message.inbox_id, message.kind, message.text))
        return Reading(reported, active=True, reply=self.unsaid())

    def _refusal(self, method: str, message: InboxMessage | None, error: dict[str, Any]) -> Reading:
        """Read the refusal of a request. If it was for the session or the first turn, the run is over."""
        reason = raw_json.sentence(error.get("message"))
        if method in (_GREETS, _BEGINS, _CONTINUES):
            self._held.clear()
            self.error_message = reason
            return Reading(self.finish("config"))
        if method == _PROMPTS:
            return Reading(self.failed(reason), reply=self.unsaid())
        if method == _STEERS and message is not None:  # its turn has ended, or takes no messages
            self._refused.add(message.inbox_id)
            return Reading(reply=self.say(message))
        return NOTHING

    def left(self, exit_code: int | None) -> list[Event]:
        """Judge a child that left before it had a session."""
        return self.finish("config") if self.session is None and exit_code and not self.settled else []


def _input(text: str | None) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text or ""}]


# --- a live one ---


class CodexLiveReader(LiveReader, ThreadReader):
    """Reads the lines of the app server, which have a method, and those of the bridge, which have a type."""

    def __init__(self, sent: Sent) -> None:
        super().__init__(sent)
        self.alone = False
        self._stops = False  # a message has interrupted the turn

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line."""
        reading = super().feed(line, now)
        self.asks.open = {ask_id: asked.ask for ask_id, asked in self.questions.items()}
        return reading

    def kind(self, raw: Mapping[str, Any]) -> str:
        """Return the type of a line of the bridge, or the kind of a line of the app server."""
        return raw_json.word(raw.get("type")) or super().kind(raw)

    def turn_over(self, turn: dict[str, Any], now: float) -> Reading:
        """Report the end of a turn. An interrupt that no message caused is a person's."""
        self.typed |= turn.get("status") == "interrupted" and not self._stops
        self._stops = False
        reading = super().turn_over(turn, now)
        self.count_settling(reading.events[-1])
        return reading

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:  # noqa: C901  (a case for each kind)
        """Read one line."""
        match kind:
            case "turn/started":
                self.has_begun = True
            case "item/started":
                item = raw_json.table(raw_json.table(raw.get("params")).get("item"))
                if item.get("type") == "userMessage":
                    if item.get("clientId") is None:  # our own message
                        return NOTHING
                    text = "\n".join(raw_json.texts(raw_json.blocks(item.get("content")), "text"))
                    return Reading([self.human_input(text)], active=True)
            case "bridge_session":
                return Reading(self.takes_session(raw.get("session"), raw.get("model")))
            case "bridge_taken":
                taken = self.taken(raw)
                self._stops |= any(sent.fields.get("kind") == STOP for sent in taken)
                return Reading(taken)
            case "bridge_answer" if (ask := self.asks.answered(raw)) is not None:
                answer, by = self.asks.given[ask.id]
                asked = self.questions.pop(ask.id, None)
                # A refusal becomes a denial once its item ends.
                if asked is not None and asked.refuses(answer):
                    self.refused[asked.item] = by
            case "bridge_person":
                self.has_left = True
            case "bridge_refused":
                self.error_message = raw_json.sentence(raw.get("message"))
                reported = self.finish("error" if self.session else "config")
                self.count_settling(reported[-1])
                return Reading(reported)
        return super().take(kind, raw, now)


# The bridge makes the arguments.
LIVE = LiveAgent(lambda _plan, _run_dir: [], CodexLiveReader, f"{__file__.rpartition('/')[0]}/bridge.py")
