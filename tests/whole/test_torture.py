"""A bounded part of scripts/torture: each fault over a few live runs, some calls that fail, each attack."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.torture import alone, matrix, scale, siege, walls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from tests.torture.matrix import Case, Outcome

RUNS, JOBS = 5, 4
PATIENT_S = 60.0  # how soon poll is right is measured where the machine is alone (scripts/torture)
LONG = {  # these take their time: they are in scripts/torture alone
    *("launchers killed -9 at any instant", "tmux server stopped", "registry locked for seconds"),
    *("commands: each call fails", "launches: each call fails, or kills"),
}
CALLS = {"write ENOSPC", "fstat EIO", "pipe2 EMFILE", "write KILL", "rename KILL"}


def cases() -> list[Case]:
    chosen = [case for case in matrix.faults(RUNS, seed=1, soon_s=PATIENT_S) if case.name not in LONG]
    chosen += [case for case in matrix.sweeps(quick=True) if case.name in CALLS]
    chosen += walls.cases()
    return chosen + [
        case for case in scale.cases(quick=True) if "watcher" in case.name or "registry" in case.name
    ]


def title(case: Case) -> str:
    return f"{case.kind}: {case.name} ({case.provoker})"


TITLES = [title(case) for case in cases()]


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Outcome]]]:
    """Begin to carry all that were chosen out, side by side; each test waits for its own."""
    params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    chosen = {found["name"] for found in params if "name" in found}
    with ThreadPoolExecutor(JOBS) as pool:
        yield {title(case): pool.submit(case.carry_out) for case in cases() if title(case) in chosen}
        pool.shutdown(cancel_futures=True)


def test_what_is_left_out_is_there_to_be_left_out() -> None:
    assert {fault.name for fault in alone.all_faults().values()} >= LONG
    assert len(TITLES) == len(set(TITLES))
    assert sum(name.split(" ")[-2] in "".join(CALLS) for name in TITLES if name.startswith("wrapper")) == len(
        CALLS
    )


@pytest.mark.parametrize("name", TITLES)
def test_nothing_is_lost_doubled_or_left(outcomes: dict[str, Future[Outcome]], name: str) -> None:
    assert outcomes[name].result().wrong == []


def test_an_attack_that_the_machine_does_not_allow_says_so_and_is_not_taken_for_one_that_failed() -> None:
    def act(_: Path) -> list[str]:
        raise siege.NotTried("only root can be another user")

    outcome = matrix.Case("another user", "reads", act).carry_out()
    assert (outcome.wrong, outcome.untried) == ([], "only root can be another user")
