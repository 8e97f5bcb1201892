"""Tries out what the machine must be able to do, in a folder of its own that goes again; says what it saw."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import tempfile

from tmuxagents.edges import registry_file, registry_making, removal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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
    with registry_making.alone(f"{folder}/{registry_file.NAME}", 1.0):
        pass


def has_wal(folder: str) -> bool:
    """Say whether SQLite can keep its log beside a database here."""
    return registry_making.has_wal(f"{folder}/{registry_file.NAME}")


def room(folder: str) -> tuple[int, int | None]:
    """Return how many bytes are free for us, and how many files; None where these have no limit."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else None


def inotify(folder: str) -> str | None:
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
