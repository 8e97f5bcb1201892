"""What a child is doing, in words: one phrase an event, the same live and in the transcript.

No words beyond what the event holds: a call without its argument is named by its tool alone.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.core.events import Event

DEFAULT_WIDTH = 160
_REMEMBERED = 1000  # unanswered calls; a child that never answers must not fill our memory
_KEPT = 4096  # letters of what a call is about: no path is longer
Call = tuple[str | None, str, str | None]  # callId, tool, argument


class Words:
    """The phrases for one tool; `{}` is its argument."""

    __slots__ = ("argument", "call", "failure", "success")

    def __init__(self, argument: str, call: str, success: str, failure: str) -> None:
        self.argument = argument
        self.call = call
        self.success = success
        self.failure = failure


WORDS: dict[str, Words] = {
    "read": Words("path", "Reading {}", "Finished reading {}", "Read failed: {}"),
    "grep": Words("pattern", "Searching code for {}", "Search finished", "Search failed"),
    "find": Words("pattern", "Scanning for {}", "Scan finished", "Scan failed"),
    "ls": Words("path", "Listing {}", "Finished listing {}", "Listing failed: {}"),
    "edit": Words("path", "Editing {}", "Finished editing {}", "Edit failed: {}"),
    "write": Words("path", "Writing {}", "Finished writing {}", "Write failed: {}"),
    "bash": Words("command", "{}", "Finished: {}", "Failed: {}"),
}


class Narrator:
    """Turns the events of one run into phrases; remembers calls so that results can name them."""

    def __init__(self, width: int = DEFAULT_WIDTH) -> None:
        self._width = width
        self._calls: dict[int, Call] = {}
        self._number = 0

    @property
    def open_calls(self) -> list[Call]:
        """Return the calls that have no result yet, oldest first."""
        return list(self._calls.values())

    def take_up(self, open_calls: list[Call]) -> None:
        """Go on where another one was."""
        self._calls = dict(enumerate(open_calls, 1))
        self._number = len(open_calls)

    def phrase(self, event: Event) -> str | None:
        """Return the phrase of an event, None where there is nothing to say."""
        if event.type == "assistant_text":
            text = event.fields.get("text")
            return text if isinstance(text, str) and text.strip() else None
        if event.type == "tool_call":
            return self._call(event.fields)
        if event.type == "tool_result":
            return self._result(event.fields)
        return None

    def _call(self, fields: Mapping[str, Any]) -> str:
        tool = _word(fields.get("toolName")) or "tool"
        words = WORDS.get(tool)
        argument = self._argument(words, fields.get("args")) if words else None
        self._number += 1
        kept = argument and argument[:_KEPT]
        self._calls[self._number] = (_word(fields.get("callId")), tool, kept)
        if len(self._calls) > _REMEMBERED:
            del self._calls[next(iter(self._calls))]
        if words is None or argument is None:
            return f"Running {tool}"
        return words.call.format(argument)

    def _result(self, fields: Mapping[str, Any]) -> str:
        failed = fields.get("isError") is True
        tool, argument = self._answered(_word(fields.get("callId")), _word(fields.get("toolName")) or "tool")
        words = WORDS.get(tool)
        if words is None or argument is None:
            return f"{tool} failed" if failed else f"{tool} finished"
        return (words.failure if failed else words.success).format(argument)

    def _answered(self, call_id: str | None, tool: str) -> tuple[str, str | None]:
        """Return tool and argument of the call that a result belongs to, and forget it."""
        for number in reversed(self._calls):
            known_id, known_tool, argument = self._calls[number]
            if known_id == call_id if call_id is not None else known_tool == tool:
                del self._calls[number]
                return known_tool, argument
        return tool, None

    def _argument(self, words: Words, args: Any) -> str | None:
        if not isinstance(args, dict):
            return None
        value = args.get(words.argument)
        if value is None and words.argument == "path":
            value = args.get("filePath", args.get("file_path"))
        if not isinstance(value, str) or not value.strip():
            return None
        if words.argument == "command":
            first = next(line for line in value.split("\n") if line.strip()).strip()
            return first if len(first) <= self._width else first[: self._width - 3] + "..."
        return value


def _word(value: Any) -> str | None:
    return value[:_KEPT] if isinstance(value, str) and value else None
