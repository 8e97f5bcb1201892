"""Read the stream of Claude Code, and talk to it. Pure.

A `result` line gives the turn's tokens but the session's total cost. Newer versions also list the turn's cost
per model, and we add those costs up. Partial messages show that the model is writing. They also give the
usage of a turn that never ends.

Claude Code's stdin may stay open for the prompt, messages, interrupts and answers. Every message has an id,
and Claude Code reports when it starts on that message and when it is done. Claude Code reads a steering
message between two model calls, and a follow-up when the turn is over. If stdin closes while a question is
open, that is a denial.
"""

from __future__ import annotations

from tmuxagents.agents import envelope
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, Reading
from tmuxagents.agents.brand import usage_of
from tmuxagents.agents.capabilities import ESTIMATED, OF_RUN
from tmuxagents.agents.envelope import EnvelopeReader, EnvelopeTalker
from tmuxagents.runs import events
from tmuxagents.runs.events import FOLLOW_UP, STOP
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.runs.events import Event, InboxMessage


_FIGURES = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}
_BROKEN = "The connection to the model broke off in the middle of the answer."


class ClaudeReader(EnvelopeReader):
    """Reads one Claude Code."""

    snapshots: tuple[bytes, ...] = (b'{"type":"stream_event","event":{"type":"content_block_',)

    def __init__(self, cost_before: float = 0.0) -> None:
        super().__init__()
        self._cost = cost_before  # of the session so far; older versions report nothing else
        self._calls_used = dict.fromkeys(_FIGURES, 0)  # by the calls of a turn that has not ended
        self._lacks_end = False  # the last message has begun, but the model has not ended it

    def is_refused(self, raw: dict[str, Any], call: Any) -> bool:
        """Say whether the line reports a refused permission; a call that was broken off was not refused."""
        for one in raw_json.listed(raw.get("tool_result_meta")):
            if isinstance(one, dict) and one.get("id") == call:
                return raw_json.table(one.get("permission_decision")).get("decision") == "reject"
        return False

    def usage(self, raw: dict[str, Any]) -> list[Event]:
        """Return the tokens and the cost of the turn."""
        self._calls_used = dict.fromkeys(_FIGURES, 0)
        before, total = self._cost, raw_json.amount(raw.get("total_cost_usd"))
        self._cost = max(before, total)
        cost, by_model = max(0.0, total - before), raw.get("model_usage_since_last_result")
        if isinstance(by_model, dict):
            costs = [one.get("costUSD") for one in by_model.values() if isinstance(one, dict)]
            cost = sum(map(raw_json.amount, costs))
        return usage_of(figures_of(raw.get("usage")), OF_RUN, cost=cost, cost_kind=ESTIMATED)

    def left(self, exit_code: int | None) -> list[Event]:
        """Return the rest of the answer, and the usage of an unfinished turn, whose cost is unknown."""
        reported = super().left(exit_code)
        return reported + ([] if self.settled else usage_of(self._calls_used, OF_RUN, cost_kind=ESTIMATED))

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:
        """Read one line: also a retry, a denial, or the beginning or end of a message."""
        match kind:
            case "system:api_retry":
                status, error = raw_json.whole(raw.get("error_status")), raw_json.word(raw.get("error"))
                retry = events.retry(
                    attempt=raw_json.whole(raw.get("attempt")),
                    most=raw_json.whole(raw.get("max_retries")),
                    delay_ms=raw_json.whole(raw.get("retry_delay_ms")),
                    message=f"HTTP {status}: {error}" if status and error else error,
                )
                return Reading([*self._opened(raw), *self.works_again(), retry], active=True)
            case "system:permission_denied":
                why = raw_json.sentence(raw.get("message")) or "It was not allowed."
                return Reading(self.deny(raw.get("tool_use_id"), raw.get("tool_name"), why), active=True)
            case "stream_event":
                event = raw_json.table(raw.get("event"))
                what = event.get("type")
                if what == "message_delta":
                    for key, figure in figures_of(event.get("usage")).items():
                        self._calls_used[key] += figure
                if not event or raw.get("parent_tool_use_id") is not None:  # a sub-agent's
                    return ACTIVE
                if what in ("message_start", "message_delta"):
                    self._lacks_end = what == "message_start"
                reported = self.works_again() if what == "message_start" else []
                return Reading([*reported, *self._report_texts()], active=True)
        return super().take(kind, raw, now)

    def ending(self, raw: dict[str, Any]) -> str | None:
        """Return how the turn ended. The line says success even if the connection broke off in the answer."""
        how = super().ending(raw)
        lacks_end, self._lacks_end = self._lacks_end, False
        if how != "stop" or not lacks_end:
            return how
        self.why = _BROKEN
        return "error"


def figures_of(raw: Any) -> dict[str, int]:
    """Return usage figures under our names."""
    figures = raw_json.table(raw)
    return {key: raw_json.count(figures.get(name)) for key, name in _FIGURES.items()}


# --- talking to it ---

_OVER = ("completed", "cancelled", "failed")


class ClaudeTalker(EnvelopeTalker, ClaudeReader):
    """Reads and talks to one Claude Code."""

    acknowledges = True

    def __init__(self, run_id: str, cost_before: float = 0.0) -> None:
        super().__init__(cost_before)
        self._run_id = run_id  # part of our messages' ids: a session ignores an id that it has seen before
        # Messages that are not done: id -> the message; None for the prompt, and once it has started.
        self._open: dict[str, InboxMessage | None] = {}
        self._interrupts: dict[str, InboxMessage] = {}
        self._reports = False  # Claude Code reports what becomes of a message

    @property
    def is_idle(self) -> bool:
        """Say whether no turn runs, and no message or interrupt is open."""
        return self.settled and not self._open and not self._interrupts

    def begin(self, prompt: str) -> bytes:
        """Return the prompt."""
        return self._say(prompt, 0, None)

    def say(self, message: InboxMessage) -> bytes | None:
        """Return the line for a message or an interrupt."""
        if message.kind == STOP:
            request = self._id(message.inbox_id)
            self._interrupts[request] = message
            return envelope.request(request, subtype="interrupt")
        later = {"priority": "later"} if message.kind == FOLLOW_UP else {}
        return self._say(message.text or "", message.inbox_id, message, **later)

    def _say(self, text: str, number: int, message: InboxMessage | None, **more: str) -> bytes:
        message_id = self._id(number)
        self._open[message_id] = message
        blocks = [{"type": "text", "text": text}]
        if text.startswith("/"):  # only the last block can be a command, and a blank one is left out
            blocks.append({"type": "text", "text": "\n"})
        body = {"role": "user", "content": blocks}
        return jsonline.encode({"type": "user", "uuid": message_id, "message": body, **more})

    def _id(self, number: int) -> str:
        """Return the id of a message, as a UUID."""
        run = f"{self._run_id:0<16}"
        return f"{run[:8]}-{run[8:12]}-4{run[12:15]}-8{run[15:16]}00-{number:012x}"

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:
        """Read one line: also reports on questions, interrupts and messages."""
        match kind:
            case "control_cancel_request":  # Claude Code withdraws a question
                self._asked.pop(raw_json.key(raw.get("request_id")) or "", None)
                return ACTIVE
            case "control_response":  # Claude Code has taken an interrupt
                message_id = raw_json.key(raw_json.table(raw.get("response")).get("request_id"))
                return Reading(_sent(self._interrupts.pop(message_id or "", None)), active=True)
            case "command_lifecycle":  # Claude Code has started on a message, or is done with it
                self._reports = True
                message_id, state = raw_json.key(raw.get("command_uuid")) or "", raw.get("state")
                if state in _OVER:
                    return Reading(_sent(self._open.pop(message_id, None)), active=True)
                message = self._open.get(message_id)
                if state != "started" or message is None:
                    return ACTIVE
                self._open[message_id] = None
                return Reading([*self._report_texts(), *_sent(message)], active=True)
        return super().take(kind, raw, now)

    def turn_over(self, raw: dict[str, Any]) -> list[Event]:
        """Report the end of a turn. A version that does not report on messages has taken all by then."""
        reported = super().turn_over(raw)
        sent: list[Event] = []
        for message_id, message in list(self._open.items()):
            if not self._reports:
                sent += _sent(message)
            if message is None or not self._reports:
                del self._open[message_id]
        return [*sent, *reported]


def _sent(message: InboxMessage | None) -> list[Event]:
    return [] if message is None else [events.message_sent(message.inbox_id, message.kind, message.text)]
