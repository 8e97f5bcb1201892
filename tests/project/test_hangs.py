"""A test that hangs ends pytest, or its worker, which says where it was; and steady.py does not forget it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.apart import running
from tests.harness import REPOSITORY, eventually
from tests.project.test_steady import FINE, UNSTEADY, note, steady

if TYPE_CHECKING:
    from pathlib import Path

CLOCK_S = 3
CONFTEST = """
from tests.conftest import (
    pytest_configure, pytest_configure_node, pytest_handlecrashitem, pytest_runtest_setup,
    pytest_runtest_teardown, pytest_sessionfinish,
)
"""
BEGIN = "import threading, pytest\n"
EVER = "    threading.Event().wait()"
HANGS = f"{BEGIN}def test_hangs():\n{EVER}\n"
HANGS_ONCE = f"{BEGIN}def test_hangs(again):\n    if not again:\n    {EVER}\n"
FORKS = "import time\nfrom tests.apart import Apart\ndef test_forked():\n"
HANGS_BESIDE_A_FORK = f"{BEGIN}{FORKS}    one = Apart(lambda: time.sleep(600))\n{EVER}\n"
TEARDOWN = f"{BEGIN}@pytest.fixture\ndef late():\n    yield\n{EVER}\ndef test_late(late): assert 0\n"
THREAD = f"{BEGIN}def for_ever():\n{EVER}\ndef test_thread(): threading.Thread(target=for_ever).start()\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for tests, with the clock of this project's own, which is fast here."""
    options = f"faulthandler_timeout = {CLOCK_S}\nfaulthandler_exit_on_timeout = true\n"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {REPOSITORY}\n{options}")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    return tmp_path


def argv(*options: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


def pytest_in(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv(*options), cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=90
    )


@pytest.mark.parametrize(
    ("test", "where"),
    [(HANGS, "test_hangs"), (TEARDOWN, "late"), (THREAD, "for_ever")],
    ids=["a test", "its teardown, after it has failed", "a thread that it has left"],
)
def test_what_hangs_ends_pytest_and_says_where(folder: Path, test: str, where: str) -> None:
    (folder / "test_it.py").write_text(test)
    done = pytest_in(folder)
    assert done.returncode == 1
    assert "test_it.py" in done.stderr
    assert f" in {where}\n" in done.stderr


def test_who_is_told_to_end_says_where_it_is(folder: Path) -> None:
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {REPOSITORY}\n")
    (folder / "test_it.py").write_text(HANGS.replace("    threading", "    open('here', 'w')\n    threading"))
    with running(argv(), cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True) as hanging:
        eventually((folder / "here").exists, 60)
        hanging.send_signal(signal.SIGTERM)
        _, said = hanging.communicate(timeout=60)
    assert hanging.returncode == -signal.SIGTERM
    assert " in test_hangs\n" in said


def test_steady_tries_again_what_has_ended_a_worker_but_only_alone(folder: Path) -> None:
    ini = (folder / "pytest.ini").read_text()
    ended = steady(folder, FINE + UNSTEADY + HANGS_ONCE, "-n", "1", "--dist", "loadfile", ini=ini)
    assert (ended.code, sorted(ended.notes)) == (0, [note("test_hangs"), note("test_unsteady")])
    assert [line for line in ended.ran if "hangs" in line] == ["test_hangs beside others", "test_hangs alone"]


def test_xdist_hears_of_the_end_though_a_forked_process_has_its_pipe(folder: Path) -> None:
    (folder / "test_it.py").write_text(HANGS_BESIDE_A_FORK)
    done = pytest_in(folder, "-n", "1")
    assert (done.returncode, "crashed while running 'test_it.py::test_forked'" in done.stdout) == (1, True)


def test_steady_takes_what_hangs_alone_for_no_success(folder: Path) -> None:
    ended = steady(folder, UNSTEADY + HANGS, ini=(folder / "pytest.ini").read_text())
    assert (ended.code, ended.notes) == (1, [])
