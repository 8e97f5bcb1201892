"""The readable transcript: header, one entry an event, one closing line.

Plain for the file, coloured for the window; both hold the same words, and neither an escape sequence of the
child's.
"""

from __future__ import annotations

from tmuxagents.core import sanitize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.core.events import Event
    from tmuxagents.records import Verdict

TASK_WIDTH = 120
TITLE_WIDTH = 60
_SAID = {"human_input": "Typed", "message_sent": "Sent", "needs_input": "Waits for a person"}
_PLAIN_WIDTH = 2000  # of a line of output that is no event

# What a line is, and how the window shows it (SGR).
HEAD, TEXT, TOOL, GOOD, BAD, ASIDE = "head", "text", "tool", "good", "bad", "aside"
_COLOURS = {
    HEAD: b"\x1b[2m",
    TEXT: b"",
    TOOL: b"\x1b[36m",
    GOOD: b"\x1b[32m",
    BAD: b"\x1b[31m",
    ASIDE: b"\x1b[2m",
}


class Line:
    """One entry: its kind and its words. The words may hold newlines, and nothing else a terminal obeys."""

    __slots__ = ("kind", "words")

    def __init__(self, kind: str, words: str) -> None:
        self.kind = kind
        self.words = words

    def plain(self) -> bytes:
        """Return the entry for the file."""
        return self.words.encode() + b"\n"

    def coloured(self, plain: bytes | None = None) -> bytes:
        """Return the entry for the window. `plain`: that for the file, if it is at hand."""
        plain = self.plain() if plain is None else plain
        colour = _COLOURS[self.kind]
        return b"%b%b\x1b[m\n" % (colour, plain[:-1]) if colour and self.words else plain


def header(meta: Mapping[str, Any], started: str) -> list[Line]:
    """Return the generic header; a line only where there is a value. `started` is an ISO time."""
    preset = meta.get("preset")
    source = meta.get("presetSource")
    values = (
        ("Run", meta.get("runId")),
        ("Task", sanitize.cut(_first_line(meta.get("task")), TASK_WIDTH)),
        ("Preset", f"{preset} ({source})" if preset and source else preset),
        ("Model", meta.get("resolvedModel")),
        ("Cwd", meta.get("cwd")),
        ("Started", started),
    )
    lines = [Line(HEAD, f"{name}: {sanitize.line(str(value))}") for name, value in values if value]
    return [*lines, Line(HEAD, "")]


def _first_line(text: Any) -> str:
    return sanitize.line(text.strip().split("\n", 1)[0]) if isinstance(text, str) else ""


def entry(event: Event, phrase: str | None) -> Line | None:
    """Return the entry of one event, None where it has none. `phrase` is the narrator's."""
    fields = event.fields
    if event.type == "assistant_text":
        words = sanitize.text(phrase or "").strip("\n")
        return Line(TEXT, words) if words else None
    if event.type in ("tool_call", "tool_result"):
        failed = fields.get("isError") is True
        return Line(BAD if failed else TOOL, sanitize.line(phrase or ""))
    if event.type == "stderr":
        return Line(ASIDE, f"[stderr]: {sanitize.line(str(fields.get('text')))}")
    if event.type == "retry":
        tries = f"{fields.get('attempt')}/{fields.get('maxAttempts')}"
        return Line(ASIDE, f"Retry {tries}: {sanitize.line(str(fields.get('errorMessage') or 'no message'))}")
    if event.type == "left_behind":
        process = sanitize.line(f"{fields.get('comm')} ({fields.get('pid')})")
        return Line(ASIDE, f"Left running: {process}: {sanitize.line(str(fields.get('why')))}")
    return _said(event) if event.type in _SAID else None


def _said(event: Event) -> Line:
    """Return the entry of what was said to a live child, or what it waits for."""
    words = event.fields.get("text") or event.fields.get("kind")
    return Line(HEAD, f"{_SAID[event.type]}: {sanitize.text(str(words)).strip()}")


def plain_output(text: str) -> Line | None:
    """Return the entry for a line of the child's stdout that is no event."""
    words = sanitize.cut(sanitize.text(text).rstrip(), _PLAIN_WIDTH)
    return Line(TEXT, words) if words else None


def closing(verdict: Verdict, duration_s: float) -> Line:
    """Return the last line: how it ended, and after how long."""
    lasted = f"after {int(duration_s)}s"
    if verdict.status == "completed":
        return Line(GOOD, f"Completed {lasted}")
    if verdict.status == "aborted":
        return Line(BAD, f"Aborted ({verdict.reason}) {lasted}")
    message = sanitize.line(verdict.error_message or "")
    return Line(BAD, f"Failed ({verdict.reason}) {lasted}" + (f": {message}" if message else ""))


def title(activity: str) -> bytes:
    """Return the sequence that makes a phrase the pane's title. `#` would be a tmux style."""
    words = _cut_columns(sanitize.line(activity).replace("#", ""), TITLE_WIDTH)
    return f"\x1b]2;{words}\x07".encode()


def _cut_columns(words: str, columns: int) -> str:
    if len(words) * 2 <= columns or words.isascii():
        return sanitize.cut(words, columns)
    import unicodedata  # noqa: PLC0415  (most titles are ASCII)

    used = kept = 0
    for at, sign in enumerate(words, 1):
        used += 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        if used <= columns - 3:
            kept = at
        if used > columns:
            return words[:kept] + "..."
    return words
