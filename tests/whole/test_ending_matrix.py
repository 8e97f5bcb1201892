"""The ending matrix, each row several times and side by side (scripts/torture does it oftener)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.torture import matrix, real, scripted, windows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from tests.harness import ModelServer
    from tests.torture.matrix import Outcome

    Begun = dict[str, list[Future[Outcome]]]

TIMES = 5
SELDOM = 2  # floods, and the real pi
STARTS = 100  # of a race against hostile readers
JOBS = 8  # they wait more than they work, and others work beside them
NAMES = [row.name for row in scripted.ENDINGS]
NAMES += [window.name for window in windows.WINDOW_ENDINGS]
NAMES += [asked.name for asked in real.REAL_ENDINGS]


@pytest.fixture(scope="session")
def outcomes(
    models: ModelServer, request: pytest.FixtureRequest
) -> Iterator[dict[str, list[Future[Outcome]]]]:
    """Begin to carry all chosen rows out, side by side and several times; each test waits for its own."""
    params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    chosen = {found["name"] for found in params if "name" in found}
    cases = []
    for turn in range(TIMES):
        cases += [c for c in matrix.scripted_cases() if turn < SELDOM or c.name not in scripted.HEAVY]
        if turn < SELDOM:
            cases += matrix.real_cases(models)
    cases.sort(key=lambda case: NAMES.index(case.name))  # as the tests come
    begun: Begun = {name: [] for name in NAMES}
    with ThreadPoolExecutor(JOBS) as pool:
        for case in cases:
            if case.name in chosen:
                begun[case.name].append(pool.submit(case.carry_out))
        yield begun
        pool.shutdown(cancel_futures=True)


def test_no_two_rows_share_a_name() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_ending(outcomes: Begun, name: str) -> None:
    assert outcomes[name], "it was not provoked at all"
    found = [begun.result().wrong for begun in outcomes[name]]
    assert [wrong for wrong in found if wrong] == []


@pytest.mark.parametrize("seed", [1, 2])
def test_hostile_readers_never_see_what_is_not_so(seed: int) -> None:
    assert matrix.race(seed, STARTS).carry_out().wrong == []
