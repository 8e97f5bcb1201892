"""The pi coding agent: its command line, and its JSON mode as normalised events.

Its exit status says nothing about success (0 after a refused key, a cut answer, a missing task): what counts
is `agent_settled` and the stop reason of the last answer. `message_update` and `tool_execution_update` are
most of the volume and carry no event: they are recognised by their first bytes and not parsed.
"""

from __future__ import annotations

import json

from tmuxagents.agents.base import ACTIVE, NOTHING, Oversized, Reading
from tmuxagents.core import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.core.events import Event

SNAPSHOTS = (
    b'{"type":"message_update"',
    b'{"type":"tool_execution_update"',
    b'{"type": "message_update"',
    b'{"type": "tool_execution_update"',
)
_SNAPSHOT_HEAD = 1000  # bytes in which a snapshot says of what it is
_WORD_LIMIT = 256
_MESSAGE_LIMIT = 4096
_PENDING_CALLS = 1000  # calls whose end is awaited; bounded, as a child may never end them


class Pi:
    """The adapter."""

    name = "pi"
    program = "pi"
    program_variable = "TMUXAGENTS_PI"
    snapshots = SNAPSHOTS

    def arguments(self, meta: Mapping[str, Any], run_dir: str) -> list[str]:
        """Return pi's flags for a batch run. The task goes to stdin: it may be long, or start with - or @."""

        def inside(path: str) -> str:
            return path if path.startswith("/") else f"{run_dir}/{path}"

        line = ["--mode", "json", "--session", inside(meta["sessionPath"])]
        if meta["resolvedModel"]:
            line += ["--model", meta["resolvedModel"]]
        if meta["systemPromptPath"]:
            flag = "--system-prompt" if meta["presetKind"] == "profile" else "--append-system-prompt"
            line += [flag, inside(meta["systemPromptPath"])]
        if meta["appendSystemPromptPath"]:
            line += ["--append-system-prompt", inside(meta["appendSystemPromptPath"])]
        if meta["tools"]:  # none named: no restriction
            line += ["--tools", ",".join(meta["tools"])]
        return line

    def environment(self, agent_dir: str) -> dict[str, str]:
        """Return pi's own variables."""
        return {"PI_SUBAGENTS_CHILD": "1", "PI_CODING_AGENT_DIR": agent_dir}

    def reader(self) -> PiReader:
        """Return a reader for one child."""
        return PiReader()


AGENT = Pi()


class PiReader:
    """Reads the JSON lines of one pi."""

    def __init__(self) -> None:
        self.settled = False
        self.model: str | None = None
        self.error_message: str | None = None
        self._stop_reason: str | None = None
        self._began: dict[str, float | None] = {}  # callId of an open call -> when it began to run
        self._answered: dict[str, None] = {}  # callIds whose result has been told, oldest first

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line; a line that is no JSON object is plain text, an unknown event is nothing."""
        if line.startswith(SNAPSHOTS):
            return _snapshot(line)
        if not line.strip():
            return NOTHING
        raw = _parse(line)
        if raw is None:
            return Reading(plain=line.decode("utf-8", "replace"))
        kind = raw.get("type")
        take = _TAKE.get(kind) if isinstance(kind, str) else None
        return take(self, raw, now) if take is not None else NOTHING

    def feed_oversized(self, line: Oversized, now: float) -> Reading:
        """Read the two ends of a line: enough for the verdict, not for its whole text."""
        if line.head.startswith(SNAPSHOTS):
            return _snapshot(line.head)
        kind = _word_after(line.head, "type")
        if kind in ("tool_execution_start", "tool_execution_end"):
            return self._oversized_tool(kind, line, now)
        if kind == "agent_end":
            retry = _word_after(line.tail, "willRetry", last=True)
            return self._agent_end({} if retry is None else {"willRetry": retry == "true"}, now)
        if kind == "turn_end":
            return self._turn_end({}, now)
        if kind == "message_end" and _word_after(line.head, "role") == "assistant":
            message = {
                "role": "assistant",
                "content": [{"type": "text", "text": f"(an answer of {line.size} bytes: see stdout.log)"}],
                "stopReason": _word_after(line.tail, "stopReason", last=True),
            }
            return self._message_end({"message": message}, now)
        return NOTHING

    def _oversized_tool(self, kind: str, line: Oversized, now: float) -> Reading:
        call_id, tool = _word_after(line.head, "toolCallId"), _word_after(line.head, "toolName")
        raw: dict[str, Any] = {"toolCallId": call_id, "toolName": tool}
        if kind == "tool_execution_start":
            # Its size stands for what is left out: two calls that differ must not look like a loop.
            args = {"path": _word_after(line.head, "path"), "leftOut": line.size}
            return self._tool_started({**raw, "args": args}, now)
        failed = _word_after(line.tail, "isError", last=True) == "true"  # pi's own is the last
        content = [{"type": "text", "text": f"({line.size} bytes)"}]
        return self._tool_ended({**raw, "isError": failed, "result": {"content": content}}, now)

    # One method for each line that tells something. All take (raw, now), as the table below calls them.

    def _began_again(self, _raw: dict[str, Any], _now: float) -> Reading:
        self.settled = False
        return NOTHING

    def _message_end(self, raw: dict[str, Any], now: float) -> Reading:
        message = raw.get("message")
        if not isinstance(message, dict):
            return NOTHING
        if message.get("role") == "toolResult":
            return self._tool_ended({**message, "result": message}, now)
        if message.get("role") != "assistant":
            return NOTHING
        self.settled = False
        self._stop_reason = _word(message.get("stopReason"))
        self.error_message = _message(message.get("errorMessage"))
        provider, model = _text(message.get("provider")), _text(message.get("model"))
        if model:
            self.model = _word(f"{provider}/{model}" if provider else model)
        told = list(self._contents(message.get("content")))
        told.append(events.usage(_usage(message.get("usage"))))
        return Reading(told, active=any(event.type in ("assistant_text", "tool_call") for event in told))

    def _contents(self, content: Any) -> list[Event]:
        blocks = _blocks(content)
        thought = "\n".join(_texts(blocks, "thinking"))
        answer = "\n".join(_texts(blocks, "text"))
        told = [events.thinking(thought)] if thought.strip() else []
        if answer.strip():
            told.append(events.assistant_text(answer))
        for block in blocks:
            if block.get("type") == "toolCall":
                told += self._call(block.get("id"), block.get("name"), block.get("arguments"), None)
        return told

    def _call(self, call_id: Any, tool: Any, args: Any, now: float | None) -> list[Event]:
        """Tell a call once: it is named in the answer, and again when it begins to run."""
        known = _text(call_id)
        if known is not None:
            first = known not in self._began or known in self._answered  # ids come again in later turns
            self._answered.pop(known, None)
            self._began[known] = now
            if len(self._began) > _PENDING_CALLS:
                del self._began[next(iter(self._began))]
            if not first:
                return []
        return [events.tool_call(known, _text(tool) or "tool", args if isinstance(args, dict) else {})]

    def _tool_started(self, raw: dict[str, Any], now: float) -> Reading:
        self.settled = False
        return Reading(
            self._call(raw.get("toolCallId"), raw.get("toolName"), raw.get("args"), now), active=True
        )

    def _tool_ended(self, raw: dict[str, Any], now: float) -> Reading:
        """Tell a result once: it comes as the tool's end and again as a message."""
        call_id = _text(raw.get("toolCallId"))
        began = None
        if call_id is not None:
            if call_id in self._answered:
                return ACTIVE
            self._answered[call_id] = None
            if len(self._answered) > _PENDING_CALLS:
                del self._answered[next(iter(self._answered))]
            began = self._began.get(call_id)
        lasted = raw.get("durationMs")
        if type(lasted) is not int:
            lasted = None if began is None else round((now - began) * 1000)
        result = raw.get("result")
        content = _blocks(result.get("content") if isinstance(result, dict) else None)
        told = events.tool_result(
            call_id,
            _text(raw.get("toolName")) or "tool",
            is_error=raw.get("isError") is True,
            text="\n".join(_texts(content, "text")),
            duration_ms=lasted,
        )
        return Reading([told], active=True)

    def _turn_end(self, raw: dict[str, Any], _now: float) -> Reading:
        message = raw.get("message")
        if isinstance(message, dict) and _word(message.get("stopReason")):
            self._stop_reason = _word(message["stopReason"])
        return Reading([events.turn_end(self._stop_reason)])

    def _retry(self, raw: dict[str, Any], _now: float) -> Reading:
        self.settled = False
        told = events.retry(
            attempt=_int(raw.get("attempt")),
            most=_int(raw.get("maxAttempts")),
            delay_ms=_int(raw.get("delayMs")),
            message=_message(raw.get("errorMessage")),
        )
        return Reading([told])

    def _agent_end(self, raw: dict[str, Any], now: float) -> Reading:
        # A pi that does not say whether it will retry is too old for agent_settled: this is its last word,
        # unless a retry follows, which takes it back.
        return NOTHING if "willRetry" in raw else self._settle({}, now)

    def _settle(self, raw: dict[str, Any], _now: float) -> Reading:
        self.settled = True
        return Reading([events.settled(aborted=raw.get("aborted") is True)])


_TAKE = {
    "agent_start": PiReader._began_again,  # noqa: SLF001  (the table belongs to the class)
    "turn_start": PiReader._began_again,  # noqa: SLF001
    "message_end": PiReader._message_end,  # noqa: SLF001
    "tool_execution_start": PiReader._tool_started,  # noqa: SLF001
    "tool_execution_end": PiReader._tool_ended,  # noqa: SLF001
    "turn_end": PiReader._turn_end,  # noqa: SLF001
    "auto_retry_start": PiReader._retry,  # noqa: SLF001
    "agent_end": PiReader._agent_end,  # noqa: SLF001
    "agent_settled": PiReader._settle,  # noqa: SLF001
}


def _snapshot(line: bytes) -> Reading:
    """Say whether a streaming snapshot shows work: text and tool calls do, thinking alone does not."""
    return NOTHING if b'"type":"thinking_' in line[:_SNAPSHOT_HEAD] else ACTIVE


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line, None where it is none (also too deep, or figures too long)."""
    try:
        raw = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return raw if isinstance(raw, dict) else None


def _usage(raw: Any) -> dict[str, Any]:
    figures = raw if isinstance(raw, dict) else {}
    cost = figures.get("cost")
    total = cost.get("total") if isinstance(cost, dict) else cost
    flat = {**figures, "cost": total}
    return {key: flat[key] if type(flat.get(key)) in (int, float) else 0 for key in events.USAGE_KEYS}


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _texts(blocks: list[dict[str, Any]], kind: str) -> list[str]:
    return [block[kind] for block in blocks if block.get("type") == kind and isinstance(block.get(kind), str)]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _word(value: Any) -> str | None:
    """Return a name; nothing that a child makes up may make our records unreadably long."""
    return value[:_WORD_LIMIT] if isinstance(value, str) else None


def _message(value: Any) -> str | None:
    return value[:_MESSAGE_LIMIT] if isinstance(value, str) else None


def _int(value: Any) -> int | None:
    return value if type(value) is int else None


def _word_after(text: bytes, key: str, *, last: bool = False) -> str | None:
    """Return the plain value of a key in a piece of JSON that cannot be parsed as a whole."""
    mark = f'"{key}":'.encode()
    at = text.rfind(mark) if last else text.find(mark)
    if at < 0:
        return None
    value = text[at + len(mark) : at + len(mark) + 200].lstrip()
    if value.startswith(b'"'):
        return value[1:].split(b'"', 1)[0].decode("utf-8", "replace")
    return value.split(b",", 1)[0].split(b"}", 1)[0].strip().decode("ascii", "replace")
