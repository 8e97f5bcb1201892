"""Properties: nothing that Claude Code, its hooks or Qwen Code may print breaks a reader or our files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.agents import recordings
from tests.schema_examples import validate_event
from tmuxagents.agents.claude.command import LIVE
from tmuxagents.agents.claude.reader import ClaudeTalker
from tmuxagents.agents.qwen.reader import QwenReader
from tmuxagents.records import Exit
from tmuxagents.runs import endings, events, lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAKERS: dict[str, Callable[[], Any]] = {
    "claude": lambda: ClaudeTalker("run00001"),
    "live": lambda: LIVE.reader(lambda number: events.message_sent(number, "steer", "more")),
    "qwen": QwenReader,
}
NAMES = {
    "claude": ("duplex_deny", "denied", "err401", "partial", "max_turns"),
    "live": ("live_ask",),
    "qwen": ("tool_fails", "drop_recovers", "err400"),
}
MORE = {
    "claude": [
        {"type": "command_lifecycle", "command_uuid": "x", "state": "started"},
        {"type": "control_cancel_request", "request_id": "x"},
        {"type": "control_response", "response": {"request_id": "x"}},
    ],
    "live": [
        {"type": "bridge_taken", "inboxId": 1},
        {"hook_event_name": "StopFailure", "error": "unknown", "last_assistant_message": "no"},
        {"hook_event_name": "Notification", "notification_type": "idle_prompt"},
        {"hook_event_name": "PostToolUseFailure", "tool_use_id": "x", "error": "no"},
    ],
    "qwen": [],
}


def lines(maker: str) -> list[dict[str, Any]]:
    """Return lines that its reader knows, of each kind one or more."""
    found = recordings.of("qwen" if maker == "qwen" else "claude")
    read = [json.loads(raw) for name in NAMES[maker] for raw in found[name].stdout.splitlines()]
    return [raw for raw in read if len(json.dumps(raw)) < 6000] + MORE[maker]


LINES = {maker: lines(maker) for maker in MAKERS}
PLACES = [
    (maker, number, path)
    for maker, read in LINES.items()
    for number, raw in enumerate(read)
    for path in strategies.paths(raw)
]
odd_values: st.SearchStrategy[Any] = (
    st.sampled_from([0, -1, 2**53 + 1, "", None, True, [], {}, [[]], [{}]]) | strategies.wild_values
)


def endure(maker: str, raws: Sequence[Any]) -> None:
    """Read lines, and check all that would be written to files."""
    reader, state = MAKERS[maker](), lifecycle.RunState()
    lifecycle.apply(state, events.run_started({}))
    told = []
    for raw in raws:
        line = raw if isinstance(raw, bytes) else json.dumps(raw).encode("utf-8", "surrogatepass")
        reading = reader.feed(line, 1.0)
        told += reading.events
        for reply in reading.reply.splitlines():
            json.loads(reply)
    if isinstance(reader, ClaudeTalker):
        for ask, answer in zip(reader.asks, ("allow", "deny", "Red", "So.") * len(reader.asks), strict=False):
            json.loads(reader.answer(ask.id, answer, "ada").reply)
    for event in [*told, *reader.ended(0)]:
        event.seq = 1
        line = events.encode(event)
        assert events.decode(line) is not None
        validate_event(line)
        lifecycle.apply(state, event)
    state.error_message = reader.error_message
    how = endings.verdict(state, Exit(0), cause=None, lingered=False)
    assert how.status in ("completed", "failed")
    assert how.error_message is None or isinstance(how.error_message, str)


@given(st.sampled_from(PLACES), odd_values)
def test_a_wrong_value_anywhere_is_endured(place: tuple[str, int, tuple[Any, ...]], value: Any) -> None:
    maker, number, path = place
    read = LINES[maker]
    endure(maker, [*read[:number], strategies.replaced(read[number], path, value), *read[number + 1 :]])


@given(st.sampled_from(PLACES))
def test_a_value_that_is_missing_anywhere_is_endured(place: tuple[str, int, tuple[Any, ...]]) -> None:
    maker, number, path = place
    read = LINES[maker]
    endure(maker, [*read[:number], strategies.replaced(read[number], path, strategies.GONE), *read[number:]])


@given(st.sampled_from(sorted(MAKERS)), st.lists(st.integers(0, 10**6), max_size=15))
def test_any_order_of_lines_is_endured(maker: str, numbers: list[int]) -> None:
    read = LINES[maker]
    endure(maker, [read[number % len(read)] for number in numbers])


@given(st.sampled_from(sorted(MAKERS)), st.lists(st.binary(max_size=40), max_size=5))
def test_any_noise_is_endured(maker: str, noise: list[bytes]) -> None:
    endure(maker, noise)
