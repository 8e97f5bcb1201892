"""What stands in the registry: its rows, its tables, its statements. Text for edges/registry, which runs it.

All that must hold whoever writes is said here, in SQL, so that no writer can forget it: a run is never taken
back, each change gets the next number, and the counts are kept by the way.
"""

from __future__ import annotations

import math
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

VERSION = 1
_BIGGEST = 2**63 - 1
# version -> the statements that make the next one of it; run in the transaction that also writes the number
MIGRATIONS: dict[int, Sequence[str]] = {}

# What the plan says, and never changes.
_PLANNED = (
    *("run_id", "session_id", "name", "project", "owner", "mode", "preset", "task", "cwd", "created_at"),
)
# How the run stands: taken whole from whoever knows more, or not at all.
_STANDING = (
    *("status", "reason", "activity", "attended", "settled", "needs_input"),
    *("started_at", "ended_at", "last_event_at", "concluded"),
)
# What only grows or is only found out once.
_GROWING = ("event_seq", "event_offset", "polled_at", "announced")
_FOUND = ("server", "window", "pane", "launcher")
GIVEN = (*_PLANNED, *_STANDING, *_GROWING, *_FOUND, "changed_at")
COLUMNS = (*GIVEN, "change")
FLAGS = frozenset(("attended", "settled", "needs_input", "concluded", "announced"))
_ZERO = {**dict.fromkeys(FLAGS, False), "event_seq": 0, "event_offset": 0, "changed_at": 0.0, "change": 0}


class Row:
    """What the registry knows of one run.

    `concluded`: its ending is written down, nothing about it will change. `event_seq` says how much was known
    of it when it was looked at, `changed_at` since when it stands so. `server` and `launcher`: the tmux
    server of its window, and the one it was launched from (`server_key`). `change` is the registry's own.
    """

    __slots__ = COLUMNS

    run_id: str
    session_id: str
    name: str | None
    project: str | None
    owner: str | None
    mode: str | None
    preset: str | None
    task: str | None
    cwd: str | None
    created_at: float
    status: str
    reason: str | None
    activity: str | None
    attended: bool
    settled: bool
    needs_input: bool
    started_at: float | None
    ended_at: float | None
    last_event_at: float | None
    concluded: bool
    event_seq: int
    event_offset: int
    polled_at: float | None
    announced: bool
    server: str | None
    window: str | None
    pane: str | None
    launcher: str | None
    changed_at: float
    change: int

    def __init__(self, run_id: str, *, status: str, created_at: float, **known: Any) -> None:
        known |= {"run_id": run_id, "status": status, "created_at": created_at}
        known.setdefault("session_id", run_id)
        for column in COLUMNS:
            setattr(self, column, known.pop(column, _ZERO.get(column)))
        if known:
            raise TypeError(f"a row has no {', '.join(known)}")


def server_key(socket: str, pid: int, started: int) -> str:
    """Return the name of one tmux server: the same only if socket, pid and start time are."""
    return f"{pid}.{started}.{socket}"


def plain(value: Any) -> Any:
    """Return what SQLite can hold: a run directory may hold any figure and any half of a character."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return max(-_BIGGEST, min(_BIGGEST, value)) if isinstance(value, int) else None


# --- tables -----------------------------------------------------------------------------------------------


def _count(row: str, sign: str) -> str:
    """Return the statement that counts a row in or out wherever it belongs; on one server only once."""
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
    UPDATE run SET change = (SELECT change FROM book) WHERE run_id = {row}.run_id;"""  # noqa: S608


def _after_update(name: str, columns: Sequence[str], act: str) -> str:
    """Return the trigger that acts where one of these columns got another value."""
    old, new = (", ".join(f"{side}.{column}" for column in columns) for side in ("OLD", "NEW"))
    return f"""CREATE TRIGGER {name} AFTER UPDATE OF {", ".join(columns)} ON run
      WHEN ({old}) IS NOT ({new}) BEGIN {act} END"""


_TOLD = ("status", "needs_input", "attended", "settled")  # a change of these gets a number
_COUNTED = ("status", "needs_input", "ended_at", "server", "launcher")
_FORGET = "UPDATE book SET forgotten = max(forgotten, OLD.change);"

SCHEMA = (
    # id: random, new after each restart of the machine too, since the last commits may be lost with it.
    # forgotten: the last change of a run that is no longer here. folder: which runs folder is known whole.
    """CREATE TABLE book (id TEXT NOT NULL, boot TEXT NOT NULL, change INTEGER NOT NULL,
         forgotten INTEGER NOT NULL, folder TEXT)""",
    """CREATE TABLE run (
         run_id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL, name TEXT, project TEXT, owner TEXT,
         mode TEXT, preset TEXT, task TEXT, cwd TEXT, created_at REAL NOT NULL,
         status TEXT NOT NULL, reason TEXT, activity TEXT, attended INTEGER NOT NULL,
         settled INTEGER NOT NULL, needs_input INTEGER NOT NULL,
         started_at REAL, ended_at REAL, last_event_at REAL,
         concluded INTEGER NOT NULL, event_seq INTEGER NOT NULL, event_offset INTEGER NOT NULL,
         polled_at REAL, announced INTEGER NOT NULL, server TEXT, window TEXT, pane TEXT, launcher TEXT,
         changed_at REAL NOT NULL, change INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE tally (scope TEXT NOT NULL, key TEXT NOT NULL, status TEXT NOT NULL,
         runs INTEGER NOT NULL, waiting INTEGER NOT NULL, ended_at REAL NOT NULL,
         PRIMARY KEY (scope, key, status)) WITHOUT ROWID""",
    "CREATE INDEX run_open ON run (created_at) WHERE concluded = 0",
    "CREATE INDEX run_created ON run (created_at)",
    "CREATE INDEX run_project ON run (project, created_at)",
    "CREATE INDEX run_owner ON run (owner, created_at) WHERE owner IS NOT NULL",
    "CREATE INDEX run_name ON run (name) WHERE name IS NOT NULL",
    "CREATE INDEX run_session ON run (session_id)",
    "CREATE INDEX run_change ON run (change)",
    f"CREATE TRIGGER run_added AFTER INSERT ON run BEGIN {_number('NEW')} {_count('NEW', '')} END",
    _after_update("run_changed", _TOLD, _number("NEW")),
    _after_update("run_counted", _COUNTED, _count("OLD", "-") + _count("NEW", "")),
    f"CREATE TRIGGER run_forgotten AFTER DELETE ON run BEGIN {_count('OLD', '-')} {_FORGET} END",
)


# --- statements -------------------------------------------------------------------------------------------

_RANK = "CASE {} WHEN 'queued' THEN 0 WHEN 'running' THEN 1 ELSE 2 END"
_OLD, _NEW = _RANK.format("run.status"), _RANK.format("excluded.status")
# Who knows more: queued < running < ended; of two that live, who has read more events; of two that ended, the
# one whose ending is written down. Once that is known, nothing else is believed.
_FORWARD = f"""run.concluded = 0 AND CASE
    WHEN {_NEW} <> {_OLD} THEN {_NEW} > {_OLD}
    WHEN {_OLD} = 2 THEN excluded.concluded
    ELSE excluded.event_seq >= run.event_seq END"""
_TELLS = " OR ".join(f"excluded.{column} <> run.{column}" for column in _TOLD)

UPSERT = f"""
INSERT INTO run ({", ".join(GIVEN)}) VALUES ({", ".join(f":{column}" for column in GIVEN)})
ON CONFLICT (run_id) DO UPDATE SET
  {", ".join(f"{c} = CASE WHEN {_FORWARD} THEN excluded.{c} ELSE run.{c} END" for c in _STANDING)},
  changed_at = CASE WHEN ({_FORWARD}) AND ({_TELLS}) THEN excluded.changed_at ELSE run.changed_at END,
  event_seq = max(run.event_seq, excluded.event_seq),
  event_offset = max(run.event_offset, excluded.event_offset),
  announced = max(run.announced, excluded.announced),
  polled_at = coalesce(run.polled_at, excluded.polled_at),
  {", ".join(f"{c} = coalesce(excluded.{c}, run.{c})" for c in _FOUND)}
"""  # noqa: S608  (our own words)

ROWS = f"SELECT {', '.join(COLUMNS)} FROM run"  # noqa: S608  (our own words)
NEWEST_FIRST = "ORDER BY created_at DESC, run_id DESC"
OPEN = "concluded = 0"
ACTIVE = "(concluded = 0 AND status IN ('queued', 'running'))"
TALLY = "SELECT status, runs, waiting, ended_at FROM tally WHERE scope = ? AND key = ?"
COUNT = """SELECT status, count(*), sum(needs_input), max(coalesce(ended_at, 0)) FROM run WHERE {}
           GROUP BY status"""
NEIGHBOURS = """SELECT (SELECT max(run_id) FROM run WHERE run_id < ?),
                       (SELECT min(run_id) FROM run WHERE run_id > ?)"""


_WHERE = {
    "all": "1",
    "project": "project = ?",
    "owner": "owner = ?",
    "server": "(server = ? OR launcher = ?)",
}


class Scope:
    """Which runs are meant: `all`, those of a `project`, `owner` or tmux `server`, or the `named` ones."""

    __slots__ = ("among", "key", "kind", "values", "where")

    def __init__(self, kind: str, *keys: str) -> None:
        self.kind = kind
        self.key = keys[0] if keys else ""
        self.where = _WHERE[kind] if kind in _WHERE else f"run_id IN ({', '.join('?' * len(keys))})"
        # For few rows found otherwise: the plus keeps SQLite from going through all of the scope instead.
        self.among = self.where.replace("project", "+project").replace("owner", "+owner")
        self.values = keys if kind not in _WHERE else keys * self.where.count("?")

    def holds(self, row: Row) -> bool:
        """Say whether a run is meant."""
        if self.kind == "named":
            return row.run_id in self.values
        if self.kind == "server":
            return self.key in (row.server, row.launcher)
        return self.kind == "all" or getattr(row, self.kind) == self.key


_CURSOR = re.compile(r"([^.]+)\.([0-9]{1,18})\.([0-9]{1,18})", re.ASCII)


class Cursor:
    """How much somebody knows: all changes of one database up to a number, at a moment."""

    __slots__ = ("at", "book", "number")

    def __init__(self, book: str, number: int, at: int) -> None:
        self.book = book
        self.number = number
        self.at = at

    @classmethod
    def parse(cls, text: str) -> Cursor | None:
        """Return the cursor of a text, None if it is none."""
        found = _CURSOR.fullmatch(text)
        return cls(found[1], int(found[2]), int(found[3])) if found else None
