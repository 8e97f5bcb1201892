"""The lines of the bridge in a live pi: a person's input, messages taken, and endings that do not count."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tmuxagents.agents.base import Oversized
from tmuxagents.agents.pi.command import BRIDGE
from tmuxagents.agents.pi.live import LIVE, PiLiveReader
from tmuxagents.runs.documents import plan_of
from tmuxagents.runs.events import Event, message_sent
from tmuxagents.runs.lifecycle import RunState, apply

ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "Found."}], "stopReason": "stop"}
BEGUN = {"type": "agent_start"}
SETTLED = {"type": "agent_settled", "aborted": False}
TURN = ({"type": "message_end", "message": ANSWER}, {"type": "turn_end", "message": ANSWER})
TYPED = {"type": "bridge_person", "typed": True}
QUITS = {"type": "bridge_shutdown", "reason": "quit"}


def nothing_sent(_number: int) -> None:
    """Say that no message was sent."""


def open_in(reader: Any) -> list[Any]:
    """Return what a reader has open: id, kind, text and options."""
    return [
        (ask.id, ask.kind, ask.text, [one for one, _ in ask.options]) for ask in reader.asks.open.values()
    ]


def fed(*lines: dict[str, Any]) -> tuple[PiLiveReader, list[dict[str, Any]]]:
    """Read lines; return the reader and the documents of its events."""
    reader = PiLiveReader(nothing_sent)
    told = [
        event
        for line in lines
        for event in reader.feed(json.dumps(line, separators=(",", ":")).encode(), 1.0).events
    ]
    return reader, [{"type": event.type, **event.fields} for event in told]


def state_of(told: list[dict[str, Any]]) -> RunState:
    """Fold events."""
    state = RunState()
    apply(state, Event("run_started", {}))
    for fields in told:
        apply(state, Event(fields["type"], {key: value for key, value in fields.items() if key != "type"}))
    return state


def test_nobodys_run_is_read_like_json_mode() -> None:
    reader, told = fed({"type": "session"}, BEGUN, *TURN, SETTLED)
    assert [event["type"] for event in told] == ["assistant_text", "usage", "turn_end", "settled"]
    assert told[-1] == {"type": "settled", "aborted": False, "attended": False}
    assert (reader.settled, reader.settlings, reader.typed, reader.has_begun) == (True, 1, False, True)


def test_a_typed_prompt_is_told_and_makes_the_run_attended() -> None:
    reader, told = fed(BEGUN, TYPED, {"type": "bridge_input", "text": "also é 🎉\nthis"}, *TURN, SETTLED)
    assert told[0] == {"type": "human_input", "text": "also é 🎉\nthis"}
    assert told[-1]["attended"] is True
    assert reader.typed
    state = state_of(told)
    assert (state.attended, state.settled, state.text) == (True, True, "Found.")


def test_half_a_line_makes_the_next_settling_an_attended_one() -> None:
    reader, told = fed(BEGUN, *TURN, TYPED, SETTLED)
    assert told[-1]["attended"] is True
    assert reader.typed
    assert not any(event["type"] == "human_input" for event in told)


def test_a_key_that_leaves_is_no_typing() -> None:
    reader, _ = fed(BEGUN, {"type": "bridge_person", "typed": False})
    assert (reader.typed, reader.has_left) == (False, True)


def test_after_it_began_to_leave_nothing_counts() -> None:
    late = {**ANSWER, "stopReason": "toolUse"}
    reader, told = fed(BEGUN, QUITS, {"type": "turn_end", "message": late}, SETTLED, *TURN)
    assert told == []
    assert (reader.settled, reader.settlings) == (False, 0)


def test_what_had_settled_before_it_left_has_settled() -> None:
    reader, told = fed(BEGUN, *TURN, SETTLED, QUITS, SETTLED)
    assert [event["type"] for event in told].count("settled") == 1
    assert reader.settled


@pytest.mark.parametrize("reason", ["reload", "new", "resume", "fork", None, 5])
def test_another_session_in_the_same_pi_is_no_leaving(reason: Any) -> None:
    reader, told = fed({"type": "bridge_shutdown", "reason": reason}, BEGUN, *TURN, SETTLED)
    assert reader.settled
    assert told[-1]["type"] == "settled"


def test_messages_that_were_taken_are_named_by_their_number() -> None:
    odd: list[Any] = [-1, True, "3", None, 2**60]
    asked: list[int] = []
    reader = PiLiveReader(asked.append)
    for number in (0, 3, *odd, 4):
        told = reader.feed(json.dumps({"type": "bridge_taken", "inboxId": number}).encode(), 1.0)
        assert list(told.events) == []
    assert asked == [0, 3, 4]


def test_a_message_that_was_taken_is_told_where_it_was_also_if_a_whole_turn_is_read_at_once() -> None:
    reader = PiLiveReader(lambda number: message_sent(number, "steer", "and b"))
    state = RunState()
    told = [Event("run_started", {})]
    for line in (*TURN, SETTLED, {"type": "bridge_taken", "inboxId": 1}, BEGUN, *TURN, SETTLED):
        told += reader.feed(json.dumps(line, separators=(",", ":")).encode(), 1.0).events
    for event in told:
        apply(state, event)
    assert [event.type for event in told].count("message_sent") == 1
    assert (told[-1].type, state.settled, state.stop_reason) == ("settled", True, "stop")


def test_a_question_waits_until_it_is_answered() -> None:
    asks = {"type": "bridge_asks", "kind": "confirm", "title": "May I?"}
    assert open_in(fed(asks)[0]) == [("", "confirm", "May I?", ["allow", "deny"])]
    assert not open_in(fed(asks, {"type": "bridge_answered", "kind": "confirm"})[0])
    assert open_in(fed({"type": "bridge_asks", "kind": 5, "title": {}})[0]) == [("", "question", None, [])]
    select = {
        "type": "bridge_asks",
        "kind": "select",
        "title": "Which?",
        "ask": "3",
        "options": ["a", 5, "b"],
    }
    assert open_in(fed(select)[0]) == [("3", "select", "Which?", ["a", "b"])]
    answer = {"type": "bridge_answer", "ask": "3", "answer": "a", "by": "a person"}
    answered = fed(select, answer, {**answer, "answer": "b"})[0]
    assert (open_in(answered), answered.asks.given) == ([], {"3": ("a", "a person")})


def test_it_begins_again_and_settles_again() -> None:
    reader, told = fed(BEGUN, *TURN, SETTLED, BEGUN, *TURN, SETTLED)
    assert [event["type"] for event in told].count("resumed") == 1
    assert reader.settlings == 2


def test_a_prompt_too_long_to_be_kept_still_is_a_persons() -> None:
    reader = PiLiveReader(nothing_sent)
    head = b'{"type":"bridge_input","text":"' + b"x" * 100
    (event,) = reader.feed_oversized(Oversized(head, b'x"}', 5_000_000), 1.0).events
    assert (event.type, reader.typed) == ("human_input", True)


@pytest.mark.parametrize(
    "line", [b'{"type":"bridge_nothing"}', b'{"type":"bridge_', b'{"type":["bridge_input"]}']
)
def test_what_nobody_knows_is_nothing(line: bytes) -> None:
    assert PiLiveReader(nothing_sent).feed(line, 1.0).events in ([], ())


def test_the_command_line_asks_nobody_and_holds_no_text() -> None:
    meta: dict[str, Any] = {
        **dict.fromkeys(("systemPromptPath", "appendSystemPromptPath", "presetSource", "presetKind")),
        "sessionPath": "child-session.jsonl",
        "resolvedModel": "a/b",
        "tools": ["read"],
        "task": "SECRET",
    }
    line = LIVE.arguments(plan_of(meta), "/run")
    begins = ["--tui-mode", "regular", "--no-approve", "-e", BRIDGE, "--session", "/run/child-session.jsonl"]
    assert line[: len(begins)] == begins
    assert "--mode" not in line
    assert "SECRET" not in " ".join(line)
    project = LIVE.arguments(
        plan_of(meta | {"presetKind": "profile", "presetSource": "project", "name": "scout"}),
        "/run",
    )
    assert project.count("--no-approve") == 1
    assert project[project.index("--name") + 1] == "scout"


def test_each_child_has_a_reader_of_its_own() -> None:
    assert LIVE.reader(nothing_sent) is not LIVE.reader(nothing_sent)


def test_of_a_long_line_that_is_no_input_its_ends_are_read_and_nothing_of_one_that_is_gone() -> None:
    long = Oversized(b'{"type":"tool_execution_start","toolCallId":"c","toolName":"read"', b"}", 5_000_000)
    reader = PiLiveReader(nothing_sent)
    assert [event.type for event in reader.feed_oversized(long, 1.0).events] == ["tool_call"]
    assert not reader.typed
    gone = PiLiveReader(nothing_sent)
    gone.gone = True
    assert gone.feed_oversized(long, 1.0).events == ()
