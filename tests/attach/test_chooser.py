"""The list to choose a run from: keys, the filter, and what it draws in any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.attach.rules import LEAVE, RunChooser
from tmuxagents.text.width import columns

ROWS = ["build running", "crawl failed no route", "write running", "Deploy failed denied"]


def chooser() -> RunChooser:
    made = RunChooser("Which?")
    made.take("NAME STATUS", ROWS)
    return made


def pressed(*keys: str) -> int | None:
    made, answer = chooser(), None
    made.draw(40, 8)
    for key in keys:
        answer = made.press(key)
        made.draw(40, 8)
    return answer


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["enter"], 0),
        (["down", "enter"], 1),
        (["down", "down", "up", "enter"], 1),
        (["up", "enter"], 0),
        (["end", "enter"], 3),
        (["end", "down", "enter"], 3),
        (["end", "home", "enter"], 0),
        (["page-down", "enter"], 3),
        (["page-down", "page-up", "enter"], 0),
        ([*"fail", "enter"], 1),
        ([*"fail", "down", "enter"], 3),
        ([*"DEPLOY", "enter"], 3),
        ([*"no fail", "enter"], 1),
        (["down", "down", *"dep", "enter"], 3),
        (["down", "down", *"i", "enter"], 0),  # the first one of what is left
        ([*"fail", "down", "backspace", "enter"], 1),
        ([*"x", "enter"], None),  # no row has it: nothing to choose
        ([*"x", "backspace", "enter"], 0),
        (["backspace", "enter"], 0),
        (["escape"], LEAVE),
        ([*"fail", "escape"], LEAVE),
        (["left"], None),
        (["down"], None),
    ],
)
def test_what_keys_choose(keys: list[str], expected: int | None) -> None:
    assert pressed(*keys) == expected


def test_it_shows_the_filter_the_chosen_row_and_which_key_does_what() -> None:
    made = chooser()
    for key in [*"fail", "down"]:
        made.press(key)
    assert made.draw(70, 7) == [
        "Which? fail_",
        "\x1b[2mNAME STATUS",
        "crawl failed no route",
        "\x1b[7mDeploy failed denied" + " " * 50,
        "",
        "",
        "\x1b[2mup/down choose, letters filter, Enter attaches, Esc leaves",
    ]
    for key in "zz":
        made.press(key)
    assert made.draw(70, 4)[2] == "No run has these words."


def test_the_chosen_row_is_always_on_the_screen() -> None:
    made = RunChooser("Which?")
    made.take("NAME", [f"row {number}" for number in range(30)])
    for key in ["down"] * 20 + ["up"] * 9:
        made.press(key)
        assert sum(line.startswith("\x1b[7m") for line in made.draw(20, 8)) == 1
    assert made.press("enter") == 11


@given(
    st.lists(st.text(max_size=60), max_size=30),
    st.lists(st.sampled_from(["up", "down", "page-down", "end", "a", "backspace"])),
    st.integers(1, 80),
    st.integers(1, 30),
)
def test_no_line_is_wider_and_no_screen_higher(
    rows: list[str], keys: list[str], width: int, height: int
) -> None:
    made = RunChooser("Which?")
    made.take("NAME", rows)
    for key in keys:
        made.press(key)
    lines = made.draw(width, height)
    assert len(lines) <= height
    plain = [line.removeprefix("\x1b[7m").removeprefix("\x1b[2m") for line in lines]
    assert [line for line in plain if columns(line) > width] == []
