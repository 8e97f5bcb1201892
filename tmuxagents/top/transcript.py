"""The transcript of one run as rows of a width: read on as the run goes on, drawn again for another width.

Joins.
"""

from __future__ import annotations

import os

from tmuxagents.errors import NoSuchRun
from tmuxagents.render import calls, rows, story
from tmuxagents.runs.inspect import Follower
from tmuxagents.top.rows import ASIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.render.story import Block
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.top.rows import Spans

MOST_BLOCKS = 3000  # of a longer run the last ones are shown
_LIMITS = calls.Limits(
    output=6,
    failed=20,
    edited=200,
    written=40,
    answer=256 * 1024,
    all=False,
    blocks=MOST_BLOCKS,
    size=4 * 1024 * 1024,
)


class Transcript:
    """One run that a person looks at."""

    def __init__(self, runs: str, run_id: str) -> None:
        self.run_id = run_id
        self.rows: list[Spans] = []
        self._story = story.Story(_LIMITS)
        self._follower: Follower | None = None
        self._folder = f"{runs}/{run_id}"
        self._done: list[Spans] = []  # the rows of the blocks that will not change
        self._drawn = 0  # how many blocks these are
        self._shape: tuple[int, bool] | None = None
        self._is_closed = False

    def look(self, width: int, *, only_edits: bool) -> bool:
        """Read on; say whether there is anything new to draw. Without its files, a run has no transcript."""
        try:
            is_news = self._read()
        except NoSuchRun:
            self.rows = [[(ASIDE, "The files of this run were removed.")]]
            return True
        if self._shape != (width, only_edits):
            self._shape, self._done, self._drawn = (width, only_edits), [], 0
        elif not is_news:
            return False
        self._draw(width, only_edits=only_edits)
        return True

    def _read(self) -> bool:
        """Read what the run has written since; say whether that was anything."""
        if self._follower is None:
            self._follower = Follower(self._folder, self._story.take)
            self._story.head(self._follower.plan, os.path.expanduser("~"))
        elif self._is_closed or not self._follower.has_news():
            return False
        run = self._follower.look()
        if run.ended:
            self._close(run)
        return True

    def _close(self, run: RunView) -> None:
        verdict = run.standing.verdict
        if verdict is not None:
            self._story.close(verdict, run.elapsed(run.ended_at or 0.0), run.state)
            self._is_closed = True

    def _draw(self, width: int, *, only_edits: bool) -> None:
        blocks = self._story.blocks
        first = max(self._drawn, len(blocks) - MOST_BLOCKS)
        if first > self._drawn and not self._drawn:
            self._done = [[(ASIDE, f"… {first} earlier steps: tmuxagents transcript {self.run_id[:8]}")], []]
        self._done += _rows(
            blocks[first:], width, blocks[first - 1] if first else None, only_edits=only_edits
        )
        self._drawn = len(blocks)
        last = blocks[-1] if blocks else None
        self.rows = [*self._done, *_rows(self._story.open, width, last, only_edits=only_edits)]
        if only_edits and not self.rows:
            self.rows = [[(ASIDE, "It has edited nothing.")]]


def _rows(blocks: Sequence[Block], width: int, before: Block | None, *, only_edits: bool) -> list[Spans]:
    """Return the rows of blocks that come behind another one."""
    if only_edits:
        return [row for block in blocks if _is_edit(block) for row in (*rows.of(block, width), [])]
    found = rows.all_rows(blocks, width, before)
    is_first = before is None and blocks and blocks[0].kind == story.HEAD
    return found[1:] if is_first else found  # the name of the run is above all rows already


def _is_edit(block: Block) -> bool:
    changes = (calls.ADDED, calls.REMOVED)
    return block.kind == story.CALL and any(what in changes for what, _ in block.parts)
