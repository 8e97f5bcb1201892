"""The watcher's lock: which process watches a state directory, and how a missing watcher is started.

This module is light, since every wrapper imports it. A process that finds the lock free takes it and hands it
to the new watcher. The lock is held without a gap, so a hundred processes that look at once start one
watcher.

Touches: the watcher's lock.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time

from tmuxagents.cpython import ignoring
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.system import places, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LOCK = "watcher.lock"
LOG = "watcher.log"
ROLE = "watcher"
IDLE = "TMUXAGENTS_WATCHER_IDLE"  # for tests: how long an idle watcher stays
_BOOT = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/_watch.py"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MOST_LOG = 256 * 1024
_HANDED = 1  # the descriptor on which a new watcher gets the lock: its stdout, which sh does not use
# The variables that a watcher keeps from its starter: they lead to programs, settings and tmux servers,
# and for onEnd to the person's screen. It keeps nothing of a run.
_KEPT = frozenset(
    {
        *("PATH", "HOME", "SHELL", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH"),
        *("TMUX_TMPDIR", "PI_AGENT_DIR", "PI_CODING_AGENT_DIR", IDLE),
        *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS"),
        *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "KRB5CCNAME", "TMUXAGENTS_SSH_CONFIG"),  # for mirrors
        *("TMUXAGENTS_NOTIFY", "TMUXAGENTS_ON_END", "TMUXAGENTS_KEEP_WINDOWS", "TMUXAGENTS_KEEP_RUNS"),
    }
)
_KEPT_FAMILIES = ("LC_", "XDG_", "SLURM_")


def ensure(home: str, environment: Mapping[str, str] | None = None) -> bool:
    """Start the watcher of a state directory if it has none; say whether one was started.

    The call does not wait for the watcher. A machine that cannot have one gets none.
    """
    try:
        held = take(home)
        if held is None:
            return False
        try:
            its_own = surroundings(home, os.environ if environment is None else environment)
            process.start_away(argv(home, str(_HANDED)), its_own, handed=held)
        finally:
            os.close(held)
    except (OSError, ValueError, TmuxAgentsError):
        return False
    return True


def argv(home: str, *more: str) -> list[str]:
    """Return the command of a watcher. -P keeps Python from importing files of the caller's folder."""
    return [sys.executable, "-P", _BOOT, home, *more]


def surroundings(home: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a watcher."""
    kept = {
        name: value for name, value in environment.items() if name in _KEPT or name.startswith(_KEPT_FAMILIES)
    }
    return {**kept, "TMUXAGENTS_HOME": home, "TMUXAGENTS_ROLE": ROLE}


# --- the lock ---------------------------------------------------------------------------------------------


def _folder(home: str) -> str:
    return places.of_host(home, process.host())


def take(home: str, limit_s: float = 0.0) -> int | None:
    """Take the lock; None if another process has it. Closing the descriptor releases it. Raises OSError."""
    path = f"{_folder(home)}/{LOCK}"
    deadline = time.monotonic() + limit_s
    while True:
        try:
            handle = os.open(path, _FLAGS, 0o600)
        except FileNotFoundError:
            places.make_folders(os.path.dirname(path))
            handle = os.open(path, _FLAGS, 0o600)
        if _lock(handle):
            if _is_at(handle, path):
                return handle
        elif time.monotonic() >= deadline:
            os.close(handle)
            return None
        else:
            time.sleep(0.01)
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(handle: int, path: str) -> bool:
    """Say whether an open file is the one at a path."""
    try:
        present, ours = os.stat(path, follow_symlinks=False), os.fstat(handle)
    except OSError:
        return False
    return (present.st_dev, present.st_ino) == (ours.st_dev, ours.st_ino)


def adopt(home: str, handed: int) -> int | None:
    """Return a new descriptor of the lock that was handed over; None if there is none."""
    try:
        held = os.dup(handed)
    except OSError:
        return None
    if _is_at(held, f"{_folder(home)}/{LOCK}") and _lock(held):
        return held
    os.close(held)
    return None


def holds(home: str, held: int) -> bool:
    """Say whether the file that we have locked is still the one that others look at."""
    return _is_at(held, f"{_folder(home)}/{LOCK}")


def sign(held: int) -> None:
    """Write our pid and start time into the lock."""
    me = process.myself()
    os.ftruncate(held, 0)
    os.pwrite(held, f"{me.pid} {me.start_time}\n".encode(), 0)


def holder(home: str) -> tuple[int, int] | None:
    """Return pid and start time of the watcher; None if there is none, or it has not signed the lock yet."""
    try:
        handle = os.open(f"{_folder(home)}/{LOCK}", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        words = os.pread(handle, 64, 0).split()
    finally:
        os.close(handle)
    if len(words) != 2 or not all(word.isdigit() for word in words):  # noqa: PLR2004  (pid and start time)
        return None
    pid, started = map(int, words)
    return (pid, started) if process.start_time(pid) == started else None


# --- the process ------------------------------------------------------------------------------------------


def become(home: str, environment: Mapping[str, str]) -> None:
    """Become a watcher in this process, which exits at once if there is one already."""
    command = argv(home)
    os.execve(command[0], command, surroundings(home, environment))  # noqa: S606  (no shell)


def settle(home: str) -> None:
    """Detach from our starter: get a session, a folder and streams of our own. Errors go into a log."""
    with ignoring(PermissionError):  # we lead one already
        os.setsid()
    os.chdir("/")
    os.umask(0o077)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)
    bound_log(home)


def bound_log(home: str) -> None:
    """Point our stderr at the log; begin a new log if it is full."""
    folder = f"{_folder(home)}/logs"
    path = f"{folder}/{LOG}"
    with ignoring(OSError):  # the watcher also works without a log
        if _is_at(2, path) and os.fstat(2).st_size <= _MOST_LOG:
            return
        places.make_folders(folder)
        if os.path.lexists(path) and os.lstat(path).st_size > _MOST_LOG:
            os.replace(path, f"{path}.1")
        handle = os.open(path, _LOG_FLAGS, 0o600)
        os.dup2(handle, 2)
        os.close(handle)
