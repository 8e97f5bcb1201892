"""The registry: SQLite, a cache of the run directories. Every caller must be able to do without it.

This module opens the database and runs transactions. registry/queries has the queries, registry/rows and
registry/schema have their SQL. registry/schema also makes and moves the file.

The connection comes from `_sqlite3`. To import the package `sqlite3` would cost 1.5 ms more, and all it adds
is dates, which the registry does not store.

Touches: SQLite.
"""

from __future__ import annotations

import os

from tmuxagents import cpython
from tmuxagents.cpython import ignoring
from tmuxagents.registry.queries import Registry, Tally
from tmuxagents.registry.rows import BLANK, VERSION, Row, Scope, plain, server_key
from tmuxagents.system.identity import boot_id, host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

__all__ = [  # also names that come from other modules
    "Damaged",
    "Registry",
    "Row",
    "Scope",
    "Tally",
    "Unfit",
    "open_blank",
    "open_file",
    "open_memory",
    "path_of",
    "server_key",
    "sqlite3",
]

cpython.prepare_sqlite()

import _sqlite3 as sqlite3  # noqa: E402  (prepared first)

NAME = "registry.db"
PATIENCE_S = 10.0
_TRIES = 5
_HOW = "mode=rw"  # otherwise SQLite would make an empty file where one was just removed
_KIND = 0xFF  # SQLite's extended error codes of one kind share their last byte
# With these errors the file may be whole: the moment, the disk or our rights are the cause. Any other error
# means that the file is not our registry.
_NOT_THE_FILE = frozenset(
    (
        *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
        *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL),
        *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH),
    )
)

ODD = "it holds what nobody wrote"
Identity = tuple[int, int]


class Unfit(Exception):
    """The registry cannot be used now, or is too new for this program; its file is left as it is."""


class Damaged(Exception):
    """The registry's file is no database, or none of this program; `identity` identifies the file.

    The file may be set aside, since everything in it can be read again from the run directories.
    """

    def __init__(self, why: str, identity: Identity | None) -> None:
        super().__init__(why)
        self.identity = identity


def path_of(home: str) -> str:
    """Return the path of this machine's registry in a state directory."""
    return f"{home}/hosts/{host()}/{NAME}"


def identity_of(path: str) -> Identity | None:
    """Return device and inode of a file, None if there is none."""
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unfit(str(error.strerror)) from error
    return facts.st_dev, facts.st_ino


def open_file(path: str, patience_s: float = PATIENCE_S) -> Registry:
    """Open the registry at a path; make an empty one if there is none. Raise Damaged or Unfit."""
    return Registry(Database(path, patience_s))


def open_memory() -> Registry:
    """Open an empty registry in memory, for a caller that cannot use the file."""
    return Registry(Database(None, 0))


def open_blank() -> Registry:
    """Open an empty registry in memory for a machine without one; the first file will accept its cursors."""
    return Registry(Database(None, 0, BLANK))


class Database:
    """One open database, and transactions on it."""

    def __init__(self, path: str | None, patience_s: float, name: str | None = None) -> None:
        self._path = path
        self._name = name
        self._patience_s = patience_s
        self.identity: Identity | None = None
        self._connection = self._open()

    def close(self) -> None:
        """Close it."""
        self._connection.close()

    def _open(self) -> sqlite3.Connection:
        if self._path is None:
            from tmuxagents.registry import schema  # noqa: PLC0415  (only without a file)

            connection = sqlite3.connect(":memory:", isolation_level=None)
            schema.make_tables(connection, self._name)
            return connection
        for _ in range(_TRIES):
            self.identity = identity_of(self._path)
            if self.identity is None:
                from tmuxagents.registry import schema  # noqa: PLC0415  (once in a registry's life)

                schema.make(self._path, self._patience_s)
                continue
            connection = self._connect(self._path)
            if identity_of(self._path) == self.identity:
                return connection
            connection.close()
        raise Unfit("it is replaced again and again")

    def _connect(self, path: str) -> sqlite3.Connection:
        try:
            connection = connect(path, self._patience_s)
            try:
                version = one(connection, "PRAGMA user_version")
                self.refuse_newer(version)
                if version != VERSION:
                    from tmuxagents.registry import schema  # noqa: PLC0415  (once in a registry's life)

                    schema.migrate(connection, VERSION)
                # A restart of the machine may lose the last commits and their numbers, so the id changes.
                boot = boot_id()
                if one(connection, "SELECT boot FROM book") != boot:
                    values = (os.urandom(4).hex(), boot, boot)
                    connection.execute("UPDATE book SET id = ?, boot = ? WHERE boot <> ?", values)
            except BaseException:
                connection.close()
                raise
        except sqlite3.Error as error:
            raise translated(error, self.identity) from error
        return connection

    def follow(self) -> sqlite3.Connection:
        """Return the connection; open it again if another file is at the path.

        Without this check, writes could go to a removed file for days.
        """
        if self._path is not None and identity_of(self._path) != self.identity:
            self._connection.close()
            self._connection = self._open()
        return self._connection

    def reading(self) -> Transaction:
        """Return a transaction whose queries all see the same moment."""
        return Transaction(self, "BEGIN")

    def writing(self) -> Transaction:
        """Return a transaction that writes several things, or none of them."""
        # IMMEDIATE, since a transaction that reads first and writes later can fail, however long it waits.
        return Transaction(self, "BEGIN IMMEDIATE")

    def damage(self) -> Damaged:
        """Return the error for a file with invalid content."""
        return Damaged(ODD, self.identity)

    @staticmethod
    def refuse_newer(version: int) -> None:
        """Raise Unfit if a newer program has taken the registry over."""
        if version > VERSION:
            raise Unfit("it was written by a newer tmuxagents")

    @property
    def is_busy(self) -> bool:
        """Say whether we have an open transaction."""
        return self._connection.in_transaction

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows that a query finds."""
        connection = self._connection if self.is_busy else self.follow()
        try:
            return connection.execute(sql, [plain(value) for value in values]).fetchall()
        except sqlite3.Error as error:
            raise translated(error, self.identity) from error

    def write(self, sql: str, values: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run a statement once with each of these values."""
        with self.writing():
            self._connection.executemany(sql, values)

    def without_waiting(self, act: Callable[[], object]) -> None:
        """Run a write, unless another process writes right now or the file cannot be written."""
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            act()
        except Unfit:
            return
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(self._patience_s * 1000)}")


class Transaction:
    """Several statements at one moment. A transaction inside another one is a part of it."""

    __slots__ = ("_begin", "_connection", "_database")

    def __init__(self, database: Database, begin: str) -> None:
        self._database = database
        self._begin = begin
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> None:
        if self._database.is_busy:
            return
        connection = self._database.follow()
        try:
            connection.execute(self._begin)
        except sqlite3.Error as error:
            raise translated(error, self._database.identity) from error
        self._connection = connection

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.execute("COMMIT" if error is None else "ROLLBACK")
        except sqlite3.Error as fault:
            if error is None:
                with ignoring(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise translated(fault, self._database.identity) from fault
        if isinstance(error, sqlite3.Error):
            raise translated(error, self._database.identity) from error


def translated(error: sqlite3.Error, identity: Identity | None) -> Damaged | Unfit:
    """Translate an error of SQLite into our own."""
    # Errors of the module itself have no code, for example that a text of a manipulated file is not UTF-8.
    if getattr(error, "sqlite_errorcode", 0) & _KIND in _NOT_THE_FILE:
        return Unfit(str(error))
    return Damaged(str(error), identity)


# --- opening ----------------------------------------------------------------------------------------------


def connect(path: str, patience_s: float) -> sqlite3.Connection:
    """Open an existing database, whatever it holds."""
    name = "/" + path.lstrip("/").replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file:{name}?{_HOW}", timeout=patience_s, isolation_level=None, uri=True)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def one(connection: sqlite3.Connection, question: str) -> Any:
    """Return the one value that a query finds."""
    found = connection.execute(question).fetchone()
    if found is None:
        raise sqlite3.DatabaseError("it is not whole")
    return found[0]
