"""The usage of runs, as one line."""

from __future__ import annotations

import pytest

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
