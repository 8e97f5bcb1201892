"""The transcript of one run as rows of a width: read on as the run goes on, drawn again for another width.

Joins.
"""

from __future__ import annotations

import os

from tmuxagents.errors import NoSuchRun
from tmuxagents.render import calls, rows, story
from tmuxagents.render.reading import StoryReader
from tmuxagents.top.rows import ASIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.render.story import Block
    from tmuxagents.top.rows import Spans

_LIMITS = calls.Limits(
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
    """One run that a person looks at."""

    def __init__(self, runs: str, run_id: str) -> None:
        self.run_id = run_id
        self.rows: list[Spans] = []
        self._reader: StoryReader | None = None
        self._folder = f"{runs}/{run_id}"
        self._done: list[Spans] = []  # the rows of the blocks that will not change
        self._drawn = 0  # how many blocks these are
        self._shape: tuple[int, bool, int] | None = None

    def look(self, width: int, *, only_edits: bool) -> bool:
        """Read on; say whether there is anything new to draw. Without its files, a run has no transcript."""
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
        told = self._reader.story
        shape = width, only_edits, told.forgotten
        if self._shape != shape:
            self._shape, self._done, self._drawn = shape, [], 0
        elif not is_news:
            return False
        before = told.blocks[self._drawn - 1] if self._drawn else None
        self._done += _rows(told.blocks[self._drawn :], width, before, only_edits=only_edits)
        self._drawn = len(told.blocks)
        self.rows = [*self._done, *_rows(told.open, width, told.blocks[-1], only_edits=only_edits)]
        if only_edits and not self.rows:
            self.rows = [[(ASIDE, "It has edited nothing.")]]
        return True


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
