"""A live opencode: its own screen in the window, and the reports of its server, through a bridge. Pure.

The parts of its messages are those of a batch run. The child has settled when its session is idle. opencode
reports no keys. So a run becomes attended when a person sends a first prompt, or breaks off an answer.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Ask, LiveAgent, Reading
from tmuxagents.agents.brand import LiveReader
from tmuxagents.agents.opencode.command import AGENT, OpencodeReader
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.agents.base import Sent
    from tmuxagents.runs.events import Event

_SAID = {
    "step-start": "step_start",
    "step-finish": "step_finish",
    "tool": "tool_use",
    "text": "text",
    "reasoning": "reasoning",
}
_CHOICES = (
    ("allow", "Allow it once"),
    ("session", "Allow it for the rest of the session"),
    ("deny", "Deny it"),
)
_OVER = ("completed", "error")  # states of a tool


class OpencodeLiveReader(LiveReader, OpencodeReader):
    """Reads the lines of the bridge of one opencode."""

    def __init__(self, sent: Sent) -> None:
        super().__init__(sent)
        self._pending_prompts: list[tuple[int, str]] = []  # our prompts that the session has not shown yet
        self._prompts: dict[str, None] = {}  # ids of messages that are no answers
        self._read_parts: dict[str, None] = {}  # ids of the parts that were read
        self._reason: str | None = None  # of the last answer
        self._is_stopped = False  # our message has broken off the answer

    def over(self, reason: str) -> list[Event]:
        """Keep the end of an answer until the session is idle."""
        self._reason = reason
        return []

    def left(self, _exit_code: int | None) -> list[Event]:
        """Return nothing: the server has reported all."""
        return []

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:  # noqa: C901, PLR0911, PLR0912  (a case for each kind)
        """Read a line of the bridge's own, or a report of the server."""
        about = raw_json.table(raw.get("properties"))
        match kind:
            case "bridge_starts":
                self.has_begun = True
                return ACTIVE
            case "bridge_session":
                self.session, self.model = raw_json.key(raw.get("sessionID")), raw_json.word(raw.get("model"))
                session = self.session
                return Reading([events.session_started(session, model=self.model)] if session else [])
            case "bridge_says":
                number, text = raw_json.whole(raw.get("inboxId")), raw_json.text(raw.get("text"))
                if number is not None and text is not None:
                    self._pending_prompts.append((number, text))
                return NOTHING
            case "bridge_taken":  # the bridge reports only a stop in this form
                self._is_stopped = True
                return Reading(self.taken(raw))
            case "bridge_answer":
                self.asks.answered(raw)
                return ACTIVE
            case "bridge_person":
                self.has_left = True
                return NOTHING
            case "message.updated":
                info = raw_json.table(about.get("info"))
                if info.get("role") == "user" and (known_id := raw_json.key(info.get("id"))):
                    raw_json.remember(self._prompts, known_id, None)
                return ACTIVE
            case "message.part.updated":
                return self._part(raw_json.table(about.get("part")), now)
            case "session.status":
                return self._status(raw_json.table(about.get("status")))
            case "session.idle":
                return self._idle()
            case "session.error":
                return super().take("error", {"sessionID": self.session, "error": about.get("error")}, now)
            case "permission.asked" | "question.asked":
                if known_id := raw_json.key(about.get("id")):
                    raw_json.remember(self.asks.open, known_id, _question(known_id, about))
                return ACTIVE
            case "permission.replied" | "question.replied" | "question.rejected":
                self.asks.open.pop(raw_json.key(about.get("requestID")) or "", None)
                return ACTIVE
            case "bridge_alive":
                return ACTIVE
            case _:
                return NOTHING

    def _part(self, part: dict[str, Any], now: float) -> Reading:
        kind, part_id = raw_json.word(part.get("type")) or "", raw_json.key(part.get("id")) or ""
        state = raw_json.table(part.get("state"))
        is_whole = state.get("status") in _OVER if kind == "tool" else True
        if kind in ("text", "reasoning") and "time" in part:  # a prompt has no times
            is_whole = "end" in raw_json.table(part["time"])
        if part_id in self._read_parts or not is_whole:  # a part that is not whole will be reported again
            runs = kind == "tool" and state.get("status") == "running" and not self.settled
            called = self.call(part.get("callID"), part.get("tool"), state.get("input"), now) if runs else []
            return Reading(called, active=True)
        raw_json.remember(self._read_parts, part_id, None)
        if raw_json.key(part.get("messageID")) in self._prompts:  # a prompt: from `send`, or a person's
            text = raw_json.text(part.get("text")) if kind == "text" else None
            if text is None:
                return ACTIVE
            ours = next((one for one in self._pending_prompts if one[1] == text), None)
            if ours is not None:
                self._pending_prompts.remove(ours)
                return Reading([*self.works_again(), *self.taken({"inboxId": ours[0]})], active=True)
            return Reading([self.human_input(text)], active=True)
        if kind not in _SAID or self.settled:  # a late report on a turn that is over
            return ACTIVE
        reading = super().take(_SAID[kind], {"sessionID": self.session, "part": part}, now)
        if self.calls.pop(raw_json.key(part.get("callID")) or "", None) is not None:
            reading.events = [event for event in reading.events if event.type != "tool_call"]
        return reading

    def _status(self, status: dict[str, Any]) -> Reading:
        kind = status.get("type")
        if kind == "idle":
            return NOTHING
        reported = self.works_again()
        if kind == "retry":
            attempt, why = raw_json.whole(status.get("attempt")), raw_json.sentence(status.get("message"))
            reported.append(events.retry(attempt=attempt, most=None, delay_ms=None, message=why))
        return Reading(reported, active=kind != "retry")

    def _idle(self) -> Reading:
        if self.settled:
            return NOTHING
        reason, self._reason = self.failure or self._reason, None
        self.typed |= reason == "aborted" and not self._is_stopped
        self._is_stopped = False
        reported = self.finish(reason, aborted=reason == "aborted")
        self.count_settling(reported[-1])
        self.failure = None
        return Reading(reported, active=True)


def _question(ask_id: str, asked: dict[str, Any]) -> Ask:
    """Return a question in our words."""
    permission = raw_json.word(asked.get("permission"))
    if permission is None:
        listed = [raw_json.table(one) for one in raw_json.listed(asked.get("questions"))]
        text = "\n".join(filter(None, (raw_json.sentence(one.get("question")) for one in listed)))
        options = raw_json.choices(listed[0].get("options")) if len(listed) == 1 else []
        return Ask(ask_id, "question", text or None, options)
    words = [one for one in raw_json.listed(asked.get("patterns")) if isinstance(one, str)]
    return Ask(ask_id, "permission", raw_json.sentence(f"{permission}: {', '.join(words)}"), _CHOICES)


LIVE = LiveAgent(AGENT.live_arguments, OpencodeLiveReader, f"{__file__.rpartition('/')[0]}/bridge.py")
