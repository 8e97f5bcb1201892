"""scripts/steady.py: what failed is tried once more, alone, and what passes then is said to be unsteady."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.harness import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

# Each test writes that it ran, and where; it is given whether it ran before.
TESTS = """
import os, pathlib, pytest

@pytest.fixture(autouse=True)
def again(request):
    where = "beside others" if "PYTEST_XDIST_WORKER" in os.environ else "alone"
    with open("ran", "a+") as file:
        file.seek(0)
        before = [line.split()[0] for line in file]
        file.write(f"{request.node.name} {where}\\n")
    return request.node.name in before
"""
FINE = "def test_fine(): pass\n"
UNSTEADY = "def test_unsteady(again): assert again\n"
LEAVES = "@pytest.fixture\ndef left(again):\n    yield\n    assert again\ndef test_leaves(left): pass\n"
BROKEN = "def test_broken(): assert 0\n"
MANY = '@pytest.mark.parametrize("n", range({}))\ndef test_many(n, again): assert again\n'


class Ended(NamedTuple):
    code: int
    notes: list[str]
    ran: list[str]


def steady(folder: Path, tests: str, *options: str, ini: str = "[pytest]\n") -> Ended:
    (folder / "pytest.ini").write_text(ini)
    (folder / "test_it.py").write_text(TESTS + tests)
    argv = [sys.executable, str(REPOSITORY / "scripts" / "steady.py"), "cache", "notes", *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # No other plugin is needed here, and each start would import them.
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, check=False)
    files = [folder / name for name in ("notes", "ran")]
    return Ended(done.returncode, *(file.read_text().splitlines() if file.exists() else [] for file in files))


def note(name: str) -> str:
    return f"unsteady: test_it.py::{name} (failed beside others, passed alone)"


def test_what_failed_beside_others_is_tried_alone(tmp_path: Path) -> None:
    ended = steady(tmp_path, FINE + UNSTEADY + LEAVES, "-n", "1", "--dist", "loadfile")
    assert ended == (
        0,
        [note("test_unsteady"), note("test_leaves")],
        [
            *(f"test_{name} beside others" for name in ("fine", "unsteady", "leaves")),
            *("test_unsteady alone", "test_leaves alone"),
        ],
    )


@pytest.mark.parametrize(
    ("tests", "code", "notes", "times"),
    [
        (FINE + UNSTEADY + BROKEN, 1, ["test_unsteady"], 5),
        (MANY.format(11), 1, [], 11),
        ("import nothing_of_that_name\n", 2, [], 0),
    ],
    ids=["fails again", "too many", "cannot be read"],
)
def test_what_fails_again_or_in_masses_fails(
    tmp_path: Path, tests: str, code: int, notes: list[str], times: int
) -> None:
    ended = steady(tmp_path, tests)
    assert (ended.code, ended.notes, len(ended.ran)) == (code, [note(name) for name in notes], times)


def test_what_failed_long_ago_is_not_tried(tmp_path: Path) -> None:
    assert steady(tmp_path, BROKEN).code == 1
    again = steady(tmp_path, FINE)
    assert again == (0, [], ["test_broken alone", "test_broken alone", "test_fine alone"])
