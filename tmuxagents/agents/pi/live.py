"""Interactive pi with our bridge: its command line, and the bridge's lines besides those of JSON mode. Pure.

pi counts as settled only if it settled before it began to exit, because after TERM it also settles on its way
out. The bridge reports input of a person and messages from `send` by different lines.

pi's own session file: whether a child can continue it, and in which folder.

pi skips what it cannot read, and silently forgets everything before an entry whose predecessor is missing. So
this module checks that a file is complete, before a child continues it.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import NOTHING, Ask, ChildSession, Reading
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


_FOREIGN = "is not a session of pi"
_BROKEN = "is incomplete: a part of the conversation is missing"
_SILENT = "holds no conversation"


def read_session(text: str) -> ChildSession:
    """Return the session in a file, without an incomplete last line, or the problem with it."""
    *lines, tail = text.split("\n")
    if _parse(tail) is not None:  # complete, but for its newline
        lines.append(tail)
    tree = _Tree()
    for number, line in enumerate(lines, 1):
        entry = _parse(line)
        if entry is not None:
            tree.take(entry)
        elif line.strip():
            return ChildSession(problem=f"is damaged (line {number})" if tree.header else _FOREIGN)
    problem = tree.problem()
    if problem is not None:
        return ChildSession(problem=problem)
    return ChildSession("".join(f"{line}\n" for line in lines), cwd=tree.cwd)


def _parse(line: str) -> dict[str, Any] | None:
    return raw_json.parse(line.encode("utf-8"))


class _Tree:
    """The entries of a file, each with its predecessor; the conversation ends with the last entry."""

    def __init__(self) -> None:
        self.header: dict[str, Any] | None = None
        self._parents: dict[str, Any] = {}
        self._last: Any = None
        self._said = False

    def take(self, entry: dict[str, Any]) -> None:
        if self.header is None:
            self.header = entry
            return
        self._said = self._said or entry.get("type") == "message"
        if isinstance(entry.get("id"), str):
            self._last = entry["id"]
            self._parents[self._last] = entry.get("parentId")

    @property
    def cwd(self) -> str:
        """Return the session's working directory."""
        cwd = (self.header or {}).get("cwd")
        return cwd if isinstance(cwd, str) else ""

    def problem(self) -> str | None:
        """Return why no child could continue it."""
        if self.header is None:
            return _SILENT
        if self.header.get("type") != "session" or not isinstance(self.header.get("id"), str):
            return _FOREIGN
        if not self.cwd.startswith("/"):
            return _FOREIGN
        if not self._said:
            return _SILENT
        left, at = dict(self._parents), self._last
        while at is not None:
            if not isinstance(at, str) or at not in left:
                return _BROKEN
            at = left.pop(at)  # so that a cycle is found, too
        return None
