"""Look at runs: the registry says which there are, their directories how they stand; what is new is saved."""

from __future__ import annotations

import time

from tmuxagents import records
from tmuxagents.commands import known, learn
from tmuxagents.commands.inspect import inspect
from tmuxagents.core import display, queue
from tmuxagents.core.display import Shown
from tmuxagents.edges.registry import Scope
from tmuxagents.errors import NoSuchRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tmuxagents.commands.inspect import Run
    from tmuxagents.commands.known import Caller
    from tmuxagents.edges.registry import Registry, Row, Tally

_TOLD = ("status", "attended", "settled", "needs_input", "concluded")


class Asked:
    """Which runs somebody asks about: a scope to count, and of it or besides it those to show."""

    __slots__ = ("active", "ended", "ids", "references", "scope")

    def __init__(
        self, scope: Scope, *, ids: Iterable[str] = (), active: bool = True, ended: bool = False
    ) -> None:
        self.scope = scope
        self.ids = tuple(ids)  # shown in any case
        self.active = active  # those of the scope that have not ended are shown
        self.ended = ended  # those that have, too
        self.references: tuple[str, ...] = ()


def named(references: Iterable[str]) -> Asked:
    """Ask about runs by whatever means one; they are found when it is looked."""
    asked = Asked(Scope("named"), active=False)
    asked.references = tuple(references)
    return asked


class Look:
    """What a look has shown, at one moment."""

    __slots__ = (
        *("active", "asked", "at", "counts", "cursor", "elsewhere", "last_end", "rows", "runs", "shown"),
        *("waiting", "warnings"),
    )

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.at = time.time()
        self.counts: dict[str, int] = {}
        self.waiting = 0  # live runs that need a person
        self.last_end = 0.0
        self.active: list[str] = []  # of the scope, newest first
        self.elsewhere = 0  # how many are active outside of it
        self.cursor = ""
        self.runs: dict[str, Run] = {}  # whatever was looked at
        self.rows: dict[str, Row] = {}  # the same, as the registry should have it
        self.shown: list[Shown] = []
        self.warnings: list[str] = []  # for people

    def see(self, caller: Caller, run_id: str) -> bool:
        """Look at a run, unless that was done; say whether it is there."""
        if run_id not in self.runs:
            try:
                self.runs[run_id] = inspect(f"{caller.runs}/{run_id}")
            except NoSuchRun:
                return False
            self.rows[run_id] = learn.row(self.runs[run_id])
        return True


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
        show(found, caller, book, (*found.asked.ids, *active, *(row.run_id for row in of_scope)))
        return found

    found, warnings = known.consult(caller, ask)
    found.warnings = warnings
    return found


def look_in(book: Registry, caller: Caller, asked: Asked) -> Look:
    """Look at all that has not ended, and count; nothing is to be shown yet."""
    found = Look(_located(asked, caller, book) if asked.references else asked)
    page = _Page(book, found.asked.scope)
    number = page.number
    seen = [run_id for run_id in page.rows if found.see(caller, run_id)]
    if news := [found.rows[i] for i in seen if _is_news(page.rows[i], found.rows[i])]:
        before, after = book.save(news)
        # What somebody else wrote in between we have not seen: it is to be told again.
        number = after if before == number else number
        page = _Page(book, found.asked.scope)
    _count(found, page, caller)
    found.cursor = book.cursor(number, found.at)
    return found


def _located(asked: Asked, caller: Caller, book: Registry) -> Asked:
    ids = dict.fromkeys(known.locate(reference, caller, book) for reference in asked.references)
    return Asked(Scope("named", *ids), ids=ids, active=False)


def _is_news(row: Row, now: Row) -> bool:
    moved = now.server is not None and now.server != row.server
    return moved or any(getattr(row, key) != getattr(now, key) for key in _TOLD)


def _count(found: Look, page: _Page, caller: Caller) -> None:
    """Take the registry's counts, and correct them by what was seen and it does not have."""
    for run_id, row in page.rows.items():
        ours = found.asked.scope.holds(row)
        now = found.rows[run_id] if found.see(caller, run_id) else None
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


def show(found: Look, caller: Caller, book: Registry, ids: Iterable[str]) -> None:
    """Make these runs the shown ones, newest first, and remember that somebody saw how they ended."""
    there = [run_id for run_id in dict.fromkeys(ids) if found.see(caller, run_id)]
    there.sort(key=lambda run_id: (found.rows[run_id].created_at, run_id), reverse=True)
    found.shown = [_shown(found.runs[run_id], found.at, book) for run_id in there]
    _mark(found, book, [run_id for run_id in there if found.runs[run_id].ended])


def _mark(found: Look, book: Registry, ended: Sequence[str]) -> None:
    rows = [row for run_id in ended if (row := book.row(run_id)) is not None]
    if unseen := [row.run_id for row in rows if row.polled_at is None]:
        book.mark_polled(unseen, found.at)


def _shown(run: Run, at: float, book: Registry) -> Shown:
    document = run.document(at)
    document["runCount"] = max(1, book.session_size(str(document["sessionId"])))
    short = display.short_id(run.run_id, book.neighbours(run.run_id))
    host = (run.wrapper or {}).get("host") if run.standing.foreign else None
    return Shown(document, short, activity=run.activity or _waits_for(run), host=host)


def _waits_for(run: Run) -> str | None:
    if run.standing.status != records.QUEUED:
        return None
    if run.state.position is not None:
        return queue.waiting_words(run.state.position)
    after = run.meta.get("after")
    short = [str(other)[: display.SHORT_ID] for other in after] if isinstance(after, list) else []
    return f"waits for {', '.join(short)}" if short else None
