"""Lines of Claude Code and Qwen Code, and the events and the verdict that follow from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tmuxagents.records import Exit, Verdict
from tmuxagents.runs import endings, events, lifecycle

if TYPE_CHECKING:
    from tmuxagents.agents.envelope import EnvelopeReader

INIT = {"type": "system", "subtype": "init", "session_id": "s1", "model": "sonnet", "tools": ["Read"]}
RESULT: dict[str, Any] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "terminal_reason": "completed",
    "stop_reason": "end_turn",
    "result": "Done.",
    "session_id": "s1",
    "total_cost_usd": 0.5,
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 3, "output_tokens": 2},
    "permission_denials": [],
}


def says(*blocks: dict[str, Any], id: str = "m1", **more: Any) -> dict[str, Any]:  # noqa: A002  (its own word)
    """Return a line of the model's."""
    message = {"id": id, "model": "sonnet", "content": list(blocks)}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, **more}


def text(words: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": words}


def tool(call: str = "c1", name: str = "Bash", **given: Any) -> dict[str, Any]:
    """Return a call."""
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def ends(call: str = "c1", words: Any = "out", **more: Any) -> dict[str, Any]:
    """Return the end of a call."""
    block = {"type": "tool_result", "tool_use_id": call, "content": words}
    return {"type": "user", "message": {"role": "user", "content": [block]}, **more}


class Played:
    """Lines that were read, and the events and the state that follow from them."""

    def __init__(self, *lines: dict[str, Any] | str, reader: EnvelopeReader) -> None:
        self.reader = reader
        self.state = lifecycle.RunState()
        self.told: list[dict[str, Any]] = []
        self._take([events.run_started({})])
        for one in lines:
            line = one if isinstance(one, str) else json.dumps(one, separators=(",", ":"))
            self._take(self.reader.feed(line.encode(), 1.0).events)

    def _take(self, told: Any) -> None:
        for event in told:
            lifecycle.apply(self.state, event)
            self.told.append({"type": event.type, **event.fields})

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the fields of the events of one type."""
        return [one for one in self.told if one["type"] == kind]

    def verdict(self, code: int | None = 0) -> Verdict:
        """Return how the run ended."""
        self._take(self.reader.ended(code))
        self.state.error_message = self.reader.error_message
        return endings.verdict(
            self.state, Exit(code) if code is not None else Exit(None, "SIGKILL"), cause=None, lingered=False
        )
