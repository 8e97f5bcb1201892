"""A live opencode: its own screen in the window, and what its server reports, through a bridge. Pure.

Its parts of messages are those that it prints in a batch run. It has settled when the session is idle. The
run is a person's from their first prompt, or from the answer that they broke off: it knows of no keys.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Ask, Reading
from tmuxagents.agents.brand import LiveAsks
from tmuxagents.agents.opencode.command import OpencodeReader, table
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar

    from tmuxagents.records import Plan
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


class OpencodeLive:
    """How opencode runs live."""

    bridge: str | None = f"{__file__.rpartition('/')[0]}/bridge.py"
    folder_variable = "TMUXAGENTS_BRIDGE"

    def arguments(self, plan: Plan, _run_dir: str) -> list[str]:
        """Return the words for the bridge: the session to go on with, the model, and a title."""
        title = plan.name or f"tmuxagents {plan.run_id[:8]}"
        return ["--", plan.child_session or "", plan.resolved_model or "", title]

    def reader(self, sent: Callable[[int], Event | None]) -> OpencodeLiveReader:
        """Return a reader for one child. `sent` returns the message that has a number."""
        return OpencodeLiveReader(sent)


LIVE = OpencodeLive()


class OpencodeLiveReader(OpencodeReader):
    """Reads the lines of the bridge of one opencode."""

    def __init__(self, sent: Callable[[int], Event | None]) -> None:
        super().__init__()
        self._sent = sent
        self.is_connected = False
        self.has_begun = False
        self.typed = False
        self.has_left = False
        self.asks = LiveAsks()
        self.settlings = 0
        self._said: list[tuple[int, str]] = []  # by us, and not in the session so far
        self._prompts: dict[str, None] = {}  # ids of messages that are no answers
        self._told: dict[str, None] = {}  # ids of parts
        self._reason: str | None = None  # of the last answer
        self._is_stopped = False  # by us

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line."""
        self.is_connected = True
        return super().feed(line, now)

    def over(self, reason: str) -> list[Event]:
        """Keep the end of an answer until the session is idle."""
        self._reason = reason
        return []

    def left(self, _exit_code: int | None) -> list[Event]:
        """Return nothing: the server has reported all."""
        return []

    def _starts(self, _raw: dict[str, Any], _now: float) -> Reading:
        self.has_begun = True
        return ACTIVE

    def _begun(self, raw: dict[str, Any], _now: float) -> Reading:
        self.session = raw_json.key(raw.get("sessionID"))
        self.model = raw_json.word(raw.get("model"))
        return Reading([events.session_started(self.session, model=self.model)] if self.session else [])

    def _says(self, raw: dict[str, Any], _now: float) -> Reading:
        number, text = raw_json.whole(raw.get("inboxId")), raw_json.text(raw.get("text"))
        if number is not None and text is not None:
            self._said.append((number, text))
        return NOTHING

    def _taken(self, raw: dict[str, Any], _now: float) -> Reading:
        self._is_stopped = True
        sent = self._sent(raw_json.whole(raw.get("inboxId")) or 0)
        return NOTHING if sent is None else Reading([sent])

    def _person(self, _raw: dict[str, Any], _now: float) -> Reading:
        self.has_left = True
        return NOTHING

    def _alive(self, _raw: dict[str, Any], _now: float) -> Reading:
        return ACTIVE

    def _message(self, raw: dict[str, Any], _now: float) -> Reading:
        info = table(_of(raw).get("info"))
        known = raw_json.key(info.get("id"))
        if info.get("role") == "user" and known is not None:
            raw_json.remember(self._prompts, known, None)
        return ACTIVE

    def _part(self, raw: dict[str, Any], now: float) -> Reading:
        part = table(_of(raw).get("part"))
        kind, known = raw_json.word(part.get("type")) or "", raw_json.key(part.get("id")) or ""
        if known in self._told or not _is_whole(kind, part):
            return Reading(self._running(part, now) if kind == "tool" else (), active=True)
        raw_json.remember(self._told, known, None)
        if raw_json.key(part.get("messageID")) in self._prompts:
            return self._prompted(raw_json.text(part.get("text")) if kind == "text" else None)
        take = OpencodeReader.takes.get(_SAID.get(kind, ""))
        if take is None or self.settled:  # what it tells of a turn that is over
            return ACTIVE
        reading: Reading = take(self, {"sessionID": self.session, "part": part}, now)
        if self.calls.pop(raw_json.key(part.get("callID")) or "", None) is not None:
            reading.events = [event for event in reading.events if event.type != "tool_call"]
        return reading

    def _running(self, part: dict[str, Any], now: float) -> list[Event]:
        """Return the call of a tool that has begun to run."""
        state = table(part.get("state"))
        if state.get("status") != "running" or self.settled:
            return []
        return self.call(part.get("callID"), part.get("tool"), state.get("input"), now)

    def _prompted(self, text: str | None) -> Reading:
        """Read a prompt: a message from `send`, or a person's."""
        if text is None:
            return ACTIVE
        for at, (number, said) in enumerate(self._said):
            if said == text:
                del self._said[at]
                sent = self._sent(number)
                return Reading([*self.works_again(), *([] if sent is None else [sent])], active=True)
        self.typed = True
        self.settled = False
        return Reading([events.human_input(text)], active=True)

    def _status(self, raw: dict[str, Any], _now: float) -> Reading:
        status = table(_of(raw).get("status"))
        kind = status.get("type")
        if kind == "idle":
            return NOTHING
        told = self.works_again()
        if kind == "retry":
            attempt, why = raw_json.whole(status.get("attempt")), raw_json.sentence(status.get("message"))
            told.append(events.retry(attempt=attempt, most=None, delay_ms=None, message=why))
        return Reading(told, active=kind != "retry")

    def _idle(self, _raw: dict[str, Any], _now: float) -> Reading:
        if self.settled:
            return NOTHING
        reason, self._reason = self.failure or self._reason, None
        self.typed |= reason == "aborted" and not self._is_stopped
        self._is_stopped = False
        told = self.finish(reason, aborted=reason == "aborted")
        told[-1].fields["attended"] = self.typed
        self.failure = None
        self.settlings += 1
        return Reading(told, active=True)

    def _failed(self, raw: dict[str, Any], now: float) -> Reading:
        return self._error({"sessionID": self.session, "error": _of(raw).get("error")}, now)

    def _asks(self, raw: dict[str, Any], _now: float) -> Reading:
        asked = _of(raw)
        known = raw_json.key(asked.get("id"))
        if known is not None:
            raw_json.remember(self.asks.open, known, _question(known, asked))
        return ACTIVE

    def _asks_no_longer(self, raw: dict[str, Any], _now: float) -> Reading:
        self.asks.open.pop(raw_json.key(_of(raw).get("requestID")) or "", None)
        return ACTIVE

    def _answered(self, raw: dict[str, Any], _now: float) -> Reading:
        self.asks.answered(raw)
        return ACTIVE

    takes: ClassVar[Mapping[str, Any]] = {
        "bridge_starts": _starts,
        "bridge_session": _begun,
        "bridge_says": _says,
        "bridge_taken": _taken,
        "bridge_answer": _answered,
        "bridge_person": _person,
        "bridge_alive": _alive,
        "message.updated": _message,
        "message.part.updated": _part,
        "session.status": _status,
        "session.idle": _idle,
        "session.error": _failed,
        **dict.fromkeys(("permission.asked", "question.asked"), _asks),
        **dict.fromkeys(("permission.replied", "question.replied", "question.rejected"), _asks_no_longer),
    }


def _of(raw: dict[str, Any]) -> dict[str, Any]:
    return table(raw.get("properties"))


def _is_whole(kind: str, part: dict[str, Any]) -> bool:
    """Say whether a part will not be reported again; a prompt has no times."""
    if kind == "tool":
        return table(part.get("state")).get("status") in _OVER
    return kind not in ("text", "reasoning") or "time" not in part or "end" in table(part.get("time"))


def _question(known: str, asked: dict[str, Any]) -> Ask:
    """Return a question in our words."""
    permission = raw_json.word(asked.get("permission"))
    if permission is None:
        questions = asked.get("questions")
        listed = [table(one) for one in questions] if isinstance(questions, list) else []
        text = "\n".join(filter(None, (raw_json.sentence(one.get("question")) for one in listed)))
        labels = raw_json.blocks(listed[0].get("options")) if len(listed) == 1 else []
        options = [(label, label) for one in labels if (label := raw_json.word(one.get("label")))]
        return Ask(known, "question", text or None, options)
    patterns = asked.get("patterns")
    words = [one for one in patterns if isinstance(one, str)] if isinstance(patterns, list) else []
    return Ask(known, "permission", raw_json.sentence(f"{permission}: {', '.join(words)}"), _CHOICES)
