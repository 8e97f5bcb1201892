"""Events: what a child did, in one shape for every agent; each is encoded as one line of JSON. Pure.

Unknown types and fields survive decoding. What an event means for the run is decided in runs/lifecycle and
runs/endings. The messages to a working child are defined here, too.
"""

from __future__ import annotations

from tmuxagents.text import jsonline
from tmuxagents.text.safe import first_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


RESULT_TEXT_LIMIT = 500
RESULT_TAIL_LIMIT = 1500
_MOST = 2**53  # no count, cost or moment is larger
THINKING_LIMIT = 2048
DENIAL_LIMIT = 500
_BIG = 256 * 1024  # bytes of a line
_WIDE = 3 * 1024 * 1024 + _BIG  # in longer lines the wrapper writes ASCII only (agents/raw)
_HEAD = frozenset(("v", "seq", "at", "type"))
USAGE_KEYS = ("input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost")
USAGE_WORDS = ("reasoning", "costKind", "basis")  # of other agents than pi


class Event:
    """One thing that happened. `seq` and `at` are set when it is written."""

    __slots__ = ("at", "fields", "seq", "type")

    def __init__(self, type: str, fields: dict[str, Any], *, seq: int = 0, at: float = 0.0) -> None:  # noqa: A002  (the word of the contract)
        self.type = type
        self.fields = fields
        self.seq = seq
        self.at = at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.document() == other.document()

    __hash__ = None  # type: ignore[assignment]  # mutable: stamped when written

    def __repr__(self) -> str:
        return f"Event({self.type}, seq={self.seq})"  # no text of task or child gets into logs

    def document(self) -> dict[str, Any]:
        """Return the JSON object of this event."""
        return {"v": 1, "seq": self.seq, "at": round(self.at, 3), "type": self.type, **self.fields}


def encode(event: Event) -> bytes:
    """Return the event's line, newline included: the encoded document, without building the document."""
    fields = event.fields
    odd = not event.type.isidentifier() or event.at - event.at != 0  # neither a name nor a moment
    if odd or not fields or not _HEAD.isdisjoint(fields):
        return jsonline.encode(event.document())
    head = f'{{"v":1,"seq":{event.seq},"at":{round(event.at, 3)!r},"type":"{event.type}",'
    return jsonline.encode(fields, before=head)


def decode(line: bytes) -> Event | None:
    """Return the event of a line; None if it is torn, no event, or would take more memory than our own."""
    if len(line) > _WIDE and (not line.isascii() or b"\\ud" in line or b"\\uD" in line):
        return None
    if len(line) > _BIG and jsonline.is_dense(line):
        return None
    try:
        document = jsonline.decode(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    kind, seq, at = document.pop("type", None), document.pop("seq", None), document.pop("at", None)
    document.pop("v", None)
    if not isinstance(kind, str) or type(seq) is not int or not is_figure(at):
        return None
    return Event(kind, document, seq=seq, at=at)


def is_figure(value: Any) -> bool:
    """Say whether a value is a number to calculate with: finite, and not too large for a count."""
    return type(value) in (int, float) and abs(value) <= _MOST


def text_of(value: Any) -> str:
    """Return a value of an event if it is a text, else an empty one: a child may write anything."""
    return value if isinstance(value, str) else ""


def assistant_text(text: str) -> Event:
    """Make the event: one assistant message's text."""
    return Event("assistant_text", {"text": text})


def thinking(text: str) -> Event:
    """Make the event: the beginning of the child's thoughts."""
    return Event("thinking", {"text": first_bytes(text, THINKING_LIMIT)})


def tool_call(call_id: str | None, tool: str, args: dict[str, Any]) -> Event:
    """Make the event: one tool call with all its arguments."""
    return Event("tool_call", {"callId": call_id, "toolName": tool, "args": args})


def tool_result(
    call_id: str | None, tool: str, *, is_error: bool, text: str, duration_ms: int | None
) -> Event:
    """Make the event: the end of a tool call, with the beginning and the end of its output."""
    is_cut = len(text) > RESULT_TEXT_LIMIT
    fields: dict[str, Any] = {
        "callId": call_id,
        "toolName": tool,
        "isError": is_error,
        "text": text[:RESULT_TEXT_LIMIT] + "..." if is_cut else text,
        "durationMs": duration_ms,
    }
    if is_cut:
        begins = len(text) - RESULT_TAIL_LIMIT
        if begins <= RESULT_TEXT_LIMIT:
            begins = RESULT_TEXT_LIMIT  # directly after the beginning
        else:
            begins = text.find("\n", begins - 1, -1) + 1 or begins  # with a whole line, if there is one
        fields["tail"] = text[begins:]
        fields["leftOut"] = max(int(begins > RESULT_TEXT_LIMIT), text.count("\n", RESULT_TEXT_LIMIT, begins))
    return Event("tool_result", fields)


def usage(figures: dict[str, Any]) -> Event:
    """Make the event: tokens and cost of one assistant message, and further values of some agents."""
    reported = {key: figures[key] for key in USAGE_WORDS if key in figures}
    return Event("usage", {key: figures.get(key, 0) for key in USAGE_KEYS} | reported)


def turn_end(stop_reason: str | None, *, evidence: str | None = None) -> Event:
    """Make the event: the end of a turn. `evidence`: how we know it, if no line of the child proves it."""
    fields: dict[str, Any] = {"stopReason": stop_reason}
    return Event("turn_end", fields if evidence is None else {**fields, "evidence": evidence})


def settled(*, aborted: bool, attended: bool = False) -> Event:
    """Make the event: the child is done for now."""
    return Event("settled", {"aborted": aborted, "attended": attended})


def resumed() -> Event:
    """Make the event: a child that had settled has begun again."""
    return Event("resumed", {})


def retry(*, attempt: int | None, most: int | None, delay_ms: int | None, message: str | None) -> Event:
    """Make the event: the child's provider failed, and the child tries again."""
    fields = {"attempt": attempt, "maxAttempts": most, "delayMs": delay_ms, "errorMessage": message}
    return Event("retry", fields)


def stderr(text: str) -> Event:
    """Make the event: one line of the child's stderr."""
    return Event("stderr", {"text": text})


def queued(position: int) -> Event:
    """Make the event: the run waits for a slot; `position` counts those before it."""
    return Event("queued", {"position": position})


def run_started(fields: dict[str, Any]) -> Event:
    """Make the event: the child has started, and with it the run."""
    return Event("run_started", fields)


def human_input(text: str) -> Event:
    """Make the event: a person has typed a prompt into the child's window."""
    return Event("human_input", {"text": text})


def message_sent(inbox_id: int, kind: str, text: str | None) -> Event:
    """Make the event: the child has received a message from `send`."""
    return Event("message_sent", {"inboxId": inbox_id, "kind": kind, "text": text})


def needs_input(
    kind: str,
    text: str | None,
    *,
    ask: str | None = None,
    options: Sequence[tuple[str, str]] = (),
) -> Event:
    """Make the event: the child waits for a person; `ask`: the id by which the question is answered."""
    fields: dict[str, Any] = {"kind": kind, "text": text}
    if ask is not None:
        fields |= {"ask": ask, "options": [{"id": one, "text": words} for one, words in options]}
    return Event("needs_input", fields)


def input_given(kind: str, *, ask: str | None = None, answer: str | None = None, by: str = "") -> Event:
    """Make the event: the child's wait is over. For a question: its id, its answer, and by whom."""
    fields: dict[str, Any] = {"kind": kind, "text": None}
    return Event("input_given", fields if ask is None else {**fields, "ask": ask, "answer": answer, "by": by})


def session_started(session: str, *, model: str | None = None) -> Event:
    """Make the event: the child has reported the id of its session, and the model that it uses."""
    return Event("session_started", {"session": session, "model": model})


def denied(call_id: str | None, tool: str, why: str) -> Event:
    """Make the event: a tool call that the child was not allowed."""
    return Event("denied", {"callId": call_id, "toolName": tool, "why": first_bytes(why, DENIAL_LIMIT)})


def left_behind(*, pid: int, comm: str, why: str) -> Event:
    """Make the event: a process outlives the run on purpose."""
    return Event("left_behind", {"pid": pid, "comm": comm, "why": why})


def child_exited(exit_code: int | None, signal: str | None) -> Event:
    """Make the event: the child's process is over."""
    return Event("child_exited", {"exitCode": exit_code, "signal": signal})


# --- messages to a child ----------------------------------------------------------------------------------

STEER, FOLLOW_UP, STOP = "steer", "followUp", "stop"
INBOX_ANSWER = "answer"  # to a question of the child
INBOX_KINDS = (STEER, FOLLOW_UP, STOP, INBOX_ANSWER)


class InboxMessage:
    """One message. `text` is None if the kind is enough. `ask`, `by`: question and source of an answer."""

    __slots__ = ("ask", "by", "inbox_id", "kind", "text")

    def __init__(
        self, inbox_id: int, kind: str, text: str | None, *, ask: str | None = None, by: str | None = None
    ) -> None:
        self.inbox_id = inbox_id
        self.kind = kind
        self.text = text
        self.ask = ask
        self.by = by
