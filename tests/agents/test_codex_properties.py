"""Properties: nothing that Codex may print, in any seat, breaks a reader or our files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.agents.codex_lines import RUN_DIR, plan, recorded, talker
from tests.schema_examples import validate_event
from tmuxagents.agents.codex.app_server import AppServer, CodexLiveReader
from tmuxagents.agents.codex.command import AGENT
from tmuxagents.records import Exit
from tmuxagents.runs import endings, events, lifecycle

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 3000
RECORDED = {
    "exec": ("tools", "drop_recovers", "err400", "think", "unknown_model"),
    "talk": ("appserver_allow", "appserver_failed", "appserver_interrupt"),
    "live": ("live_ask", "live_typed"),
}
MORE: dict[str, list[dict[str, Any]]] = {
    "exec": [
        {"type": "item.completed", "item": {"id": "m", "type": "mcp_tool_call", "error": {"message": "no"}}}
    ],
    "talk": [
        {"id": 3, "error": {"code": -1, "message": "no"}},
        {"method": "item/permissions/requestApproval", "id": 7, "params": {"permissions": {"network": {}}}},
        {
            "method": "item/tool/requestUserInput",
            "id": 8,
            "params": {"questions": [{"id": "q", "question": "?", "options": [{"label": "a"}]}]},
        },
        {"method": "model/rerouted", "params": {"toModel": "other"}},
    ],
    "live": [
        {"type": "bridge_session", "session": "T", "model": "m"},
        {"type": "bridge_taken", "inboxId": 1},
        {"type": "bridge_refused", "message": "no"},
    ],
}


def reader_of(seat: str) -> Any:
    if seat == "exec":
        return AGENT.reader(plan(baseline={"input": 5}), RUN_DIR)
    if seat == "talk":
        return talker(permission="ask")
    return CodexLiveReader(lambda number: events.message_sent(number, "stop", None))


def lines(seat: str) -> list[dict[str, Any]]:
    read = [raw for name in RECORDED[seat] for raw in recorded(name) if len(raw) < _LONGEST]
    return [json.loads(raw) for raw in read] + MORE[seat]


LINES = {seat: lines(seat) for seat in RECORDED}
PLACES = [
    (seat, number, path)
    for seat, read in LINES.items()
    for number, raw in enumerate(read)
    for path in strategies.paths(raw)
]
odd_values: st.SearchStrategy[Any] = (
    st.sampled_from([0, -1, "", None, True, [], {}, [{}]]) | strategies.wild_values
)


def endure(seat: str, raws: Sequence[Any]) -> None:
    """Read lines, and check all events and all that would be written to files."""
    reader, state = reader_of(seat), lifecycle.RunState()
    lifecycle.apply(state, events.run_started({}))
    replies = reader.begin("Do it.") if isinstance(reader, AppServer) else b""
    told = []
    for raw in raws:
        line = raw if isinstance(raw, bytes) else json.dumps(raw).encode("utf-8", "surrogatepass")
        reading = reader.feed(line, 1.0)
        told += reading.events
        replies += reading.reply
    if isinstance(reader, AppServer):
        for ask, answer in zip(
            reader.asks, ("allow", "deny", "cancel", "So.") * len(reader.asks), strict=False
        ):
            replies += reader.answer(ask.id, answer, "ada").reply
    for reply in replies.splitlines():
        json.loads(reply)
    for event in [*told, *reader.ended(0)]:
        event.seq = 1
        validate_event(events.encode(event))
        lifecycle.apply(state, event)
    state.error_message = reader.error_message
    how = endings.verdict(state, Exit(0), cause=None, lingered=False)
    assert how.status in ("completed", "failed")


@given(st.sampled_from(PLACES), odd_values)
def test_an_odd_value_anywhere_breaks_nothing(place: Any, value: Any) -> None:
    seat, number, path = place
    read = LINES[seat]
    endure(seat, [*read[:number], strategies.replaced(read[number], path, value), *read[number + 1 :]])


@given(st.sampled_from(sorted(LINES)), st.data())
def test_lines_in_any_order_break_nothing(seat: str, data: st.DataObject) -> None:
    endure(seat, data.draw(st.lists(st.sampled_from(LINES[seat]), max_size=12)))


@given(st.sampled_from(sorted(LINES)), st.lists(st.binary(max_size=40), max_size=6))
def test_bytes_of_any_kind_break_nothing(seat: str, pieces: list[bytes]) -> None:
    endure(seat, [*pieces, LINES[seat][0], b'{"method":' + b"".join(pieces)])
