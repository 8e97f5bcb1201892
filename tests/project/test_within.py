"""scripts/within: the last resort of CI. A command ends as it does, or at a limit with all of its group."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness import PATH, REPOSITORY, eventually
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

WITHIN = str(REPOSITORY / "scripts" / "within")


@pytest.fixture
def sleep() -> Iterator[str]:
    """A sleep that nobody else has; none of them is left."""
    made = f"sleep {3000 + secrets.randbelow(10**6) / 10**6:.6f}"
    yield made
    for pid in asleep(made):
        os.kill(pid, signal.SIGKILL)


def asleep(sleep: str) -> list[int]:
    """Return the processes that sleep so."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
            found += [int(pid)] * (line == sleep)
    return found


def within(limit_s: int, grace_s: int, line: str) -> subprocess.CompletedProcess[str]:
    argv = [WITHIN, str(limit_s), str(grace_s), "sh", "-c", line]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("line", "code"), [("echo said", 0), ("exit 3", 3), ("exit 124", 124), ("kill -9 $$", 137)]
)
def test_a_command_ends_as_it_does(line: str, code: int) -> None:
    done = within(50, 1, line)
    assert (done.returncode, done.stdout, done.stderr) == (code, "said\n" if code == 0 else "", "")


@pytest.mark.parametrize(
    "line",
    [
        "{sleep} & {sleep}",
        "trap '' TERM; {sleep} & {sleep}",
        "(trap '' TERM; {sleep}) & wait",
    ],
    ids=["it ends when it is told", "it does not", "what it has started does not"],
)
def test_at_the_limit_the_whole_group_is_ended(sleep: str, line: str) -> None:
    done = within(2, 1, line.format(sleep=sleep))
    assert (done.returncode, asleep(sleep)) == (124, [])
    assert done.stderr == "within: sh was not over after 2 s, and was ended\n"


def test_ctrl_c_ends_the_command_and_who_waits_for_it(sleep: str) -> None:
    steps = f"set -e; {WITHIN} 50 5 sh -c 'trap \"echo told; exit 7\" INT; {sleep} & wait'; echo went on"
    person = Terminal(["bash", "-c", steps], {"PATH": PATH}, REPOSITORY)
    try:
        eventually(lambda: asleep(sleep))
        person.type("\x03")
        assert person.left() == 7
    finally:
        person.close()
    assert "told" in person.text
    assert "went on" not in person.text
