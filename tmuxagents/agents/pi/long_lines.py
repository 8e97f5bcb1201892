"""Make a short line from the two ends of a line of pi that is too long.

It has everything that the verdict needs, but not the whole text.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import sum_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tmuxagents.agents.base import Oversized


def short(kind: str | None, line: Oversized) -> dict[str, Any] | None:
    """Return the short line for a line of this kind; None if it has no meaning for us."""
    make = _SHORT.get(kind or "")
    return None if make is None else make(line)


def size_of(line: Oversized) -> str:
    """Return the text in place of the part that is left out."""
    return f"({line.size} bytes)"


def _message_end(line: Oversized) -> dict[str, Any] | None:
    if raw_json.word_after(line.head, "role") != "assistant":
        return None
    reason = raw_json.word_after(line.tail, "stopReason", last=True)
    words = f"(an answer of {line.size} bytes; stdout.log has its two ends)"
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": words}] if reason != "toolUse" else [],
        "stopReason": reason,
        "errorMessage": raw_json.word_after(line.tail, "errorMessage", last=True),
        "provider": raw_json.word_after(line.tail, "provider", last=True),
        "model": raw_json.word_after(line.tail, "model", last=True),
        "usage": raw_json.object_after(line.tail, "usage"),
    }
    return {"message": message}


def _tool_start(line: Oversized) -> dict[str, Any]:
    # Size and checksum replace the missing part, so that two different calls do not look like a loop.
    begun = line.head.partition(b'"args"')[2]  # the call's id comes before that
    left_out = {"leftOut": line.size, "sum": f"{sum_of(begun, line.rest_sum):08x}"}
    args = {"path": raw_json.word_after(line.head, "path"), **left_out}
    return {**_call(line), "args": args}


def _tool_end(line: Oversized) -> dict[str, Any]:
    failed = raw_json.word_after(line.tail, "isError", last=True) == "true"  # pi's own is the last
    content = [{"type": "text", "text": size_of(line)}]
    return {**_call(line), "isError": failed, "result": {"content": content}}


def _agent_end(line: Oversized) -> dict[str, Any]:
    before = line.head.partition(b'"messages"')[0]
    retry = raw_json.word_after(line.tail, "willRetry", last=True) or raw_json.word_after(before, "willRetry")
    return {} if retry is None else {"willRetry": retry == "true"}


def _call(line: Oversized) -> dict[str, Any]:
    return {
        "toolCallId": raw_json.word_after(line.head, "toolCallId"),
        "toolName": raw_json.word_after(line.head, "toolName"),
    }


_SHORT: dict[str, Callable[[Oversized], dict[str, Any] | None]] = {
    "message_end": _message_end,
    "tool_execution_start": _tool_start,
    "tool_execution_end": _tool_end,
    "turn_end": lambda _line: {},
    "agent_end": _agent_end,
}
