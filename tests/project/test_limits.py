"""scripts/limits.py: a program that hangs says where, ends all that it has started, and exits."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scripts import limits
from tests.apart import running
from tests.harness import PATH, REPOSITORY, eventually
from tests.project.test_within import asleep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# It starts a sleep that loses its parent, then one that leads a session, for which a thread waits.
PROGRAM = """
import subprocess, sys, threading
from pathlib import Path
from scripts import limits

limit_s, home, seconds, path = sys.argv[1:]

def hangs():
    with limits.within(float(limit_s), "the program: 'this'"):
        subprocess.Popen(["sleep", seconds], start_new_session=True).wait()
        subprocess.Popen(["sleep", seconds])  # nothing may begin any more

limits.give_up_when_told("the program")
limits.homes.add(Path(home))
subprocess.run(["sh", "-c", f"sleep {seconds} &"], env={"HOME": f"{home}/below", "PATH": path})
thread = threading.Thread(target=hangs)
thread.start()
print("hangs", flush=True)
thread.join()
"""


@contextmanager
def hanging(home: Path, limit_s: float) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a program that hangs, and the command line of its sleeps, which nobody else has."""
    seconds = f"{3000 + secrets.randbelow(10**6) / 10**6:.6f}"
    argv = [sys.executable, "-c", PROGRAM, f"{limit_s:g}", str(home), seconds, PATH]
    sleep = f"sleep {seconds}"
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with running(argv, cwd=REPOSITORY, **pipes) as program:
        try:
            yield program, sleep
        finally:
            for pid in asleep(sleep):
                os.kill(pid, signal.SIGKILL)


def test_what_takes_too_long_ends_the_program_and_all_that_it_has_started(tmp_path: Path) -> None:
    with hanging(tmp_path, 1.0) as (program, sleep):
        _, said = program.communicate(timeout=60)
        assert program.returncode == limits.GAVE_UP
        assert asleep(sleep) == []
    assert " in hangs\n" in said
    where = f"the stacks above say where, and its files are in {tmp_path}."
    assert said.splitlines()[-1] == f"the program: 'this' was not over after 1 s: {where}"


def test_so_does_a_program_that_is_told_to_end(tmp_path: Path) -> None:
    with hanging(tmp_path, 600) as (program, sleep):
        eventually(lambda: len(asleep(sleep)) == 2)
        program.terminate()
        _, said = program.communicate(timeout=60)
        assert program.returncode == limits.GAVE_UP
        assert asleep(sleep) == []
    assert " in hangs\n" in said
    assert said.splitlines()[-1].startswith("the program was told to end: ")
