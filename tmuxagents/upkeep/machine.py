"""The checks of the machine: tmux and its server, the state home, disk, locks, SQLite, /proc, inotify. Joins.

Locks and SQLite are tried out in a temporary folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import tempfile

from tmuxagents import tmux
from tmuxagents.registry import schema, sqlite
from tmuxagents.system import process, removal
from tmuxagents.upkeep import checks
from tmuxagents.upkeep.checks import Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tmuxagents.upkeep.doctor import Case

_MARGIN = 64  # watches that the user's other programs need at the same time


def program(case: Case) -> Check:
    """Check the tmux on PATH."""
    version = tmux.client_version()
    return Check("tmux", f"{process.find_program('tmux', case.environment.get('PATH', ''))} is {version}")


def server(case: Case) -> Iterator[Check]:
    """Check the tmux server that a run would use, and ask it its identity."""
    chosen, socket = case.place, case.place.socket
    if chosen.warning:
        yield checks.warning("server", chosen.warning, "unset TMUX")
    tmux.refuse_impossible(socket)
    why = f"(by {chosen.source})"
    if tmux.is_denied(socket) or tmux.listening(socket) is None:
        yield Check("server", f"none runs at {socket} {why}; the first launch starts one")
    else:
        pid = tmux.Tmux(socket).identity().pid
        yield Check("server", f"the one at {socket} {why} answers, pid {pid}")


def access(case: Case) -> Check:
    """Check whether a sandbox denies what every run needs."""
    home, socket = case.caller.home, case.place.socket
    sockets = os.path.dirname(socket)
    denied = []
    try:
        with try_out(existing(home)):
            pass
    except OSError as error:
        denied.append(f"{home} ({error.strerror})")
    if tmux.is_denied(socket):
        denied.append(socket)
    elif tmux.listening(socket) is None and not os.access(existing(sockets), os.W_OK | os.X_OK):
        denied.append(sockets)
    if denied:
        hint = f"a sandbox must allow both {home} and {sockets}"
        return checks.broken("access", f"This program may not use {checks.some(denied)}", hint)
    return Check("access", f"{home} and {sockets} may be used")


def state(case: Case) -> Check:
    """Check who can read the state home, and try out locks and the registry's journal in it."""
    home = case.caller.home
    with try_out(existing(home)) as folder:
        check_locks(folder)
        wal = has_wal(folder)
    if os.path.isdir(home) and os.stat(home).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return checks.warning("state", f"Others may look into {home}", f"chmod 700 {home}")
    if not wal:
        hint = "runs work, more slowly; better: set TMUXAGENTS_HOME to a folder on a local disk"
        return checks.warning("state", f"SQLite has no write-ahead log at {home}", hint)
    return Check("state", f"{home}: {'yours alone, ' if os.path.isdir(home) else ''}locks and journal work")


def disk(case: Case) -> Check:
    """Check the room for runs."""
    return checks.space(case.caller.home, *room(existing(case.caller.home)))


def proc(_case: Case) -> Check:
    """Check whether /proc distinguishes living from dead processes, and tasks can be hidden from ps."""
    me = process.myself()
    process.boot_id()
    handle = process.open_handle(me.pid, me.start_time)
    if handle is None:
        return checks.broken(
            "proc", "There are no handles of processes (pidfd) here", "use Linux 5.3 or newer"
        )
    os.close(handle)
    try:
        os.close(os.open("/proc/self/mem", os.O_RDWR))  # where tmuxagents/__main__ hides the task
    except OSError:
        hint = "pass a secret task on stdin: tmuxagents run -"
        return checks.warning("proc", "Others can read a task in ps: /proc/self/mem is closed", hint)
    return Check("proc", "ok")


def inotify(case: Case) -> Check:
    """Check whether inotify works; without it the watcher only looks every 2 s."""
    runs = case.caller.runs
    hint = "the status line is up to 2 s late; raise fs.inotify in /etc/sysctl.d"
    why = try_inotify(existing(runs))
    if why is not None:
        return checks.warning("inotify", f"Folders cannot be watched: {why}", hint)
    most = limit("max_user_watches")
    needed = _MARGIN + (len(os.listdir(runs)) if os.path.isdir(runs) else 0)
    if most is not None and most < needed:
        return checks.warning("inotify", f"max_user_watches is {most}, about {needed} are needed", hint)
    return Check("inotify", "ok")


_IN_CREATE = 0x100
_ALL_USED = (errno.EMFILE, errno.ENOSPC)
_LIMITS = "/proc/sys/fs/inotify"


def existing(path: str) -> str:
    """Return a path or its nearest existing ancestor. Raises OSError if that is not a folder."""
    while not os.path.lexists(path) and path != "/":
        path = os.path.dirname(path)
    if not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return path


@contextlib.contextmanager
def try_out(folder: str) -> Iterator[str]:
    """Make a temporary folder in a folder. Raises OSError."""
    made = tempfile.mkdtemp(prefix=".tmuxagents-", dir=folder)
    try:
        yield made
    finally:
        removal.remove(made)


def check_locks(folder: str) -> None:
    """Raise Unusable unless a second lock on one file is refused."""
    with schema.alone(f"{folder}/{sqlite.NAME}", 1.0):
        pass


def has_wal(folder: str) -> bool:
    """Say whether SQLite can keep its log beside a database here."""
    return schema.has_wal(f"{folder}/{sqlite.NAME}")


def room(folder: str) -> tuple[int, int | None]:
    """Return how many bytes and files are free for us; None files: no limit."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else None


def try_inotify(folder: str) -> str | None:
    """Return why a folder cannot be watched, None if it can."""
    libc = ctypes.CDLL(None, use_errno=True)
    name, handle = "max_user_instances", libc.inotify_init1(os.O_CLOEXEC)
    if handle >= 0:
        name, watch = "max_user_watches", libc.inotify_add_watch(handle, os.fsencode(folder), _IN_CREATE)
        os.close(handle)
        if watch >= 0:
            return None
    number = ctypes.get_errno()
    return f"all of {name} ({limit(name)}) are used" if number in _ALL_USED else os.strerror(number)


def limit(name: str) -> int | None:
    """Return one of inotify's limits."""
    try:
        with open(f"{_LIMITS}/{name}", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
