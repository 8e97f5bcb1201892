"""The ending matrix, each row several times and side by side (scripts/torture does it oftener)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.torture import matrix, real, scripted, windows

if TYPE_CHECKING:
    from tests.harness import ModelServer

TIMES = 5
SELDOM = 2  # floods, and the real pi
STARTS = 100  # of a race against hostile readers
JOBS = 8  # they wait more than they work, and others work beside them
NAMES = [row.name for row in scripted.ENDINGS]
NAMES += [window.name for window in windows.WINDOW_ENDINGS]
NAMES += [asked.name for asked in real.REAL_ENDINGS]


@pytest.fixture(scope="session")
def outcomes(models: ModelServer, request: pytest.FixtureRequest) -> dict[str, list[list[str]]]:
    """Carry all chosen rows out; give what was wrong, time by time."""
    params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    chosen = {found["name"] for found in params if "name" in found}
    cases = []
    for turn in range(TIMES):
        cases += [c for c in matrix.scripted_cases() if turn < SELDOM or c.name not in scripted.HEAVY]
        if turn < SELDOM:
            cases += matrix.real_cases(models)
    with ThreadPoolExecutor(JOBS) as pool:
        done = list(pool.map(matrix.Case.carry_out, [case for case in cases if case.name in chosen]))
    gathered: dict[str, list[list[str]]] = {name: [] for name in NAMES}
    for outcome in done:
        gathered[outcome.case.name].append(outcome.wrong)
    return gathered


def test_no_two_rows_share_a_name() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_ending(outcomes: dict[str, list[list[str]]], name: str) -> None:
    assert outcomes[name], "it was not provoked at all"
    assert [wrong for wrong in outcomes[name] if wrong] == []


@pytest.mark.parametrize("seed", [1, 2])
def test_hostile_readers_never_see_what_is_not_so(seed: int) -> None:
    assert matrix.race(seed, STARTS).carry_out().wrong == []
