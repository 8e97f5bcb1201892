"""One process: start it, signal it, wait for it, reap it; and whether we descend from it. Touches: processes.

A pid alone never identifies a process; pid and start time do (system/identity). A signal goes through a pidfd
that was opened before the start time was compared. system/process_table lists all living processes.
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import time

from tmuxagents import records
from tmuxagents.cpython import ignoring, prctl, signal
from tmuxagents.system.identity import (
    boot_id,
    host,
    myself,
    pid_namespace,
    presence,
    read,
    start_time,
    unless_gone,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from tmuxagents.records import Identity, ProcessRow

__all__ = [  # of system/identity, for other modules
    "boot_id",
    "host",
    "myself",
    "pid_namespace",
    "presence",
    "start_time",
]

_PR_SET_CHILD_SUBREAPER = 36
# sh exits at once, so the program is not our child. A dead child would stay a zombie in a living wrapper.
_AWAY = '"$@" &'
_PIPE_SIZE = 256 * 1024
# KILL and STOP cannot be set; the two that libc keeps for itself (32 and 33) must not be.
_ALL_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


def open_handle(pid: int, started: int) -> int | None:
    """Return a pidfd of exactly this process, None if it is gone. The caller closes it."""
    try:
        handle = os.pidfd_open(pid)
    except OverflowError:
        return None  # a number that no process can have
    except OSError as error:
        unless_gone(error)
        return None
    if start_time(pid) != started:
        os.close(handle)
        return None
    return handle


def open_wrapper(wrapper: Identity | None) -> int | None:
    """Return a pidfd of a wrapper, None if it is not here. The caller closes it."""
    if wrapper is None or presence(wrapper) != records.HERE:
        return None
    return open_handle(wrapper.pid, wrapper.start_time)


def send(pid: int, started: int, *signals: int) -> bool:
    """Signal exactly this process; say whether it was there and ours to signal."""
    handle = open_handle(pid, started)
    if handle is None:
        return False
    try:
        for number in signals:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def wait_gone(pid: int, started: int, limit_s: float | None) -> bool:
    """Wait until this process is gone; say whether it is."""
    handle = open_handle(pid, started)
    if handle is None:
        return True
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(None if limit_s is None else max(0, round(limit_s * 1000))))
    finally:
        os.close(handle)


def wait_all_gone(processes: Iterable[ProcessRow], limit_s: float) -> None:
    """Wait until all these processes are gone, for at most `limit_s` in total."""
    deadline = time.monotonic() + limit_s
    for row in processes:
        wait_gone(row.pid, row.start_time, max(0.0, deadline - time.monotonic()))


def become_subreaper(*, on: bool = True) -> None:
    """Make orphaned descendants our children instead of init's, so that we see them; `on=False` undoes it."""
    prctl(_PR_SET_CHILD_SUBREAPER, int(on))


def find_program(name: str, path: str) -> str | None:
    """Return the path of a program, searched in the child's own PATH; None if there is none."""
    if "/" in name:
        return name if os.path.exists(name) else None
    for folder in path.split(":"):
        candidate = f"{folder or '.'}/{name}"
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def pipe() -> tuple[int, int]:
    """Return the two ends of a large pipe that a child writes into. Our end never blocks."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(reading, False)
    with ignoring(OSError):  # the pipes of an unprivileged user have a limit
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    return reading, writing


def spawn(
    path: str,
    argv: list[str],
    environment: Mapping[str, str],
    *,
    streams: tuple[int, int, int],
    own_session: bool = True,
) -> int:
    """Start a child as the leader of a session of its own, without our signal settings.

    The child gets these three descriptors and no other. Without `own_session` it leads a process group of its
    own in our session, so it can use our terminal. Raises OSError, or ValueError for words that no command
    line can hold.
    """
    keep_descriptors_ours()
    actions = [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]
    usual: dict[str, Any] = {"file_actions": actions, "setsigmask": [], "setsigdef": _ALL_SIGNALS}
    if own_session:
        return os.posix_spawn(path, argv, environment, setsid=True, **usual)
    return os.posix_spawn(path, argv, environment, setpgroup=0, **usual)


def start_away(argv: list[str], environment: Mapping[str, str], *, handed: int | None = None) -> None:
    """Start a program that is not our child, with its streams on /dev/null. Raises as `spawn` does.

    `handed`: the descriptor that the program gets as its stdout.
    """
    command = ["/bin/sh", "-c", _AWAY, "sh", *argv]
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        stdout = nothing if handed is None else handed
        shell = spawn(command[0], command, environment, streams=(nothing, stdout, nothing))
    finally:
        os.close(nothing)
    with ignoring(ChildProcessError):  # another thread of this process reaps all children
        os.waitpid(shell, 0)


def open_standard_streams() -> None:
    """Open each closed descriptor from 0 to 2 on /dev/null, before another file gets its number."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004  (stdin, stdout, stderr)
        os.set_inheritable(handle, True)  # noqa: FBT003  (its only form)
    os.close(handle)


def keep_descriptors_ours() -> None:
    """Keep children from inheriting our descriptors: our starter may have left files open."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:  # noqa: PLR2004  (stdin, stdout, stderr)
            with ignoring(OSError):  # the one that listed them is closed by now
                os.set_inheritable(int(name), False)  # noqa: FBT003  (its only form)


def raise_limits() -> dict[str, list[int]]:
    """Raise our limits on descriptors and file size to the maximum; return the former ones, for the child."""
    before = {}
    for name in ("RLIMIT_NOFILE", "RLIMIT_FSIZE"):
        soft, hard = resource.getrlimit(getattr(resource, name))
        before[name] = [soft, hard]
        _set_soft(name, hard, hard)
    return before


class Surroundings:
    """Use the launcher's umask and limits while a child starts, which inherits them; then restore ours.

    Only soft limits change, and only within our own hard limits: a lowered hard limit cannot be raised again.
    """

    __slots__ = ("_limits", "_ours", "_umask")

    def __init__(self, umask: int, limits: Mapping[str, list[int]]) -> None:
        self._limits = {name: limits[name] for name in limits if hasattr(resource, name)}
        self._ours: dict[str, tuple[int, int]] = {}
        self._umask = umask

    def __enter__(self) -> None:
        self._ours = {name: resource.getrlimit(getattr(resource, name)) for name in self._limits}
        self._umask = os.umask(self._umask)
        for name, (soft, hard) in self._ours.items():
            wanted = self._limits[name][0]
            fits = hard == resource.RLIM_INFINITY or (wanted != resource.RLIM_INFINITY and wanted <= hard)
            _set_soft(name, wanted if fits else soft, hard)

    def __exit__(self, *_: object) -> None:
        for name, (soft, hard) in self._ours.items():
            _set_soft(name, soft, hard)
        os.umask(self._umask)


def _set_soft(name: str, soft: int, hard: int) -> None:
    with ignoring(OSError, ValueError):
        resource.setrlimit(getattr(resource, name), (soft, hard))


def signal_name(number: int) -> str:
    """Return the name of a signal; of one that Python does not name, SIG and its number."""
    import signal as named  # noqa: PLC0415  (few children end by one)

    try:
        return named.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def send_group(leader: int, *signals: int) -> None:
    """Signal the process group of a child that we have not reaped yet (so its number is still its own)."""
    for number in signals:
        try:
            os.killpg(leader, number)
        except (ProcessLookupError, PermissionError):
            return


def reap(child: int) -> int | None:
    """Reap all dead children; return the wait status of `child` if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = status


def was_suspended(child: int) -> bool:
    """Say whether a key or the terminal has just stopped one of our children. Other stops are deliberate."""
    try:
        found = os.waitid(os.P_PID, child, os.WSTOPPED | os.WNOHANG)
    except ChildProcessError:
        return False
    return found is not None and found.si_status in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


_PPID, _STARTED = 1, 19  # behind the name in /proc/PID/stat, proc(5)


def descends_from(pid: int, started: int) -> bool:
    """Say whether exactly this process is one of our ancestors."""
    above = _stat(os.getpid())
    while above is not None and above[0] > 0:
        number = above[0]
        above = _stat(number)
        if above is not None and (number, above[1]) == (pid, started):
            return True
    return False


def _stat(pid: int) -> tuple[int, int] | None:
    """Return the parent and the start time of a process."""
    try:
        fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError as error:
        unless_gone(error)
        return None
    return int(fields[_PPID]), int(fields[_STARTED])
