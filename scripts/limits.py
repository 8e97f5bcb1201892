"""Limits in time for programs that provoke what may hang.

At a limit the program writes the stacks of all its threads to stderr, ends all that it has started, says in
one sentence what was not over, and exits with 4. The clock of faulthandler, which needs no thread of Python,
bounds that, too.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GAVE_UP = 4  # the exit code
_ENDS_WITHIN_S, _AT_MOST_S, _ENOUGH_LOOKS = 10.0, 30.0, 3
# What has its HOME in one of these folders was started by this program, also if it does not descend from it.
homes: set[Path] = set()
_STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
_giving_up = threading.Lock()


@contextmanager
def within(limit_s: float, what: str) -> Iterator[None]:
    """Give up unless the block is over in time; `what` is how the sentence about it begins."""
    clock = threading.Timer(limit_s, give_up, [f"{what} was not over after {limit_s:g} s"])
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()


def give_up_when_told(program: str) -> None:
    """Give up on SIGTERM, too: Python's own way out would wait for the threads."""
    signal.signal(signal.SIGTERM, lambda *_: give_up(f"{program} was told to end"))


def give_up(why: str) -> None:
    """Say where each thread is, end all that was started, and exit."""
    if not _giving_up.acquire(blocking=False):
        return  # somebody is at it
    faulthandler.dump_traceback_later(_AT_MOST_S, exit=True)
    faulthandler.dump_traceback()
    end_all()
    files = " ".join(str(folder) for folder in sorted(homes) if folder.exists()) or "no folder"
    print(f"{why}: the stacks above say where, and its files are in {files}.", file=sys.stderr, flush=True)
    os._exit(GAVE_UP)


def end_all() -> None:
    """End what this program has started, and wait until it is gone."""
    sys.addaudithook(_hold)
    process.become_subreaper()  # so that nothing gets lost when its parent is killed
    until = time.monotonic() + _ENDS_WITHIN_S
    looks = 0  # in a row that have found nothing: what a thread was just starting may not be there yet
    while looks < _ENOUGH_LOOKS and time.monotonic() < until:
        found = ours()
        looks = 0 if found else looks + 1
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _hold(event: str, _: object) -> None:
    """Let no other thread start anything: one that has waited for what is ended now would go on."""
    if event in _STARTS:
        time.sleep(2 * _AT_MOST_S)


def ours() -> list[int]:
    """Return the living processes that this program has started, or that these have started."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            stat = Path(f"/proc/{name}/stat").read_text(errors="replace")
            state, parent = stat.rpartition(")")[2].split()[:2]
            if state not in "ZX":
                parents[int(name)] = int(parent)
    return [pid for pid in parents if _descends(pid, parents) or _is_at_home(pid)]


def _descends(pid: int, parents: Mapping[int, int]) -> bool:
    """Say whether a process descends from this one."""
    while pid in parents:
        pid = parents[pid]
        if pid == os.getpid():
            return True
    return False


def _is_at_home(pid: int) -> bool:
    """Say whether a process has its HOME in one of our folders."""
    with suppress(OSError):
        for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            name, _, value = variable.partition(b"=")
            if name == b"HOME":
                home = Path(os.fsdecode(value))
                return not homes.isdisjoint((home, *home.parents))
    return False
