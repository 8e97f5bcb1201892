"""The registry's file made, moved and removed: what happens once in its life. Touches: SQLite.

SQLite requires that a database stays together with its side files. So one process at a time makes a
database, or sets one aside, under a lock beside it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

from tmuxagents.errors import Unusable
from tmuxagents.registry import database
from tmuxagents.registry.rows import VERSION
from tmuxagents.registry.schema import MIGRATIONS, SCHEMA
from tmuxagents.registry.sqlite import Identity, Unfit, identity, sqlite3
from tmuxagents.system.identity import boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK = "registry.lock"
_SIDE_FILES = ("-wal", "-shm", "-journal")
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


# --- made -------------------------------------------------------------------------------------------------


def make(path: str, patience_s: float) -> None:
    """Make an empty registry, aside, and put it in its place: nobody ever sees half of one."""
    new = f"{path}.new"
    with alone(path, patience_s):
        if identity(path) is not None:
            return
        try:
            if not _made(new, "WAL"):  # not every file system has what it needs
                _made(new, "DELETE")
            remove(path)
            os.rename(new, path)
        except sqlite3.Error as error:
            raise database.translated(error, None) from error
        except OSError as error:
            raise Unfit(str(error.strerror)) from error


def has_wal(path: str) -> bool:
    """Say whether a database here can have a write-ahead log. What was tried is left there."""
    return _made(path, "WAL")


def _made(path: str, journal: str) -> bool:
    """Make a database with such a journal; say whether one can write and read with it."""
    remove(path)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    connection = database.connect(path, database.PATIENCE_S)
    try:
        if str(database.one(connection, f"PRAGMA journal_mode = {journal}")).upper() != journal:
            return False
        found(connection)
    except sqlite3.OperationalError:
        if journal == "DELETE":
            raise
        return False
    finally:
        connection.close()
    return True


def found(connection: sqlite3.Connection, name: str | None = None) -> None:
    """Make the tables of an empty registry; without a name it gets one that no other has."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA:
        connection.execute(statement)
    values = (name or os.urandom(4).hex(), boot_id())
    connection.execute("INSERT INTO book VALUES (?, ?, 0, 0, NULL)", values)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Migrate an older registry, unless another process has just done so."""
    connection.execute("BEGIN IMMEDIATE")
    for number in range(database.one(connection, "PRAGMA user_version"), version):
        if number not in MIGRATIONS:  # so it is of an empty file, too, which to SQLite is a new database
            raise sqlite3.DatabaseError("it is no registry")
        for statement in MIGRATIONS[number]:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("COMMIT")


# --- alone ------------------------------------------------------------------------------------------------


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
            raise Unfit("another process has been making it for too long")
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
    """Move a damaged registry aside, unless another process has done so; return its new path."""
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
