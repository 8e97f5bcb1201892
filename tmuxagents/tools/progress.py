"""Report the progress of a call's children: after each change, and not too often.

Joins.
"""

from __future__ import annotations

import math
import os
import time

from tmuxagents import records
from tmuxagents.errors import NoSuchRun
from tmuxagents.runs.endings import Standing
from tmuxagents.runs.inspect import Follower, RunView
from tmuxagents.runs.lifecycle import RunState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tmuxagents.launch.call import Task
    from tmuxagents.runs.events import Event


class Child:
    """One child of a call. Before it has a window it is queued."""

    def __init__(self, task: Task, take: Callable[[Event], object] | None = None) -> None:
        self._task = task
        self._take = take
        self._follower: Follower | None = None
        self.run = RunView(
            run_dir=task.run_dir,
            plan=task.prepared.plan,
            wrapper=None,
            machine=None,
            result=None,
            state=RunState(),
            activity=None,
            standing=Standing(records.QUEUED),
            mark=None,
            checkpoint=None,
        )

    def look(self) -> bool:
        """Read the run again if it has news; say whether it has changed."""
        try:
            return self._look()
        except NoSuchRun:  # the directory was removed; the wrapper will make it again
            self._follower = None
            return False

    def _look(self) -> bool:
        if self._follower is None:
            if not os.path.isdir(self._task.run_dir):
                return False
            self._follower = Follower(self._task.run_dir, self._take)
        elif not (self._follower.has_news() or (self._task.ended and not self.run.ended)):
            return False  # an end that the call has seen may be news as well: a dead wrapper changes no file
        before, self.run = self.run, self._follower.look()
        return _stamp(before) != _stamp(self.run)

    def settle(self) -> bool:
        """Read the run for the last time, with or without news; say whether it has changed."""
        before = self.run
        self.look()
        if self._follower is not None:
            self.run = self._follower.look()
        return _stamp(before) != _stamp(self.run)

    def document(self) -> dict[str, Any]:
        """Return the run as a document."""
        return self.run.document(time.time())


def _stamp(run: RunView) -> tuple[Any, ...]:
    return run.standing.status, run.doing, run.state.seq


class Progress:
    """Reports children to `hear`. `describe` formats their current state."""

    def __init__(
        self,
        children: Sequence[Child],
        describe: Callable[[], dict[str, Any]],
        hear: Callable[[dict[str, Any]], None] | None,
    ) -> None:
        self._children = children
        self._describe = describe
        self._hear = hear
        self._pace = Pace()

    def tell(self) -> float:
        """Report news if it is time to; return the (monotonic) time of the next round."""
        if self._hear is None:
            return math.inf
        now = time.monotonic()
        if self._look():
            self._pace.note(now)
        if self._pace.is_due(now):
            self._hear(self._describe())
        return now + self._pace.ROUND_S

    def finish(self) -> None:
        """Read all children for the last time, and report unreported changes at once."""
        news = sum(child.settle() for child in self._children) > 0
        if self._hear is not None and (news or self._pace.waits):
            self._hear(self._describe())

    def _look(self) -> bool:
        return sum(child.look() for child in self._children) > 0  # not any(), which would skip some


DEBOUNCE_S = 0.05  # changes within this time are reported together
LEAST_S = 0.1  # between two reports


class Pace:
    """Decides when to report changes, by times of a steady clock."""

    ROUND_S = DEBOUNCE_S

    def __init__(self) -> None:
        self._told: float | None = None
        self._since: float | None = None  # the first unreported change

    @property
    def waits(self) -> bool:
        """Say whether there is an unreported change."""
        return self._since is not None

    def note(self, now: float) -> None:
        """Note a change."""
        if self._since is None:
            self._since = now

    def _next(self) -> float:
        if self._told is None:
            return 0.0
        if self._since is None:
            return math.inf
        return max(self._since + DEBOUNCE_S, self._told + LEAST_S)

    def is_due(self, now: float) -> bool:
        """Say whether to report now. If so, the changes count as reported."""
        if now < self._next():
            return False
        self._told, self._since = now, None
        return True
