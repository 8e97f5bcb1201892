"""The registry's file as a file: where it lies, whether it is still the same one, who may make it anew.

SQLite asks that nobody takes a database and its side files apart; so whoever makes one, or sets one aside,
does it alone, under a lock beside it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

from tmuxagents.edges import process
from tmuxagents.errors import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "registry.db"
_LOCK = "registry.lock"
_SIDE_FILES = ("-wal", "-shm", "-journal")
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC

Identity = tuple[int, int]


class Unfit(Exception):
    """The registry cannot be used now, or not by us; it is left as it is."""


class Damaged(Exception):
    """The registry's file is none, or not ours; `identity` is the file that was found so."""

    def __init__(self, why: str, identity: Identity | None) -> None:
        super().__init__(why)
        self.identity = identity


def path_of(home: str) -> str:
    """Return the path of this machine's registry in a state directory."""
    return f"{home}/hosts/{process.host()}/{NAME}"


def identity(path: str) -> Identity | None:
    """Return device and inode of a file, None if there is none."""
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unfit(str(error.strerror)) from error
    return facts.st_dev, facts.st_ino


@contextlib.contextmanager
def alone(path: str, limit_s: float) -> Iterator[None]:
    """Be the only one who makes or moves a registry; raise Unfit if that takes too long."""
    lock = f"{os.path.dirname(path)}/{_LOCK}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle = os.open(lock, _FLAGS, 0o600)
    except OSError as error:
        raise Unfit(str(error.strerror)) from error
    try:
        _take(handle, lock, time.monotonic() + limit_s)
        yield
    finally:
        os.close(handle)


def _take(handle: int, lock: str, deadline: float) -> None:
    while not _try(handle):
        if time.monotonic() >= deadline:
            raise Unfit("somebody has been making it for too long")
        time.sleep(0.02)
    second = os.open(lock, _FLAGS, 0o600)
    try:
        if _try(second):
            raise _no_locks(lock)
    finally:
        os.close(second)


def _try(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise _no_locks(f"{error.strerror}") from error
    return True


def _no_locks(what: str) -> Unusable:
    message = f"The file system of the state directory has no locks ({what})."
    return Unusable(message, kind="no-permission", hint="set TMUXAGENTS_HOME to a folder on a local disk")


def set_aside(path: str, damaged: Identity | None, limit_s: float) -> str:
    """Move a damaged registry out of the way, unless somebody has done so; return where it lies then."""
    aside = f"{path}.broken"
    with alone(path, limit_s):
        try:
            if damaged is not None and identity(path) == damaged:
                # The database last: without its side files it is an older state, they without it are nothing.
                for side in (*_SIDE_FILES, ""):
                    with contextlib.suppress(FileNotFoundError):
                        os.replace(path + side, aside + side)
        except OSError as error:
            raise Unfit(str(error.strerror)) from error
    return aside


def remove(path: str) -> None:
    """Remove a database and its side files. Side files of one that was removed would spoil the next."""
    for side in ("", *_SIDE_FILES):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + side)
