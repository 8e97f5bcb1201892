"""Every query and change of the registry. Each method runs its SQL in one transaction.

Touches: SQLite.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.records import NEVER
from tmuxagents.registry import rows as registry_rows
from tmuxagents.registry.rows import GIVEN, Row, Scope, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Self

    from tmuxagents.registry.database import Database, Transaction


class Tally:
    """The counts of a scope: runs by status, runs that wait for a person, and the time of the last end."""

    __slots__ = ("by_status", "last_end", "waiting")

    def __init__(self) -> None:
        self.by_status = dict.fromkeys(records.STATUSES, 0)
        self.waiting = 0
        self.last_end = 0.0

    @property
    def active(self) -> int:
        """Return how many runs have not ended."""
        return self.by_status[records.QUEUED] + self.by_status[records.RUNNING]

    def replace(self, row: Row, now: Row | None) -> None:
        """Count a run by its new row `now` instead of its old one; `now` is None if the run is gone."""
        self.by_status[row.status] -= 1
        self.waiting -= row.needs_input
        if now is not None:
            self.by_status[now.status] += 1
            self.waiting += now.needs_input
            self.last_end = max(self.last_end, now.ended_at or 0.0)


class Registry:
    """The open registry of one machine, in a file or in memory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        self._database.close()

    def reading(self) -> Transaction:
        """Return a transaction whose queries all see the same moment."""
        return self._database.reading()

    def writing(self) -> Transaction:
        """Return a transaction that reads and then writes, with no other writer in between."""
        return self._database.writing()

    def is_still(self, name: str) -> bool:
        """Say whether this database still has this name. Raise Unfit if a newer program has taken it over."""
        ((now, version),) = self._database.ask("SELECT id, user_version FROM book, pragma_user_version")
        self._database.refuse_newer(version)
        return bool(now == name)

    # --- writing

    def save(self, rows: Iterable[Row]) -> tuple[int, int]:
        """Add or update rows, in one transaction; return the number of the last change before and after.

        An older state of a run never replaces a newer one (registry/schema.UPSERT).
        """
        from tmuxagents.registry import schema  # noqa: PLC0415  (for who writes)

        rows = list(rows)
        with self._database.writing():
            before = self.last_change()
            self._database.write(
                schema.UPSERT, ({key: plain(getattr(row, key)) for key in GIVEN} for row in rows)
            )
            documents = ((row, row.document) for row in rows if row.mark is not None)
            self._database.write(schema.KEEP_DOCUMENT, _texts(documents))
            self._database.write(schema.KEEP_CHECKPOINT, _texts((row, row.checkpoint) for row in rows))
            return before, self.last_change()

    def get_ready(self) -> None:
        """Pay the costs of a first save now: prepare the statements, begin a log and flush it."""

        def act() -> None:
            with self.writing():
                self.save(())
                self._database.write("UPDATE book SET folder = folder", [()])

        self._database.without_waiting(act)

    def keep(self, rows: Iterable[Row]) -> None:
        """Save rows without news, unless another process writes right now, or the file cannot be written."""
        self._database.without_waiting(lambda: self.save(rows))

    def absorb(self, rows: Iterable[Row], gone: Iterable[str], folder: str | None) -> None:
        """Save what a look at the whole runs folder found. `folder`: the text for `folder()`, if reliable.

        Only new rows are saved: many processes may find the same rows at once, and must not delay each other.
        """
        with self._database.writing():
            registered = self.ids()
            self.save(row for row in rows if row.run_id not in registered)
            self.forget(gone)
            self._database.write("UPDATE book SET folder = coalesce(?, folder)", [(folder,)])

    def mark_polled(self, run_ids: Iterable[str], at: float) -> None:
        """Remember that a reader has seen how these runs ended."""
        sql = "UPDATE run SET polled_at = ? WHERE run_id = ? AND polled_at IS NULL"
        self._database.write(sql, [(at, run_id) for run_id in run_ids])

    def mark_answered(self, run_ids: Iterable[str], reader: str) -> None:
        """Remember that a reader has got the answers of these runs."""
        sql = "INSERT OR IGNORE INTO answered VALUES (?, ?)"
        self._database.write(sql, [(run_id, reader) for run_id in run_ids])

    def forget(self, run_ids: Iterable[str]) -> None:
        """Drop rows, as pruning does."""
        self._database.write("DELETE FROM run WHERE run_id = ?", [(run_id,) for run_id in run_ids])

    # --- reading

    def _rows(self, where: str, values: Sequence[Any], tail: str = registry_rows.NEWEST_FIRST) -> list[Row]:
        found = self._database.ask(f"{registry_rows.ROWS} WHERE {where} {tail}", values)
        rows = [Row.of(each) for each in found]
        if not all(row.status in records.STATUSES for row in rows):
            raise self._database.damage()
        return rows

    def rows(self, scope: Scope, *, limit: int | None = None) -> list[Row]:
        """Return the rows of a scope, newest first."""
        tail = registry_rows.NEWEST_FIRST + ("" if limit is None else f" LIMIT {limit}")
        return self._rows(scope.where, scope.values, tail)

    def ended_rows(
        self,
        scope: Scope,
        statuses: Sequence[str],
        since: float,
        most: int | None,
        unread_by: str | None = None,
    ) -> list[Row]:
        """Return the rows of a scope that have ended with such a status since a moment, last end first.

        `unread_by`: only rows whose answers this reader has not got.
        """
        where = f"ended_at >= ? AND status IN ({', '.join('?' * len(statuses))}) AND {scope.among}"
        values = (since, *statuses, *scope.values)
        if unread_by is not None:
            where += " AND run_id NOT IN (SELECT run_id FROM answered WHERE reader = ?)"
            values = (*values, unread_by)
        tail = "ORDER BY ended_at DESC, run_id DESC" + ("" if most is None else f" LIMIT {most}")
        return self._rows(where, values, tail)

    def open_rows(self) -> list[Row]:
        """Return the rows of all runs without a written ending, newest first: only these can change."""
        return self._rows(registry_rows.OPEN, ())

    def unannounced(self) -> list[Row]:
        """Return the rows of all ended runs that are not announced."""
        return self._rows("concluded = 1 AND announced = 0", ())

    def servers(self) -> list[str]:
        """Return the names of all tmux servers that have or launched a run (`server_key`)."""
        sql = "SELECT DISTINCT key FROM tally WHERE scope = 'server' AND runs > 0"
        return [found[0] for found in self._database.ask(sql)]

    def tally(self, scope: Scope) -> Tally:
        """Return the counts of a scope. Stored ones (`is_tallied`) take no longer with many runs."""
        found = Tally()
        if not scope.is_tallied:
            figures = self._database.ask(registry_rows.COUNT.format(scope.where), scope.values)
        else:
            figures = self._database.ask(registry_rows.TALLY, (scope.kind, scope.key))
        for status, runs, waiting, ended_at in figures:
            found.by_status[status] = runs
            found.waiting += waiting
            found.last_end = max(found.last_end, ended_at)
        return found

    def owned(self, owner: str, project: str) -> int:
        """Return how many runs a parent has in a project."""
        sql = "SELECT count(*) FROM run WHERE owner = ? AND +project = ?"
        return int(self._database.ask(sql, (owner, project))[0][0])

    def row(self, run_id: str) -> Row | None:
        """Return the row of a run."""
        return next(iter(self._rows("run_id = ?", (run_id,))), None)

    def named(self, name: str) -> list[Row]:
        """Return the runs with a name, newest first."""
        return self._rows("name = ?", (name,))

    def names(self, project: str | None = None) -> list[str]:
        """Return all names, or those of a project, in order."""
        sql = "SELECT DISTINCT name FROM run WHERE name IS NOT NULL AND coalesce(?, project) = project"
        return sorted(found[0] for found in self._database.ask(sql, (project,)))

    def session(self, session_id: str) -> list[Row]:
        """Return the runs of a session, oldest first."""
        return self._rows("session_id = ?", (session_id,), "ORDER BY created_at, run_id")

    def beginning(self, prefix: str) -> list[str]:
        """Return the ids that begin with a prefix, in their order."""
        sql = "SELECT run_id FROM run WHERE run_id >= ? AND run_id < ? ORDER BY run_id"
        return [found[0] for found in self._database.ask(sql, (prefix, f"{prefix}g"))]  # g comes after f

    def alike(self, run_ids: Sequence[str], length: int) -> dict[str, list[str]]:
        """Return for each of these ids the others that share its first `length` digits, if any."""
        found: dict[str, list[str]] = {}
        for run_id, other in self._about(registry_rows.ALIKE.format(length=length), run_ids):
            found.setdefault(run_id, []).append(other)
        return found

    def session_sizes(self, session_ids: Iterable[str]) -> dict[str, int]:
        """Return how many runs each of these sessions has; those without any are left out."""
        return dict(self._about(registry_rows.SESSIONS, list(dict.fromkeys(session_ids))))

    def documents(self, rows: Sequence[Row]) -> dict[str, str]:
        """Return the stored documents of these runs, as JSON texts, if they are current."""
        marks = {row.run_id: row.mark for row in rows}
        found = self._about(registry_rows.DOCUMENTS, list(marks))
        return {run_id: text for run_id, mark, text in found if mark == marks[run_id]}

    def checkpoints(self, run_ids: Sequence[str]) -> dict[str, str]:
        """Return the stored checkpoints of these runs."""
        return dict(self._about(registry_rows.CHECKPOINTS, run_ids))

    def _about(self, sql: str, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        most = registry_rows.MOST_AT_ONCE
        for start in range(0, len(keys), most):
            some = keys[start : start + most]
            yield from self._database.ask(sql.format(", ".join("?" * len(some))), some)

    def ids(self) -> set[str]:
        """Return the ids of all runs."""
        return {found[0] for found in self._database.ask("SELECT run_id FROM run")}

    def folder(self) -> str | None:
        """Return the text that the runs folder had when all its names were known (`absorb`)."""
        found: str | None = self._database.ask("SELECT folder FROM book")[0][0]
        return found

    # --- changes

    def last_change(self) -> int:
        """Return the number of the last change."""
        return int(self._database.ask("SELECT change FROM book")[0][0])

    def name(self) -> str:
        """Return the name that only this database has: with another name, it is another database."""
        ((name,),) = self._database.ask("SELECT id FROM book")
        return str(name)

    def cursor(self, number: int, at: float) -> str:
        """Return the cursor of a reader that knows all changes up to a number, at a moment."""
        return f"{self.name()}.{number}.{max(0, int(at))}"

    def changes(self, cursor: str, scope: Scope) -> tuple[list[Row], bool]:
        """Return the rows that have changed since a cursor, and whether the cursor is invalid.

        With an invalid cursor, these are the rows of all active runs, and those that have changed since the
        time in the cursor.
        """
        since = registry_rows.Cursor.parse(cursor)
        with self.reading():
            book, last, forgotten = self._database.ask("SELECT id, change, forgotten FROM book")[0]
            if since is not None and since.book == registry_rows.BLANK:  # every run here has come since
                since, forgotten = registry_rows.Cursor(book, 0, since.at), 0
            if since is not None and since.book == book and forgotten <= since.number <= last:
                where = f"change > ? AND {scope.among}"
                return self._rows(where, (since.number, *scope.values), "ORDER BY change"), False
            start = since.at if since is not None else NEVER
            where = f"({registry_rows.ACTIVE} OR changed_at >= ?) AND {scope.where}"
            return self._rows(where, (start, *scope.values), "ORDER BY change"), cursor != "0"


def _texts(made: Iterable[tuple[Row, Callable[[], str | None] | None]]) -> Iterator[dict[str, Any]]:
    """Yield the values with which the documents or checkpoints of rows are saved, as far as there are any."""
    for row, make in made:
        text = None if make is None else make()
        if text is not None:
            yield {"run_id": row.run_id, "mark": row.mark, "text": plain(text)}
