"""The registry: SQLite, a cache of the run directories. Whoever asks it must be able to do without it.

Here is the database itself; what one can ask it is in registry_runs, the words for that in registry_sql and
registry_schema.
A file that is damaged raises `Damaged` and may be set aside, since all of it can be read again from the run
directories; one that cannot be used now, or was written by a newer program, raises `Unfit` and is left alone.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3

from tmuxagents.edges import process, registry_file
from tmuxagents.edges.registry_file import Damaged, Identity, Unfit, path_of, set_aside
from tmuxagents.edges.registry_runs import Registry, Tally
from tmuxagents.edges.registry_sql import MIGRATIONS, VERSION, Row, Scope, plain, server_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

__all__ = [  # what others take from here
    "Damaged",
    "Registry",
    "Row",
    "Scope",
    "Tally",
    "Unfit",
    "open_file",
    "open_memory",
    "path_of",
    "server_key",
    "set_aside",
]

PATIENCE_S = 10.0
_TRIES = 5
_HOW = "mode=rw"  # SQLite would make an empty file in the place of one just removed
_KIND = 0xFF  # SQLite's extended error codes of one kind share their last byte
# The file may be whole: it is the moment, the disk or our rights. Any other error says that it is not ours.
_NOT_THE_FILE = frozenset(
    (
        *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
        *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL),
        *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH),
    )
)


def open_file(path: str, patience_s: float = PATIENCE_S) -> Registry:
    """Open the registry at a path; make an empty one if there is none. Raise Damaged or Unfit."""
    return Registry(Database(path, patience_s))


def open_memory() -> Registry:
    """Open an empty registry that lasts as long as it is open: for who cannot use the file's."""
    return Registry(Database(None, 0))


class Database:
    """One open database, and transactions on it."""

    def __init__(self, path: str | None, patience_s: float) -> None:
        self._path = path
        self._patience_s = patience_s
        self.identity: Identity | None = None
        self._connection = self._open()

    def close(self) -> None:
        """Close it."""
        self._connection.close()

    def _open(self) -> sqlite3.Connection:
        if self._path is None:
            connection = sqlite3.connect(":memory:", isolation_level=None)
            _found(connection)
            return connection
        for _ in range(_TRIES):
            self.identity = registry_file.identity(self._path)
            if self.identity is None:
                _make(self._path, self._patience_s)
                continue
            connection = _connect(self._path, self.identity, self._patience_s)
            if registry_file.identity(self._path) == self.identity:
                return connection
            connection.close()
        raise Unfit("it is replaced again and again")

    def _follow(self) -> None:
        """Open the file anew if another lies at its path: into a removed one one can write for days."""
        if self._path is not None and registry_file.identity(self._path) != self.identity:
            self._connection.close()
            self._connection = self._open()

    def reading(self) -> contextlib.AbstractContextManager[None]:
        """Ask several things about the same moment."""
        return self._transaction("BEGIN")

    @contextlib.contextmanager
    def impatient(self) -> Iterator[None]:
        """Wait for nobody: raise Unfit where one would have to."""
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(self._patience_s * 1000)}")

    def writing(self) -> contextlib.AbstractContextManager[None]:
        """Write several things, or none of them."""
        # IMMEDIATE: a transaction that reads first and then wants to write fails, however patient it is.
        return self._transaction("BEGIN IMMEDIATE")

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        if self._connection.in_transaction:
            yield
            return
        self._follow()
        with _translated(self.identity):
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return what a question finds."""
        with self.reading():
            return self._connection.execute(sql, [plain(value) for value in values]).fetchall()

    def write(self, sql: str, values: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Carry out a statement with each of these values."""
        with self.writing():
            self._connection.executemany(sql, values)


@contextlib.contextmanager
def _translated(identity: Identity | None) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        # Errors of the module itself have no code: text that is no text, as in a file that was tampered with.
        if getattr(error, "sqlite_errorcode", 0) & _KIND in _NOT_THE_FILE:
            raise Unfit(str(error)) from error
        raise Damaged(str(error), identity) from error


# --- opened -----------------------------------------------------------------------------------------------


def _plain_connect(path: str, patience_s: float) -> sqlite3.Connection:
    name = "/" + path.lstrip("/").replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file:{name}?{_HOW}", timeout=patience_s, isolation_level=None, uri=True)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _connect(path: str, identity: Identity, patience_s: float) -> sqlite3.Connection:
    with _translated(identity), contextlib.ExitStack() as undo:
        connection = _plain_connect(path, patience_s)
        undo.callback(connection.close)
        _check_version(connection)
        _check_boot(connection)
        undo.pop_all()
    return connection


def _check_version(connection: sqlite3.Connection) -> None:
    version = _one(connection, "PRAGMA user_version")
    if version > VERSION:
        raise Unfit("it was written by a newer tmuxagents")
    if version == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    for number in range(_one(connection, "PRAGMA user_version"), VERSION):
        if number not in MIGRATIONS:  # so it is of an empty file, too, which to SQLite is a new database
            raise sqlite3.DatabaseError("it is no registry")
        for statement in MIGRATIONS[number]:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _check_boot(connection: sqlite3.Connection) -> None:
    """Give the database another id after a restart: its last commits, and their numbers, may be lost."""
    boot = process.boot_id()
    if _one(connection, "SELECT boot FROM book") != boot:
        values = (os.urandom(4).hex(), boot, boot)
        connection.execute("UPDATE book SET id = ?, boot = ? WHERE boot <> ?", values)


def _one(connection: sqlite3.Connection, question: str) -> Any:
    found = connection.execute(question).fetchone()
    if found is None:
        raise sqlite3.DatabaseError("it is not whole")
    return found[0]


# --- made -------------------------------------------------------------------------------------------------


def _make(path: str, patience_s: float) -> None:
    """Make an empty registry, aside, and put it in its place: nobody ever sees half of one."""
    new = f"{path}.new"
    with registry_file.alone(path, patience_s), _translated(None):
        if registry_file.identity(path) is not None:
            return
        try:
            if not _made(new, "WAL"):  # not every file system has what it needs
                _made(new, "DELETE")
            registry_file.remove(path)
            os.rename(new, path)
        except OSError as error:
            raise Unfit(str(error.strerror)) from error


def has_wal(path: str) -> bool:
    """Say whether a database here can have a write-ahead log. What was tried is left there."""
    return _made(path, "WAL")


def _made(path: str, journal: str) -> bool:
    """Make a database with such a journal; say whether one can write and read with it."""
    registry_file.remove(path)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    connection = _plain_connect(path, PATIENCE_S)
    try:
        if str(_one(connection, f"PRAGMA journal_mode = {journal}")).upper() != journal:
            return False
        _found(connection)
    except sqlite3.OperationalError:
        if journal == "DELETE":
            raise
        return False
    finally:
        connection.close()
    return True


def _found(connection: sqlite3.Connection) -> None:
    from tmuxagents.edges.registry_schema import SCHEMA  # noqa: PLC0415  (who finds a registry needs no tables)

    connection.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA:
        connection.execute(statement)
    values = (os.urandom(4).hex(), process.boot_id())
    connection.execute("INSERT INTO book VALUES (?, ?, 0, 0, NULL)", values)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
