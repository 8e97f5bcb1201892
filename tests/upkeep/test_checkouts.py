"""Prune on a far machine: a checkout goes with its run, but not before its work has come back."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import Home
from tests.machines.projects import Ground
from tests.status.watchers import checked
from tests.upkeep.test_prune import ended

if TYPE_CHECKING:
    from tests.harness import Run
    from tmuxagents.machines.refs import Code

HOURS = 2 * 3600


class Far:
    """A far machine with runs, each in a checkout of its own."""

    def __init__(self, folder: Path) -> None:
        self.ground = Ground(folder)
        self.home = Home(self.ground.far)
        self.ground.commit(a="1")

    def begin(self, run_id: str, *, ago_s: float = HOURS, age: float = 0.1) -> tuple[Code, Path, Run]:
        """Send code, and make a run there that ended `age` days ago."""
        code, cwd = self.ground.send(run_id)
        run = ended(self.home, age=age, cwd=str(cwd), runId=run_id)
        os.utime(cwd, (time.time() - ago_s,) * 2)
        return code, cwd, run

    def prune(self, *words: str) -> tuple[list[str], list[str]]:
        """Prune; return the removed paths except those of runs, and the warnings."""
        done = self.home.command("prune", *words, "--json")
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = checked(done.stdout, "prune")
        return [one["path"] for one in document["removed"] if one["what"] == "leftover"], document["warnings"]


@pytest.fixture
def far(tmp_path: Path) -> Any:
    made = Far(tmp_path)
    yield made
    made.home.end_all()


ONE, OTHER = "1" * 16, "2" * 16


def test_a_named_run_takes_its_checkout_along(far: Far) -> None:
    _, cwd, _ = far.begin(ONE, ago_s=0)
    _, other, _ = far.begin(OTHER)
    assert far.prune(ONE) == ([str(cwd)], [])
    assert not cwd.exists()
    assert other.exists()
    assert far.prune(OTHER) == ([str(other)], [])
    assert [path for path in (far.home.state / "far").rglob("*") if not path.is_dir()] == []


def test_work_that_has_not_come_back_keeps_its_checkout(far: Far) -> None:
    code, cwd, _ = far.begin(ONE)
    (cwd / "a").write_text("work")
    os.utime(cwd, (time.time() - HOURS,) * 2)
    gone, (warning,) = far.prune(ONE)
    assert gone == []
    assert warning == (f"the checkout {cwd} stays: refs/tmuxagents/{ONE} has not come back")
    far.ground.bring(code, ONE)
    assert far.prune() == ([str(cwd)], [])


def test_a_checkout_without_a_run_goes_when_it_is_not_young(far: Far) -> None:
    _, cwd = far.ground.send(ONE)  # the connection broke before the launch
    assert far.prune() == ([], [])
    os.utime(cwd, (time.time() - HOURS,) * 2)
    assert far.prune("--dry-run") == ([str(cwd)], [])
    assert cwd.exists()
    assert far.prune() == ([str(cwd)], [])
    assert not cwd.exists()


def test_what_was_broken_off_goes_when_it_is_not_young(far: Far) -> None:
    code, cwd = far.ground.send(ONE)
    repository, checkouts = Path(far.ground.there(code).repository), cwd.parent
    cwd.rename(checkouts / ".making-x")  # as after a kill at this point
    (repository.parent / ".making-y").mkdir()
    unfinished = [checkouts / ".making-x", repository.parent / ".making-y"]
    assert far.prune() == ([], [])
    for path in unfinished:
        os.utime(path, (time.time() - HOURS,) * 2)
    assert sorted(far.prune()[0]) == sorted(map(str, unfinished))
    assert far.prune() == ([], [])  # a transfer to it may be under way
    for path in (repository, *(repository / name for name in ("objects", "objects/pack", "refs/sent"))):
        os.utime(path, (time.time() - HOURS,) * 2)
    assert far.prune() == ([str(repository)], [])
    assert not repository.exists()


def test_a_checkout_that_a_later_run_works_in_stays(far: Far) -> None:
    _, cwd, _ = far.begin(ONE)
    ended(far.home, age=0.1, cwd=f"{cwd}/sub", runId=OTHER)  # it was resumed
    assert far.prune(ONE) == ([], [])
    assert cwd.exists()
    assert far.prune(OTHER) == ([], [])  # of another name, and left to the next prune
    assert far.prune() == ([str(cwd)], [])


def test_a_broken_repository_is_a_warning(far: Far) -> None:
    code, cwd, _ = far.begin(ONE)
    Path(far.ground.there(code).repository, "HEAD").unlink()
    gone, (warning,) = far.prune(ONE)
    assert gone == []
    assert warning.startswith(f"the checkout {cwd} stays: git for-each-ref failed: not a git repository")
    assert cwd.exists()
