"""Adapters for a child at work: what its output shows, how it ends, when it is ended, by which settings."""

from __future__ import annotations

import json
import signal
from typing import Any

from scripts.conforming.showing import place
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import LineSplitter
from tmuxagents.agents.pi.command import AGENT
from tmuxagents.records import Exit
from tmuxagents.runs import endings, events, lifecycle, words
from tmuxagents.settings import keys
from tmuxagents.views.lines import DEFAULT_LINES, TEXT, LastLines
from tmuxagents.wrapper.guards import Guards

Given = dict[str, Any]

# The children of the vectors know no settling: what is there when they end is what they settled with.
_SETTLED = b'{"type":"agent_settled"}'
_BAD_STOPS = ("error", "aborted")


class _Child:
    """A child whose output is read as its wrapper reads it."""

    def __init__(self, given: Given) -> None:
        most = given.get("maxLines")
        self.shown = LastLines(place(given), DEFAULT_LINES if most is None else most)
        self.state = lifecycle.RunState()
        self.reader = AGENT.reader()
        self._printed: list[Any] = []  # the messages that it printed
        self._results = 0
        self._take([events.run_started({})])
        splitter = LineSplitter()
        lines = [line for chunk in given.get("stdout") or () for line in splitter.feed(chunk.encode())]
        for line in (*lines, *splitter.flush(), _SETTLED):
            self._read(line)
        told = "".join(given.get("stderr") or ()).splitlines()
        self._take([events.stderr(line) for line in told if line.strip()])

    def _read(self, line: Any) -> None:
        if not isinstance(line, bytes):
            reading = self.reader.feed_oversized(line, 0.0)
        else:
            self._printed += _message(line)
            reading = self.reader.feed(_with_id(line, len(self._printed)), 0.0)
        if reading.plain is not None:
            self.shown.append(reading.plain, TEXT)
        self._take(reading.events)

    def _take(self, told: Any) -> None:
        for event in told:
            self._results += event.type == "tool_result"
            self.shown.take(event)
            lifecycle.apply(self.state, event)

    @property
    def message_count(self) -> int:
        """Ours counts what was asked, and each result, once; theirs do where the child prints a message."""
        printed = [message for message in self._printed if message.get("role") in ("user", "toolResult")]
        return self.state.message_count - 1 - self._results + len(printed)

    @property
    def model(self) -> str | None:
        """Ours names the provider before it."""
        answers = [message for message in self._printed if message.get("role") == "assistant"]
        provider = answers[-1].get("provider") if answers else None
        return self.reader.model and self.reader.model.removeprefix(f"{provider}/")


def _message(line: bytes) -> list[Any]:
    raw = raw_json.parse(line) or {}
    message = raw.get("message") if raw.get("type") == "message_end" else None
    return [message] if isinstance(message, dict) else []


def _with_id(line: bytes, number: int) -> bytes:
    """Return a line as pi would print it: theirs leave out to which call a result belongs."""
    for message in _message(line):
        if message.get("role") == "toolResult" and not message.get("toolCallId"):
            named = {**message, "toolCallId": f"result {number}"}
            return json.dumps({"type": "message_end", "message": named}).encode()
    return line


def window_lines(given: Given) -> Given:
    """Return what a child's output comes to."""
    child = _Child(given)
    return {
        "lines": [row._asdict() for row in child.shown.lines],
        "model": child.model,
        "stopReason": child.state.stop_reason,
        "todoTotal": child.shown.todo_total,
        "todoCompleted": child.shown.todo_completed,
        "messages": child.message_count,
    }


def exit_status(given: Given) -> Given:
    """Return how a child ended; of its messages only the model's are theirs."""
    child = _Child(given)
    stop_reason = child.state.stop_reason
    if stop_reason not in _BAD_STOPS:  # to theirs all others, and none, are an answer that ended as it should
        child.state.stop_reason = "stop"
    how = endings.verdict(child.state, Exit(given["exit"], given.get("signal")), cause=None, lingered=False)
    return {
        "status": words.status_word(how.status),
        "exitCode": how.exit_code,
        "errorMessage": child.reader.error_message,
        "stopReason": stop_reason,
    }


def loop(given: Given) -> Given:
    """Return whether calls loop; then the child is sent its first signal, once."""
    count = given.get("looping_tool_count")
    if count is None:
        count = keys.NUMBERS["looping_tool_count"].default
    watch = Guards(started_at=0.0, timeout_s=1.0, debounce_s=0.0, loop_count=count)
    calls = (events.tool_call(None, call["tool"], call.get("args") or {}) for call in given["calls"])
    found = any(watch.note_call(call) is endings.LOOP for call in calls)
    return {"loopDetected": found, "killed": [signal.SIGTERM.name] if found else []}


def idle_timeout(given: Given) -> Given:
    """Return when a child is ended that works at these moments, and what is said then."""
    debounce_s = given.get("extend_timeout_debounce_s")
    if debounce_s is None:
        debounce_s = keys.NUMBERS["extend_timeout_debounce"].default
    watch = Guards(started_at=0.0, timeout_s=given["timeout_s"], debounce_s=debounce_s, loop_count=0)
    moments = sorted(given.get("activity_at_s") or [])

    def hear(now: float) -> None:
        while moments and moments[0] <= now:
            watch.note_activity(moments.pop(0))

    due = watch.deadline()
    while (cause := watch.check(due, hear)) is None:
        due = watch.deadline()
    cancelled_at = given.get("parent_abort_at_s")
    if cancelled_at is not None and cancelled_at < due:  # what they say then is no message of the run
        due, cause = cancelled_at, None
    return {"killed_at_s": due, "error": cause.message if cause else None}


def setting(given: Given) -> Given:
    """Return the value of one key, and whether anything was warned of."""
    project = _file(given.get("project")) if given.get("with_cwd") else None
    found = keys.resolve({}, global_text=_file(given.get("global")), project_text=project)
    key = given["key"]
    value = found.numbers[key] if key in found.numbers else found.values[key]
    if key == "commandPreviewWidth":
        value = keys.preview_width(found, given.get("tty_columns"))
    return {"value": value, "warned": bool(found.warnings)}


def _file(given: Any) -> str | None:
    """Return a settings file: a text is one as it stands, null is none."""
    return given if given is None or isinstance(given, str) else json.dumps(given)
