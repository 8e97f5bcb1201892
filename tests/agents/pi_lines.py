"""Lines of pi, made or recorded, and the events and the state that follow from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmuxagents.agents.base import LINE_LIMIT, LineSplitter, Oversized
from tmuxagents.agents.pi.command import AGENT
from tmuxagents.records import Exit
from tmuxagents.runs import endings, events, lifecycle
from tmuxagents.runs.lifecycle import RunState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.agents.base import Reading
    from tmuxagents.runs.events import Event

SAMPLES = Path(__file__).parents[1] / "data" / "pi"
LETTERS = {
    "thinking": "k",
    "assistant_text": "t",
    "tool_call": "c",
    "usage": "u",
    "tool_result": "r",
    "turn_end": "e",
    "retry": "y",
    "settled": "S",
    "resumed": "b",
}
HELLO = "Hello from the mock model. All good."
DONE = ("completed", "done", 0, None, None)


class Played:
    """The events of a stream, and the state that the wrapper would hold."""

    def __init__(self) -> None:
        self.reader = AGENT.reader()
        self.state = RunState()
        self.events: list[Event] = []
        self.plain: list[str] = []
        lifecycle.apply(self.state, events.run_started({}))

    def take(self, line: bytes | Oversized, now: float = 0.0) -> Reading:
        reading = (
            self.reader.feed_oversized(line, now)
            if isinstance(line, Oversized)
            else self.reader.feed(line, now)
        )
        self.plain += [reading.plain] if reading.plain is not None else []
        for event in reading.events:
            self.events.append(event)
            lifecycle.apply(self.state, event)
        self.state.model, self.state.error_message = self.reader.model, self.reader.error_message
        assert self.state.settled is self.reader.settled  # else the log would tell another ending than we saw
        return reading

    @property
    def letters(self) -> str:
        return "".join(LETTERS[event.type] for event in self.events)

    def verdict(self, code: int = 0, stderr: str = "") -> tuple[object, ...]:
        """Return the verdict if pi exits with this code now."""
        for line in stderr.splitlines():
            lifecycle.apply(self.state, events.stderr(line))
        ending = Exit(code) if code >= 0 else Exit(None, {-9: "SIGKILL"}[code])
        how = endings.verdict(self.state, ending, cause=None, lingered=False)
        return how.status, how.reason, how.exit_code, how.signal, how.error_message


def play(lines: Iterable[bytes | Oversized]) -> Played:
    played = Played()
    for line in lines:
        played.take(line)
    return played


def line(kind: str, **fields: Any) -> bytes:
    """Return a line as pi writes it: compact, and in UTF-8."""
    return json.dumps({"type": kind, **fields}, separators=(",", ":"), ensure_ascii=False).encode()


def stdout(name: str) -> bytes:
    """Return pi's output; of a recorded conversation, only pi's lines."""
    raw = (SAMPLES / f"{name}.jsonl").read_bytes()
    if not name.startswith("rpc_"):
        return raw
    spoken = (json.loads(record) for record in raw.splitlines())
    said = [json.dumps(record["rec"], separators=(",", ":")) for record in spoken if record["dir"] == "<"]
    return "\n".join(said).encode() + b"\n"


NAMES = sorted(path.stem for path in SAMPLES.glob("*.jsonl"))
STREAMS = {name: stdout(name) for name in NAMES}

# --- lines ---

# In pi's own order of keys: of a long line only the two ends are read.
ASSISTANT: dict[str, Any] = {
    "role": "assistant",
    "content": [],
    "provider": "mock",
    "model": "m",
    "usage": {},
    "stopReason": "stop",
}


def answer(*content: Any, **fields: Any) -> bytes:
    return line("message_end", message={**ASSISTANT, "content": list(content), **fields})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: Any, tool: Any = "read", args: Any = None) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": tool, "arguments": {} if args is None else args}


def began(call_id: Any, tool: Any = "read", args: Any = None) -> bytes:
    return line("tool_execution_start", toolCallId=call_id, toolName=tool, args={} if args is None else args)


def ended(call_id: Any, tool: Any = "read", **fields: Any) -> bytes:
    result = {"content": [text("x")]}
    return line(
        "tool_execution_end",
        toolCallId=call_id,
        toolName=tool,
        **{"result": result, "isError": False, **fields},
    )


def result_message(call_id: Any, tool: Any = "read", **fields: Any) -> bytes:
    message = {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": tool,
        "content": [text("y")],
        **fields,
    }
    return line("message_end", message=message)


TURN, SETTLED = line("turn_end", message=ASSISTANT, toolResults=[]), line("agent_settled", aborted=False)
SAYS = [answer(text("Found.")), TURN]
RETRIES = line("auto_retry_start", attempt=1, maxAttempts=3, delayMs=2000, errorMessage="500: no")

# --- lines that are too long to keep ---

LONG = "x" * (LINE_LIMIT + 1)


def cut(raw: bytes) -> Oversized:
    (found,) = LineSplitter().feed(raw + b"\n")
    assert isinstance(found, Oversized)
    return found
