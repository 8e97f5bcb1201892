"""One name in many launches at one moment: exactly one run gets it."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from tests.damage import of_a_newer_program
from tests.status.watchers import registry_of
from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.launch import checks, plan
from tmuxagents.registry import database, lookup
from tmuxagents.runs import writing

if TYPE_CHECKING:
    from tests.harness import Home


def launch(home: Home) -> str:
    """Make a run as a launcher does; return its id."""
    request = plan.LaunchRequest(task="x", cwd=str(home.project), project=str(home.project), name="scout")
    with checks.claimed_name(lookup.Caller(home.environment, str(home.project)), request):
        return home.run("x", name="scout").run_id


@pytest.mark.parametrize("usable", [True, False])
def test_of_twenty_one_has_it_and_the_others_leave_nothing(home: Home, *, usable: bool) -> None:
    path = registry_of(home)
    database.open_file(path).close()
    if not usable:
        of_a_newer_program(path)
    made: list[str] = []
    refused: list[BadRequest] = []

    def begin() -> None:
        try:
            made.append(launch(home))
        except BadRequest as refusal:
            refused.append(refusal)

    threads = [threading.Thread(target=begin) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(made), len(refused)) == (1, 19)
    assert all("has the name" in refusal.message for refusal in refused)
    assert os.listdir(home.state / "runs") == made


def test_a_launch_that_hangs_with_the_lock_holds_nobody_up_for_ever(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_PATIENCE_S", 0.2)
    home.state.mkdir()
    lock = writing.lock(str(home.state), 0, "names.lock")
    assert lock is not None
    with pytest.raises(Unusable) as caught:
        launch(home)
    assert (caught.value.message, caught.value.hint) == ("Another launch takes too long.", "try it again")
    assert not (home.state / "runs").exists()
    os.close(lock)
    assert launch(home)


def test_a_state_directory_behind_a_link_has_names_too(home: Home) -> None:
    there = home.folder / "there"
    there.mkdir()
    home.state.symlink_to(there)
    assert launch(home)
