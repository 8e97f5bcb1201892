"""The registry's tables, the SQL that saves a row, and the making, moving and removal of its file.

The rules for all writers are here, in SQL, so that no writer can forget one: an older state of a run never
replaces a newer one, each change gets the next number, and the counts are kept up to date.

SQLite requires that a database stays together with its side files. So one process at a time makes a
database, or sets one aside, under a lock beside it.

Touches: SQLite.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

from tmuxagents.errors import Unusable
from tmuxagents.registry import database
from tmuxagents.registry.database import Identity, Unfit, identity_of, sqlite3
from tmuxagents.registry.rows import COLUMNS, FOUND, GIVEN, STANDING, VERSION
from tmuxagents.system import places
from tmuxagents.system.identity import boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# --- tables -----------------------------------------------------------------------------------------------


def _count(row: str, sign: str) -> str:
    """Return the statement that adds a row to all its counts, or removes it.

    A run whose window is on its launcher's server is counted there once, not twice.
    """
    return f"""
    INSERT INTO tally (scope, key, status, runs, waiting, ended_at)
    SELECT scope, key, {row}.status, {sign}1, {sign}{row}.needs_input, coalesce({row}.ended_at, 0) FROM (
      SELECT 'all' AS scope, '' AS key UNION SELECT 'project', {row}.project UNION SELECT 'owner', {row}.owner
      UNION SELECT 'server', {row}.server UNION SELECT 'server', {row}.launcher
    ) WHERE key IS NOT NULL
    ON CONFLICT (scope, key, status) DO UPDATE SET
      runs = runs + excluded.runs, waiting = waiting + excluded.waiting,
      ended_at = max(ended_at, excluded.ended_at);"""  # noqa: S608  (our own words)


def _number(row: str) -> str:
    return f"""
    UPDATE book SET change = change + 1;
    UPDATE run SET change = (SELECT change FROM book) WHERE run_id = {row}.run_id;"""  # noqa: S608  (names of our own)


def _after_update(name: str, columns: Sequence[str], act: str) -> str:
    """Return the trigger that acts when one of these columns gets another value."""
    old, new = (", ".join(f"{side}.{column}" for column in columns) for side in ("OLD", "NEW"))
    return f"""CREATE TRIGGER {name} AFTER UPDATE OF {", ".join(columns)} ON run
      WHEN ({old}) IS NOT ({new}) BEGIN {act} END"""


_REPORTED = ("status", "needs_input", "attended", "settled")  # a change of these gets a number
_COUNTED = ("status", "needs_input", "ended_at", "server", "launcher")
_OPEN_ROW = ", ".join(dict.fromkeys(("created_at", "run_id", *COLUMNS)))
_OPEN_INDEX = f"CREATE INDEX run_open ON run ({_OPEN_ROW}) WHERE concluded = 0"
_ENDED_INDEX = "CREATE INDEX run_ended ON run (ended_at) WHERE ended_at IS NOT NULL"
_DROP = "DELETE FROM document WHERE run_id = OLD.run_id;"
_OVER = "DELETE FROM checkpoint WHERE run_id = OLD.run_id;"
_FORGET = "UPDATE book SET forgotten = max(forgotten, OLD.change);"

# Checkpoints of runs that have not ended, from which the next reader continues (runs/reading).
_CHECKPOINTS = (
    "CREATE TABLE checkpoint (run_id TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL)",
    f"CREATE TRIGGER run_left AFTER DELETE ON run BEGIN {_OVER} END",
    f"CREATE TRIGGER run_over AFTER UPDATE OF concluded ON run WHEN NEW.concluded BEGIN {_OVER} END",
)
# The runs whose answers a reader has got. `reader` is a parent's owner, or '' for any other caller.
_ANSWERED = (
    """CREATE TABLE answered (run_id TEXT NOT NULL, reader TEXT NOT NULL,
         PRIMARY KEY (run_id, reader)) WITHOUT ROWID""",
    "CREATE TRIGGER run_gone AFTER DELETE ON run BEGIN DELETE FROM answered WHERE run_id = OLD.run_id; END",
)
SCHEMA = (
    # id: random, and new after each restart of the machine, which may lose the last commits.
    # forgotten: the last change of a run that is no longer here. folder: the runs folder that is known whole.
    """CREATE TABLE book (id TEXT NOT NULL, boot TEXT NOT NULL, change INTEGER NOT NULL,
         forgotten INTEGER NOT NULL, folder TEXT)""",
    """CREATE TABLE run (
         run_id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL, name TEXT, project TEXT, owner TEXT,
         mode TEXT, preset TEXT, task TEXT, cwd TEXT, created_at REAL NOT NULL,
         status TEXT NOT NULL, reason TEXT, activity TEXT, attended INTEGER NOT NULL,
         settled INTEGER NOT NULL, needs_input INTEGER NOT NULL,
         started_at REAL, ended_at REAL, last_event_at REAL, elapsed_s REAL, timeout REAL, host TEXT,
         model TEXT, cost REAL, wrapper TEXT, mark TEXT,
         concluded INTEGER NOT NULL, event_seq INTEGER NOT NULL,
         polled_at REAL, announced INTEGER NOT NULL, server TEXT, window TEXT, pane TEXT, launcher TEXT,
         changed_at REAL NOT NULL, change INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE tally (scope TEXT NOT NULL, key TEXT NOT NULL, status TEXT NOT NULL,
         runs INTEGER NOT NULL, waiting INTEGER NOT NULL, ended_at REAL NOT NULL,
         PRIMARY KEY (scope, key, status)) WITHOUT ROWID""",
    # Apart from the rows, since every look reads the rows, and documents are long.
    "CREATE TABLE document (run_id TEXT PRIMARY KEY NOT NULL, mark TEXT NOT NULL, text TEXT NOT NULL)",
    # Holds the rows of all runs that have not ended, whole and side by side, since every look reads them.
    _OPEN_INDEX,
    _ENDED_INDEX,
    "CREATE INDEX run_created ON run (created_at)",
    "CREATE INDEX run_project ON run (project, created_at)",
    "CREATE INDEX run_owner ON run (owner, created_at) WHERE owner IS NOT NULL",
    "CREATE INDEX run_name ON run (name) WHERE name IS NOT NULL",
    "CREATE INDEX run_session ON run (session_id)",
    "CREATE INDEX run_change ON run (change)",
    f"CREATE TRIGGER run_added AFTER INSERT ON run BEGIN {_number('NEW')} {_count('NEW', '')} END",
    _after_update("run_changed", _REPORTED, _number("NEW")),
    _after_update("run_counted", _COUNTED, _count("OLD", "-") + _count("NEW", "")),
    f"CREATE TRIGGER run_forgotten AFTER DELETE ON run BEGIN {_count('OLD', '-')} {_FORGET} {_DROP} END",
    f"CREATE TRIGGER run_moved AFTER UPDATE OF mark ON run WHEN NEW.mark IS NULL BEGIN {_DROP} END",
    *_CHECKPOINTS,
    *_ANSWERED,
)
# version -> the statements that migrate it to the next one, in the transaction that also writes its number
MIGRATIONS: dict[int, Sequence[str]] = {
    1: _CHECKPOINTS,
    2: (  # drops a column that was always 0, and documents with the time of their making (run_moved)
        "DROP INDEX run_open",
        "ALTER TABLE run DROP COLUMN event_offset",
        "UPDATE run SET mark = NULL WHERE mark IS NOT NULL",
    ),
    3: (  # adds what a list shows of a run: its model, its cost, and whether it ended a short time ago
        "DROP INDEX IF EXISTS run_open",
        "ALTER TABLE run ADD COLUMN model TEXT",
        "ALTER TABLE run ADD COLUMN cost REAL",
        _OPEN_INDEX,
        _ENDED_INDEX,
    ),
    4: _ANSWERED,
}


# --- statements -------------------------------------------------------------------------------------------

_RANK = "CASE {} WHEN 'queued' THEN 0 WHEN 'running' THEN 1 ELSE 2 END"
_OLD, _NEW = _RANK.format("run.status"), _RANK.format("excluded.status")
# Whether a new row knows more: queued < running < ended. Of two live states, the one with more events knows
# more; of two ended ones, the one whose ending is written. After a written ending, no other row is believed.
_FORWARD = f"""run.concluded = 0 AND CASE
    WHEN {_NEW} <> {_OLD} THEN {_NEW} > {_OLD}
    WHEN {_OLD} = 2 THEN excluded.concluded
    ELSE excluded.event_seq >= run.event_seq END"""
_IS_REPORTED = " OR ".join(f"excluded.{column} <> run.{column}" for column in _REPORTED)

UPSERT = f"""
INSERT INTO run ({", ".join(GIVEN)}) VALUES ({", ".join(f":{column}" for column in GIVEN)})
ON CONFLICT (run_id) DO UPDATE SET
  {", ".join(f"{c} = CASE WHEN {_FORWARD} THEN excluded.{c} ELSE run.{c} END" for c in STANDING)},
  changed_at = CASE WHEN ({_FORWARD}) AND ({_IS_REPORTED}) THEN excluded.changed_at ELSE run.changed_at END,
  event_seq = max(run.event_seq, excluded.event_seq),
  announced = max(run.announced, excluded.announced),
  polled_at = coalesce(run.polled_at, excluded.polled_at),
  {", ".join(f"{c} = coalesce(excluded.{c}, run.{c})" for c in FOUND)}
"""  # noqa: S608  (our own words)
# A document is valid as long as its run's row has the mark under which the document was made.
KEEP_DOCUMENT = """INSERT INTO document VALUES (:run_id, :mark, :text)
                   ON CONFLICT (run_id) DO UPDATE SET mark = excluded.mark, text = excluded.text"""
# The events file shows whether a checkpoint is still valid. A run with a written ending needs none.
KEEP_CHECKPOINT = """INSERT INTO checkpoint
                     SELECT run_id, :text FROM run WHERE run_id = :run_id AND concluded = 0
                     ON CONFLICT (run_id) DO UPDATE SET text = excluded.text"""


# --- the file ---------------------------------------------------------------------------------------------

_LOCK = "registry.lock"
_SIDE_FILES = ("-wal", "-shm", "-journal")
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def make(path: str, patience_s: float) -> None:
    """Make an empty registry, then move it to its place, so that no process ever sees half of one."""
    new = f"{path}.new"
    with alone(path, patience_s):
        if identity_of(path) is not None:
            return
        try:
            if not _made(new, "WAL"):  # not every file system can have a write-ahead log
                _made(new, "DELETE")
            remove(path)
            os.rename(new, path)
        except sqlite3.Error as error:
            raise database.translated(error, None) from error
        except OSError as error:
            raise Unfit(str(error.strerror)) from error


def has_wal(path: str) -> bool:
    """Say whether a database here can have a write-ahead log. The test database is left there."""
    return _made(path, "WAL")


def _made(path: str, journal: str) -> bool:
    """Make a database with such a journal; say whether writing and reading works with it."""
    remove(path)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    connection = database.connect(path, database.PATIENCE_S)
    try:
        if str(database.one(connection, f"PRAGMA journal_mode = {journal}")).upper() != journal:
            return False
        make_tables(connection)
    except sqlite3.OperationalError:
        if journal == "DELETE":
            raise
        return False
    finally:
        connection.close()
    return True


def make_tables(connection: sqlite3.Connection, name: str | None = None) -> None:
    """Make the tables of an empty registry; without a given name it gets a random one."""
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
        if number not in MIGRATIONS:  # an empty file, too, which SQLite takes for a new database
            raise sqlite3.DatabaseError("it is no registry")
        for statement in MIGRATIONS[number]:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("COMMIT")


@contextlib.contextmanager
def alone(path: str, limit_s: float) -> Iterator[None]:
    """Be the only process that makes or moves a registry; raise Unfit if the wait takes too long."""
    lock = f"{os.path.dirname(path)}/{_LOCK}"
    try:
        places.make_folders(os.path.dirname(path))
        handle = os.open(lock, _FLAGS, 0o600)
    except OSError as error:
        raise Unfit(str(error.strerror)) from error
    deadline = time.monotonic() + limit_s
    try:
        while not _try(handle):
            if time.monotonic() >= deadline:
                raise Unfit("another process has been making it for too long")
            time.sleep(0.02)
        second = os.open(lock, _FLAGS, 0o600)
        try:
            if _try(second):  # two holders at once: the file system has no real locks
                raise _no_locks(lock)
        finally:
            os.close(second)
        yield
    finally:
        os.close(handle)


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
            if damaged is not None and identity_of(path) == damaged:
                # The database comes last: alone it is an older state; the side files alone are useless.
                for side in (*_SIDE_FILES, ""):
                    with contextlib.suppress(FileNotFoundError):
                        os.replace(path + side, aside + side)
        except OSError as error:
            raise Unfit(str(error.strerror)) from error
    return aside


def remove(path: str) -> None:
    """Remove a database and its side files. Side files that stay would spoil the next database."""
    for side in ("", *_SIDE_FILES):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + side)
