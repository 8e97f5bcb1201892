"""The rows of the registry, and the SQL that finds them, which registry/queries runs. Touches: SQLite.

The tables and the SQL that writes are in registry/schema, which readers do not load.
"""

from __future__ import annotations

from tmuxagents import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

VERSION = 4
_BIGGEST = 2**63 - 1
_MOST_DIGITS = 18  # of a pid, a start time, or a figure in a cursor
# The member of a run's document that changes while nothing happens: the registry stores documents without it.
VOLATILE = "elapsedSeconds"
BLANK = "0"  # the name of a database that does not exist yet; all real names are longer

# From the plan; these never change.
_PLANNED = (
    *("run_id", "session_id", "name", "project", "owner", "mode", "preset", "task", "cwd", "created_at"),
    "timeout",
)
# The state of the run: a writer that knows more replaces all of these, any other none of them.
STANDING = (
    *("status", "reason", "activity", "attended", "settled", "needs_input"),
    *("started_at", "ended_at", "last_event_at", "elapsed_s", "concluded"),
    *("host", "model", "cost", "wrapper", "mark"),
)
# Values that only grow, or that are found only once.
_GROWING = ("event_seq", "polled_at", "announced")
FOUND = ("server", "window", "pane", "launcher")
GIVEN = (*_PLANNED, *STANDING, *_GROWING, *FOUND, "changed_at")
COLUMNS = (*GIVEN, "change")
FLAGS = frozenset(("attended", "settled", "needs_input", "concluded", "announced"))
# Members of a run's document, and the columns that hold them.
_BRIEF = {key: key for key in ("name", "task", "preset", "status", "reason", "settled", "model", "timeout")}
_BRIEF |= {"runId": "run_id", "needsInput": "needs_input", "createdAt": "created_at"}
_BRIEF |= {"startedAt": "started_at", "endedAt": "ended_at"}
_ZERO = {**dict.fromkeys(FLAGS, False), "event_seq": 0, "changed_at": 0.0, "change": 0}


class Row:
    """What the registry knows of one run.

    `concluded`: the ending is written, so nothing will change. `event_seq`: the number of the last event that
    was read. `changed_at`: the time of the last change. `change`: the registry's number of the last change.
    `server`: the tmux server of the run's window. `launcher`: the one from which the run was launched
    (`server_key`). `elapsed_s`: how long an ended run has worked. `host`: the other machine where it lives.
    `activity`: what it does now; for a failed run the error, for a completed one the start of its answer.

    If `wrapper` and `mark` are known, the row is current while that process lives and the run's files have
    that mark (`registry/current`). Saving the row calls `document`, which makes the run's document as JSON
    without VOLATILE, and `checkpoint`, which makes the text from which the next reader can continue. Only the
    queries `documents` and `checkpoints` return these texts.
    """

    __slots__ = (*COLUMNS, "checkpoint", "document")

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
    elapsed_s: float | None
    timeout: float | None
    host: str | None
    model: str | None
    cost: float | None
    wrapper: str | None
    mark: str | None
    concluded: bool
    event_seq: int
    polled_at: float | None
    announced: bool
    server: str | None
    window: str | None
    pane: str | None
    launcher: str | None
    changed_at: float
    change: int
    checkpoint: Callable[[], str | None] | None
    document: Callable[[], str | None] | None

    def __init__(self, run_id: str, *, status: str, created_at: float, **values: Any) -> None:
        values |= {"run_id": run_id, "status": status, "created_at": created_at}
        values.setdefault("session_id", run_id)
        for column in self.__slots__:
            setattr(self, column, values.pop(column, _ZERO.get(column)))
        if values:
            raise TypeError(f"a row has no {', '.join(values)}")

    @classmethod
    def of(cls, values: tuple[Any, ...]) -> Row:
        """Return the row made of the values of COLUMNS. Written out for speed: every look makes many rows."""
        row = cls.__new__(cls)
        row.document = row.checkpoint = None
        # fmt: off
        (
            row.run_id, row.session_id, row.name, row.project, row.owner,
            row.mode, row.preset, row.task, row.cwd, row.created_at,
            row.timeout, row.status, row.reason, row.activity, row.attended,
            row.settled, row.needs_input, row.started_at, row.ended_at, row.last_event_at,
            row.elapsed_s, row.concluded, row.host, row.model, row.cost,
            row.wrapper, row.mark, row.event_seq, row.polled_at, row.announced,
            row.server, row.window, row.pane, row.launcher, row.changed_at, row.change,
        ) = values
        # fmt: on
        row.attended, row.settled = row.attended != 0, row.settled != 0
        row.needs_input, row.concluded = row.needs_input != 0, row.concluded != 0
        row.announced = row.announced != 0
        return row

    def elapsed(self, at: float) -> float:
        """Return how long the run has worked."""
        if self.elapsed_s is not None:
            return round(self.elapsed_s, 1)
        return 0.0 if self.started_at is None else round(max(0.0, at - self.started_at), 1)

    def brief(self, at: float) -> dict[str, Any]:
        """Return the members of the run's document that the row holds: all that a line of a list needs."""
        keys = {records.COMPLETED: "output", records.FAILED: "errorMessage", records.ABORTED: "errorMessage"}
        return {
            **{key: getattr(self, column) for key, column in _BRIEF.items()},
            "usage": {"cost": self.cost},
            VOLATILE: self.elapsed(at),
            **dict.fromkeys(keys.values()),
            **({keys[self.status]: self.activity} if self.status in keys else {}),
        }


def server_key(socket: str, pid: int, started: int) -> str:
    """Return the key of one tmux server: two keys are equal only if socket, pid and start time are."""
    return f"{pid}.{started}.{socket}"


def server_of(key: str) -> tuple[str, int, int] | None:
    """Return socket, pid and start time of the tmux server with this key; None for any other text."""
    pid, started, socket = [*key.split(".", 2), "", ""][:3]
    is_key = socket and all(part.isdecimal() and len(part) <= _MOST_DIGITS for part in (pid, started))
    return (socket, int(pid), int(started)) if is_key else None


def plain(value: Any) -> Any:
    """Return a value that SQLite can hold: a run directory may hold any number, and halves of characters."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return value if value - value == 0 else None  # neither NaN nor infinite
    return max(-_BIGGEST, min(_BIGGEST, value)) if isinstance(value, int) else None


# --- queries ----------------------------------------------------------------------------------------------

ROWS = f"SELECT {', '.join(COLUMNS)} FROM run"  # noqa: S608  (our own words)
NEWEST_FIRST = "ORDER BY created_at DESC, run_id DESC"
OPEN = "concluded = 0"
ACTIVE = "(concluded = 0 AND status IN ('queued', 'running'))"
TALLY = "SELECT status, runs, waiting, ended_at FROM tally WHERE scope = ? AND key = ?"
COUNT = """SELECT status, count(*), sum(needs_input), max(coalesce(ended_at, 0)) FROM run WHERE {}
           GROUP BY status"""
# For many runs at once; {} becomes one question mark for each run.
ALIKE = """SELECT run.run_id, other.run_id FROM run JOIN run AS other
               ON other.run_id >= substr(run.run_id, 1, {length}) AND other.run_id <> run.run_id
               AND other.run_id < substr(run.run_id, 1, {length}) || 'g'
               WHERE run.run_id IN ({{}})"""
SESSIONS = "SELECT session_id, count(*) FROM run WHERE session_id IN ({}) GROUP BY session_id"
DOCUMENTS = "SELECT run_id, mark, text FROM document WHERE run_id IN ({})"
CHECKPOINTS = "SELECT run_id, text FROM checkpoint WHERE run_id IN ({})"
MOST_AT_ONCE = 500  # question marks in one statement


_WHERE = {
    "all": "1",
    "project": "project = ?",
    "owner": "owner = ?",
    "server": "(server = ? OR launcher = ?)",
}


class Scope:
    """A selection of runs: `all`, those of a `project`, `owner` or tmux `server`, or the `named` ones.

    `also` names further runs. A `mode` keeps only the runs that were launched in it.
    """

    __slots__ = ("also", "among", "key", "kind", "mode", "values", "where")

    def __init__(self, kind: str, *keys: str, mode: str | None = None, also: Sequence[str] = ()) -> None:
        self.kind = kind
        self.also = tuple(also)
        self.key = keys[0] if keys else ""
        self.mode = mode
        self.where = _WHERE[kind] if kind in _WHERE else f"run_id IN ({', '.join('?' * len(keys))})"
        # For queries that find few rows by another index: the plus keeps SQLite from using the scope's index.
        self.among = self.where.replace("project", "+project").replace("owner", "+owner")
        self.values = keys if kind not in _WHERE else keys * self.where.count("?")
        if self.also:
            named = f"run_id IN ({', '.join('?' * len(self.also))})"
            self.where, self.among = f"({self.where} OR {named})", f"({self.among} OR {named})"
            self.values = (*self.values, *self.also)
        if mode is not None:
            self.where, self.among = f"{self.where} AND mode = ?", f"{self.among} AND mode = ?"
            self.values = (*self.values, mode)

    @property
    def is_tallied(self) -> bool:
        """Say whether the registry stores its counts."""
        return self.kind in _WHERE and self.mode is None and not self.also

    def holds(self, row: Row) -> bool:
        """Say whether a run is in the selection."""
        if self.mode not in (None, row.mode):
            return False
        if row.run_id in self.also:
            return True
        if self.kind == "named":
            return row.run_id in self.values
        if self.kind == "server":
            return self.key in (row.server, row.launcher)
        return self.kind == "all" or getattr(row, self.kind) == self.key


class Cursor:
    """What a reader knows: all changes of one database up to a number, at a moment.

    The database's name is BLANK on a machine where nothing was ever launched.
    """

    __slots__ = ("at", "book", "number")

    def __init__(self, book: str, number: int, at: int) -> None:
        self.book = book
        self.number = number
        self.at = at

    @classmethod
    def parse(cls, text: str) -> Cursor | None:
        """Parse a cursor; None if the text has another form."""
        book, *figures = text.split(".")
        digits = all(text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS for text in figures)
        if not book or len(figures) != 2 or not digits:  # noqa: PLR2004  (number, moment)
            return None
        return cls(book, int(figures[0]), int(figures[1]))
