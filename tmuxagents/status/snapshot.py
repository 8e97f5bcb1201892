"""Take a snapshot: the runs of a query with their current status, their counts and a cursor. Joins.

The registry lists the runs. A run is read only if its row is outdated (registry/current), from its checkpoint
on; then the row is updated. The registry also stores when an ending was first shown.
"""

from __future__ import annotations

import time

from tmuxagents import records
from tmuxagents.registry import lookup
from tmuxagents.registry.current import CurrentCheck
from tmuxagents.registry.database import Scope
from tmuxagents.registry.rows import VOLATILE
from tmuxagents.runs import words
from tmuxagents.runs.words import SnapshotRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.registry.database import Registry, Row, Tally
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView

    EndedRuns = tuple[float, int | None]  # those since a moment, and at most this many of the latest

# What a query needs of each run that it shows.
ROWS = "rows"  # the columns of a table
DOCUMENTS = "documents"
ALL_ENDED = (0.0, None)
VIEWS = "views"  # the document, and the run directory read (Snapshot.views)


class Query:
    """A choice of runs: a scope, whose runs are counted, and the runs that are shown."""

    __slots__ = ("active", "alone", "ended", "ids", "references", "scope", "statuses", "unread", "wanted")

    def __init__(  # noqa: PLR0913  (one parameter per choice)
        self,
        scope: Scope,
        *,
        ids: Iterable[str] = (),
        references: Iterable[str] = (),
        active: bool = True,
        ended: EndedRuns | None = None,
        statuses: Sequence[str] = (),
        unread: bool = False,
        wanted: str = VIEWS,
        alone: bool = False,
    ) -> None:
        self.scope = scope
        self.ids = tuple(ids)  # always shown
        self.references = tuple(references)  # ids, names and the like; the snapshot turns them into `ids`
        self.active = active  # show the active runs of the scope
        self.ended = ended  # show these ended runs of it, too
        self.statuses = tuple(statuses)  # show only runs with one of these, unless it is empty
        self.unread = unread  # of the ended runs, show only those whose answers the caller does not have
        self.wanted = wanted
        self.alone = alone  # check only runs of the scope, which must be "named"


class Snapshot:
    """The rows, counts and cursor of the runs of a query, taken at one moment."""

    __slots__ = (
        *("active", "at", "counts", "cursor", "elsewhere", "last_end", "needs_watcher", "query"),
        *("is_cut", "json", "others", "registry_rows", "rows", "unreachable", "unreachable_since", "views"),
        *("waiting", "warnings"),
    )

    def __init__(self, query: Query) -> None:
        self.query = query
        self.at = time.time()
        self.counts: dict[str, int] = {}
        self.waiting = 0  # live runs that need a person
        self.unreachable_since: dict[str, float] = {}  # host -> since when it has not answered
        self.unreachable = 0  # active runs on those machines
        self.last_end = 0.0
        self.active: list[str] = []  # of the scope, newest first
        self.elsewhere = 0  # active runs outside of the scope
        self.others: dict[str, int] | None = None  # for an owner: the runs of other parents in the project
        self.is_cut = False  # more runs have ended than the query shows
        self.cursor = ""
        self.views: dict[str, RunView] = {}  # the runs that were read
        self.registry_rows: dict[str, Row] = {}  # the runs that were checked, with their current rows
        self.rows: list[SnapshotRow] = []  # the runs that are shown, newest first
        self.json: dict[str, bytes] = {}  # run id -> document, as far as the registry holds it encoded
        self.needs_watcher = False  # a run must be concluded, or its ending announced
        self.warnings: list[str] = []  # for people


def take(query: Query, caller: Caller) -> Snapshot:
    """Take a snapshot."""
    snapshot, warnings = lookup.with_registry(caller, lambda registry: take_by(registry, query, caller))
    return ensure_watcher(snapshot, warnings, caller)


def take_by(registry: Registry, query: Query, caller: Caller, ended: Iterable[RunView] = ()) -> Snapshot:
    """Take a snapshot through an open registry. `ended`: runs of the query, read after they had ended."""
    builder = SnapshotBuilder(registry, query, caller, ended)
    snapshot = builder.snapshot
    query = snapshot.query
    active = [snapshot.registry_rows[run_id] for run_id in (snapshot.active if query.active else ())]
    past: list[Row] = []
    statuses = [status for status in query.statuses or records.ENDED if status in records.ENDED]
    if query.ended is not None and statuses:
        since, most = query.ended
        extra = None if most is None else most + 1  # to know whether there are more
        reader = (caller.owner or "") if query.unread else None
        past = registry.ended_rows(query.scope, statuses, since, extra, reader)
        snapshot.is_cut = len(past) > len(past[:most])
        past = past[:most]
    wanted = (row.run_id for row in (*active, *past) if not query.statuses or row.status in query.statuses)
    return builder.show((*query.ids, *wanted), past)


def ensure_watcher(snapshot: Snapshot, warnings: list[str], caller: Caller) -> Snapshot:
    """Start a watcher if the snapshot needs one; return the snapshot with its warnings."""
    snapshot.warnings = warnings
    if snapshot.needs_watcher:
        from tmuxagents.system import watcher_lock  # noqa: PLC0415  (rare: a watcher usually works)

        watcher_lock.ensure(caller.home)
    return snapshot


class SnapshotBuilder:
    """Takes one snapshot through an open registry: the constructor counts the runs, `show` shows some."""

    def __init__(
        self, registry: Registry, query: Query, caller: Caller, ended: Iterable[RunView] = ()
    ) -> None:
        if query.references:
            ids = dict.fromkeys(lookup.locate(reference, caller, registry) for reference in query.references)
            query = Query(Scope("named", *ids), ids=ids, active=False, wanted=query.wanted)
        self._registry = registry
        self._caller = caller
        self._runs = caller.runs
        self._current = CurrentCheck(caller.runs)
        self.snapshot = snapshot = Snapshot(query)
        with registry.reading():
            rows = registry.rows(query.scope) if query.alone else registry.open_rows()
            known = {row.run_id: row for row in rows if not row.concluded}
            tally, whole = registry.tally(query.scope), registry.tally(Scope("all"))
            number = registry.last_change()
        for run in ended:
            if run.run_id in known:
                self._add(run).polled_at = snapshot.at  # the caller has waited and sees the ending now
        unread = [row for run_id, row in known.items() if run_id not in snapshot.views]
        self._read([row.run_id for row in unread if not self._is_current(row)])
        if snapshot.views:
            number = self._save(known, number)
        far = [row for row in snapshot.registry_rows.values() if row.host is not None]
        if any(row.status not in records.ENDED for row in far):
            from tmuxagents.machines import link  # noqa: PLC0415  (most runs work here)

            snapshot.unreachable_since = link.unreachable(caller.home)
            snapshot.needs_watcher = True  # a watcher starts mirrors, and no wrapper here starts a watcher
        self._count(known, tally, whole)
        snapshot.cursor = registry.cursor(number, snapshot.at)

    # --- checked

    def sees(self, run_id: str, row: Row | None) -> bool:
        """Say whether a run exists, and check it unless that was done. `row`: its row in the registry."""
        return run_id in self.snapshot.registry_rows or self._is_current(row) or self._read([run_id])

    def _is_current(self, row: Row | None) -> bool:
        if row is None or not self._current.is_current(row):
            return False
        self.snapshot.registry_rows[row.run_id] = row
        return True

    def _read(self, run_ids: Sequence[str]) -> bool:
        """Read these runs from their checkpoints, each only once; say whether all of them exist."""
        run_ids = [run_id for run_id in run_ids if run_id not in self.snapshot.views]
        if not run_ids:
            return True
        from tmuxagents.errors import NoSuchRun  # noqa: PLC0415  (not needed where every row is current)
        from tmuxagents.runs import inspect  # noqa: PLC0415  (as above)

        checkpoints = self._registry.checkpoints(run_ids)
        complete = True
        for run_id in run_ids:
            try:
                run = inspect.inspect(f"{self._runs}/{run_id}", checkpoint=checkpoints.get(run_id))
            except NoSuchRun:
                complete = False
                continue
            self._add(run)
            self.snapshot.needs_watcher = self.snapshot.needs_watcher or run.is_due(self.snapshot.at)
        return complete

    def _add(self, run: RunView) -> Row:
        from tmuxagents.registry import learn  # noqa: PLC0415  (not needed where every row is current)

        self.snapshot.views[run.run_id] = run
        row = self.snapshot.registry_rows[run.run_id] = learn.row(run)
        return row

    def _save(self, known: Mapping[str, Row], number: int) -> int:
        """Save the rows that were read; return the number of the last change in the snapshot.

        If no status has changed, the rows only make the next snapshot faster, and saving them may fail.
        """
        from tmuxagents.registry import learn  # noqa: PLC0415  (as above)

        rows = [self.snapshot.registry_rows[run_id] for run_id in self.snapshot.views]
        columns = learn.reported_columns
        if not any(learn.is_news(columns(known[row.run_id]), columns(row)) for row in rows):
            self._registry.keep(row for row in rows if row.mark is not None)
            return number
        before, after = self._registry.save(rows)
        # This snapshot lacks a change that another program saved meanwhile: the cursor must not skip it.
        return after if before == number else number

    def _count(self, known: Mapping[str, Row], tally: Tally, whole: Tally) -> None:
        """Take the registry's counts, corrected by the rows just read."""
        snapshot = self.snapshot
        for run_id, row in known.items():
            is_ours = snapshot.query.scope.holds(row)
            now = snapshot.registry_rows[run_id] if self.sees(run_id, row) else None
            if now is not row:
                for counted in (whole, tally) if is_ours else (whole,):
                    counted.replace(row, now)
            if is_ours and now is not None and now.status not in records.ENDED:
                snapshot.active.append(run_id)
                snapshot.unreachable += now.host in snapshot.unreachable_since
        snapshot.counts = {**tally.by_status, "total": sum(tally.by_status.values())}
        snapshot.waiting = tally.waiting
        snapshot.last_end = tally.last_end
        if snapshot.query.scope.kind in ("project", "owner"):
            snapshot.elsewhere = whole.active - tally.active
        if snapshot.query.scope.kind == "owner" and snapshot.query.scope.mode is None:
            owner, project = snapshot.query.scope.key, self._caller.project
            rows = (snapshot.registry_rows.get(run_id, row) for run_id, row in known.items())
            theirs = (row for row in rows if row.project == project and row.owner != owner)
            active = sum(row.status not in records.ENDED for row in theirs)
            of_project = sum(self._registry.tally(Scope("project", project)).by_status.values())
            total = of_project - self._registry.owned(owner, project)
            snapshot.others = {"active": active, "total": total}

    # --- shown

    def show(self, ids: Iterable[str], rows: Iterable[Row] = ()) -> Snapshot:
        """Show these runs, and store that their endings were seen; return the snapshot.

        `rows`: their registry rows, as far as the caller has them.
        """
        snapshot, known = self.snapshot, {row.run_id: row for row in rows}
        wanted = list(dict.fromkeys(ids))
        if snapshot.query.wanted == VIEWS:
            self._read(wanted)
            there = [run_id for run_id in wanted if run_id in snapshot.views]
        else:
            there = [
                run_id
                for run_id in wanted
                if run_id in snapshot.registry_rows
                or self.sees(run_id, known.get(run_id) or self._registry.row(run_id))
            ]
        shown = [snapshot.registry_rows[run_id] for run_id in there]
        shown.sort(key=lambda row: (row.created_at, row.run_id), reverse=True)
        if snapshot.query.wanted == ROWS:
            documents = {row.run_id: row.brief(snapshot.at) for row in shown}
        else:
            documents = self._documents(shown)
        alike = self._registry.alike(there, words.SHORT_ID)
        snapshot.rows = [
            self._shown(row, documents[row.run_id], alike.get(row.run_id, ()))
            for row in shown
            if row.run_id in documents
        ]
        new = [row.run_id for row in shown if row.status in records.ENDED and row.polled_at is None]
        unpolled = (known.get(run_id) or self._registry.row(run_id) for run_id in new)
        if unseen := [row.run_id for row in unpolled if row is not None and row.polled_at is None]:
            self._registry.mark_polled(unseen, snapshot.at)
        ended = (row for row in snapshot.registry_rows.values() if row.status in records.ENDED)
        snapshot.needs_watcher = snapshot.needs_watcher or any(
            not row.announced and self._is_of_here(row) for row in ended
        )
        return snapshot

    def _documents(self, rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
        """Return the documents of these runs; those of runs not read come from the registry."""
        from tmuxagents.text import jsonline  # noqa: PLC0415  (for documents only)

        snapshot, views = self.snapshot, self.snapshot.views
        stored = self._registry.documents([row for row in rows if row.run_id not in views])
        documents: dict[str, dict[str, Any]] = {}
        for row in rows:
            if row.run_id in stored:
                documents[row.run_id] = jsonline.decode(stored[row.run_id])
                documents[row.run_id][VOLATILE] = row.elapsed(snapshot.at)
            elif row.run_id in views or self._read([row.run_id]):
                documents[row.run_id] = views[row.run_id].document(snapshot.at)
        sizes = self._registry.session_sizes(str(document["sessionId"]) for document in documents.values())
        for run_id, document in documents.items():
            count = max(1, sizes.get(str(document["sessionId"]), 0))
            if run_id in stored and document["runCount"] == count:
                volatile = {VOLATILE: document[VOLATILE]}
                snapshot.json[run_id] = jsonline.with_members(stored[run_id], volatile)
            document["runCount"] = count
            since = snapshot.unreachable_since.get(document.get("host", ""))
            if since and document["status"] not in records.ENDED:
                document["unreachableSince"] = since
                snapshot.json.pop(run_id, None)
        return documents

    def _shown(self, row: Row, run: dict[str, Any], alike: Iterable[str]) -> SnapshotRow:
        """Return one row of the snapshot. `run`: the document of the run, or the part that a line needs."""
        at, has_ended = self.snapshot.at, row.status in records.ENDED
        works = row.status == records.RUNNING and not (row.settled or row.needs_input)
        heard_at = row.last_event_at if works else None
        lost_at = None if has_ended or row.host is None else self.snapshot.unreachable_since.get(row.host)
        return SnapshotRow(
            run,
            words.short_id(row.run_id, alike),
            activity=None if has_ended else row.activity,
            host=row.host,
            quiet_s=0.0 if heard_at is None else max(0.0, at - heard_at),
            unreachable_s=None if lost_at is None else max(0.0, at - lost_at),
        )

    def _is_of_here(self, row: Row) -> bool:
        """Say whether a watcher that is started here will announce an ended run.

        A process in another pid namespace of this host may have written the row.
        """
        if row.host is None:
            return True
        from tmuxagents.runs import directory  # noqa: PLC0415  (few rows name a host)
        from tmuxagents.system import identity  # noqa: PLC0415  (as above)

        if directory.read_machine(f"{self._runs}/{row.run_id}") is not None:
            return True
        if row.host != identity.host():
            return False
        from tmuxagents.registry import learn  # noqa: PLC0415  (as above)

        seen = learn.row_of(f"{self._runs}/{row.run_id}")
        return seen is not None and seen.host is None
