"""Words for what a child is doing: a phrase for each event, and the transcript made of the phrases. Pure.

A phrase says only what its event says: a call without a usable argument becomes `Running TOOL`. The
transcript is plain text without escape sequences from the child. `render` shows the phrases in the window.
"""

from __future__ import annotations

from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.records import Plan, Verdict
    from tmuxagents.runs.events import Event

DEFAULT_WIDTH = 160
_REMEMBERED = 1000  # unanswered calls; a child that never answers must not fill our memory
_KEPT = 4096  # characters of a call's argument: no path is longer
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


# What other agents call the tools of the table above.
_NAMES = {
    **dict.fromkeys(("Bash", "shell", "run_shell_command", "execute_command"), "bash"),
    **dict.fromkeys(("Read", "read_file", "view"), "read"),
    **dict.fromkeys(("Write", "write_file", "create"), "write"),
    **dict.fromkeys(("Edit", "edit_file", "replace", "str_replace"), "edit"),
    **dict.fromkeys(("Grep", "grep_search", "search_file_content"), "grep"),
    **dict.fromkeys(("Glob", "glob"), "find"),
    **dict.fromkeys(("LS", "list", "list_directory"), "ls"),
}
_PATHS = ("filePath", "file_path", "absolute_path", "dir_path")


class OpenCalls:
    """What is known of the calls that have no result yet, the oldest first; of many, the latest `most`."""

    __slots__ = ("_calls", "_most", "_number")

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._calls: dict[int, tuple[str | None, str, Any]] = {}
        self._number = 0

    @property
    def all(self) -> list[tuple[str | None, str, Any]]:
        """Return the calls: id, tool, and what is kept of each."""
        return list(self._calls.values())

    def take_up(self, calls: list[tuple[str | None, str, Any]]) -> None:
        """Continue with the open calls of another object."""
        self._calls = dict(enumerate(calls, 1))
        self._number = len(calls)

    def open(self, call_id: str | None, tool: str, kept: Any) -> None:
        """Keep a call."""
        self._number += 1
        self._calls[self._number] = call_id, tool, kept
        if len(self._calls) > self._most:
            del self._calls[next(iter(self._calls))]

    def answered(self, call_id: str | None, tool: str) -> tuple[str, Any] | None:
        """Forget the call to which a result belongs; return its tool and what is kept of it."""
        for number in reversed(self._calls):
            known_id, known_tool, kept = self._calls[number]
            if known_id == call_id if call_id is not None else known_tool == tool:
                del self._calls[number]
                return known_tool, kept
        return None


class Narrator:
    """Turns the events of one run into phrases; remembers calls so that results can name them."""

    def __init__(self, width: int = DEFAULT_WIDTH) -> None:
        self._width = width
        self.calls = OpenCalls()

    def phrase(self, event: Event) -> str | None:
        """Return the phrase of an event, None if there is nothing to report."""
        fields = event.fields
        if event.type == "assistant_text":
            text = fields.get("text")
            return text if isinstance(text, str) and text.strip() else None
        if event.type not in ("tool_call", "tool_result"):
            return None
        call_id, named = named_call(fields), named_tool(fields)
        if event.type == "tool_call":
            phrase, argument = phrase_of_call(named, fields.get("args"), self._width)
            self.calls.open(call_id, named, argument and argument[:_KEPT])
            return phrase
        failed = fields.get("isError") is True
        tool, argument = self.calls.answered(call_id, named) or (named, None)
        words = WORDS.get(tool)
        if words is None or argument is None:
            return f"{tool} failed" if failed else f"{tool} finished"
        return (words.failure if failed else words.success).format(argument)


def named_tool(fields: Mapping[str, Any]) -> str:
    """Return the tool that an event names, by the name in our table if it is there."""
    name = _word(fields.get("toolName")) or "tool"
    return _NAMES.get(name, name)


def named_call(fields: Mapping[str, Any]) -> str | None:
    """Return the id of the call that an event is about, if it has one."""
    return _word(fields.get("callId"))


def phrase_of_call(tool: str, args: Any, width: int = DEFAULT_WIDTH) -> tuple[str, str | None]:
    """Return the phrase of a call, and what the call is about."""
    words = WORDS.get(tool)
    if words is None or not isinstance(args, dict):
        return f"Running {tool}", None
    value = args.get(words.argument)
    if value is None and words.argument == "path":
        value = next((args[key] for key in _PATHS if key in args), None)
    if not isinstance(value, str) or not value.strip():
        return f"Running {tool}", None
    if words.argument == "command":
        first = next(line for line in value.split("\n") if line.strip()).strip()
        value = first if len(first) <= width else first[: width - 3] + "..."
    return words.call.format(value), value


def _word(value: Any) -> str | None:
    return value[:_KEPT] if isinstance(value, str) and value else None


TASK_WIDTH = 120
TITLE_WIDTH = 60
_SAID = {
    "human_input": "Typed",
    "message_sent": "Sent",
    "needs_input": "Waits for a person",
    "denied": "Denied",
}
_PLAIN_WIDTH = 2000  # of a line of output that is no event


def header(plan: Plan, started: str) -> list[str]:
    """Return the head of a transcript; a line only where there is a value. `started` is an ISO time."""
    preset, source = plan.preset, plan.preset_source
    values = (
        ("Run", plan.run_id),
        ("Task", safe.cut(safe.line(plan.task.strip().split("\n", 1)[0]), TASK_WIDTH)),
        ("Preset", f"{preset} ({source})" if preset and source else preset),
        ("Model", plan.resolved_model),
        ("Cwd", plan.cwd),
        ("Started", started),
    )
    return [*(f"{name}: {safe.line(str(value))}" for name, value in values if value), ""]


def entry(event: Event, phrase: str | None) -> str | None:  # noqa: PLR0911  (a case for each type of event)
    """Return the transcript's entry of one event, None if it has none. `phrase` is the narrator's.

    The entry may hold newlines, but nothing else that a terminal obeys.
    """
    fields = event.fields
    if event.type == "assistant_text":
        return safe.text(phrase or "").strip("\n") or None
    if event.type in ("tool_call", "tool_result"):
        return safe.line(phrase or "")
    if event.type == "stderr":
        return f"[stderr]: {safe.line(str(fields.get('text')))}"
    if event.type == "retry":
        tries = f"{fields.get('attempt')}/{fields.get('maxAttempts')}"
        return safe.line(f"Retry {tries}: {fields.get('errorMessage') or 'no message'}")
    if event.type == "left_behind":
        return safe.line(f"Left running: {fields.get('comm')} ({fields.get('pid')}): {fields.get('why')}")
    if event.type not in _SAID:
        return None
    words = fields.get("text") or fields.get("kind") or fields.get("toolName")
    if event.type == "denied":
        words = f"{words}: {fields.get('why')}"
    return f"{_SAID[event.type]}: {safe.text(str(words)).strip()}"


def plain_output(text: str) -> str | None:
    """Return the entry for a line of the child's stdout that is no event."""
    return safe.cut(safe.text(text).rstrip(), _PLAIN_WIDTH) or None


def closing(verdict: Verdict, duration_s: float) -> str:
    """Return the last line: how the run ended, and after how long."""
    lasted = f"after {int(duration_s)}s"
    if verdict.status == "completed":
        return f"Completed {lasted}"
    if verdict.status == "aborted":
        return f"Aborted ({verdict.reason}) {lasted}"
    message = safe.line(verdict.error_message or "")
    return f"Failed ({verdict.reason}) {lasted}" + (f": {message}" if message else "")


def title(activity: str) -> bytes:
    """Return the sequence that makes a phrase the pane's title. `#` would be a tmux style."""
    words = safe.line(activity).replace("#", "")
    if words.isascii() or len(words) * 2 <= TITLE_WIDTH:
        words = safe.cut(words, TITLE_WIDTH)
    else:
        from tmuxagents.text import width  # noqa: PLC0415  (most titles are ASCII)

        words = width.fit(words, TITLE_WIDTH, "...")
    return f"\x1b]2;{words}\x07".encode()
