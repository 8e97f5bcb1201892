"""Deliberate faults, for tests: TMUXAGENTS_FAULT=write:17:ENOSPC fails every 17th call of an operation.

Without the variable, this module is not even imported. A fault affects only the process that was started with
the variable. That process removes the variable, so its children do not inherit it (docs/reliability.md).

Touches: Python's own functions.
"""

from __future__ import annotations

import errno
import fcntl
import os
import posix
import signal
import time
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping
    from types import ModuleType
    from typing import Any


VARIABLE = "TMUXAGENTS_FAULT"
LOG = "TMUXAGENTS_FAULT_LOG"  # a file that gets a line for each fault, so that a test sees it
KILL = "KILL"  # instead of an error: the process dies there, as by kill -9
CLOCK = "clock"  # clock:N:SECONDS shifts the clock at the N-th reading, back at the next N-th, and so on
_FILES = (
    *("open", "read", "write", "pwrite", "close", "rename", "replace", "link", "unlink", "symlink", "mkdir"),
    *("rmdir", "mkfifo", "stat", "fstat", "listdir", "scandir", "readlink", "ftruncate", "posix_fallocate"),
)
_PROCESSES = ("posix_spawn", "pidfd_open", "pipe2", "chdir", "dup", "waitpid")
OPERATIONS: dict[str, tuple[ModuleType, str]] = {
    **{name: (os, name) for name in (*_FILES, *_PROCESSES)},
    "flock": (fcntl, "flock"),
}


def install(environment: MutableMapping[str, str]) -> None:
    """Install the requested faults and remove the variables. Raises SystemExit for an invalid fault."""
    wanted = environment.pop(VARIABLE, "")
    log = environment.pop(LOG, None)
    for words in filter(None, wanted.split(",")):
        operation, _, rest = words.partition(":")
        every, _, effect = rest.partition(":")
        if not (every.isascii() and every.isdigit() and int(every)):
            raise SystemExit(_refusal(words))
        if operation == CLOCK:
            _shift_clock(words, int(every), effect, log)
            continue
        number = getattr(errno, effect, None)
        if operation not in OPERATIONS or (number is None and effect != KILL):
            raise SystemExit(_refusal(words))
        module, name = OPERATIONS[operation]
        tell = partial(_log_fault, log, words)
        setattr(module, name, _failing(getattr(module, name), int(every), number, tell))


def _refusal(words: str) -> str:
    return f"tmuxagents: {VARIABLE} knows no fault {words!r}; write it as write:17:ENOSPC"


def _failing(
    real: Callable[..., Any], every: int, number: int | None, tell: Callable[[], None]
) -> Callable[..., Any]:
    calls = 0

    def operation(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls % every:
            return real(*arguments, **options)
        tell()
        if number is None:
            os.kill(os.getpid(), signal.SIGKILL)
            raise SystemExit(128 + signal.SIGKILL)
        raise OSError(number, os.strerror(number))

    return operation


def _shift_clock(words: str, every: int, effect: str, log: str | None) -> None:
    try:
        shift = float(effect)
    except ValueError:
        raise SystemExit(_refusal(words)) from None
    real = time.time
    looks = 0

    def shifted() -> float:
        nonlocal looks
        looks += 1
        if looks % every == 0:
            _log_fault(log, words)
        return real() + shift * (looks // every % 2)

    time.time = shifted


def _log_fault(log: str | None, words: str) -> None:
    """Log a fault, through calls that no fault affects."""
    if log is None:
        return
    handle = posix.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    posix.write(handle, f"{words} {os.getpid()}\n".encode())
    posix.close(handle)
