"""The recorded client of a child whose stdin stays open: what it said, at its moment, through our talker.

The recorded client and our talker need not use the same ids or the same settings: a recorded answer goes to
the request of ours that asks for the same, and a request that the recording has not is answered with nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tmuxagents.agents.base import LineSplitter
from tmuxagents.runs.events import FOLLOW_UP, STEER, STOP, InboxMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scripts.conforming.recordings import Recording
    from scripts.conforming.replay import Played

_PROMPTS = ("session/prompt", "turn/start")
_INTERRUPTS = ("session/cancel", "turn/interrupt", "interrupt")
_STEERS = ("turn/steer",)
_OPENINGS = ("session/new", "session/load", "session/resume", "thread/start", "thread/resume")


class Client:
    """The recorded client: what it said, at its moment, through our talker."""

    def __init__(
        self, recording: Recording, played: Played, cuts: Callable[[bytes], Sequence[bytes]]
    ) -> None:
        self._recording = recording
        self._played = played
        self._talker = played.reader
        self._cuts = cuts
        self._said = list(recording.said)
        self._waiting: list[InboxMessage] = []  # messages that the talker could not take yet
        self._answers: list[str] = []
        self._numbers = 0
        self._begun = False
        self._kinds: dict[str, dict[Any, tuple[str, int]]] = {"recorded": {}, "ours": {}}
        self._ids: dict[tuple[str, int], Any] = {}  # what we asked for -> our id of it
        self._options: dict[Any, dict[str, str]] = {}  # recorded questions -> option -> its kind
        for _, message in self._said:
            self._count("recorded", message)

    def run(self) -> None:
        """Say and hear all of it."""
        self._sent(self._talker.begin(_prompt(self._said)), 0.0)
        for number, line in enumerate(_lines(self._recording.stdout)):
            now = self._recording.moment(number)
            while self._said and self._said[0][0] < now:
                self._act(self._said.pop(0)[1])
                self._try(now)
            self._hear(line, now)
            self._try(now)
        for _, message in self._said:
            self._act(message)
        self._try(self._recording.moment(10**9))

    def _hear(self, line: bytes, now: float) -> None:
        """Feed one line, with our id of what it answers."""
        message = _parsed(line)
        if message is not None:
            self._note_options(message)
            asked = self._kinds["recorded"].get(_answered(message)) if _is_response(message) else None
            if _is_response(message) and asked is not None:
                if asked not in self._ids:
                    return  # it answers what our talker does not ask
                line = _with_id(message, self._ids[asked])
        splitter = LineSplitter()
        for piece in self._cuts(line):
            for whole in splitter.feed(piece):
                self._sent(self._played.feed(whole, now), now)
        for whole in splitter.flush():
            self._sent(self._played.feed(whole, now), now)

    def _act(self, message: dict[str, Any]) -> None:
        """Do what the recorded client did."""
        kind = _kind(message)
        if kind in _PROMPTS or message.get("type") == "user":
            if self._begun:
                self._queue(FOLLOW_UP, _text(message))
            self._begun = True
        elif kind in _STEERS:
            self._queue(STEER, _text(message))
        elif kind in _INTERRUPTS:
            self._played.interrupted = True
            self._queue(STOP, None)
        elif is_answer(message):
            self._answers.append(self._answer(message))

    def _queue(self, kind: str, text: str | None) -> None:
        self._numbers += 1
        self._waiting.append(InboxMessage(self._numbers, kind, text))

    def _try(self, now: float) -> None:
        """Say what the talker can take now."""
        while self._answers and self._talker.asks:
            reading = self._talker.answer(self._talker.asks[0].id, self._answers.pop(0), "test")
            self._played.take(reading.events)
            self._sent(reading.reply, now)
        while self._waiting:
            words = self._talker.say(self._waiting[0])
            if words is None:
                return
            self._waiting.pop(0)
            self._sent(words, now)

    def _sent(self, words: bytes, now: float) -> None:
        """Note what our talker asks for, and answer what the recording has no answer to."""
        for line in words.splitlines():
            message = json.loads(line)
            asked = self._count("ours", message)
            if asked is None:
                continue
            self._ids[asked] = _id(message)
            if asked not in self._kinds["recorded"].values():
                self._sent(self._played.feed(_nothing(message), now), now)

    def _count(self, whose: str, message: dict[str, Any]) -> tuple[str, int] | None:
        """Note a request by what it asks for; None if it is none."""
        kind, number = _kind(message), _id(message)
        if kind is None or number is None:
            return None
        kind = "open" if kind in _OPENINGS else kind
        known = self._kinds[whose]
        asked = (kind, sum(one == kind for one, _ in known.values()))
        known[number] = asked
        return asked

    def _note_options(self, message: dict[str, Any]) -> None:
        options = (
            (message.get("params") or {}).get("options") if isinstance(message.get("params"), dict) else None
        )
        if isinstance(options, list) and "id" in message:
            self._options[message["id"]] = {one["optionId"]: one["kind"] for one in options}

    def _answer(self, message: dict[str, Any]) -> str:
        """Return the recorded answer in our words."""
        result = message.get("result") or (message.get("response") or {}).get("response") or {}
        outcome = result.get("outcome")
        if isinstance(outcome, dict):
            option = str(outcome.get("optionId"))
            kind = self._options.get(message.get("id"), {}).get(option, "reject_once")
            return {"allow_once": "allow", "reject_once": "deny"}.get(kind, option)
        word = result.get("behavior") or result.get("decision")
        return "allow" if word in ("allow", "accept", "approved") else "deny"


def _lines(text: bytes) -> list[bytes]:
    *whole, rest = text.split(b"\n")
    return [*(line + b"\n" for line in whole), *([rest] if rest else [])]


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _kind(message: dict[str, Any]) -> str | None:
    """Return what a message of the client asks for."""
    if message.get("type") == "control_request":
        return str(message["request"]["subtype"])
    method = message.get("method")
    return method if isinstance(method, str) else None


def _id(message: dict[str, Any]) -> Any:
    return message.get("request_id", message.get("id"))


def _is_response(message: dict[str, Any]) -> bool:
    """Say whether a line of the agent answers a request of the client."""
    return message.get("type") == "control_response" or (
        "method" not in message and "id" in message and ("result" in message or "error" in message)
    )


def _answered(message: dict[str, Any]) -> Any:
    response = message.get("response")
    return response.get("request_id") if isinstance(response, dict) else message.get("id")


def _with_id(message: dict[str, Any], ours: Any) -> bytes:
    if message.get("type") == "control_response":
        message = {**message, "response": {**message["response"], "request_id": ours}}
    else:
        message = {**message, "id": ours}
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def _nothing(message: dict[str, Any]) -> bytes:
    """Return the answer to a request that the recording does not have."""
    if message.get("type") == "control_request":
        answer: dict[str, Any] = {"subtype": "success", "request_id": message["request_id"], "response": {}}
        return json.dumps({"type": "control_response", "response": answer}).encode()
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}).encode()


def is_answer(message: dict[str, Any]) -> bool:
    """Say whether the client answers a question of the agent."""
    if message.get("type") == "control_response":
        return True
    result = message.get("result")
    return (
        "method" not in message and isinstance(result, dict) and ("outcome" in result or "decision" in result)
    )


def _prompt(said: list[tuple[float, dict[str, Any]]]) -> str:
    prompts = [_text(one) for _, one in said if _kind(one) in _PROMPTS or one.get("type") == "user"]
    return prompts[0] if prompts else ""


def _text(message: dict[str, Any]) -> str:
    params = message.get("params") or {}
    blocks = params.get("prompt") or params.get("input") or message.get("message", {}).get("content") or ""
    if isinstance(blocks, str):
        return blocks
    return "".join(block.get("text", "") for block in blocks)
