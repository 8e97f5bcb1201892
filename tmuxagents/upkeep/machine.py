"""What doctor examines on the machine: tmux and its server, the state directory, locks, SQLite, inotify.

What the machine must be able to do is tried out in a temporary folder.

Joins.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import tempfile

from tmuxagents import tmux
from tmuxagents.registry import making, sqlite
from tmuxagents.system import process, removal
from tmuxagents.upkeep import checks
from tmuxagents.upkeep.checks import Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tmuxagents.upkeep.doctor import Case

_MARGIN = 64  # watches that others of the same user need at the same time


def program(case: Case) -> list[Check]:
    """Look at the tmux on PATH."""
    version = tmux.client_version()
    path = process.find_program("tmux", case.environment.get("PATH", ""))
    return [Check("tmux", f"{path} is {version}")]


def server(case: Case) -> list[Check]:
    """Look at the tmux server that would be used, and ask it something."""
    chosen, socket = case.place, case.place.socket
    found = [checks.warning("server", chosen.warning, "unset TMUX")] if chosen.warning else []
    tmux.refuse_impossible(socket)
    why = f"(by {chosen.source})"
    if tmux.is_denied(socket) or tmux.listening(socket) is None:
        return [*found, Check("server", f"none runs at {socket} {why}; the first launch starts one")]
    life = tmux.Tmux(socket).identity()
    return [*found, Check("server", f"the one at {socket} {why} answers, pid {life.pid}")]


def access(case: Case) -> list[Check]:
    """Look whether a sandbox keeps us from what every run needs."""
    home, socket = case.caller.home, case.place.socket
    sockets = os.path.dirname(socket)
    denied = [*_denied_home(home), *_denied_socket(socket, sockets)]
    if denied:
        hint = f"a sandbox must allow both {home} and {sockets}"
        return [checks.broken("access", f"This program may not use {checks.some(denied)}", hint)]
    return [Check("access", f"{home} and {sockets} may be used")]


def _denied_home(home: str) -> Iterator[str]:
    try:
        with try_out(existing(home)):
            pass
    except OSError as error:
        yield f"{home} ({error.strerror})"


def _denied_socket(socket: str, sockets: str) -> Iterator[str]:
    if tmux.is_denied(socket):
        yield socket
    elif tmux.listening(socket) is None and not os.access(existing(sockets), os.W_OK | os.X_OK):
        yield sockets


def state(case: Case) -> list[Check]:
    """Try out locks and the registry's journal in the state directory; look whose it is, and who reads it."""
    home = case.caller.home
    with try_out(existing(home)) as folder:
        check_locks(folder)
        wal = has_wal(folder)
    if os.path.isdir(home) and os.stat(home).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return [checks.warning("state", f"Others may look into {home}", f"chmod 700 {home}")]
    if not wal:
        hint = "it works, more slowly; a folder on a local disk in TMUXAGENTS_HOME is better"
        return [checks.warning("state", f"SQLite has no write-ahead log at {home}", hint)]
    whose = "it is yours alone, and " if os.path.isdir(home) else ""
    return [Check("state", f"{whose}locks and the registry's journal work at {home}")]


def disk(case: Case) -> list[Check]:
    """Look how much room there is for runs."""
    free, files = room(existing(case.caller.home))
    return [checks.space(case.caller.home, free, files)]


def proc(_case: Case) -> list[Check]:
    """Look whether one can tell living processes from dead ones, and hide what is on a command line."""
    me = process.myself()
    process.boot_id()
    handle = process.open_handle(me.pid, me.start_time)
    if handle is None:
        hint = "Linux 5.3 or newer is needed"
        return [checks.broken("proc", "There are no handles of processes (pidfd) here", hint)]
    os.close(handle)
    if not can_hide_words():
        hint = "hand over a task that is nobody's business on stdin: tmuxagents run -"
        return [checks.warning("proc", "Others can read a task in ps: /proc/self/mem is closed", hint)]
    return [Check("proc", "/proc can be read, and processes have handles")]


def inotify(case: Case) -> list[Check]:
    """Look whether the watcher can be told of changes; else it looks by itself, every 2 s."""
    folder = existing(case.caller.runs)
    hint = "it works, up to 2 s later; raise fs.inotify in /etc/sysctl.d"
    why = try_inotify(folder)
    if why is not None:
        return [checks.warning("inotify", f"Folders cannot be watched: {why}", hint)]
    most = limit("max_user_watches")
    needed = len(os.listdir(case.caller.runs)) + _MARGIN if os.path.isdir(case.caller.runs) else _MARGIN
    if most is not None and most < needed:
        return [checks.warning("inotify", f"max_user_watches is {most}, about {needed} are needed", hint)]
    instances = limit("max_user_instances")
    return [Check("inotify", f"folders can be watched ({instances} at once, {most} folders)")]


_IN_CREATE = 0x100
_LIMITS = "/proc/sys/fs/inotify"


def existing(path: str) -> str:
    """Return the nearest folder above a path, or itself, that is there. Raises OSError if it is no folder."""
    while not os.path.lexists(path) and path != "/":
        path = os.path.dirname(path)
    if not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return path


@contextlib.contextmanager
def try_out(folder: str) -> Iterator[str]:
    """Make a folder in a folder, for a moment. Raises OSError where we may not."""
    made = tempfile.mkdtemp(prefix=".tmuxagents-", dir=folder)
    try:
        yield made
    finally:
        removal.remove(made)


def can_hide_words() -> bool:
    """Say whether a command line of ours can be written over (tmuxagents/__main__)."""
    try:
        os.close(os.open("/proc/self/mem", os.O_RDWR))
    except OSError:
        return False
    return True


def check_locks(folder: str) -> None:
    """Raise Unusable unless a second lock on one file is refused."""
    with making.alone(f"{folder}/{sqlite.NAME}", 1.0):
        pass


def has_wal(folder: str) -> bool:
    """Say whether SQLite can keep its log beside a database here."""
    return making.has_wal(f"{folder}/{sqlite.NAME}")


def room(folder: str) -> tuple[int, int | None]:
    """Return how many bytes are free for us, and how many files; None where these have no limit."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else None


def try_inotify(folder: str) -> str | None:
    """Return why a folder cannot be watched, None if it can."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.inotify_init1(os.O_CLOEXEC)
    if handle < 0:
        return _why(ctypes.get_errno(), "max_user_instances")
    try:
        watch = libc.inotify_add_watch(handle, os.fsencode(folder), _IN_CREATE)
        return None if watch >= 0 else _why(ctypes.get_errno(), "max_user_watches")
    finally:
        os.close(handle)


def _why(number: int, name: str) -> str:
    if number in (errno.EMFILE, errno.ENOSPC):
        return f"all of {name} ({limit(name)}) are used"
    return os.strerror(number)


def limit(name: str) -> int | None:
    """Return one of inotify's limits."""
    try:
        with open(f"{_LIMITS}/{name}", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
