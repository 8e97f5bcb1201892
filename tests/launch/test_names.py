"""One name of many launches at one moment: always one of them has it, and never two."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.damage import of_a_newer_program
from tests.status.watchers import registry_of, sleeper, wrapped_by
from tmuxagents.errors import BadRequest
from tmuxagents.launch import checks, plan
from tmuxagents.registry import database, learn, lookup
from tmuxagents.runs import writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness import Home, Run

NOW = time.time()


def made(home: Home, age_s: float) -> Run:
    """Make a run as a launcher does, before it asks whether its name is free."""
    return home.run("x", name="scout", createdAt=round(NOW - age_s, 3))


def claim(home: Home, run: Run) -> None:
    request = plan.LaunchRequest(task="x", cwd=str(home.project), project=str(home.project), name="scout")
    row = learn.row_of(str(run.folder))
    assert row is not None
    checks.claim_name(lookup.Caller(home.environment, str(home.project)), request, row)


def in_a_moment(act: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(0.3, act)
    timer.start()
    return timer


def test_of_two_that_see_each_other_the_first_has_the_name(home: Home) -> None:
    first, second = made(home, 2), made(home, 1)
    with pytest.raises(BadRequest, match="has the name"):
        claim(home, second)
    going = in_a_moment(lambda: writing.remove_unbegun(str(second.folder)))
    claim(home, first)
    going.join()


def test_made_in_one_millisecond_one_of_them_is_the_first(home: Home) -> None:
    one, other = sorted((made(home, 1), made(home, 1)), key=lambda run: run.run_id)
    with pytest.raises(BadRequest):
        claim(home, other)
    writing.remove_unbegun(str(other.folder))
    claim(home, one)


def test_who_asked_when_nobody_was_there_has_it_though_the_first_was_made_before(home: Home) -> None:
    with sleeper() as wrapper:
        second = made(home, 1)
        claim(home, second)
        first = made(home, 2)
        beginning = in_a_moment(lambda: wrapped_by(second, wrapper))
        with pytest.raises(BadRequest):
            claim(home, first)
        beginning.join()


def test_who_never_shows_is_not_waited_for_for_ever(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_PATIENCE_S", 0.2)
    first, _ = made(home, 2), made(home, 1)
    with pytest.raises(BadRequest):
        claim(home, first)


@pytest.mark.parametrize("usable", [True, False])
def test_of_twenty_one_has_it_and_the_others_leave_nothing(home: Home, *, usable: bool) -> None:
    """Each one is made before any of them asks: the worst moment, and it must not be refused to all."""
    path = registry_of(home)
    database.open_file(path).close()
    if not usable:
        of_a_newer_program(path)
    runs = [made(home, 1) for _ in range(20)]
    refused: list[Run] = []

    def launch(run: Run) -> None:
        try:
            claim(home, run)
        except BadRequest:
            writing.remove_unbegun(str(run.folder))
            refused.append(run)

    threads = [threading.Thread(target=launch, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(refused) == 19
    assert os.listdir(home.state / "runs") == [run.run_id for run in runs if run not in refused]
