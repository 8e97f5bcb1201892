"""Starting the mirror of a host where there is none. Touches: processes."""

from __future__ import annotations

import os
import sys

from tmuxagents.cpython import ignoring
from tmuxagents.machines import link
from tmuxagents.system import process, watcher_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_AWAY = '"$@" &'  # sh goes at once, and the mirror is nobody's child


def ensure(home: str, host: str, environment: Mapping[str, str]) -> bool:
    """Start the mirror of a host unless one works; say whether one was started. It is not waited for."""
    try:
        held = link.take(home, host)
        if held is None:
            return False
        os.close(held)
        _start(home, host, environment)
    except OSError:
        return False
    return True


def _start(home: str, host: str, environment: Mapping[str, str]) -> None:
    around = {**watcher_lock.surroundings(home, environment), "TMUXAGENTS_ROLE": "mirror"}
    command = ["/bin/sh", "-c", _AWAY, "sh", sys.executable, "-P", "-m", "tmuxagents", "_far", "mirror", host]
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        shell = process.spawn(command[0], command, around, streams=(nothing, nothing, nothing))
    finally:
        os.close(nothing)
    with ignoring(ChildProcessError):
        os.waitpid(shell, 0)
