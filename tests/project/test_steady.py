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

# Each test writes that it ran, and whether in a worker of xdist.
TESTS = """
import os, pathlib, pytest
WORKER = os.environ.get("PYTEST_XDIST_WORKER")

@pytest.fixture(autouse=True)
def ran(request):
    with open("ran", "a") as file:
        file.write(f"{request.node.name} {'beside others' if WORKER else 'alone'}\\n")
"""
FINE = "def test_fine(): pass\n"
UNSTEADY = "def test_unsteady(): assert not WORKER\n"
BROKEN = "def test_broken(): assert 0\n"
MANY = '@pytest.mark.parametrize("n", range({}))\ndef test_many(n): assert not WORKER\n'
LEAVES = "@pytest.fixture\ndef left():\n    yield\n    assert not WORKER\ndef test_leaves(left): pass\n"


class Ended(NamedTuple):
    code: int
    notes: list[str]
    ran: list[str]


def steady(folder: Path, tests: str) -> Ended:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(TESTS + tests)
    argv = [sys.executable, str(REPOSITORY / "scripts" / "steady.py"), "cache", "notes", "-n", "1"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, check=False)
    lines = {
        name: (folder / name).read_text().splitlines() if (folder / name).exists() else []
        for name in ("notes", "ran")
    }
    return Ended(done.returncode, lines["notes"], lines["ran"])


def note(name: str) -> str:
    return f"unsteady: test_it.py::{name} (failed beside others, passed alone)"


@pytest.mark.parametrize(
    ("tests", "code", "notes", "again"),
    [
        (FINE + UNSTEADY + LEAVES, 0, ["test_unsteady", "test_leaves"], ["test_unsteady", "test_leaves"]),
        (FINE + UNSTEADY + BROKEN, 1, ["test_unsteady"], ["test_unsteady", "test_broken"]),
        (MANY.format(11), 1, [], []),
        ("import nothing_of_that_name\n", 2, [], []),
    ],
    ids=["passes then", "fails again", "too many", "cannot be read"],
)
def test_what_failed_is_tried_once_more_alone(
    tmp_path: Path, tests: str, code: int, notes: list[str], again: list[str]
) -> None:
    ended = steady(tmp_path, tests)
    assert ended.code == code
    assert ended.notes == [note(name) for name in notes]
    assert [line for line in ended.ran if line.endswith(" alone")] == [f"{name} alone" for name in again]


def test_what_failed_long_ago_is_not_tried(tmp_path: Path) -> None:
    assert steady(tmp_path, BROKEN).code == 1
    assert steady(tmp_path, FINE) == (
        0,
        [],
        ["test_broken beside others", "test_broken alone", "test_fine beside others"],
    )
