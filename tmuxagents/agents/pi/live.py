"""Interactive pi with our bridge: its command line, and the bridge's lines besides those of JSON mode.

pi counts as settled only if it settled before it began to exit, because after TERM it also settles on its way
out. The bridge reports input of a person and messages from `send` by different lines.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import NOTHING, Ask, Reading
from tmuxagents.agents.brand import LiveAsks
from tmuxagents.agents.pi.command import AGENT
from tmuxagents.agents.pi.reader import PiReader
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from tmuxagents.agents.base import Oversized
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event

BRIDGE = f"{__file__.rpartition('/agents/')[0]}/extensions/bridge/index.ts"
_CHOICES = {"confirm": (("allow", "Yes"), ("deny", "No"))}
FOLDER_VARIABLE = "TMUXAGENTS_BRIDGE"  # where the bridge finds its two FIFOs


class PiLive:
    """How pi runs live."""

    folder_variable = FOLDER_VARIABLE
    bridge = None  # it is loaded into pi

    def arguments(self, plan: Plan, run_dir: str) -> list[str]:
        """Return pi's flags. pi must not ask whether to trust the folder: no person may be there."""
        batch = AGENT.arguments(plan, run_dir)
        flags = batch[batch.index("--session") :]
        trust = [] if "--no-approve" in flags else ["--no-approve"]
        name = ["--name", plan.name] if plan.name else []
        return ["--tui-mode", "regular", *trust, *name, "-e", BRIDGE, *flags]

    def reader(self, sent: Callable[[int], Event | None]) -> PiLiveReader:
        """Return a reader for one child. `sent` returns the message that has a number."""
        return PiLiveReader(sent)


LIVE = PiLive()


class PiLiveReader(PiReader):
    """Reads the lines of one pi's bridge."""

    def __init__(self, sent: Callable[[int], Event | None]) -> None:
        super().__init__()
        self._sent = sent
        self.is_connected = False  # the bridge has spoken
        self.has_begun = False
        self.typed = False  # a person has typed: the run is attended
        self.has_left = False  # a person has pressed a key that leaves pi
        self.gone = False  # pi is exiting
        self.asks = LiveAsks()
        self.settlings = 0

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line."""
        self.is_connected = True
        return NOTHING if self.gone else super().feed(line, now)

    def feed_oversized(self, line: Oversized, now: float) -> Reading:
        """Read the two ends of a line."""
        if self.gone:
            return NOTHING
        if line.head.startswith(b'{"type":"bridge_input"'):
            return self._input({"text": f"({line.size} bytes)"}, now)
        return super().feed_oversized(line, now)

    def _input(self, raw: dict[str, Any], _now: float) -> Reading:
        self.typed = True
        self.settled = False
        return Reading([events.human_input(raw_json.text(raw.get("text")) or "")])

    def _person(self, raw: dict[str, Any], _now: float) -> Reading:
        self.typed |= raw.get("typed") is True
        self.has_left |= raw.get("typed") is False
        return NOTHING

    def _taken(self, raw: dict[str, Any], _now: float) -> Reading:
        # Reported here, in order: a whole turn can be read at once, and its message must come first.
        number = raw_json.whole(raw.get("inboxId"))
        sent = None if number is None else self._sent(number)
        return NOTHING if sent is None else Reading([sent])

    def _asks(self, raw: dict[str, Any], _now: float) -> Reading:
        """Take a question of an extension. One with an id can be answered by the bridge, too."""
        known, kind = raw_json.key(raw.get("ask")) or "", raw_json.word(raw.get("kind")) or "question"
        options = [(one, one) for one in map(raw_json.word, _listed(raw.get("options"))) if one]
        self.asks.ask(Ask(known, kind, raw_json.sentence(raw.get("title")), _CHOICES.get(kind, options)))
        return NOTHING

    def _no_longer_asks(self, _raw: dict[str, Any], _now: float) -> Reading:
        self.asks.open.clear()  # it tells of one at a time
        return NOTHING

    def _was_answered(self, raw: dict[str, Any], _now: float) -> Reading:
        self.asks.answered(raw)
        return NOTHING

    def _shutdown(self, raw: dict[str, Any], _now: float) -> Reading:
        self.gone = raw.get("reason") == "quit"
        return NOTHING

    def _began_again(self, raw: dict[str, Any], now: float) -> Reading:
        self.has_begun = True
        return super()._began_again(raw, now)

    def _settle(self, raw: dict[str, Any], now: float) -> Reading:
        told = super()._settle(raw, now)
        self.settlings += 1
        told.events[-1].fields["attended"] = self.typed
        return told

    takes: ClassVar = PiReader.takes | {
        "agent_start": _began_again,
        "agent_settled": _settle,
        "bridge_input": _input,
        "bridge_person": _person,
        "bridge_taken": _taken,
        "bridge_asks": _asks,
        "bridge_answered": _no_longer_asks,
        "bridge_answer": _was_answered,
        "bridge_shutdown": _shutdown,
    }


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
