"""How tmux arranges panes: what it takes, and what it must never be told, since 3.3a ends at it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.layouts import checks

# As tmux 3.3a printed them.
FOUR = "78bc,120x40,0,0{60x40,0,0,0,59x40,61,0[59x20,61,0,1,59x9,61,21,2,59x9,61,31,3]}"
ONE = "b25d,80x24,0,0,0"


def summed(text: str) -> str:
    return f"{checks.checksum(text)},{text}"


@pytest.mark.parametrize(
    "name", ["even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled"]
)
def test_tmuxs_own_names_are_taken_for_any_number_of_panes(name: str) -> None:
    assert [checks.fault(name, panes) for panes in (1, 7, None)] == [None] * 3


@pytest.mark.parametrize(("text", "panes"), [(FOUR, 4), (ONE, 1), (summed("80x24,0,0"), 1)])
def test_what_tmux_prints_is_taken_for_as_many_panes(text: str, panes: int) -> None:
    assert checks.fault(text, panes) is None
    assert f"and the window has {panes + 1}" in str(checks.fault(text, panes + 1))


@pytest.mark.parametrize(
    "text",
    [
        *("", "-o", "tilde", "tiled ", "Tiled", "main-horizontal-mirrored", "-E", "0", "next-layout", "\n"),
        *("78bc,", "78bc", FOUR[1:], FOUR.replace("78bc", "78bd"), FOUR.upper(), f"{FOUR} ", f" {FOUR}"),
        summed(""),
        summed("x"),
        summed("120x40"),
        summed("120x40,0,0{"),
        summed("120x40,0,0{60x40,0,0,0"),
        summed("120x40,0,0{60x40,0,0,0}"),  # it does not fill what it stands in
        summed("120x40,0,0{60x40,0,0,0,60x40,61,0,1}"),
        summed("120x40,0,0{60x40,0,0,0,59x39,61,0,1}"),
        summed("120x40,0,0{60x40,0,0,0,59x40,60,0,1}"),
        summed("120x40,0,0[60x20,0,0,0,60x19,0,21,1]"),
        summed("120x40,0,0{60x40,0,0,0,59x40,61,0,1]"),
        summed("120x40,0,0{60x40,0,0,0,59x40,61,0,1}}"),
        summed("120x40,0,0{}"),
        summed("0x40,0,0,0"),
        summed("99999x40,0,0,0"),
        summed("ü"),
        summed("80x24,0,0," + "9" * 40),
        summed("9x9,0,0{" * 200),
    ],
)
@pytest.mark.parametrize("panes", [1, 2, 4, None])
def test_all_else_is_refused(text: str, panes: int | None) -> None:
    assert checks.fault(text, panes) is not None


def test_a_text_is_refused_where_panes_come_and_go() -> None:
    assert "come and go" in str(checks.fault(FOUR, None))


@given(st.text(alphabet="0123456789x,{}[]", max_size=40))
def test_no_text_breaks_the_reader(text: str) -> None:
    assert [checks.fault(summed(text), panes) for panes in (1, 2)].count(None) < 2
