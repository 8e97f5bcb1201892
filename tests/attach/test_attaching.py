"""Rules of attach: the way back, which run comes next, what an answer means, which pager."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.attach import rules
from tmuxagents.attach.rules import OUT, Trail

ME, HOME = "/dev/pts/5", "$3:@7"
A, B, C, F, W = "a" * 16, "b" * 16, "c" * 16, "f" * 16, "e" * 16


@pytest.mark.parametrize("home", [HOME, OUT, None])
@pytest.mark.parametrize("runs", [(), (A,), (A, B, A)])
def test_a_trail_is_read_as_it_was_written(home: str | None, runs: tuple[str, ...]) -> None:
    read = rules.parse_trail(str(Trail(ME, home, runs)), ME)
    assert (read.client, read.home, read.runs) == (ME, home, runs)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ME,
        f"/dev/pts/6,{HOME},{A}",
        f"{ME},{HOME},{A[1:]}",
        f"{ME},{HOME},{A},",
        f"{ME},$3:@7x",
        f"{ME},work:0",
        f"{ME},#(touch x)",
        f"{ME},{HOME}\n",
    ],
)
def test_a_trail_of_another_client_or_none_at_all_leads_nowhere(text: str) -> None:
    read = rules.parse_trail(text, ME)
    assert (read.client, read.home, read.runs) == (ME, None, ())


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert rules.parse_trail(text, ME).client == ME


def test_a_trail_holds_the_last_eight_runs_and_the_place_before_them() -> None:
    trail = Trail(ME, HOME)
    assert trail.past(A).past(B).runs == (A, B)
    for number in range(30):
        trail = trail.past(f"{number:016x}")
    assert len(trail.runs) == 8
    assert (trail.home, trail.runs[-1]) == (HOME, f"{29:016x}")


RUNS = [(2, 3.0, A), (2, 1.0, B), (0, 9.0, F), (2, 2.0, C), (1, 5.0, W)]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (None, [F, W, B, C, A]),
        ((0, 9.0, F), [W, B, C, A, F]),
        ((1, 5.0, W), [B, C, A, F, W]),
        ((2, 1.0, B), [C, A, F, W, B]),
        ((2, 3.0, A), [F, W, B, C, A]),
        ((2, 1.5, "0" * 16), [C, A, F, W, B]),  # it has ended: none of them
        ((2, 9.0, "0" * 16), [F, W, B, C, A]),
        ((2, 0.0, "0" * 16), [B, C, A, F, W]),
    ],
)
def test_next_goes_round_those_first_that_need_somebody(shown: rules.Key | None, expected: list[str]) -> None:
    assert rules.following(RUNS, shown) == expected


def test_next_of_nothing_is_nothing() -> None:
    assert rules.following([], (2, 1.0, A)) == []


def test_runs_of_one_moment_have_an_order_too() -> None:
    assert rules.following([(2, 1.0, B), (2, 1.0, A)], (2, 1.0, A)) == [B, A]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        *(("", 0), (" \n", 0), ("1", 0), (" 3 ", 2), ("03", 2)),
        *(
            ("0", None),
            ("4", None),
            ("-1", None),
            ("q", None),
            ("²", None),
            ("1.0", None),
            ("9" * 5000, None),
        ),
    ],
)
def test_what_an_answer_means(answer: str, expected: int | None) -> None:
    assert rules.choice(answer, 3) == expected


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ["less", "-R"]),
        ({"PAGER": ""}, None),
        ({"PAGER": " cat "}, None),
        ({"PAGER": " X=1 less -S | tee 'a b'"}, ["/bin/sh", "-c", " X=1 less -S | tee 'a b'"]),
    ],
)
def test_which_pager_it_is(environment: dict[str, str], expected: list[str] | None) -> None:
    assert rules.pager(environment, has_less=True) == expected


def test_without_less_a_pager_must_be_named() -> None:
    assert rules.pager({}, has_less=False) is None
    assert rules.pager({"PAGER": "most"}, has_less=False) == ["/bin/sh", "-c", "most"]
