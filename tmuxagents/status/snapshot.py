"""List runs with their current status. Joins.

The registry says which runs exist. A run whose row is still current (registry/current) is not read; of any
other, what was written since the last read is, and its row is updated. A caller that needs more of the shown
runs than a row or a document says so, and they are read.
"""

from __future__ import annotations

import time

from tmuxagents import records
from tmuxagents.registry import lookup
from tmuxagents.registry.current import CurrentCheck
from tmuxagents.registry.database import Scope
from tmuxagents.status.show import Query, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tmuxagents.registry.database import Registry, Row, Tally
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.runs.words import SnapshotRow


class Snapshot:
    """What a look has shown, at one moment."""

    __slots__ = (
        *("_due", "_current", "_runs", "active", "asked", "at", "counts", "cursor", "elsewhere", "last_end"),
        *("rows", "runs", "shown", "texts", "waiting", "warnings"),
    )

    def __init__(self, asked: Query, caller: Caller) -> None:
        self.asked = asked
        self.at = time.time()
        self.counts: dict[str, int] = {}
        self.waiting = 0  # live runs that need a person
        self.last_end = 0.0
        self.active: list[str] = []  # of the scope, newest first
        self.elsewhere = 0  # how many are active outside of it
        self.cursor = ""
        self.runs: dict[str, RunView] = {}  # whatever was read
        self.rows: dict[str, Row] = {}  # whatever was looked at, as the registry should have it
        self.shown: list[SnapshotRow] = []
        self.texts: dict[str, str] = {}  # documents of shown runs as JSON, where the registry had them so
        self.warnings: list[str] = []  # for people
        self._runs = caller.runs
        self._current = CurrentCheck(caller.runs)
        self._due = False

    def see(self, caller: Caller, run_id: str, row: Row | None) -> bool:
        """Look at a run, unless that was done; say whether it is there. `row`: as the registry has it."""
        return run_id in self.rows or self._stands(row) or self.read(caller, run_id)

    def see_all(self, caller: Caller, rows: Iterable[Row], book: Registry) -> None:
        """Look at the runs of these rows, as the registry has them."""
        self.read_on(caller, [row.run_id for row in rows if not self._stands(row)], book)

    def _stands(self, row: Row | None) -> bool:
        if row is None or not self._current.is_current(row):
            return False
        self.rows[row.run_id] = row
        return True

    def read_on(self, caller: Caller, run_ids: Sequence[str], book: Registry) -> None:
        """Read these runs, unless that was done: of what was read before, only what has come since."""
        known = book.checkpoints(run_ids) if run_ids else {}
        for run_id in run_ids:
            self.read(caller, run_id, known.get(run_id))

    def read(self, caller: Caller, run_id: str, checkpoint: str | None = None) -> bool:
        """Read a run, unless that was done; say whether it is there."""
        from tmuxagents.errors import NoSuchRun  # noqa: PLC0415
        from tmuxagents.registry import learn  # noqa: PLC0415  (for nothing where all stands)
        from tmuxagents.runs import inspect  # noqa: PLC0415  (for nothing where all stands)

        if run_id not in self.runs:
            try:
                run = inspect.inspect(f"{caller.runs}/{run_id}", checkpoint=checkpoint)
            except NoSuchRun:
                return False
            self.runs[run_id] = run
            self.rows[run_id] = learn.row(run)
            self._due = self._due or run.is_due(self.at)
        return True

    def take(self, runs: Iterable[RunView]) -> None:
        """Take runs that have ended and were read since; who asks us has seen by now how they ended."""
        for run in runs:
            from tmuxagents.registry import learn  # noqa: PLC0415  (as above)

            self.runs[run.run_id] = run
            self.rows[run.run_id] = learn.row(run)
            self.rows[run.run_id].polled_at = self.at

    def leaves_work(self) -> bool:
        """Say whether there is anything for a watcher: a run to conclude, an end that nobody was told of."""
        ended = (row for row in self.rows.values() if row.status in records.ENDED)
        return self._due or any(not row.announced and self._is_of_here(row) for row in ended)

    def _is_of_here(self, row: Row) -> bool:
        """Say whether a run that has ended is told of by a watcher that is started here.

        In the registry it may be as another pid namespace of our host has seen it.
        """
        if row.host is None:
            return True
        from tmuxagents.system import identity  # noqa: PLC0415  (hardly any row names a host)

        if row.host != identity.host():
            return False
        from tmuxagents.registry import learn  # noqa: PLC0415  (as above)

        seen = learn.row_of(f"{self._runs}/{row.run_id}")
        return seen is not None and seen.host is None


class _Page:
    """What the registry says at one moment."""

    __slots__ = ("all", "number", "rows", "tally")

    def __init__(self, book: Registry, asked: Query) -> None:
        with book.reading():
            rows = book.rows(asked.scope) if asked.alone else book.open_rows()
            self.rows = {row.run_id: row for row in rows if not row.concluded}
            self.tally = book.tally(asked.scope)
            self.all = book.tally(Scope("all"))
            self.number = book.last_change()


def look(caller: Caller, asked: Query) -> Snapshot:
    """Look once."""
    found, warnings = lookup.with_registry(caller, lambda book: look_by(book, caller, asked))
    return ensure_watcher(found, warnings, caller)


def look_by(book: Registry, caller: Caller, asked: Query, seen: Iterable[RunView] = ()) -> Snapshot:
    """Look by an open registry. `seen`: runs among the named ones, each read after it had ended."""
    found = look_in(book, caller, asked, seen)
    of_scope = book.rows(found.asked.scope) if found.asked.ended else ()
    active = found.active if found.asked.active else ()
    ids = (*found.asked.ids, *active, *(row.run_id for row in of_scope))
    show(found, caller, book, ids, known_rows=of_scope)
    return found


def ensure_watcher(found: Snapshot, warnings: list[str], caller: Caller) -> Snapshot:
    """Have somebody who does what a look has found to be done; return the look with its warnings."""
    found.warnings = warnings
    if found.leaves_work():
        from tmuxagents.system import watcher_lock  # noqa: PLC0415  (almost always somebody watches already)

        watcher_lock.ensure(caller.home)
    return found


def look_in(book: Registry, caller: Caller, asked: Query, seen: Iterable[RunView] = ()) -> Snapshot:
    """Look at all that has not ended, and count; nothing is to be shown yet. `seen`: as above."""
    found = Snapshot(_located(asked, caller, book) if asked.references else asked, caller)
    page = _Page(book, found.asked)
    number = page.number
    found.take(run for run in seen if run.run_id in page.rows)
    found.see_all(caller, [row for row in page.rows.values() if row.run_id not in found.runs], book)
    if found.runs:
        news = _news(found, page, book)
        if news:
            before, after = book.save(news)
            # What somebody else wrote in between we have not seen: it is to be told again.
            number = after if before == number else number
    _count(found, page, caller)
    found.cursor = book.cursor(number, found.at)
    return found


def _news(found: Snapshot, page: _Page, book: Registry) -> list[Row]:
    """Return the rows to save: if any run stands otherwise than the registry has it, all that were read.

    Else there is no news, and what was read is only kept for the next look to be shorter.
    """
    from tmuxagents.registry import learn  # noqa: PLC0415  (as above)

    read = [found.rows[run_id] for run_id in found.runs]
    if any(
        learn.is_news(learn.reported_columns(page.rows[row.run_id]), learn.reported_columns(row))
        for row in read
    ):
        return read
    book.keep(row for row in read if row.mark is not None)
    return []


def _located(asked: Query, caller: Caller, book: Registry) -> Query:
    ids = dict.fromkeys(lookup.locate(reference, caller, book) for reference in asked.references)
    return Query(Scope("named", *ids), ids=ids, active=False, wanted=asked.wanted)


def _count(found: Snapshot, page: _Page, caller: Caller) -> None:
    """Take the registry's counts, and correct them by what was seen and it does not have."""
    for run_id, row in page.rows.items():
        ours = found.asked.scope.holds(row)
        now = found.rows[run_id] if found.see(caller, run_id, row) else None
        if now is not row:
            for tally in (page.all, page.tally) if ours else (page.all,):
                _correct(tally, row, now)
        if ours and now is not None and now.status not in records.ENDED:
            found.active.append(run_id)
    found.counts = {**page.tally.by_status, "total": sum(page.tally.by_status.values())}
    found.waiting = page.tally.waiting
    found.last_end = page.tally.last_end
    if found.asked.scope.kind in ("project", "owner"):
        found.elsewhere = _active(page.all) - _active(page.tally)


def _correct(tally: Tally, row: Row, now: Row | None) -> None:
    tally.by_status[row.status] -= 1
    tally.waiting -= row.needs_input
    if now is not None:
        tally.by_status[now.status] += 1
        tally.waiting += now.needs_input
        tally.last_end = max(tally.last_end, now.ended_at or 0.0)


def _active(tally: Tally) -> int:
    return tally.by_status[records.QUEUED] + tally.by_status[records.RUNNING]
