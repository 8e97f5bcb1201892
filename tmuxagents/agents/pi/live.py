"""Interactive pi with our bridge: its lines, and whether a session can be continued. Pure.

pi counts as settled only if it settled before it began to exit, because after TERM it also settles on its way
out. The bridge reports a person's input and a message from `send` by different lines.

In a session file, pi skips what it cannot read. If the predecessor of an entry is missing, pi silently
forgets everything before that entry. So a session file is checked for gaps before a child continues it.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import NOTHING, Ask, ChildSession, LiveAgent, Reading
from tmuxagents.agents.brand import LiveReader
from tmuxagents.agents.pi.command import AGENT
from tmuxagents.agents.pi.reader import PiReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.agents.base import Oversized, Sent

_CHOICES = {"confirm": (("allow", "Yes"), ("deny", "No"))}


class PiLiveReader(LiveReader, PiReader):
    """Reads the lines of one pi's bridge."""

    def __init__(self, sent: Sent) -> None:
        super().__init__(sent)
        self.gone = False  # pi is exiting

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line."""
        return NOTHING if self.gone else super().feed(line, now)

    def feed_oversized(self, line: Oversized, now: float) -> Reading:
        """Read the two ends of a line."""
        if self.gone:
            return NOTHING
        if line.head.startswith(b'{"type":"bridge_input"'):
            return self.take("bridge_input", {"text": f"({line.size} bytes)"}, now)
        return super().feed_oversized(line, now)

    def take(self, kind: Any, raw: dict[str, Any], now: float) -> Reading:
        """Read a line of the bridge, or one of JSON mode."""
        match kind:
            case "agent_start":
                self.has_begun = True
            case "bridge_input":
                return Reading([self.human_input(raw_json.text(raw.get("text")) or "")])
            case "bridge_person":
                self.typed |= raw.get("typed") is True
                self.has_left |= raw.get("typed") is False
            case "bridge_taken":
                return Reading(self.taken(raw))
            case "bridge_asks":  # the bridge, too, can answer a question with an id
                ask_id, of = raw_json.key(raw.get("ask")) or "", raw_json.word(raw.get("kind")) or "question"
                words = [(one, one) for one in map(raw_json.word, raw_json.listed(raw.get("options"))) if one]
                text, options = raw_json.sentence(raw.get("title")), _CHOICES.get(of, words)
                self.asks.ask(Ask(ask_id, of, text, options))
            case "bridge_answered":
                self.asks.open.clear()  # it reports one question at a time
            case "bridge_answer":
                self.asks.answered(raw)
            case "bridge_shutdown":
                self.gone = raw.get("reason") == "quit"
        return super().take(kind, raw, now)

    def settle(self, raw: dict[str, Any]) -> Reading:
        """Report that pi has settled."""
        reading = super().settle(raw)
        self.count_settling(reading.events[-1])
        return reading


LIVE = LiveAgent(AGENT.live_arguments, PiLiveReader, None)  # the bridge is loaded into pi


# --- session files ---

_HEEDED = ("type", "id", "parentId", "cwd")  # the rest of an entry may be large
_FOREIGN = "is not a session of pi"
_BROKEN = "is incomplete: a part of the conversation is missing"
_SILENT = "holds no conversation"


def read_session(text: str) -> ChildSession:
    """Return the session in a file, or the problem with it. An incomplete last line is left out."""
    *lines, tail = text.split("\n")
    if _parse(tail) is not None:  # complete, but for its newline
        lines.append(tail)
    entries = []
    for number, line in enumerate(lines, 1):
        entry = _parse(line)
        if entry is not None:
            entries.append({key: entry.get(key) for key in _HEEDED})
        elif line.strip():
            return ChildSession(problem=f"is damaged (line {number})" if entries else _FOREIGN)
    problem = _problem(entries)
    if problem is not None:
        return ChildSession(problem=problem)
    return ChildSession("".join(f"{line}\n" for line in lines), cwd=str(entries[0]["cwd"]))


def _parse(line: str) -> dict[str, Any] | None:
    return raw_json.parse(line.encode("utf-8"))


def _problem(entries: list[dict[str, Any]]) -> str | None:
    """Return why no child could continue a session; it needs a header and every entry's predecessor."""
    if not entries:
        return _SILENT
    header, *entries = entries
    cwd = header.get("cwd")
    is_ours = header.get("type") == "session" and isinstance(header.get("id"), str)
    if not is_ours or not isinstance(cwd, str) or not cwd.startswith("/"):
        return _FOREIGN
    if not any(entry.get("type") == "message" for entry in entries):
        return _SILENT
    named = [entry for entry in entries if isinstance(entry.get("id"), str)]
    parents = {entry["id"]: entry.get("parentId") for entry in named}
    at: Any = named[-1]["id"] if named else None  # the conversation ends with the last entry
    while at is not None:
        if not isinstance(at, str) or at not in parents:
            return _BROKEN
        at = parents.pop(at)  # so that a cycle is found, too
    return None
