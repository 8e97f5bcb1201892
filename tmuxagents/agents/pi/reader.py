"""Read the JSON mode of the pi coding agent as normalised events. Pure.

pi's exit status proves no success (it is 0 after a refused key, a cut answer, a missing task). The verdict
rests on `agent_settled` and the stop reason of the last answer. `message_update` and `tool_execution_update`
are most of the volume and carry no event. Their first bytes identify them, so they are not parsed. Tool calls
without an id are matched by name and order, so that each is reported once.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, END_KEPT, NOTHING, Oversized, Reader, Reading, sum_of
from tmuxagents.agents.pi import long_lines
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
_SURE_MS = 4000  # a longer duration is reported even if its ends may have been read late
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

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line. A line that is not JSON is plain text; JSON of unknown kind is ignored."""
        if line.startswith(SNAPSHOTS):
            return _snapshot(line)
        if not line or line.isspace():
            return NOTHING
        try:
            raw = raw_json.parse_cheap(line)
        except RecursionError:
            return self.feed_oversized(_by_its_ends(line), now)
        if raw is None:
            return self._plain(line, now)
        kind = raw.get("type")
        if kind in _WRITTEN_DOWN and raw_json.is_wide(line):
            return self.feed_oversized(_by_its_ends(line), now)
        return self.take(kind, raw, now)

    def note_late(self, now: float) -> None:
        """Note that lines read at this time may have been printed a moment before."""
        self._late_at = now

    def _plain(self, line: bytes, now: float) -> Reading:
        """Read a line that is not JSON; it may be text without a newline, followed by an event."""
        at = line.find(b'{"type":"')
        raw = raw_json.parse(line[at:]) if at > 0 else None
        if raw is None:
            return NOTHING if raw_json.is_value(line) else Reading(plain=line.decode("utf-8", "replace"))
        told = self.feed(line[at:], now)
        return Reading(told.events, active=told.active, plain=line[:at].decode("utf-8", "replace"))

    def feed_oversized(self, line: Oversized, now: float) -> Reading:
        """Read the two ends of a line: enough for the verdict, not for its whole text."""
        if line.head.startswith(SNAPSHOTS):
            return _snapshot(line.head)
        kind = raw_json.word_after(line.head, "type")
        raw = long_lines.short(kind, line)
        if kind is None or raw is None:
            return NOTHING
        if kind == "tool_execution_end":  # the summary of a long listing is its size
            listed = raw["toolName"] in figures.LISTING_TOOLS
            return self._tool_ended(raw, now, summary=long_lines.size_of(line) if listed else None)
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
                return self._turn_end(raw, now)
            case "auto_retry_start":
                self.settled = False
                return Reading([_retry(raw)])
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
        told = [*self._close_turn(), *self._contents(message.get("content"))]
        told.append(events.usage(_usage(message.get("usage"))))
        self.settled = False
        self._turn_is_open = True
        self._stop_reason = raw_json.word(message.get("stopReason"))
        self.error_message = raw_json.sentence(message.get("errorMessage"))
        provider, model = raw_json.text(message.get("provider")), raw_json.text(message.get("model"))
        if model:
            self.model = raw_json.word(f"{provider}/{model}" if provider else model)
        return Reading(told, active=any(event.type in ("assistant_text", "tool_call") for event in told))

    def _close_turn(self) -> list[Event]:
        """Report the end of a turn whose own line is missing: the ending of its answer must not be lost."""
        was_open, self._turn_is_open = self._turn_is_open, False
        return [events.turn_end(self._stop_reason)] if was_open else []

    def _contents(self, content: Any) -> list[Event]:
        blocks = raw_json.blocks(content)
        thought = "\n".join(raw_json.texts(blocks, "thinking"))
        answer = "\n".join(raw_json.texts(blocks, "text"))
        told = [events.thinking(thought)] if thought.strip() else []
        if answer.strip():
            told.append(events.assistant_text(answer))
        self._nameless.answer_begins()
        for block in blocks:
            if block.get("type") == "toolCall":
                told += self._named(block)
        return told

    def _named(self, block: dict[str, Any]) -> list[Event]:
        """Report a call that an answer names."""
        call_id, tool, args = block.get("id"), block.get("name"), block.get("arguments")
        if raw_json.key(call_id):
            return self._call(call_id, tool, args, None)
        told = events.tool_call(None, raw_json.word(tool) or "tool", raw_json.table(args))
        self._nameless.tell(told.fields["toolName"], told.fields["args"])
        return [told]

    def _call(self, call_id: Any, tool: Any, args: Any, now: float | None) -> list[Event]:
        """Report a call once, although pi names it in the answer and again when it begins to run.

        After its result, its id may mean a new call: some providers restart the numbers with each answer.
        """
        known = raw_json.key(call_id)
        if known is not None:
            first = known not in self._running
            raw_json.remember(self._running, known, now)
            self._answered.pop(known, None)
            if not first:
                return []
        return [events.tool_call(known, raw_json.word(tool) or "tool", raw_json.table(args))]

    def _tool_started(self, raw: dict[str, Any], now: float) -> Reading:
        again, self.settled = self.settled, False
        told = self._call(raw.get("toolCallId"), raw.get("toolName"), raw.get("args"), now)
        if told:
            told = self._without_told(told[0])
        return Reading(told or ([events.resumed()] if again else []), active=True)

    def _without_told(self, call: Event) -> list[Event]:
        """Return a call that begins, unless an answer has already named it without an id."""
        tool, args = call.fields["toolName"], call.fields["args"]
        was_told = self._nameless.was_told(tool, args)
        if call.fields["callId"] is None and not was_told:
            self._nameless.begin(tool)
        elif call.fields["callId"] is not None and was_told:
            self._nameless.end(tool)  # its result will come with its id
        return [] if was_told else [call]

    def _result_message(self, message: dict[str, Any], now: float) -> Reading:
        """Report a result that comes as a message; one without an id only if a call waits for it."""
        tool = raw_json.word(message.get("toolName"))
        if not raw_json.key(message.get("toolCallId")) and not self._nameless.waits(tool):
            return ACTIVE
        return self._tool_ended({**message, "result": message}, now)

    def _tool_ended(self, raw: dict[str, Any], now: float, *, summary: str | None = None) -> Reading:
        """Report a result once: it comes as the tool's end and again as a message."""
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
        if lasted is None:
            lasted = self._lasted(began, now)
        tool, failed = raw_json.word(raw.get("toolName")) or "tool", raw.get("isError") is True
        result = raw_json.table(raw.get("result"))
        text = "\n".join(raw_json.texts(raw_json.blocks(result.get("content")), "text"))
        told = events.tool_result(call_id, tool, is_error=failed, text=text, duration_ms=lasted)
        if summary is None and not failed:  # the event holds only the beginning of a long listing
            summary = figures.sum_up(tool, text, result.get("details"))
        if summary is not None:
            told.fields["summary"] = summary
        return Reading([told], active=True)

    def _lasted(self, began: float | None, now: float) -> int | None:
        """Return the milliseconds between reading a call and reading its end; None if that is too unsure."""
        if began is None:
            return None
        lasted = round((now - began) * 1000)
        return None if began <= self._late_at and lasted < _SURE_MS else lasted

    def _turn_end(self, raw: dict[str, Any], now: float) -> Reading:
        message = raw.get("message")
        if isinstance(message, dict) and raw_json.word(message.get("stopReason")):
            self._stop_reason = raw_json.word(message["stopReason"])
        self._turn_is_open = False
        lost = [
            event
            for each in raw_json.blocks(raw.get("toolResults"))
            for event in self._result_message(each, now).events
        ]
        return Reading([*lost, events.turn_end(self._stop_reason)], active=bool(lost))

    def settle(self, raw: dict[str, Any]) -> Reading:
        """Report that pi has settled."""
        self.settled = True
        return Reading([*self._close_turn(), events.settled(aborted=raw.get("aborted") is True)])


def _retry(raw: dict[str, Any]) -> Event:
    return events.retry(
        attempt=raw_json.whole(raw.get("attempt")) or None,  # they count from 1
        most=raw_json.whole(raw.get("maxAttempts")) or None,
        delay_ms=raw_json.whole(raw.get("delayMs")),
        message=raw_json.sentence(raw.get("errorMessage")),
    )


def _by_its_ends(line: bytes) -> Oversized:
    return Oversized(line[:END_KEPT], line[-END_KEPT:], len(line), sum_of(memoryview(line)[END_KEPT:]))


def _snapshot(line: bytes) -> Reading:
    """Return whether a streaming snapshot shows work: text and tool calls do, thinking alone does not."""
    return NOTHING if b'"type":"thinking_' in line[:_SNAPSHOT_HEAD] else ACTIVE


def _usage(raw: Any) -> dict[str, Any]:
    figures = raw_json.table(raw)
    cost = figures.get("cost")
    total = cost.get("total") if isinstance(cost, dict) else cost
    counts = {key: raw_json.count(figures.get(key)) for key in events.USAGE_KEYS}
    return {**counts, "cost": raw_json.amount(total)}


_MOST = 1000


class Nameless:
    """The calls without an id that were reported and have not yet begun, and those without a result."""

    __slots__ = ("_told", "_unanswered")

    def __init__(self) -> None:
        self._told: list[tuple[str, Any]] = []
        self._unanswered: list[str] = []

    def answer_begins(self) -> None:
        """Forget the calls of the former answer that never began: a new answer names its own."""
        self._told.clear()

    def tell(self, tool: str, args: Any) -> None:
        """Note a call that an answer named."""
        self._told.append((tool, args))
        self.begin(tool)

    def begin(self, tool: str) -> None:
        """Note a call that waits for its result."""
        self._unanswered.append(tool)
        del self._unanswered[:-_MOST]

    def was_told(self, tool: str, args: Any) -> bool:
        """Say whether a call that begins was already reported; each report counts once."""
        if not self._told:
            return False
        exact = [number for number, call in enumerate(self._told) if call == (tool, args)]
        alike = exact or [number for number, call in enumerate(self._told) if call[0] == tool]
        if alike:
            del self._told[alike[0]]
        return bool(alike)

    def waits(self, tool: str | None) -> bool:
        """Say whether a call of this tool waits for its result; any call, if the tool is unknown."""
        return bool(self._unanswered) if tool is None else tool in self._unanswered

    def end(self, tool: str | None) -> None:
        """Note a result: it belongs to the oldest call that it can belong to."""
        if self.waits(tool):
            del self._unanswered[0 if tool is None else self._unanswered.index(tool)]
