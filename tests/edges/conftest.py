"""What holds for every test of an edge: none hangs for ever, and no process of a failed one lives on."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.edges import apart

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

LIMIT_S = 40


@pytest.fixture(autouse=True)
def nothing_hangs() -> Iterator[None]:
    """Fail a test that is blocked, as one is when the code under test waits where it must not."""
    before = signal.signal(signal.SIGALRM, _fail)
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _fail(_number: int, _frame: object) -> None:
    raise AssertionError(f"the test takes more than {LIMIT_S} s")


@pytest.fixture(autouse=True)
def nothing_apart() -> Iterator[None]:
    yield
    apart.end_all()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until it is ended."""
    with apart.running(["/bin/sleep", "600"]) as made:
        yield made


@pytest.fixture
def run_dir(tmp_path: Path) -> str:
    made = tmp_path / "run"
    made.mkdir(mode=0o700)
    return str(made)
