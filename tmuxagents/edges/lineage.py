"""Whom this process descends from, by /proc."""

from __future__ import annotations

import os

from tmuxagents.edges.identity import read, unless_gone

_PPID, _STARTED = 1, 19  # behind the name in /proc/PID/stat, proc(5)


def descends_from(pid: int, started: int) -> bool:
    """Say whether exactly this process is our parent, or a parent of that, and so on."""
    above = _stat(os.getpid())
    while above is not None and above[0] > 0:
        number = above[0]
        above = _stat(number)
        if above is not None and (number, above[1]) == (pid, started):
            return True
    return False


def _stat(pid: int) -> tuple[int, int] | None:
    """Return the parent of a process, and when it was started."""
    try:
        fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError as error:
        unless_gone(error)
        return None
    return int(fields[_PPID]), int(fields[_STARTED])
