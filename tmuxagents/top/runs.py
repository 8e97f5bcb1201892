"""Gather what `top` shows, round after round: after the first look, only what has changed is read. Joins."""

from __future__ import annotations

import os
from time import time

from tmuxagents.records import ENDED
from tmuxagents.registry import lookup
from tmuxagents.status import poll
from tmuxagents.status.snapshot import DOCUMENTS, SnapshotBuilder, ensure_watcher
from tmuxagents.system import watcher_lock
from tmuxagents.top.rows import Entry
from tmuxagents.top.view import RECENT_S, Board

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.registry.database import Registry, Row
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.status.snapshot import Snapshot

MOST = 1000  # runs of a table; `poll -a` lists all


class TopRuns:
    """The runs that a caller watches, and how much of them is known."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.live: list[str] = []  # those that have not ended, the oldest first
        self._known: dict[str, Entry] = {}
        self._cursor: str | None = None
        self._asked: tuple[bool, bool] | None = None
        self._total = 0
        if os.path.isdir(caller.runs):
            watcher_lock.ensure(caller.home)

    def look(self, *, everywhere: bool, ended: bool) -> Board:
        """Look once. `ended`: also at what ended long ago; `everywhere`: at all projects."""
        if self._asked != (everywhere, ended):
            self._asked, self._cursor = (everywhere, ended), None
        found, warnings = lookup.with_registry(self.caller, self._ask)
        found = ensure_watcher(found, warnings, self.caller)
        self._cursor, self._total = found.cursor, found.counts["total"]
        self.live = [run_id for run_id in reversed(found.active) if run_id in self._known]
        since = 0.0 if ended else found.at - RECENT_S
        return Board(
            [one for one in self._known.values() if not one.ended or (one.run["endedAt"] or 0.0) >= since],
            counts=found.counts,
            waiting=found.waiting,
            at=found.at,
            project=self.caller.project,
            elsewhere=found.elsewhere,
            warnings=found.warnings,
        )

    def _ask(self, registry: Registry) -> Snapshot:
        everywhere, ended = self._asked or (False, False)
        query = poll.query_of(self.caller, (), everywhere=everywhere, ended=ended, wanted=DOCUMENTS)
        builder = SnapshotBuilder(registry, query, self.caller)
        found = builder.snapshot
        rows: Iterable[Row] = ()
        is_news = False
        if self._cursor is not None and found.counts["total"] >= self._total:
            with registry.reading():
                rows, is_news = registry.changes(self._cursor, query.scope)
                found.cursor = registry.cursor(registry.last_change(), found.at)
        if self._cursor is None or is_news or found.counts["total"] < self._total:
            self._known = {}
            rows = self._first(registry.rows(query.scope, limit=MOST), ended=ended)
        builder.show([*found.active, *(row.run_id for row in rows)], rows)
        for shown in found.rows:
            entry = Entry(shown.run, shown.short, host=shown.host)
            self._known[entry.run_id] = entry
        return found

    @staticmethod
    def _first(rows: list[Row], *, ended: bool) -> list[Row]:
        since = time() - RECENT_S
        return [one for one in rows if ended or one.status not in ENDED or (one.ended_at or 0.0) >= since]
