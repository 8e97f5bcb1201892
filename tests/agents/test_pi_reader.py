"""One line of pi: its events, whether it shows work, and lines that are no events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.pi_lines import (
    ASSISTANT,
    RETRIES,
    SETTLED,
    TURN,
    Played,
    answer,
    began,
    call,
    ended,
    line,
    play,
    result_message,
    text,
)


def test_the_parts_of_an_answer_are_one_event_each_in_their_order() -> None:
    told = play([answer(call("c1"), text("one"), {"type": "thinking", "thinking": "hm"}, text("two"))]).events
    assert [event.type for event in told] == ["thinking", "assistant_text", "tool_call", "usage"]
    assert told[1].fields["text"] == "one\ntwo"


@pytest.mark.parametrize(
    "content", ["plain words", [text("plain words")], [text("plain words"), 5, None, {}, ["x"]]]
)
def test_an_answer_may_be_a_bare_text_or_hold_strange_parts(content: Any) -> None:
    assert play([line("message_end", message={**ASSISTANT, "content": content})]).state.text == "plain words"


@pytest.mark.parametrize(
    ("fields", "model"),
    [
        ({}, "mock/m"),
        ({"provider": None}, "m"),
        ({"provider": 5}, "m"),
        ({"model": None}, None),
        ({"model": ""}, None),
    ],
)
def test_the_model_is_what_the_child_says_it_uses(fields: dict[str, Any], model: str | None) -> None:
    assert play([answer(text("x"), **fields)]).reader.model == model


def test_the_last_answer_decides_over_the_error() -> None:
    played = play([answer(stopReason="error", errorMessage="500: no")])
    assert played.reader.error_message == "500: no"
    played.take(answer(text("x")))
    assert played.reader.error_message is None


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        *(({"total": 0.5}, 0.5), (0.25, 0.25), (None, 0), ({"total": "much"}, 0), ({}, 0), (True, 0)),
        *(({"total": -0.5}, 0), (float("nan"), 0), (float("inf"), 0), (2.0**53, 2.0**53), (1e300, 0)),
    ],
)
def test_what_an_answer_cost(cost: Any, told: float) -> None:
    (usage,) = play([answer(usage={"input": 3, "output": "4", "cost": cost})]).events
    assert usage.fields == {
        "input": 3,
        "output": 0,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": 0,
        "cost": told,
    }


@pytest.mark.parametrize(
    ("figure", "told"),
    [(3, 3), (3.9, 3), (0, 0), (-3, 0), (2**53, 2**53), (2**53 + 1, 0), (1e300, 0), ("3", 0), (True, 0)],
)
def test_tokens_are_whole_figures_that_can_be_added_up(figure: Any, told: int) -> None:
    (usage,) = play([answer(usage={"input": figure, "totalTokens": figure})]).events
    assert (usage.fields["input"], usage.fields["totalTokens"]) == (told, told)
    assert type(usage.fields["input"]) is int


@pytest.mark.parametrize("role", ["user", "system", "custom", None, 5])
def test_messages_of_others_are_no_events(role: Any) -> None:
    played = play([line("message_end", message={**ASSISTANT, "role": role, "content": [text("x")]})])
    assert played.events == []


@pytest.mark.parametrize("message", [None, "x", 5, [], [{"role": "assistant"}], {}])
def test_a_message_that_is_none_is_no_event(message: Any) -> None:
    assert play([line("message_end", message=message), line("message_end")]).events == []


def test_no_name_and_no_message_of_a_child_fills_our_records() -> None:
    """They stand in `result.json`, in the run shape of every row, and on screens."""
    huge = "x" * 1_000_000
    played = play(
        [
            answer(stopReason=huge, errorMessage=huge, model=huge, provider=None),
            line("turn_end", message={"stopReason": huge}),
        ]
    )
    words = played.reader.model, played.reader.error_message, played.state.stop_reason
    assert [word is not None and word.startswith("x" * 200) and len(word) < 5000 for word in words] == [
        True
    ] * 3


def test_calls_with_endless_names_are_told_apart_and_take_little_room() -> None:
    huge = "x" * 1_000_000
    lines = []
    for end in ("a", "b"):
        lines += [answer(call(huge + end, huge), stopReason="toolUse"), began(huge + end, huge)]
    lines += [ended(huge + end, huge) for end in ("a", "b", "a")]
    played = play(lines)
    assert played.letters == "cuecurr"
    ids = [event.fields["callId"] for event in played.events if event.type in ("tool_call", "tool_result")]
    assert (ids[:2], ids[0] != ids[1]) == (ids[2:], True)
    assert all(
        len(word) < 2000 for event in played.events for word in event.fields.values() if type(word) is str
    )


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"  ", b"\t", b'{"type":"from_the_future"}', b"{}", b'{"type":5}', b'{"type":["x"]}'),
        *(b"[1]", b"42", b'"type"', b"null"),
    ],
)
def test_blank_lines_and_unknown_events_tell_nothing(raw: bytes) -> None:
    played = play([raw])
    assert (played.events, played.plain) == ([], [])


@pytest.mark.parametrize("raw", [b"line 1", b"{ invalid json }", b'{"type":"session"', b"{" * 9999])
def test_a_line_that_is_no_event_is_text(raw: bytes) -> None:
    played = play([raw])
    assert (played.events, played.plain) == ([], [raw.decode()])


@pytest.mark.parametrize(
    ("raw", "letters", "plain", "active"),
    [
        (b"words " + SETTLED, "S", ["words "], False),
        (b"caf\xe9" + began("c1"), "c", ["caf\ufffd"], True),
        (b"words" + answer(text('{"type":"x"}')), "tu", ["words"], True),
        (
            b"words" + line("message_update", assistantMessageEvent={"type": "text_delta"}),
            "",
            ["words"],
            True,
        ),
        (b"words" + line("from_the_future"), "", ["words"], False),
        (b"words" + SETTLED[:-1], "", ["words" + SETTLED[:-1].decode()], False),
        (SETTLED + b"words", "", [SETTLED.decode() + "words"], False),
        (SETTLED + SETTLED, "", [(SETTLED + SETTLED).decode()], False),
        (b'words {"type":5}', "", ['words {"type":5}'], False),
    ],
    ids=["end", "call", "answer", "update", "unknown", "torn", "after", "twice", "no type"],
)
def test_words_without_a_newline_before_an_event_do_not_hide_it(
    *, raw: bytes, letters: str, plain: list[str], active: bool
) -> None:
    played = Played()
    assert played.take(raw).active is active
    assert (played.letters, played.plain) == (letters, plain)


def test_bytes_that_are_no_text_are_shown_as_lost() -> None:
    assert play([b"caf\xe9 \xff"]).plain == ["caf\ufffd \ufffd"]
    assert (
        play([b'{"type":"auto_retry_start","errorMessage":"caf\xe9"}']).events[0].fields["errorMessage"]
        == "caf\ufffd"
    )


# --- what counts as activity: a tool call's start, update or end, and text ---

ACTIVITY = [
    (began("c1"), True),
    (line("tool_execution_update", toolCallId="c1"), True),
    (ended("c1"), True),
    (result_message("c1"), True),
    (answer(text("x")), True),
    (answer(call("c1")), True),
    (line("message_update", usage={}, assistantMessageEvent={"type": "text_delta", "delta": "x"}), True),
    (json.dumps({"type": "message_update", "assistantMessageEvent": {"type": "text_delta"}}).encode(), True),
    (line("message_update", usage={}, assistantMessageEvent={"type": "thinking_delta", "delta": "x"}), False),
    (answer({"type": "thinking", "thinking": "hm"}), False),
    (answer(stopReason="error", errorMessage="500: no"), False),
    (RETRIES, False),
    (line("auto_retry_end", success=False), False),
    (line("agent_start"), False),
    (line("turn_start"), False),
    (TURN, False),
    (SETTLED, False),
    (line("agent_end", messages=[]), False),
    (line("message_end", message={"role": "user", "content": [text("x")]}), False),
    (b"plain words", False),
]


@pytest.mark.parametrize(("raw", "active"), ACTIVITY, ids=[raw[:70].decode() for raw, _ in ACTIVITY])
def test_activity(raw: bytes, *, active: bool) -> None:
    assert Played().take(raw).active is active
