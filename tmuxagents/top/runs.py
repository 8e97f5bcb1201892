"""Gather the data of `top` in each round: the runs, and the transcript of the chosen one. Joins.

Each look after the first reads only changes.
"""

from __future__ import annotations

import os
from time import time

from tmuxagents.errors import NoSuchRun
from tmuxagents.records import ENDED
from tmuxagents.registry import lookup
from tmuxagents.render import rows, story, tool_calls
from tmuxagents.render.reading import StoryReader
from tmuxagents.status import poll
from tmuxagents.status.snapshot import DOCUMENTS, SnapshotBuilder, ensure_watcher
from tmuxagents.system import watcher_lock
from tmuxagents.top.rows import ASIDE, Entry
from tmuxagents.top.view import RECENT_S, Board

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tmuxagents.registry.database import Registry, Row
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.render.story import Block
    from tmuxagents.status.snapshot import Snapshot
    from tmuxagents.top.rows import Spans

MOST = 1000  # runs of a table; `poll -a` lists all


class TopRuns:
    """The runs that a caller watches, as far as they are known."""

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
        """Read the runs. `ended` adds those that ended long ago; `everywhere` adds those of all projects."""
        if self._asked != (everywhere, ended):
            self._asked, self._cursor = (everywhere, ended), None
        found, warnings = lookup.with_registry(
            self.caller, lambda registry: self._ask(registry, everywhere=everywhere, ended=ended)
        )
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
            unreachable=found.unreachable,
            warnings=found.warnings,
        )

    def _ask(self, registry: Registry, *, everywhere: bool, ended: bool) -> Snapshot:
        query = poll.query_of(self.caller, everywhere=everywhere, ended=ended, wanted=DOCUMENTS)
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
            since = time() - RECENT_S
            rows = [
                one
                for one in registry.rows(query.scope, limit=MOST)
                if ended or one.status not in ENDED or (one.ended_at or 0.0) >= since
            ]
        builder.show([*found.active, *(row.run_id for row in rows)], rows)
        for shown in found.rows:
            entry = Entry(shown.run, shown.short, host=shown.host)
            self._known[entry.run_id] = entry
        return found


_LIMITS = tool_calls.Limits(
    output=6,
    failed=20,
    edited=200,
    written=40,
    answer=256 * 1024,
    all=False,
    blocks=1000,
    size=4 * 1024 * 1024,
)


class Transcript:
    """The transcript of one run that a person looks at."""

    def __init__(self, runs: str, run_id: str) -> None:
        self.run_id = run_id
        self.rows: list[Spans] = []
        self._reader: StoryReader | None = None
        self._folder = f"{runs}/{run_id}"
        self._done: list[Spans] = []  # the rows of the blocks that will not change
        self._drawn = 0  # the number of those blocks
        self._shape: tuple[int, bool, int] | None = None

    def look(self, width: int, *, only_edits: bool) -> bool:
        """Read on; say whether there is anything new to draw. A run without files has no transcript."""
        is_news = True
        try:
            if self._reader is None:
                self._reader = StoryReader(self._folder, _LIMITS, home=os.path.expanduser("~"))
                self._reader.look()
            elif is_news := self._reader.has_news():
                self._reader.look()
        except NoSuchRun:
            self.rows = [[(ASIDE, "The files of this run were removed.")]]
            return True
        story = self._reader.story
        shape = width, only_edits, story.forgotten
        if self._shape != shape:
            self._shape, self._done, self._drawn = shape, [], 0
        elif not is_news:
            return False
        before = story.blocks[self._drawn - 1] if self._drawn else None
        self._done += _rows(story.blocks[self._drawn :], width, before, only_edits=only_edits)
        self._drawn = len(story.blocks)
        self.rows = [*self._done, *_rows(story.open, width, story.blocks[-1], only_edits=only_edits)]
        if only_edits and not self.rows:
            self.rows = [[(ASIDE, "It has edited nothing.")]]
        return True


def _rows(blocks: Sequence[Block], width: int, before: Block | None, *, only_edits: bool) -> list[Spans]:
    """Return the rows of blocks; `before` is the block above them."""
    if only_edits:
        changes = (tool_calls.ADDED, tool_calls.REMOVED)
        found = []
        for block in blocks:
            if block.kind == story.CALL and any(what in changes for what, _ in block.parts):
                found += [*rows.of(block, width), []]
        return found
    found = rows.all_rows(blocks, width, before)
    is_first = before is None and blocks and blocks[0].kind == story.HEAD
    return found[1:] if is_first else found  # the name of the run is above all rows already
