"""Counts, money and durations in few letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.text import figures


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        *((0, "0"), (999, "999"), (1000, "1.0k"), (3400, "3.4k"), (9949, "9.9k"), (9950, "10k")),
        *((12_345, "12k"), (999_499, "999k"), (999_500, "1.0M"), (1_234_567, "1.2M"), (12e6, "12M")),
        *((999.5e6, "1.0G"), (5e12, "5000G")),
    ],
)
def test_a_figure_is_short(count: float, shown: str) -> None:
    assert figures.count(count) == shown


@pytest.mark.parametrize(("number", "shown"), [(0, "0 tools"), (1, "1 tool"), (2, "2 tools")])
def test_only_one_thing_is_singular(number: int, shown: str) -> None:
    assert figures.counted(number, "tool") == shown


@given(st.integers(0, 10**12 - 10**9))
def test_a_figure_is_near_what_it_stands_for(count: int) -> None:
    shown = figures.count(count)
    unit = {"k": 1e3, "M": 1e6, "G": 1e9}.get(shown[-1], 1)
    assert len(shown) <= 4
    assert abs(float(shown.rstrip("kMG")) * unit - count) <= max(0, 0.051 * count)


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        *((0, ""), (-1, ""), (0.00001, "<$0.0001"), (0.0001, "$0.0001"), (0.0041, "$0.0041")),
        *((0.005, "$0.005"), (0.06, "$0.06"), (0.1, "$0.10"), (0.0123, "$0.0123"), (0.99996, "$1.00")),
        *((12.345, "$12.35"), (20, "$20.00"), (0.5, "$0.50"), (0.00995, "$0.01"), (0.00996, "$0.01")),
    ],
)
def test_a_cost_is_the_more_exact_the_smaller_it_is(cost: float, shown: str) -> None:
    assert figures.money(cost) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        *((-1, "0.0s"), (0.04, "0.0s"), (0.35, "0.3s"), (9.94, "9.9s"), (9.95, "10s"), (59.4, "59s")),
        *((59.5, "1m 00s"), (72.3, "1m 12s"), (3599.4, "59m 59s"), (3599.6, "1h 00m"), (93_784, "26h 03m")),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, shown: str) -> None:
    assert figures.lasted(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-3, "0:00"), (4.9, "0:04"), (750, "12:30"), (3599, "59:59"), (3600, "1:00:00"), (3729, "1:02:09")],
)
def test_a_clock_counts_from_the_start(seconds: float, shown: str) -> None:
    assert figures.clock(seconds) == shown
