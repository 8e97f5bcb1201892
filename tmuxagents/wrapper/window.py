"""What a run's window shows: its story, painted as it comes, and again when the window has another width.

Events are only noted when they come; what they look like is made when the window is written, a few times a
second. Of a flood, most is then passed over: the window says how much, and the transcript has it.

Joins.
"""

from __future__ import annotations

import os

from tmuxagents.records import NEVER
from tmuxagents.render import calls, styles
from tmuxagents.render.paint import Painter
from tmuxagents.render.story import NOTE, SHOWN, WORTH_SHOWING_S, Block, Story

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.records import Plan, Verdict
    from tmuxagents.runs.events import Event
    from tmuxagents.runs.lifecycle import RunState
    from tmuxagents.wrapper.terminal import Terminal

_COLUMNS = 80  # of a terminal that does not say
_NOTED = 256  # events; of twice as many that wait, the older half is passed over
_SMALL = 8 * 1024  # bytes of an event that may wait
_AT_ONCE = 32 * 1024  # characters that are made into rows at once
_KEPT = calls.WINDOW.changed(blocks=300, size=64 * 1024)  # what a window of another width shows again
_SETTLES_S = 0.15  # a window is often made wider in many steps
_MISSING = "parts are not shown here: see `tmuxagents transcript`"


class StoryWindow:
    """The window of one run."""

    __slots__ = (
        *("_afresh_at", "_columns", "_due", "_noted", "_painted_at", "_painter", "_passed_over", "_shown"),
        *("_skips", "_story", "terminal"),
    )

    def __init__(self, terminal: Terminal, environment: Mapping[str, str]) -> None:
        colour = styles.is_coloured({"TERM": os.environ.get("TERM", ""), **_no_colour(environment)})
        self.terminal = terminal
        self._story = Story(_KEPT)
        self._painter = Painter(colour=colour)
        self._noted: list[Event] = []
        self._passed_over = 0
        self._shown = 0  # of the blocks, also those that are forgotten
        self._due: dict[Block, float] = {}  # open call -> when it is worth showing
        self._painted_at = 0.0
        self._columns = terminal.columns
        self._skips = 0
        self._afresh_at = NEVER  # when the window is to be painted again

    def head(self, plan: Plan, home: str) -> None:
        """Begin with what the run is."""
        self._story.head(plan, home)

    def take(self, event: Event, size: int) -> None:
        """Note an event; `size` is that of its line."""
        if event.type not in SHOWN or not self.terminal.is_ours:
            return
        self._noted.append(event)
        if size > _SMALL:
            self._take_noted()
        elif len(self._noted) >= 2 * _NOTED:
            del self._noted[:_NOTED]
            self._passed_over += _NOTED

    def note(self, words: str) -> None:
        """Show a remark that is no event."""
        self._take_noted()
        self._story.note(words)

    def close(self, verdict: Verdict, seconds: float, state: RunState) -> None:
        """End with how the run ended."""
        self._take_noted()
        self._story.close(verdict, seconds, state)

    def resized(self, now: float) -> None:
        """Take in that the window may have another width, from now on."""
        if self.terminal.columns != self._columns:
            self._afresh_at = now + _SETTLES_S

    @property
    def has_news(self) -> bool:
        """Say whether something is to be shown at the next opportunity."""
        unseen = self._noted or self._shown < self._blocks_so_far() or self._skips != self.terminal.skips
        return bool(unseen) and self.terminal.is_ours and self.terminal.waiting is None

    @property
    def wanted_at(self) -> float:
        """Return when the window is to be written though nothing new has come."""
        if not self.terminal.is_ours:
            return NEVER
        return min([self._afresh_at, *(due for due in self._due.values() if due > self._painted_at)])

    def painted(self, now: float) -> bytes:
        """Return what is to be written."""
        if not self.terminal.is_ours:
            return b""
        self._take_noted()
        self._painted_at = now
        self._due = {block: self._due.get(block, now + WORTH_SHOWING_S) for block in self._story.open}
        long = [block for block, due in self._due.items() if due <= now]
        width = self.terminal.columns or _COLUMNS
        if now >= self._afresh_at or self._skips != self.terminal.skips:
            self._afresh_at, self._skips, self._columns = NEVER, self.terminal.skips, self.terminal.columns
            text = self._painter.paint_afresh(self._story.blocks, long, width=width)
        else:
            text = self._painter.paint(self._new_blocks(), long, width=width)
        self._shown = self._blocks_so_far()
        return text.encode("utf-8", "replace")

    def _blocks_so_far(self) -> int:
        return self._story.forgotten + len(self._story.blocks)

    def _new_blocks(self) -> list[Block]:
        """Return the blocks that were not shown yet; of very many only the last."""
        blocks = self._story.blocks[max(0, self._shown - self._story.forgotten) :]
        room = _AT_ONCE
        for number in range(len(blocks) - 1, -1, -1):
            room -= blocks[number].size
            if room < 0 and number < len(blocks) - 1:
                return [Block(NOTE, f"… {number + 1:,} {_MISSING}"), *blocks[number + 1 :]]
        return blocks

    def _take_noted(self) -> None:
        if self._passed_over:
            self._story.note(f"… {self._passed_over:,} {_MISSING}")
            self._passed_over = 0
        for event in self._noted:
            self._story.take(event)
        self._noted.clear()


def _no_colour(environment: Mapping[str, str]) -> dict[str, str]:
    return {"NO_COLOR": environment["NO_COLOR"]} if "NO_COLOR" in environment else {}
