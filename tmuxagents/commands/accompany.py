"""Look after the background runs of a parent's session, for as long as any is active and the parent is there.

What is new is told, once; what was told before is in the memory that the parent hands over.
"""

from __future__ import annotations

import math
import time

from tmuxagents import records
from tmuxagents.commands import known, poll
from tmuxagents.commands.asked import DOCUMENTS, Asked
from tmuxagents.commands.look import look_in
from tmuxagents.commands.shown import show
from tmuxagents.commands.wait import Waiting
from tmuxagents.core import display
from tmuxagents.edges import lookout
from tmuxagents.edges.registry import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tmuxagents.commands.known import Caller
    from tmuxagents.commands.look import Look
    from tmuxagents.core.companion import Memory
    from tmuxagents.edges.lifeline import Lifeline
    from tmuxagents.edges.registry import Registry

ROUND_S = 1.0  # where a run may change without an end: it is queued, or lives in the hands of a person
LONG_ROUND_S = 10.0  # ends are heard of at once, and launches are told by the parent
LINGERS_S = 30.0  # with nothing to look after: the next launch is often near
_NEWEST = 100  # of what was launched since the session began, and nobody told of


class Companion:
    """One parent's session, looked after."""

    def __init__(
        self, caller: Caller, memory: Memory, *, since: float, tell: Callable[[dict[str, Any]], None]
    ) -> None:
        self._caller = caller
        self._memory = memory
        self._since = since
        self._tell = tell
        self._asked = poll.background(caller)
        self._asked.wanted = DOCUMENTS
        self._status: str | None = None
        self._gone: list[str] = []
        self._waited_for: set[str] = set()

    def stay(self, parent: Lifeline) -> None:
        """Look again and again, until nothing is active for a while or the parent has gone."""
        nudged, leaves_at = True, math.inf
        with Waiting() as waiting:
            while not parent.gone:
                found = self._look(nudged=nudged)
                now = time.monotonic()
                leaves_at = math.inf if found.active or nudged else leaves_at
                leaves_at = leaves_at if found.active else min(leaves_at, now + LINGERS_S)
                if now >= leaves_at:
                    return
                self._wait_for(found.active, waiting)
                nudged = _pause(waiting, min(leaves_at, now + _round(found)), parent)

    def _wait_for(self, active: list[str], waiting: Waiting) -> None:
        """Wait for the ends of these, too. One that was over once for who waits is only looked at."""
        for run_id in active:
            if run_id not in self._waited_for:
                self._waited_for.add(run_id)
                waiting.add(f"{self._caller.runs}/{run_id}")

    # --- looked at ----------------------------------------------------------------------------------------

    def _look(self, *, nudged: bool) -> Look:
        """Look once, and tell what is new; who was asked by the parent has an answer in any case."""
        found, _ = known.consult(self._caller, self._ask)
        if found.leaves_work():
            lookout.ensure(self._caller.home)
        total = found.counts["total"]
        status = display.status_line(found.counts, found.waiting) if total or self._memory.runs else None
        lines = [self._memory.tell(shown.run) for shown in reversed(found.shown)]
        lines += map(self._memory.lose, self._gone)
        if not lines and (nudged or status != self._status):
            lines = [{"run": None, "update": None, "notice": None}]
        self._status = status
        for line in lines:
            self._tell({"v": 1, "status": status, "counts": found.counts, **line})
        return found

    def _ask(self, book: Registry) -> Look:
        found = look_in(book, self._caller, self._asked)
        rows = {row.run_id: row for row in book.rows(self._asked.scope, limit=_NEWEST)}
        recent = [row.run_id for row in rows.values() if row.created_at >= self._since]
        candidates = dict.fromkeys((*self._memory.open, *found.active, *recent))
        there = {
            run_id
            for run_id in candidates
            if found.see(self._caller, run_id, rows.get(run_id) or book.row(run_id))
        }
        self._gone = [run_id for run_id in candidates if run_id not in there]
        news = [run_id for run_id in there if self._is_news(found, run_id)]
        show(found, self._caller, book, news, known_rows=rows.values())
        return found

    def _is_news(self, found: Look, run_id: str) -> bool:
        row = found.rows[run_id]
        return self._memory.is_news(run_id, row.status, settled=row.settled)


def _pause(waiting: Waiting, until: float, parent: Lifeline) -> bool:
    """Sleep until a run has ended, the parent says something or it is time; say whether it was the parent."""
    while not waiting.done():
        waiting.pause(until, parent.handle)
        if parent.speaks():
            return bool(list(parent.lines()))
        if time.monotonic() >= until:
            break
    return False


def _round(found: Look) -> float:
    """Return when to look again, whatever happens."""
    if not found.active:
        return math.inf
    rows = [found.rows[run_id] for run_id in found.active]
    unsteady = any(row.status == records.QUEUED or row.settled or row.needs_input for row in rows)
    return ROUND_S if unsteady else LONG_ROUND_S


def everything(caller: Caller) -> Asked:
    """Return all runs that are the session's, whatever launched them, those that have ended, too."""
    own = poll.background(caller).scope
    return Asked(Scope(own.kind, own.key, also=own.also), active=False)
