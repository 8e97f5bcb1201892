"""What runs have used, as one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.runs import words


def used(**some: float) -> dict[str, float]:
    keys = ("input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost")
    return {**dict.fromkeys(keys, 0), **some}


def test_several_runs_are_summed_up() -> None:
    runs = [used(input=9000, output=3000, cost=0.01), used(), used(input=3000, output=400, cost=0.0023)]
    assert words.line(runs) == "3 runs · ↑12k ↓3.4k · $0.0123"
    assert words.total(runs) == used(input=12000, output=3400, cost=0.0123)


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (used(), ""),
        (used(input=600, output=80, cost=0.0041), "1 run · ↑600 ↓80 · $0.0041"),
        (used(input=600), "1 run · ↑600"),
        (used(output=7), "1 run · ↓7"),
        (used(cost=0.00001), "1 run · <$0.0001"),
        (used(cost=0.99996), "1 run · $1.00"),
        (used(cost=12.345), "1 run · $12.35"),
        (used(cacheRead=5), ""),
    ],
)
def test_what_is_nothing_is_left_out(one: dict[str, float], line: str) -> None:
    assert words.line([one]) == line


def test_no_run_has_used_nothing() -> None:
    assert words.line([]) == ""


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        *((0, "0"), (999, "999"), (1000, "1.0k"), (3400, "3.4k"), (9949, "9.9k"), (9950, "10k")),
        *((12_345, "12k"), (999_499, "999k"), (999_500, "1.0M"), (1_234_567, "1.2M"), (12e6, "12M")),
        *((999.5e6, "1.0G"), (5e12, "5000G")),
    ],
)
def test_a_figure_is_short(count: float, shown: str) -> None:
    assert words.figure(count) == shown


@given(st.integers(0, 10**12 - 10**9))
def test_a_figure_is_near_what_it_stands_for(count: int) -> None:
    shown = words.figure(count)
    unit = {"k": 1e3, "M": 1e6, "G": 1e9}.get(shown[-1], 1)
    assert len(shown) <= 4
    assert abs(float(shown.rstrip("kMG")) * unit - count) <= max(0, 0.051 * count)
