"""Events: each has the fields of the contract, and its line reads back."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.runs import events
from tmuxagents.runs.events import Event
from tmuxagents.text import jsonline


def said(text: str) -> Event:
    return Event("assistant_text", {"text": text}, seq=7, at=1794996000.702)


# --- what is written reads back ---


@given(strategies.json_events)
@example(said("a\ud800\n\u2028\x1b"))
def test_every_event_reads_back_as_it_was_written(event: Event) -> None:
    assert events.decode(events.encode(event)) == event


@given(
    strategies.wild_events, st.sampled_from([None, *strategies.ENVELOPE]), st.sampled_from([0, 1.0005, 1e300])
)
@example(Event("", {"text": "x"}), None, 0)
@example(Event("settled", {}), None, 12)
@example(Event("usage", {"cost": float("nan")}), None, float("nan"))
def test_a_line_is_the_document_of_its_event(event: Event, odd: str | None, at: float) -> None:
    event.at = at
    if odd is not None:
        event.fields[odd] = "x"
    assert events.encode(event) == jsonline.encode(event.document())


def test_unknown_types_and_fields_survive_a_read() -> None:
    line = (
        b'{"v":1,"seq":3,"at":12.5,"type":"from_the_future","shape":{"sides":[1,2.5,null]},"a":"\xc3\xa9"}\n'
    )
    event = events.decode(line)
    assert event is not None
    assert (event.type, event.seq, event.at) == ("from_the_future", 3, 12.5)
    assert event.fields == {"shape": {"sides": [1, 2.5, None]}, "a": "é"}
    assert events.encode(event) == line


def test_a_line_is_written_in_the_shape_of_the_contract() -> None:
    event = Event("turn_end", {"stopReason": "toolUse"}, seq=6, at=1794996000.72049)
    assert (
        events.encode(event)
        == b'{"v":1,"seq":6,"at":1794996000.72,"type":"turn_end","stopReason":"toolUse"}\n'
    )


# --- torn lines, and lines that are no events ---


def test_every_torn_line_is_no_event() -> None:
    line = events.encode(
        Event("tool_call", {"callId": "c", "args": {"path": "é", "n": [1, {}]}}, seq=12, at=3.5)
    )
    assert [cut for cut in range(len(line) - 1) if events.decode(line[:cut]) is not None] == []
    assert events.decode(line[:-1]) == events.decode(line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"null",
        b"[1]",
        b'"settled"',
        b'{"v":1,"se{"v":1,"seq":2,"at":1,"type":"settled"}',
        b'{"seq":1,"at":1}',
        b'{"seq":1,"at":1,"type":5}',
        b'{"at":1,"type":"settled"}',
        b'{"seq":true,"at":1,"type":"settled"}',
        b'{"seq":1.0,"at":1,"type":"settled"}',
        b'{"seq":1,"type":"settled"}',
        b'{"seq":1,"at":"now","type":"settled"}',
        b'{"seq":1,"at":false,"type":"settled"}',
        b'{"seq":1,"at":NaN,"type":"settled"}',
        b'{"seq":1,"at":-Infinity,"type":"settled"}',
        b'{"seq":1,"at":1e300,"type":"settled"}',
        b'{"seq":%s,"at":1,"type":"settled"}' % (b"1" * 5000),
        b'{"seq":1,"at":1,"type":"settled","x":%s}' % (b"[" * 200_000),
        b'\xff\xfe{"seq":1}',
        b'{"seq":1,"at":1,"type":"\xff"}',
    ],
)
def test_what_is_no_event_is_none(line: bytes) -> None:
    assert events.decode(line) is None


# --- figures ---


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        *((value, True) for value in (0, 1, -1, 2.5, 2**53, -(2**53), 1794996000.702)),
        *((value, False) for value in (2**53 + 1, -(2**53) - 1, 1e300, 10**5000)),
        *((value, False) for value in (float("nan"), float("inf"), float("-inf"), True, None, "1", [1])),
    ],
    ids=range(18),
)
def test_what_one_can_reckon_with(value: Any, *, is_one: bool) -> None:
    assert events.is_figure(value) is is_one


# --- an event in our hands ---


def test_no_text_of_a_child_stands_in_a_log_of_ours() -> None:
    assert repr(said("secret")) == "Event(assistant_text, seq=7)"


def test_events_are_compared_by_what_they_say() -> None:
    assert said("a") == said("a")
    assert said("a") != said("b")
    assert said("a") != "a"
    with pytest.raises(TypeError):
        hash(said("a"))


BUILT = [
    (events.assistant_text("hi"), "assistant_text", {"text": "hi"}),
    (events.thinking("hm"), "thinking", {"text": "hm"}),
    (
        events.tool_call("c1", "ls", {"path": "."}),
        "tool_call",
        {"callId": "c1", "toolName": "ls", "args": {"path": "."}},
    ),
    (
        events.tool_result("c1", "ls", is_error=True, text="no", duration_ms=5),
        "tool_result",
        {"callId": "c1", "toolName": "ls", "isError": True, "text": "no", "durationMs": 5},
    ),
    (
        events.usage({"input": 3, "cost": 0.5, "reasoning": 9, "other": 1}),
        "usage",
        {"input": 3, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": 0.5}
        | {"reasoning": 9},
    ),
    (
        events.retry(attempt=1, most=3, delay_ms=2000, message="500"),
        "retry",
        {"attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "500"},
    ),
    (events.turn_end("stop"), "turn_end", {"stopReason": "stop"}),
    (events.settled(aborted=True), "settled", {"aborted": True, "attended": False}),
    (events.settled(aborted=False, attended=True), "settled", {"aborted": False, "attended": True}),
    (events.resumed(), "resumed", {}),
    (events.queued(3), "queued", {"position": 3}),
    (events.stderr("oh"), "stderr", {"text": "oh"}),
    (events.run_started({"pid": 5}), "run_started", {"pid": 5}),
    (
        events.left_behind(pid=5, comm="tmux", why="service"),
        "left_behind",
        {"pid": 5, "comm": "tmux", "why": "service"},
    ),
    (events.child_exited(None, "SIGKILL"), "child_exited", {"exitCode": None, "signal": "SIGKILL"}),
]


@pytest.mark.parametrize(("event", "kind", "fields"), BUILT, ids=[row[1] for row in BUILT])
def test_built_events_have_the_fields_of_the_contract(
    event: Event, kind: str, fields: dict[str, Any]
) -> None:
    assert (event.type, event.fields) == (kind, fields)


@pytest.mark.parametrize(
    ("length", "kept"), [(0, ""), (500, "x" * 500), (501, "x" * 500 + "..."), (9000, "x" * 500 + "...")]
)
def test_a_result_keeps_its_first_500_characters(length: int, kept: str) -> None:
    result = events.tool_result(None, "ls", is_error=False, text="x" * length, duration_ms=None)
    assert result.fields["text"] == kept


@pytest.mark.parametrize("letter", ["x", "é", "漢", "😀"])
def test_of_thoughts_the_first_2_kb_are_kept(letter: str) -> None:
    kept = len(events.thinking(letter * 5000).fields["text"].encode())
    assert 2048 - len(letter.encode()) < kept <= 2048


@given(st.text(max_size=60))
def test_short_thoughts_are_kept_whole(text: str) -> None:
    assert events.thinking(text).fields["text"] == text


def test_a_line_that_takes_more_memory_than_ours_do_is_no_event() -> None:
    head = b'{"v":1,"seq":1,"at":1,"type":"assistant_text",'
    assert events.decode(head + b'"text":"' + b"x" * 5_000_000 + b'"}') is not None
    assert events.decode(head + b'"text":"' + "é".encode() * 2_500_000 + b'"}') is None
    assert events.decode(head + b'"text":"\\ud83d\\ude00' + b"x" * 5_000_000 + b'"}') is None
    assert events.decode(head + b'"a":[' + b"{}," * 200_000 + b"1]}") is None
