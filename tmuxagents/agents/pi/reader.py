"""Read the JSON mode of the pi coding agent as normalised events. Pure.

pi's exit status proves no success: it is 0 after a refused key, a cut answer or a missing task. The verdict
rests on `agent_settled` and the stop reason of the last answer. `message_update` and `tool_execution_update`
are most of the volume and carry no event. Their first bytes identify them, so they are not parsed. Tool calls
without an id are matched by name and order, so that each is reported once.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, END_KEPT, NOTHING, Oversized, Reader, Reading, sum_of
from tmuxagents.runs import events
from tmuxagents.text import figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.runs.events import Event

SNAPSHOTS = (
    b'{"type":"message_update"',
    b'{"type":"tool_execution_update"',
    b'{"type": "message_update"',
    b'{"type": "tool_execution_update"',
)
_WRITTEN_DOWN = ("message_end", "tool_execution_start")  # their events hold the whole text
# From this length on, a duration is reported even if its start or end may have been read late.
_SURE_MS = 4000
_SNAPSHOT_HEAD = 1000  # the first bytes of a snapshot, which name its kind


class PiReader(Reader):
    """Reads the JSON lines of one pi."""

    snapshots: tuple[bytes, ...] = SNAPSHOTS
    paces = True

    def __init__(self) -> None:
        super().__init__()
        self._late_at = float("-inf")  # when it last read lines that may be a moment old
        self._stop_reason: str | None = None
        self._turn_is_open = False  # an answer has come, but not the end of its turn
        self._running: dict[str, float | None] = {}  # callId of an open call -> when it began to run
        self._answered: dict[str, None] = {}  # callIds with a reported result, oldest first
        self._nameless = Nameless()

    def feed(self, line: bytes, now: float) -> Reading:  # noqa: PLR0911  (a case for each form of a line)
        """Read one line. A line that is not JSON is plain text; JSON of unknown kind is ignored."""
        if line.startswith(SNAPSHOTS):
            return _snapshot(line)
        if not line or line.isspace():
            return NOTHING
        try:
            raw = raw_json.parse_cheap(line)
        except RecursionError:
            return self.feed_oversized(_by_its_ends(line), now)
        if raw is None:  # it may be text without a newline, followed by an event
            at = line.find(b'{"type":"')
            if at < 1 or raw_json.parse(line[at:]) is None:
                return NOTHING if raw_json.is_value(line) else Reading(plain=line.decode("utf-8", "replace"))
            reading = self.feed(line[at:], now)
            return Reading(reading.events, active=reading.active, plain=line[:at].decode("utf-8", "replace"))
        kind = raw.get("type")
        if kind in _WRITTEN_DOWN and raw_json.is_wide(line):
            return self.feed_oversized(_by_its_ends(line), now)
        return self.take(kind, raw, now)

    def note_late(self, now: float) -> None:
        """Note that lines read at this time may have been printed a moment before."""
        self._late_at = now

    def feed_oversized(self, line: Oversized, now: float) -> Reading:
        """Read the two ends of a line: enough for the verdict, not for its whole text."""
        if line.head.startswith(SNAPSHOTS):
            return _snapshot(line.head)
        kind = raw_json.word_after(line.head, "type")
        raw = short(kind, line)
        if kind is None or raw is None:
            return NOTHING
        if kind == "tool_execution_end":  # the summary of a long listing is its size
            listed = raw["toolName"] in figures.LISTING_TOOLS
            return self._tool_ended(raw, now, summary=f"({line.size} bytes)" if listed else None)
        self.left_out |= kind == "message_end"
        return self.take(kind, raw, now)

    def take(self, kind: Any, raw: dict[str, Any], now: float) -> Reading:  # noqa: PLR0911  (a case for each kind)
        """Read a line of some kind."""
        match kind:
            case "agent_start" | "turn_start":
                again, self.settled = self.settled, False
                return Reading([events.resumed()]) if again else NOTHING
            case "message_end":
                return self._message_end(raw_json.table(raw.get("message")), now)
            case "tool_execution_start":
                return self._tool_started(raw, now)
            case "tool_execution_end":
                return self._tool_ended(raw, now)
            case "turn_end":
                message = raw_json.table(raw.get("message"))
                self._stop_reason = raw_json.word(message.get("stopReason")) or self._stop_reason
                self._turn_is_open = False
                results = raw_json.blocks(raw.get("toolResults"))
                lost = [event for one in results for event in self._result_message(one, now).events]
                return Reading([*lost, events.turn_end(self._stop_reason)], active=bool(lost))
            case "auto_retry_start":
                self.settled = False
                retry = events.retry(
                    attempt=raw_json.whole(raw.get("attempt")) or None,  # pi counts from 1
                    most=raw_json.whole(raw.get("maxAttempts")) or None,
                    delay_ms=raw_json.whole(raw.get("delayMs")),
                    message=raw_json.sentence(raw.get("errorMessage")),
                )
                return Reading([retry])
            case "agent_settled":
                return self.settle(raw)
            # An old pi without `willRetry` has no agent_settled either: this line is its last, unless a retry
            # follows, which undoes the settling.
            case "agent_end" if "willRetry" not in raw:
                return self.settle({})
        return NOTHING

    def _message_end(self, message: dict[str, Any], now: float) -> Reading:
        if message.get("role") == "toolResult":
            return self._result_message(message, now)
        if message.get("role") != "assistant":
            return NOTHING
        blocks = raw_json.blocks(message.get("content"))
        thought = "\n".join(raw_json.texts(blocks, "thinking"))
        answer = "\n".join(raw_json.texts(blocks, "text"))
        reported = self._close_turn()
        if thought.strip():
            reported.append(events.thinking(thought))
        if answer.strip():
            reported.append(events.assistant_text(answer))
        self._nameless.answer_begins()
        for block in blocks:
            if block.get("type") == "toolCall":
                calls = self._call(block.get("id"), block.get("name"), block.get("arguments"), None)
                if calls and calls[0].fields["callId"] is None:
                    self._nameless.note_named(calls[0].fields["toolName"], calls[0].fields["args"])
                reported += calls
        usage = raw_json.table(message.get("usage"))
        cost = raw_json.table(usage.get("cost")).get("total", usage.get("cost"))
        counts = {key: raw_json.count(usage.get(key)) for key in events.USAGE_KEYS}
        reported.append(events.usage({**counts, "cost": raw_json.amount(cost)}))
        self.settled = False
        self._turn_is_open = True
        self._stop_reason = raw_json.word(message.get("stopReason"))
        self.error_message = raw_json.sentence(message.get("errorMessage"))
        provider, model = raw_json.text(message.get("provider")), raw_json.text(message.get("model"))
        if model:
            self.model = raw_json.word(f"{provider}/{model}" if provider else model)
        shows_work = any(event.type in ("assistant_text", "tool_call") for event in reported)
        return Reading(reported, active=shows_work)

    def _close_turn(self) -> list[Event]:
        """Report the end of an open turn. If its own line is missing, the stop reason must not be lost."""
        was_open, self._turn_is_open = self._turn_is_open, False
        return [events.turn_end(self._stop_reason)] if was_open else []

    def _call(self, call_id: Any, tool: Any, args: Any, now: float | None) -> list[Event]:
        """Report a call once, although pi names it in the answer and again when it begins to run.

        After the result, the id may mean a new call: some providers restart the numbers with each answer.
        """
        known_id = raw_json.key(call_id)
        if known_id is not None:
            first = known_id not in self._running
            raw_json.remember(self._running, known_id, now)
            self._answered.pop(known_id, None)
            if not first:
                return []
        return [events.tool_call(known_id, raw_json.word(tool) or "tool", raw_json.table(args))]

    def _tool_started(self, raw: dict[str, Any], now: float) -> Reading:
        again, self.settled = self.settled, False
        reported = self._call(raw.get("toolCallId"), raw.get("toolName"), raw.get("args"), now)
        if reported:
            fields = reported[0].fields  # the event of the only call
            tool, has_id = fields["toolName"], fields["callId"] is not None
            if self._nameless.was_named(tool, fields["args"]):  # an answer has named it without an id
                reported = []
                if has_id:  # its result will have it, too
                    self._nameless.end(tool)
            elif not has_id:
                self._nameless.begin(tool)
        return Reading(reported or ([events.resumed()] if again else []), active=True)

    def _result_message(self, message: dict[str, Any], now: float) -> Reading:
        """Report a result that comes as a message; one without an id only if a call waits for it."""
        tool = raw_json.word(message.get("toolName"))
        if not raw_json.key(message.get("toolCallId")) and not self._nameless.waits(tool):
            return ACTIVE
        return self._tool_ended({**message, "result": message}, now)

    def _tool_ended(self, raw: dict[str, Any], now: float, *, summary: str | None = None) -> Reading:
        """Report a result once, although it comes as the tool's end and again as a message."""
        call_id = raw_json.key(raw.get("toolCallId"))
        began = None
        if call_id is None:
            self._nameless.end(raw_json.word(raw.get("toolName")))
        else:
            if call_id in self._answered:
                return ACTIVE
            raw_json.remember(self._answered, call_id, None)
            began = self._running.pop(call_id, None)
        lasted = raw_json.whole(raw.get("durationMs"))
        if lasted is None and began is not None:
            lasted = round((now - began) * 1000)
            if began <= self._late_at and lasted < _SURE_MS:  # too unsure: its ends may have been read late
                lasted = None
        tool, failed = raw_json.word(raw.get("toolName")) or "tool", raw.get("isError") is True
        result = raw_json.table(raw.get("result"))
        text = "\n".join(raw_json.texts(raw_json.blocks(result.get("content")), "text"))
        ended = events.tool_result(call_id, tool, is_error=failed, text=text, duration_ms=lasted)
        if summary is None and not failed:  # the event holds only the beginning of a long listing
            summary = figures.sum_up(tool, text, result.get("details"))
        if summary is not None:
            ended.fields["summary"] = summary
        return Reading([ended], active=True)

    def settle(self, raw: dict[str, Any]) -> Reading:
        """Report that pi has settled."""
        self.settled = True
        return Reading([*self._close_turn(), events.settled(aborted=raw.get("aborted") is True)])


def _by_its_ends(line: bytes) -> Oversized:
    return Oversized(line[:END_KEPT], line[-END_KEPT:], len(line), sum_of(memoryview(line)[END_KEPT:]))


def _snapshot(line: bytes) -> Reading:
    """Return whether a streaming snapshot shows work: text and tool calls do, thinking alone does not."""
    return NOTHING if b'"type":"thinking_' in line[:_SNAPSHOT_HEAD] else ACTIVE


# --- lines that are too long: a short line is made of their two ends, enough for the verdict ---


def short(kind: str | None, line: Oversized) -> dict[str, Any] | None:
    """Return the short line for a line of this kind; None if it has no meaning for us."""
    call = {name: raw_json.word_after(line.head, name) for name in ("toolCallId", "toolName")}
    match kind:
        case "message_end" if raw_json.word_after(line.head, "role") == "assistant":
            names = ("stopReason", "errorMessage", "provider", "model")
            last = {name: raw_json.word_after(line.tail, name, last=True) for name in names}
            words = f"(an answer of {line.size} bytes; stdout.log has its two ends)"
            content = [{"type": "text", "text": words}] if last["stopReason"] != "toolUse" else []
            usage = raw_json.object_after(line.tail, "usage")
            return {"message": {"role": "assistant", "content": content, **last, "usage": usage}}
        case "tool_execution_start":
            # Size and checksum replace the missing part, so that two different calls do not look like a loop.
            begun = line.head.partition(b'"args"')[2]  # the call's id comes before that
            left_out = {"leftOut": line.size, "sum": f"{sum_of(begun, line.rest_sum):08x}"}
            return {**call, "args": {"path": raw_json.word_after(line.head, "path"), **left_out}}
        case "tool_execution_end":
            failed = raw_json.word_after(line.tail, "isError", last=True) == "true"  # pi's own is the last
            content = [{"type": "text", "text": f"({line.size} bytes)"}]
            return {**call, "isError": failed, "result": {"content": content}}
        case "turn_end":
            return {}
        case "agent_end":
            retry = raw_json.word_after(line.tail, "willRetry", last=True)
            retry = retry or raw_json.word_after(line.head.partition(b'"messages"')[0], "willRetry")
            return {} if retry is None else {"willRetry": retry == "true"}
    return None


# --- calls without an id ---

_MOST = 1000


class Nameless:
    """Calls without an id: those that were reported but have not begun, and those without a result."""

    __slots__ = ("_named", "_unanswered")

    def __init__(self) -> None:
        self._named: list[tuple[str, Any]] = []
        self._unanswered: list[str] = []

    def answer_begins(self) -> None:
        """Forget the calls of the former answer that never began: a new answer names its own calls."""
        self._named.clear()

    def note_named(self, tool: str, args: Any) -> None:
        """Note a call that an answer named."""
        self._named.append((tool, args))
        self.begin(tool)

    def begin(self, tool: str) -> None:
        """Note a call that waits for its result."""
        self._unanswered.append(tool)
        del self._unanswered[:-_MOST]

    def was_named(self, tool: str, args: Any) -> bool:
        """Say whether a call that begins was already reported; each report counts once."""
        if not self._named:
            return False
        exact = [number for number, call in enumerate(self._named) if call == (tool, args)]
        alike = exact or [number for number, call in enumerate(self._named) if call[0] == tool]
        if alike:
            del self._named[alike[0]]
        return bool(alike)

    def waits(self, tool: str | None) -> bool:
        """Say whether a call of this tool waits for its result; any call, if the tool is unknown."""
        return bool(self._unanswered) if tool is None else tool in self._unanswered

    def end(self, tool: str | None) -> None:
        """Note a result: it belongs to the oldest call that it can belong to."""
        if self.waits(tool):
            del self._unanswered[0 if tool is None else self._unanswered.index(tool)]
