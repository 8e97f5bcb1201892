"""The ancestors of a process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tmuxagents.system import process

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def test_parents_are_found_and_nobody_else() -> None:
    own, parent = os.getpid(), os.getppid()
    started = process.start_time(parent)
    assert started is not None
    assert process.descends_from(parent, started)
    assert not process.descends_from(parent, started + 1), "another process that had this number"
    mine = process.start_time(own)
    assert mine is not None
    assert not process.descends_from(own, mine)
    with subprocess.Popen(["sleep", "60"]) as child:
        born = process.start_time(child.pid)
        assert born is not None
        assert not process.descends_from(child.pid, born)
        child.kill()


def test_a_grandparent_is_found_from_below() -> None:
    mine = process.start_time(os.getpid())
    ask = "print(lineage.descends_from(*map(int, sys.argv[1:])))"
    line = f"import sys; from tmuxagents.system import process as lineage; {ask}"
    below = ["sh", "-c", '"$@"; true', "sh", sys.executable, "-c", line, str(os.getpid()), str(mine)]
    assert subprocess.run(below, capture_output=True, text=True, check=True).stdout == "True\n"
