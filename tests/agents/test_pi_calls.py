"""Tool calls of pi: each is reported once, and with its own end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.pi_lines import TURN, Played, answer, began, call, ended, play, result_message, text

TOOLS = {
    "as pi does it": ([answer(call("c1")), began("c1"), ended("c1"), result_message("c1")], "cur"),
    "two at once, ending the other way round": (
        [answer(call("c1"), call("c2")), began("c1"), began("c2"), ended("c2"), ended("c1")],
        "ccurr",
    ),
    "without the answer that names it": ([began("c1"), ended("c1")], "cr"),
    "its end alone": ([ended("c1")], "r"),
    "without an end of its own": ([answer(call("c1")), result_message("c1")], "cur"),
    "without an id, from its start on": ([began(None), ended(None)], "cr"),
    "an empty id is none: each is a call of its own": ([began(""), ended("")] * 2, "cr" * 2),
    "an id that is no text is none": ([began(5), ended(5)] * 2, "cr" * 2),
    "named twice in one answer": ([answer(call("c1"), call("c1")), began("c1"), ended("c1")], "cur"),
    "its end told twice": ([began("c1"), ended("c1"), ended("c1"), result_message("c1")], "cr"),
    "the same id in the next answer, while the first has not ended": (
        [answer(call("c1")), TURN, answer(call("c1")), began("c1"), ended("c1")],
        "cueur",
    ),
    "the same id in the next answer, and its result a message alone": (
        [answer(call("c1")), began("c1"), ended("c1"), TURN, answer(call("c1")), result_message("c1")],
        "curecur",
    ),
    "the same id in the next turn": (
        [answer(call("c1")), began("c1"), ended("c1"), result_message("c1"), TURN] * 2,
        "cure" * 2,
    ),
    "the same id in the next turn, without answers that name it": ([began("c1"), ended("c1")] * 2, "cr" * 2),
}


@pytest.mark.parametrize("case", TOOLS)
def test_a_call_is_told_once_with_its_end(case: str) -> None:
    lines, letters = TOOLS[case]
    assert play(lines).letters == letters


@pytest.mark.parametrize(
    ("fields", "lasted"),
    [({"durationMs": 7}, 7), ({}, 2500), ({"durationMs": None}, 2500), ({"durationMs": True}, 2500)],
)
def test_how_long_a_call_took_is_what_pi_says_or_else_what_we_saw(
    fields: dict[str, Any], lasted: int
) -> None:
    played = Played()
    played.take(answer(call("c1")), 1.0)
    played.take(began("c1"), 10.0)
    played.take(ended("c1", **fields), 12.5)
    assert played.events[-1].fields["durationMs"] == lasted


def test_how_long_a_call_took_that_never_began_is_unknown() -> None:
    assert play([answer(call("c1")), ended("c1")]).events[-1].fields["durationMs"] is None
    assert play([ended("c1")]).events[-1].fields["durationMs"] is None


@pytest.mark.parametrize(("late", "lasted"), [(1.5, None), (0.5, 1000)])
def test_a_short_duration_counts_only_if_its_beginning_was_not_read_late(
    late: float, lasted: int | None
) -> None:
    played = Played()
    played.reader.note_late(late)
    played.take(began("c1"), 1.0)
    (told,) = played.take(ended("c1"), 2.0).events
    assert told.fields["durationMs"] == lasted


def test_a_call_without_name_or_arguments_is_a_call_all_the_same() -> None:
    told = play([began("c1", 5, ["x"]), ended("c1", None)]).events
    assert [event.fields["toolName"] for event in told] == ["tool", "tool"]
    assert told[0].fields["args"] == {}


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ([text("a"), {"type": "image", "data": "AAAA"}, text("b")], "a\nb"),
        ("bare", "bare"),
        ([], ""),
        (None, ""),
        ([{"type": "text", "text": 5}], ""),
    ],
)
def test_a_result_shows_its_text(content: Any, shown: str) -> None:
    assert play([ended("c1", result={"content": content})]).events[0].fields["text"] == shown
    assert play([result_message("c1", content=content)]).events[0].fields["text"] == shown


@pytest.mark.parametrize("odd", ["true", 1, None])
def test_only_true_is_an_error(odd: Any) -> None:
    assert play([ended("c1", isError=odd)]).events[0].fields["isError"] is False
    assert play([ended("c1", isError=True)]).events[0].fields["isError"] is True


def test_calls_that_never_end_do_not_fill_the_memory() -> None:
    played = Played()
    for number in range(1500):
        played.take(began(f"c{number}"))
        played.take(ended(f"d{number}"))
    assert played.letters == "cr" * 1500
    assert len(played.reader._running) == len(played.reader._answered) == 1000


def test_of_calls_that_never_end_the_latest_are_known() -> None:
    played = Played()
    for number in range(1500):
        played.take(began(f"c{number}"), float(number))
    lasted = [
        played.take(ended(f"c{number}"), 2000.0).events[0].fields["durationMs"] for number in (500, 499)
    ]
    assert lasted == [1_500_000, None]


def test_a_call_without_an_id_is_told_once_though_its_answer_names_it() -> None:
    """Else it counts twice, and three calls of a kind are taken for a loop of five."""
    for nobody in ("", None):
        letters = play([answer(call(nobody)), began(nobody), ended(nobody), result_message(nobody)]).letters
        assert sorted(letters) == sorted("cur")


def test_how_long_a_call_took_is_not_told_of_another_with_its_id() -> None:
    played = Played()
    for raw, now in ((began("c1"), 1.0), (ended("c1"), 2.0), (answer(call("c1")), 5.0), (ended("c1"), 9.0)):
        played.take(raw, now)
    assert [event.fields["durationMs"] for event in played.events if event.type == "tool_result"] == [
        1000,
        None,
    ]


@pytest.mark.parametrize("odd", [-5, -1, 2**53 + 1, 10**400, 1.5, "7"], ids=range(6))
def test_no_call_took_a_time_that_cannot_be(odd: Any) -> None:
    """What we saw stands in for it: the contract knows whole milliseconds from 0 on."""
    played = play([began("c1"), ended("c1", durationMs=odd)])
    assert played.events[-1].fields["durationMs"] == 0
