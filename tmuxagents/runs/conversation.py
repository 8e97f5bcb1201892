"""A session's conversation, for the tools: the last answer, the transcript, the replay for a resumed run.

A message is one prompt, one answer or one result of a tool. `RunMessages` holds the messages of one run.

Pure.
"""

from __future__ import annotations

import json
from collections import deque
from typing import NamedTuple

from tmuxagents import records
from tmuxagents.runs.events import text_of
from tmuxagents.runs.words import status_word
from tmuxagents.text import figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from tmuxagents.runs.events import Event

USER, ASSISTANT, RESULT = "user", "assistant", "toolResult"
_SPEAKERS = {USER: "User", ASSISTANT: "Assistant", RESULT: "Tool Result"}
MOST_MESSAGES = 500
NO_TEXT = "(no text output from sub-agent)"
NO_MESSAGES = "(no messages in session)"
_ARGS, _RESULT = 120, 500
_MOST_TEXT = 8 * 1024 * 1024  # characters of a run besides its prompt; no model reads more
_MOST_CALLS, _NAME = 1000, 256  # calls in one answer, characters of a tool's name
_GAP, _RULE = "\n\n", "\n---\n"


class Message(NamedTuple):
    """One message: its role, its text, and an answer's calls as (tool, shortened arguments)."""

    role: str
    text: str = ""
    calls: Sequence[tuple[str, str]] = ()


def arguments(args: Any) -> str:
    """Return a call's arguments as JSON, cut to the length that a message shows."""
    return json.dumps({} if args is None else args, ensure_ascii=False, separators=(",", ":"))[:_ARGS]


class RunMessages(NamedTuple):
    """What one run of a session said. `status` is our own word, not the tools' word."""

    status: str
    messages: Sequence[Message]
    error_message: str | None = None


# --- messages out of events -------------------------------------------------------------------------------


def messages(prompt: str, log: Iterable[Event]) -> list[Message]:
    """Return the latest messages of a run. `prompt` is its prompt without a transcript."""
    fold = _Fold(prompt)
    for event in log:
        fold.take(event)
    return fold.done()


class _Fold:
    """Puts answers together: their text and calls are separate events, and `usage` ends an answer."""

    def __init__(self, prompt: str) -> None:
        self._messages: deque[Message] = deque()
        self._most_text = _MOST_TEXT + len(prompt)
        self._size = 0
        self._text = ""
        self._calls: list[tuple[str, str]] = []
        self._is_counted = False  # a result has ended an answer whose usage comes later
        self._add(Message(USER, prompt))

    def take(self, event: Event) -> None:
        fields = event.fields
        text = text_of(fields.get("text"))
        if event.type == "tool_call":
            if len(self._calls) < _MOST_CALLS:
                tool = text_of(fields.get("toolName"))[:_NAME] or "tool"
                self._calls.append((tool, arguments(fields.get("args"))))
        elif event.type == "assistant_text":
            self._close()
            self._text = text
        elif event.type == "usage":
            self._close(is_empty_one_kept=not self._is_counted)
            self._is_counted = False
        elif event.type == "tool_result":
            self._is_counted |= bool(self._text or self._calls)
            self._close()
            self._add(Message(RESULT, text))
        elif event.type in ("human_input", "message_sent") and text:
            self._close()
            self._add(Message(USER, text))

    def done(self) -> list[Message]:
        """Return all messages; an unfinished answer is one, too."""
        self._close()
        return list(self._messages)

    def _add(self, message: Message) -> None:
        """Add a message; drop the oldest if there are too many, or if they are too long together."""
        self._messages.append(message)
        self._size += _size(message)
        kept = self._messages
        while len(kept) > 1 and (len(kept) > MOST_MESSAGES or self._size > self._most_text):
            self._size -= _size(kept.popleft())

    def _close(self, *, is_empty_one_kept: bool = False) -> None:
        if self._text or self._calls or is_empty_one_kept:
            self._add(Message(ASSISTANT, self._text, self._calls))
            self._text, self._calls = "", []


# --- the answer -------------------------------------------------------------------------------------------


def output(latest: RunMessages) -> str:
    """Return the whole last answer of the latest run; of a running one, its latest text so far."""
    texts = (one.text for one in reversed(latest.messages) if one.role == ASSISTANT and one.text.strip())
    return next(texts, NO_TEXT)


def shortened(text: str, most: int) -> str:
    """Return the first lines of a text, and how many more it has."""
    lines = text.split("\n")
    more = len(lines) - most
    if more <= 0:
        return text
    return "\n".join([*lines[:most], f"... ({figures.counted(more, 'more line')})"])


# --- the transcript ---------------------------------------------------------------------------------------


def run_header(number: int, of: int, status: str) -> str:
    """Return the line before each run in the transcript of several."""
    return f"=== Run {number}/{of} ({status}) ==="


def session_text(runs: Sequence[RunMessages]) -> str:
    """Return the transcript of all runs, without their prompts."""
    parts: list[str] = []
    for number, run in enumerate(runs, 1):
        if len(runs) > 1:
            parts.append(run_header(number, len(runs), status_word(run.status)))
        for message in run.messages:
            if message.role == RESULT and message.text:
                parts.append(f"[tool result]: {_cut(message.text)}")
            elif message.role == ASSISTANT:
                parts += [message.text] if message.text else []
                parts += [f"→ {tool}: {args}" for tool, args in message.calls]
        parts += _error(run)
    return _RULE.join(parts)


def session_output(runs: Sequence[RunMessages]) -> str:
    """Return the transcript of all runs for a tool, or a sentence if it is empty."""
    return session_text(runs) or NO_MESSAGES


# --- the replay for a resumed run ---------------------------------------------------------------------------


def previous(runs: Iterable[RunMessages]) -> list[RunMessages]:
    """Return the runs that a new run continues: those that have ended, so not the new one itself."""
    return [run for run in runs if run.status in records.ENDED]


def resume_text(runs: Sequence[RunMessages]) -> str:
    """Return the transcript before the task of a resumed run."""
    parts: list[str] = []
    for number, run in enumerate(runs, 1):
        if len(runs) > 1:
            status, count = status_word(run.status), len(run.messages)
            parts.append(f"--- Run {number} ({status}, {count} messages) ---")
        for message in run.messages:
            speaker = _SPEAKERS.get(message.role)
            text = _cut(message.text) if message.role == RESULT else message.text
            parts += [f"{speaker}: {text}"] if speaker and text else []
            parts += [f"Tool Call: {tool}({args})" for tool, args in message.calls]
        parts += _error(run)
    # JSON can hold half a character; the bytes of a prompt cannot.
    return _GAP.join(parts).encode("utf-8", "replace").decode("utf-8")


def _error(run: RunMessages) -> list[str]:
    return [f"[Error: {run.error_message}]"] if run.error_message else []


def _size(message: Message) -> int:
    return len(message.text) + sum(len(tool) + len(args) for tool, args in message.calls)


def _cut(text: str) -> str:
    return text if len(text) <= _RESULT else text[:_RESULT] + "..."
