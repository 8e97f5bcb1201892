"""Codex on the terminal of its window: its app server, its own screen, and our client between them.

The bridge starts both, gives the task before the screen opens, and passes on what the app server says. A
person is known by a message of the screen's own, or by a turn that none of our messages broke off: Codex says
nothing of keys.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import NOTHING, Reading
from tmuxagents.agents.brand import LiveAsks
from tmuxagents.agents.codex.thread import ThreadReader, as_object, params_of
from tmuxagents.runs import events
from tmuxagents.runs.messages import STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar

    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event

FOLDER_VARIABLE = "TMUXAGENTS_BRIDGE"  # where the bridge finds its two FIFOs


class CodexLive:
    """How Codex runs live."""

    folder_variable = FOLDER_VARIABLE
    bridge = f"{__file__.rpartition('/')[0]}/bridge.py"

    def arguments(self, _plan: Plan, _run_dir: str) -> list[str]:
        """Return nothing: the bridge has the arguments."""
        return []

    def reader(self, sent: Callable[[int], Event | None]) -> CodexLiveReader:
        """Return a reader for one child. `sent` returns the message that has a number."""
        return CodexLiveReader(sent)


LIVE = CodexLive()


class CodexLiveReader(ThreadReader):
    """Reads the lines of the app server, and those of the bridge, which have a type and no method."""

    def __init__(self, sent: Callable[[int], Event | None]) -> None:
        super().__init__(asks_people=True)
        self.alone = False
        self._sent = sent
        self._stops = False  # a message has broken off the turn
        self.is_connected = False
        self.has_begun = False
        self.typed = False
        self.has_left = False
        self.settlings = 0
        self.asks = LiveAsks()

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line."""
        self.is_connected = True
        told = super().feed(line, now)
        self.asks.open = {known: asked.ask for known, asked in self.questions.items()}
        return told

    def kind(self, raw: Mapping[str, Any]) -> str:
        """Return the type of a line of the bridge, else what the app server's line is."""
        return raw_json.word(raw.get("type")) or super().kind(raw)

    def turn_over(self, turn: dict[str, Any], now: float) -> Reading:
        """Report the end of a turn. One that no message has broken off, a person has."""
        self.typed |= turn.get("status") == "interrupted" and not self._stops
        self._stops = False
        return self._settle(super().turn_over(turn, now))

    def _settle(self, told: Reading) -> Reading:
        self.settlings += 1
        for event in told.events:
            if event.type == "settled":
                event.fields["attended"] = self.typed
        return told

    def _begun(self, raw: dict[str, Any], _now: float) -> Reading:
        self.has_begun = True
        return Reading(self.turn_came(as_object(params_of(raw).get("turn")).get("id")))

    def _item_begun(self, raw: dict[str, Any], now: float) -> Reading:
        """Report what a person says; our own messages have no id of a client."""
        item = as_object(params_of(raw).get("item"))
        if item.get("type") != "userMessage":
            return self.item_began(item, now)
        if item.get("clientId") is None:
            return NOTHING
        self.typed, self.settled = True, False
        said = "\n".join(raw_json.texts(raw_json.blocks(item.get("content")), "text"))
        return Reading([events.human_input(said)], active=True)

    def _session(self, raw: dict[str, Any], _now: float) -> Reading:
        return Reading(self.takes_session(raw.get("session"), raw.get("model")))

    def _taken(self, raw: dict[str, Any], _now: float) -> Reading:
        number = raw_json.whole(raw.get("inboxId"))
        sent = None if number is None else self._sent(number)
        if sent is None:
            return NOTHING
        self._stops |= sent.fields.get("kind") == STOP
        return Reading([sent])

    def _answered(self, raw: dict[str, Any], _now: float) -> Reading:
        """Note the answer and its author. A refusal becomes a denial once its item ends."""
        ask = self.asks.answered(raw)
        asked = self.questions.pop(ask.id, None) if ask else None
        if ask is not None and asked is not None and asked.refuses(self.asks.given[ask.id][0]):
            self.refused[asked.item] = self.asks.given[ask.id][1]
        return NOTHING

    def _person(self, _raw: dict[str, Any], _now: float) -> Reading:
        self.has_left = True
        return NOTHING

    def _refused(self, raw: dict[str, Any], _now: float) -> Reading:
        self.error_message = raw_json.sentence(raw.get("message"))
        return self._settle(Reading(self.finish("error" if self.session else "config")))

    takes: ClassVar = ThreadReader.takes | {
        "turn/started": _begun,
        "item/started": _item_begun,
        "bridge_session": _session,
        "bridge_taken": _taken,
        "bridge_answer": _answered,
        "bridge_person": _person,
        "bridge_refused": _refused,
    }
