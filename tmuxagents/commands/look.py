"""Look at runs: the registry says which there are, their directories how they stand; what is new is saved.

A run that stands as the registry has it (commands/glance) is not read again. Whoever needs more of the shown
runs than a line or a document says so, and they are read.
"""

from __future__ import annotations

import time

from tmuxagents import records
from tmuxagents.commands import known
from tmuxagents.commands.glance import Glance
from tmuxagents.core import display
from tmuxagents.core.display import Shown
from tmuxagents.edges.registry import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tmuxagents.commands.inspect import Run
    from tmuxagents.commands.known import Caller
    from tmuxagents.edges.registry import Registry, Row, Tally

# What is wanted of the runs that are shown.
LINES = "lines"  # what a line about them holds
DOCUMENTS = "documents"
RUNS = "runs"  # all that their directories hold


class Asked:
    """Which runs somebody asks about: a scope to count, and of it or besides it those to show."""

    __slots__ = ("active", "ended", "ids", "references", "scope", "wanted")

    def __init__(
        self,
        scope: Scope,
        *,
        ids: Iterable[str] = (),
        active: bool = True,
        ended: bool = False,
        wanted: str = RUNS,
    ) -> None:
        self.scope = scope
        self.ids = tuple(ids)  # shown in any case
        self.active = active  # those of the scope that have not ended are shown
        self.ended = ended  # those that have, too
        self.wanted = wanted
        self.references: tuple[str, ...] = ()


def named(references: Iterable[str], wanted: str = RUNS) -> Asked:
    """Ask about runs by whatever means one; they are found when it is looked."""
    asked = Asked(Scope("named"), active=False, wanted=wanted)
    asked.references = tuple(references)
    return asked


class Look:
    """What a look has shown, at one moment."""

    __slots__ = (
        *("_due", "_glance", "active", "asked", "at", "counts", "cursor", "elsewhere", "last_end", "rows"),
        *("runs", "shown", "waiting", "warnings"),
    )

    def __init__(self, asked: Asked, caller: Caller) -> None:
        self.asked = asked
        self.at = time.time()
        self.counts: dict[str, int] = {}
        self.waiting = 0  # live runs that need a person
        self.last_end = 0.0
        self.active: list[str] = []  # of the scope, newest first
        self.elsewhere = 0  # how many are active outside of it
        self.cursor = ""
        self.runs: dict[str, Run] = {}  # whatever was read
        self.rows: dict[str, Row] = {}  # whatever was looked at, as the registry should have it
        self.shown: list[Shown] = []
        self.warnings: list[str] = []  # for people
        self._glance = Glance(caller.runs)
        self._due = False

    def see(self, caller: Caller, run_id: str, row: Row | None) -> bool:
        """Look at a run, unless that was done; say whether it is there. `row`: as the registry has it."""
        if run_id in self.rows:
            return True
        if row is not None and self._glance.stands(row):
            self.rows[run_id] = row
            return True
        return self.read(caller, run_id)

    def read(self, caller: Caller, run_id: str) -> bool:
        """Read a run, unless that was done; say whether it is there."""
        from tmuxagents.commands import inspect, learn  # noqa: PLC0415  (for nothing where all stands)
        from tmuxagents.errors import NoSuchRun  # noqa: PLC0415

        if run_id not in self.runs:
            try:
                run = inspect.inspect(f"{caller.runs}/{run_id}")
            except NoSuchRun:
                return False
            self.runs[run_id] = run
            self.rows[run_id] = learn.row(run)
            self._due = self._due or run.is_due(self.at)
        return True

    def leaves_work(self) -> bool:
        """Say whether there is anything for a watcher: a run to conclude, an end that nobody was told of."""
        ended = (row for row in self.rows.values() if row.status in records.ENDED)
        return self._due or any(not row.announced and row.host is None for row in ended)


class _Page:
    """What the registry says at one moment."""

    __slots__ = ("all", "number", "rows", "tally")

    def __init__(self, book: Registry, scope: Scope) -> None:
        with book.reading():
            self.rows = {row.run_id: row for row in book.open_rows()}
            self.tally = book.tally(scope)
            self.all = book.tally(Scope("all"))
            self.number = book.last_change()


def look(caller: Caller, asked: Asked) -> Look:
    """Look once."""

    def ask(book: Registry) -> Look:
        found = look_in(book, caller, asked)
        of_scope = book.rows(found.asked.scope) if found.asked.ended else ()
        active = found.active if found.asked.active else ()
        ids = (*found.asked.ids, *active, *(row.run_id for row in of_scope))
        show(found, caller, book, ids, known_rows=of_scope)
        return found

    found, warnings = known.consult(caller, ask)
    found.warnings = warnings
    if found.leaves_work():
        from tmuxagents.edges import lookout  # noqa: PLC0415  (almost always somebody watches already)

        lookout.ensure(caller.home)
    return found


def look_in(book: Registry, caller: Caller, asked: Asked) -> Look:
    """Look at all that has not ended, and count; nothing is to be shown yet."""
    found = Look(_located(asked, caller, book) if asked.references else asked, caller)
    page = _Page(book, found.asked.scope)
    number = page.number
    for run_id, row in page.rows.items():
        found.see(caller, run_id, row)
    if found.runs:
        news = _news(found, page, book)
        if news:
            before, after = book.save(news)
            # What somebody else wrote in between we have not seen: it is to be told again.
            number = after if before == number else number
            page = _Page(book, found.asked.scope)
    _count(found, page, caller)
    found.cursor = book.cursor(number, found.at)
    return found


def _news(found: Look, page: _Page, book: Registry) -> list[Row]:
    """Return the rows to save: if any run stands otherwise than the registry has it, all that were read.

    Else there is no news, and what was read is only kept for the next look to be shorter.
    """
    from tmuxagents.commands import learn  # noqa: PLC0415  (as above)

    read = [found.rows[run_id] for run_id in found.runs]
    if any(learn.is_news(learn.told_of(page.rows[row.run_id]), learn.told_of(row)) for row in read):
        return read
    book.keep(row for row in read if row.mark is not None)
    return []


def _located(asked: Asked, caller: Caller, book: Registry) -> Asked:
    ids = dict.fromkeys(known.locate(reference, caller, book) for reference in asked.references)
    return Asked(Scope("named", *ids), ids=ids, active=False, wanted=asked.wanted)


def _count(found: Look, page: _Page, caller: Caller) -> None:
    """Take the registry's counts, and correct them by what was seen and it does not have."""
    for run_id, row in page.rows.items():
        ours = found.asked.scope.holds(row)
        now = found.rows[run_id] if found.see(caller, run_id, row) else None
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


# --- shown ------------------------------------------------------------------------------------------------


def show(
    found: Look, caller: Caller, book: Registry, ids: Iterable[str], *, known_rows: Iterable[Row] = ()
) -> None:
    """Make these runs the shown ones, newest first, and remember that somebody saw how they ended.

    `known_rows`: those of them that were taken out of the registry already.
    """
    rows = {row.run_id: row for row in known_rows}
    there = [run_id for run_id in dict.fromkeys(ids) if _is_seen(found, caller, book, run_id, rows)]
    there.sort(key=lambda run_id: (found.rows[run_id].created_at, run_id), reverse=True)
    documents = (
        _briefs(found, there) if found.asked.wanted == LINES else _documents(found, caller, book, there)
    )
    alike = book.alike(there, display.SHORT_ID)
    found.shown = [
        _shown(found.rows[run_id], document, alike.get(run_id, ())) for run_id, document in documents.items()
    ]
    _mark(found, book, [run_id for run_id in there if found.rows[run_id].status in records.ENDED], rows)


def _is_seen(found: Look, caller: Caller, book: Registry, run_id: str, rows: dict[str, Row]) -> bool:
    if found.asked.wanted == RUNS:
        return found.read(caller, run_id)
    return run_id in found.rows or found.see(caller, run_id, rows.get(run_id) or book.row(run_id))


def _shown(row: Row, document: dict[str, Any], alike: Iterable[str]) -> Shown:
    activity = None if row.status in records.ENDED else row.activity
    return Shown(document, display.short_id(row.run_id, alike), activity=activity, host=row.host)


def _briefs(found: Look, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return of each run what a line about it holds."""
    return {run_id: _brief(found.rows[run_id], found.at) for run_id in ids}


def _brief(row: Row, at: float) -> dict[str, Any]:
    return {
        "runId": row.run_id,
        "name": row.name,
        "preset": row.preset,
        "status": row.status,
        "reason": row.reason,
        "timeout": row.timeout,
        "startedAt": row.started_at,
        "elapsedSeconds": _elapsed(row, at),
        "errorMessage": row.activity if row.status in records.ENDED else None,
    }


def _elapsed(row: Row, at: float) -> float:
    if row.elapsed_s is not None:
        return round(row.elapsed_s, 1)
    return 0.0 if row.started_at is None else round(max(0.0, at - row.started_at), 1)


def _documents(found: Look, caller: Caller, book: Registry, ids: list[str]) -> dict[str, dict[str, Any]]:
    """Return the whole document of each run: the registry's, where it stands as that says."""
    from tmuxagents import jsonline  # noqa: PLC0415  (for documents only)

    saved = book.documents([run_id for run_id in ids if run_id not in found.runs])
    documents = {}
    for run_id in ids:
        if run_id in saved:
            documents[run_id] = jsonline.decode(saved[run_id])
            documents[run_id]["elapsedSeconds"] = _elapsed(found.rows[run_id], found.at)
        elif found.read(caller, run_id):
            documents[run_id] = found.runs[run_id].document(found.at)
    sizes = book.session_sizes(str(document["sessionId"]) for document in documents.values())
    for document in documents.values():
        document["runCount"] = max(1, sizes.get(str(document["sessionId"]), 0))
    return documents


def _mark(found: Look, book: Registry, ended: Iterable[str], rows: dict[str, Row]) -> None:
    """Remember that somebody has seen how these runs ended."""
    there = [row for run_id in ended if (row := rows.get(run_id) or book.row(run_id)) is not None]
    if unseen := [row.run_id for row in there if row.polled_at is None]:
        book.mark_polled(unseen, found.at)
