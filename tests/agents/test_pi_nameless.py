"""Calls of pi without an id, and results that come only with the end of a turn: each is reported once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.pi_lines import (
    ASSISTANT,
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
from tmuxagents.agents.pi.reader import Nameless


def turn(*results: dict[str, Any]) -> bytes:
    return line("turn_end", message=ASSISTANT, toolResults=list(results))


def result(call_id: Any, tool: str = "read", words: str = "z") -> dict[str, Any]:
    return {"role": "toolResult", "toolCallId": call_id, "toolName": tool, "content": [text(words)]}


A, B = {"path": "a"}, {"path": "b"}
CASES = {
    "named in an answer alone": ([answer(call(None))], "cu"),
    "named, begun and ended": ([answer(call(None)), began(None), ended(None)], "cur"),
    "named without an id, begun with one": ([answer(call(None)), began("c1"), ended("c1")], "cur"),
    "its result told twice": ([answer(call(None)), began(None), ended(None), result_message(None)], "cur"),
    "its result a message alone": ([answer(call(None)), result_message(None)], "cur"),
    "its result with the end of the turn alone": ([answer(call(None)), turn(result(None))], "cure"),
    "its result everywhere": (
        [answer(call(None)), ended(None), result_message(None), turn(result(None))],
        "cure",
    ),
    "begun alone, its result a message": ([began(None), result_message(None)], "cr"),
    "two alike": (
        [answer(call(None), call(None)), began(None), began(None), ended(None), ended(None)],
        "ccurr",
    ),
    "two of a tool, begun the other way round": (
        [answer(call(None, args=A), call(None, args=B)), began("c2", args=B), began("c1", args=A)],
        "ccu",
    ),
    "begun with other arguments than named": ([answer(call(None, args=A)), began("c1", args=B)], "cu"),
    "named, and another tool begun": ([answer(call(None)), began("c1", "ls")], "cuc"),
    "named, never begun, and the next answer's": (
        [answer(call(None)), answer(), began("c1"), ended("c1")],
        "cueucr",  # the end of the first turn is told with the next answer
    ),
    "its end alone": ([ended(None), result_message(None)], "r"),
    "a result that nobody waits for": ([result_message(None), turn(result(None))], "e"),
    "a result of another tool": ([answer(call(None)), result_message(None, "ls")], "cu"),
    "a result that does not say of which tool": ([answer(call(None)), result_message(None, None)], "cur"),
    "a result with an id, with the end of the turn alone": ([answer(call("c1")), turn(result("c1"))], "cure"),
    "a result with an id, told before": ([answer(call("c1")), ended("c1"), turn(result("c1"))], "cure"),
    "an id that is no text": ([answer(call(5)), began(5), ended(5), turn(result(5))], "cure"),
    "results that are none": ([line("turn_end", message=ASSISTANT, toolResults=[5, None])], "e"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_call_without_an_id_is_told_once(case: str) -> None:
    lines, letters = CASES[case]
    assert play(lines).letters == letters


def test_a_call_without_an_id_is_told_with_what_it_is() -> None:
    told = play([answer(call(None, 5, ["x"]), call(None, "ls", A))]).events[:2]
    assert [event.fields for event in told] == [
        {"callId": None, "toolName": "tool", "args": {}},
        {"callId": None, "toolName": "ls", "args": A},
    ]


def test_a_result_that_comes_with_the_turn_is_work() -> None:
    played = Played()
    played.take(answer(call("c1")))
    assert played.take(turn(result("c1"))).active
    assert not played.take(turn()).active


def test_calls_that_are_never_answered_do_not_fill_the_memory() -> None:
    known = Nameless()
    for _ in range(1500):
        known.begin("read")
    assert len(known._unanswered) == 1000
