"""The turns of a pi: how an answer ended, and whether it has settled."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.pi_lines import (
    DONE,
    RETRIES,
    SAYS,
    SETTLED,
    TURN,
    answer,
    began,
    call,
    ended,
    line,
    play,
    text,
)

UNFINISHED = ("failed", "unfinished", 0, None, "The child ended without finishing its answer.")

SETTLINGS = {
    "a pi of today": ([*SAYS, line("agent_end", messages=[], willRetry=False), SETTLED], "tueS", True),
    "a pi that does not say whether it was aborted": (
        [*SAYS, line("agent_end", messages=[], willRetry=False), line("agent_settled")],
        *("tueS", True),
    ),
    "not before it says so": ([*SAYS, line("agent_end", messages=[], willRetry=False)], "tue", False),
    "not when it will try again": ([*SAYS, line("agent_end", messages=[], willRetry=True)], "tue", False),
    "an old pi settles with its last word": ([*SAYS, line("agent_end", messages=[])], "tueS", True),
    "an old pi that tries again after all": (
        [*SAYS, line("agent_end", messages=[]), RETRIES],
        "tueSy",
        False,
    ),
    "an old pi that tried again": (
        [
            *SAYS,
            line("agent_end", messages=[]),
            RETRIES,
            line("agent_start"),
            *SAYS,
            line("agent_end", messages=[]),
        ],
        *("tueSytueS", True),
    ),
    "it begins again": ([*SAYS, SETTLED, line("agent_start")], "tueSb", False),
    "it begins another turn": ([*SAYS, SETTLED, line("turn_start")], "tueSb", False),
    "it begins again, which is said once": (
        [*SAYS, SETTLED, line("agent_start"), line("turn_start"), *SAYS, SETTLED],
        *("tueSbtueS", True),
    ),
    "it settles twice": ([*SAYS, SETTLED, SETTLED], "tueSS", True),
    "a retry after it": ([*SAYS, SETTLED, RETRIES], "tueSy", False),
    "a result after it": ([*SAYS, SETTLED, ended("c1")], "tueSr", True),
    "the end of its turn was lost": ([SAYS[0], SETTLED], "tueS", True),
    "the end of an earlier turn was lost": (
        [answer(stopReason="error"), *SAYS, SETTLED],
        *("uetueS", True),
    ),
    "the end of its turn comes after it": ([SAYS[0], SETTLED, TURN], "tueSe", True),
    "it calls a tool that its answer had named": (
        [answer(text("Found."), call("c1")), TURN, SETTLED, began("c1")],
        *("tcueSb", False),
    ),
    "it answers again": ([*SAYS, SETTLED, answer(text("More."))], "tueStu", False),
    "it calls a tool again": ([*SAYS, SETTLED, began("c1")], "tueSc", False),
    "words of others after it": (
        [
            *SAYS,
            SETTLED,
            line("message_end", message={"role": "custom", "content": "x"}),
            line("entry_appended"),
        ],
        *("tueS", True),
    ),
    "streaming after it is no news": ([*SAYS, SETTLED, b'{"type":"message_update"}'], "tueS", True),
}


@pytest.mark.parametrize("case", SETTLINGS)
def test_settling(case: str) -> None:
    lines, letters, settled = SETTLINGS[case]
    played = play([line("agent_start"), line("turn_start"), *lines])
    assert played.letters == letters
    assert (played.reader.settled, played.state.settled) == (settled, settled)
    assert (played.verdict() == DONE) is settled


@pytest.mark.parametrize("reason", ["error", "aborted", "length", "toolUse"])
def test_how_the_last_answer_ended_counts_though_the_end_of_its_turn_was_lost(reason: str) -> None:
    played = play([*SAYS, answer(text("More."), stopReason=reason), SETTLED])
    assert played.letters == "tuetueS"
    assert (played.state.stop_reason, played.state.turns) == (reason, 2)
    assert played.verdict() != DONE


def test_how_an_earlier_answer_ended_is_no_end_of_the_last() -> None:
    played = play([*SAYS, answer(text("More."))])
    assert (played.state.stop_reason, played.verdict()) == (None, UNFINISHED)


@pytest.mark.parametrize(
    ("fields", "aborted"), [({"aborted": True}, True), ({"aborted": "yes"}, False), ({}, False)]
)
def test_what_was_aborted_is_no_answer(fields: dict[str, Any], *, aborted: bool) -> None:
    played = play([*SAYS, line("agent_settled", **fields)])
    assert played.events[-1].fields["aborted"] is aborted
    assert (played.verdict() == DONE) is not aborted


def test_the_end_of_a_turn_tells_the_reason_of_its_own_message_or_of_the_last_one() -> None:
    assert play([line("turn_end", message={"stopReason": "length"})]).state.stop_reason == "length"
    assert play([answer(stopReason="length"), line("turn_end")]).state.stop_reason == "length"
    assert (
        play([answer(stopReason="length"), line("turn_end", message={"stopReason": 5})]).state.stop_reason
        == "length"
    )
    assert play([line("turn_end")]).state.stop_reason is None


def test_a_retry_tells_what_it_knows() -> None:
    assert play([RETRIES]).events[0].fields == {
        "attempt": 1,
        "maxAttempts": 3,
        "delayMs": 2000,
        "errorMessage": "500: no",
    }


@pytest.mark.parametrize(
    "odd", ["1", True, 1.5, -1, 10**400], ids=["text", "flag", "half", "below 0", "huge"]
)
def test_a_retry_tells_no_figure_that_is_none(odd: Any) -> None:
    """The contract knows whole figures from 0 on."""
    (told,) = play([line("auto_retry_start", attempt=odd, maxAttempts=odd, delayMs=odd)]).events
    assert set(told.fields.values()) == {None}


def test_attempts_count_from_1() -> None:
    (told,) = play([line("auto_retry_start", attempt=0, maxAttempts=0, delayMs=0)]).events
    assert told.fields == {"attempt": None, "maxAttempts": None, "delayMs": 0, "errorMessage": None}


def test_an_answer_that_gives_no_reason_but_an_empty_one_gives_none() -> None:
    played = play([answer(text("Found."), stopReason=""), SETTLED])
    assert (played.letters, played.state.stop_reason) == ("tueS", None)
    assert played.verdict()[:2] == ("failed", "unfinished")
