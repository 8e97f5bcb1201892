"""Lines that are too long to keep, or to parse: the meaning of their two ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.pi_lines import (
    ASSISTANT,
    DONE,
    LONG,
    SETTLED,
    Played,
    answer,
    began,
    call,
    cut,
    ended,
    line,
    play,
    result_message,
    text,
)
from tmuxagents.agents.base import LineSplitter, Oversized
from tmuxagents.runs import events


def test_the_end_of_a_tool_that_said_too_much() -> None:
    raw = ended(
        "c1", "bash", result={"content": [text("ok")], "structuredContent": {"output": LONG}}, durationMs=5
    )
    played = play([began("c1", "bash"), cut(raw), result_message("c1", "bash")])
    assert played.letters == "cr"
    assert {key: played.events[-1].fields[key] for key in ("callId", "toolName", "isError")} == {
        "callId": "c1",
        "toolName": "bash",
        "isError": False,
    }
    assert str(len(raw)) in played.events[-1].fields["text"]


@pytest.mark.parametrize("failed", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_whether_a_tool_failed_that_said_too_much(*, failed: bool, inside: bool) -> None:
    """What the tool itself calls an error inside its details is its own matter."""
    result = {"content": [text(LONG)], "details": {"steps": [{"isError": inside}]}}
    spaced = json.dumps(
        {"type": "tool_execution_end", "toolCallId": "c1", "result": result, "isError": failed}
    )
    for raw in (ended("c1", result=result, isError=failed), spaced.encode()):
        assert play([cut(raw)]).events[0].fields["isError"] is failed


def test_a_result_that_said_too_much_is_no_answer_that_is_left_out() -> None:
    played = play([cut(ended("c1", result={"content": [text(LONG)]}))])
    assert (played.letters, played.reader.left_out) == ("r", False)


@pytest.mark.parametrize("letter", ["x", "\u00e9"], ids=["above 4 MB", "above 1 MB"])
@pytest.mark.parametrize("at", [0, 100_000, -1], ids=["beginning", "middle", "end"])
def test_calls_with_too_many_arguments_that_differ_are_no_loop(letter: str, at: int) -> None:
    content = letter * (len(LONG) if letter == "x" else 600_000)
    other = list(content)
    other[at] = "\u00ea" if letter != "x" else "y"
    written = [content, "".join(other), content + "x", content]
    started = [began(f"c{number}", "write", {"path": "a", "content": x}) for number, x in enumerate(written)]
    told = [play([*LineSplitter().feed(raw + b"\n")]).events[0].fields["args"] for raw in started]
    first, second, third, fourth = told
    assert first == fourth
    assert (first["path"], first["leftOut"], third["leftOut"]) == ("a", len(started[0]), len(started[0]) + 1)
    assert first["leftOut"] == second["leftOut"]
    assert first != second


def test_a_call_with_too_many_arguments_is_a_call_all_the_same() -> None:
    """Else a child that writes large files would make no calls, and be idle while it works."""
    played = Played()
    lines = [answer(call("c1", "write", {"path": "a", "content": LONG}), stopReason="toolUse")]
    lines += [began("c1", "write", {"path": "a", "content": LONG})]
    active = [played.take(cut(raw)).active for raw in lines]
    played.take(ended("c1", "write"))
    told = [event for event in played.events if event.type in ("tool_call", "tool_result")]
    assert [(event.type, event.fields["callId"], event.fields["toolName"]) for event in told] == [
        ("tool_call", "c1", "write"),
        ("tool_result", "c1", "write"),
    ]
    assert active[-1]


@pytest.mark.parametrize("reason", ["stop", "length", "error", "toolUse"])
def test_an_answer_that_is_too_long_ends_as_it_says(reason: str) -> None:
    words = text(f'{LONG} it wrote: {{"stopReason":"stop","type":"turn_end"}}')
    raw = answer(
        words,
        call("c1", "x", {"stopReason": "pending"}),
        stopReason=reason,
        errorMessage='{"stopReason":"stop"}',
    )
    closes = line("turn_end", message={**ASSISTANT, "content": [words], "stopReason": reason})
    ends = line("agent_end", messages=[{"content": LONG}], willRetry=False)
    played = play([cut(raw), cut(closes), cut(ends), SETTLED])
    assert played.letters == ("ueS" if reason == "toolUse" else "tueS")
    assert played.state.stop_reason == reason
    assert (played.verdict() == DONE) is (reason == "stop")
    assert str(len(raw)) in str(played.state.text) or reason == "toolUse"
    assert played.reader.left_out


@pytest.mark.parametrize(
    ("fields", "letters"),
    [({"willRetry": False}, ""), ({"willRetry": True}, ""), ({}, "S")],
    ids=["no", "yes", "old"],
)
def test_the_end_of_a_long_run_settles_only_an_old_pi(fields: dict[str, Any], letters: str) -> None:
    messages = [{"role": "assistant", "content": [call("c1", "x", {"willRetry": True}), text(LONG)]}]
    assert play([cut(line("agent_end", messages=messages, **fields))]).letters == letters


@pytest.mark.parametrize(
    ("raw", "active"),
    [
        (line("message_update", assistantMessageEvent={"type": "text_delta", "delta": LONG}), True),
        (line("tool_execution_update", partialResult=LONG), True),
        (line("message_end", message={"role": "user", "content": LONG}), False),
        (line("message_end", message=LONG), False),
        (line("message_start", message=ASSISTANT, rest=LONG), False),
        (line("from_the_future", rest=LONG), False),
        (b"no json at all " + LONG.encode(), False),
        (b'{"type":' + LONG.encode(), False),
    ],
    ids=["text", "tool update", "user", "no message", "start", "unknown", "plain", "torn"],
)
def test_other_long_lines_tell_no_more_than_short_ones(raw: bytes, *, active: bool) -> None:
    reading = Played().take(cut(raw))
    assert (list(reading.events), reading.active) == ([], active)


ENDS_AS: dict[str, Any] = {
    "provider": "mock",
    "model": "mock-text",
    "usage": {
        "input": 600,
        "output": 200,
        "cacheRead": 400,
        "cacheWrite": 1,
        "totalTokens": 1200,
        "cost": {"input": 0.5, "output": 0.5, "cacheRead": 0, "cacheWrite": 0, "total": 1.25},
    },
    "stopReason": "error",
    "timestamp": 1794996000123,
}


def two_ends(raw: bytes) -> Oversized:
    """Return a line as if it were too long: both ends hold all of it."""
    return Oversized(raw, raw, len(raw))


@pytest.mark.parametrize(
    "error", [None, "500: no", "", "x" * 150, "é " * 40], ids=["none", "some", "empty", "long", "é"]
)
@pytest.mark.parametrize("reason", ["stop", "error", "aborted", "length"])
@pytest.mark.parametrize("model", ["mock-text", "vendor/model:free"])
def test_the_two_ends_of_an_answer_tell_what_the_whole_tells(
    error: str | None, reason: str, model: str
) -> None:
    told = {
        **ENDS_AS,
        "model": model,
        "stopReason": reason,
        **({} if error is None else {"errorMessage": error}),
    }
    raw = answer(text("Found."), **told)
    whole, ends = play([raw, SETTLED]), play([two_ends(raw), SETTLED])
    assert (whole.reader.left_out, ends.reader.left_out) == (False, True)
    assert ends.letters == whole.letters
    assert (ends.reader.model, ends.reader.error_message) == (whole.reader.model, whole.reader.error_message)
    assert ends.verdict() == whole.verdict()


def test_what_a_long_answer_cost_is_told_too() -> None:
    raw = answer(text("Found."), **ENDS_AS)
    assert play([two_ends(raw)]).state.usage == play([raw]).state.usage
    assert play([raw]).state.usage["totalTokens"] == 1200


def test_an_error_in_quotes_is_told_whole_of_a_long_answer_too() -> None:
    raw = answer(text("Found."), **ENDS_AS, errorMessage='401: {"message":"wrong key"}')
    assert play([two_ends(raw)]).reader.error_message == '401: {"message":"wrong key"}'


def test_null_is_no_word_of_a_long_answer() -> None:
    raw = answer(text("Found."), **{**ENDS_AS, "model": None, "stopReason": None}, errorMessage=None)
    played = play([two_ends(raw), SETTLED])
    assert (played.reader.model, played.reader.error_message, played.state.stop_reason) == (None, None, None)


# --- lines that are short enough, but hold more than can be parsed cheaply ---

DENSE: list[Any] = [{}] * 150_000


def test_a_line_of_many_small_parts_is_read_by_its_two_ends() -> None:
    """Parsed, 300 KB of brackets take 10 MB and more."""
    calls = [
        answer(call("c1", "write", {"path": "a", "x": DENSE}), **ENDS_AS),
        began("c2", "write", {"path": "a", "x": DENSE}),
        ended("c2", result={"content": [], "details": DENSE}),
    ]
    played = play(calls)
    assert played.letters == "tucr"
    assert (played.reader.model, played.reader.left_out) == ("mock/mock-text", True)
    args = played.events[2].fields["args"]
    assert (list(args), args["leftOut"]) == (["path", "leftOut", "sum"], len(calls[1]))
    assert played.plain == []


@pytest.mark.parametrize(("letter", "whole"), [("\U0001f600", False), ("", True)])
def test_an_answer_whose_letters_take_much_memory_is_read_by_its_ends(letter: str, *, whole: bool) -> None:
    said = letter + "x" * 1_100_000
    played = play([answer(text(said)), line("agent_settled", aborted=False)])
    assert played.verdict() == DONE
    assert (played.state.text == said, played.reader.left_out) == (whole, not whole)


def test_a_result_of_any_letters_keeps_its_beginning() -> None:
    said = {"content": [text("first")], "structuredContent": {"output": "\U0001f600" + "x" * 1_100_000}}
    assert play([ended("c1", result=said)]).events[0].fields["text"] == "first"


# --- lines that hold what nobody can follow or reckon with ---


@pytest.mark.parametrize("depth", [499, 501, 980, 1000, 100_000])
def test_a_line_that_is_nested_too_deeply_is_read_by_its_ends(depth: int) -> None:
    """Whatever a tool call holds, how the answer ended is not lost with it."""
    bottomless, deep = '"' + "bottomless" + '"', "[" * depth + "]" * depth
    fields = {"path": "a", "x": "bottomless"}
    lines = [
        answer(call("c1", "write", fields), text("Found."), **{**ENDS_AS, "stopReason": "stop"}),
        began("c1", "write", fields),
        ended("c1", "write", result={"content": [], "details": fields}),
        line("turn_end", message={**ASSISTANT, "content": [call("c1", "write", fields)]}, toolResults=[]),
        line("agent_end", messages=[{**ASSISTANT, "content": [call("c1", "write", fields)]}]),
    ]
    played = play(raw.decode().replace(bottomless, deep).encode() for raw in lines)
    assert sorted(played.letters) == sorted("tucreS")
    assert played.verdict() == DONE
    assert (played.plain, played.reader.model) == ([], "mock/mock-text")


def test_a_figure_without_an_end_hides_nothing_else() -> None:
    raw = answer(text("Found."), call("c1", "x", {"n": 1234, "y": "z"}), usage={"input": 1234, "output": 5})
    played = play([raw.replace(b"1234", b"9" * 5000), SETTLED])
    assert played.verdict() == DONE
    assert (played.state.text, played.state.usage["input"], played.state.usage["output"]) == ("Found.", 0, 5)
    assert b'"args":{"n":null,"y":"z"}' in events.encode(played.events[1])
