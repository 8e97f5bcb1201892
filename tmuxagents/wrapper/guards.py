"""The rules that end a working child: its timeout, which activity extends, and tool calls that loop. Pure.

The clocks pause while a child waits for a person, and stop for good once a person has taken the child over.
The rule for a child that has settled is elsewhere (`runs/endings.GRACE_S`, applied by `wrapper/watch`).
All times are monotonic seconds that the caller passes in.
"""

from __future__ import annotations

from tmuxagents.records import NEVER
from tmuxagents.runs import endings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tmuxagents.runs.endings import Cause
    from tmuxagents.runs.events import Event


class Guards:
    """The clocks and counts of one child, from its start on."""

    __slots__ = (
        "_activity_at",
        "_call",
        "_debounce_s",
        "_loop_count",
        "_repeats",
        "_stands_since",
        "_started_at",
        "timeout_s",
    )

    def __init__(self, *, started_at: float, timeout_s: float, debounce_s: float, loop_count: int) -> None:
        self.timeout_s = timeout_s
        self._started_at = started_at
        self._debounce_s = debounce_s
        self._loop_count = loop_count
        self._activity_at: float | None = None
        self._call: tuple[Any, Any] | None = None
        self._repeats = 0
        self._stands_since: float | None = None

    def note_activity(self, now: float) -> None:
        """Record that the child works: a tool call's start, update or end, or text of its own."""
        self._activity_at = now

    def note_call(self, event: Event) -> Cause | None:
        """Record a tool call; return the cause to end the child if it repeats one call too often."""
        if self._loop_count == 0:
            return None
        # All arguments count, nested ones too: five different edits of one file are no loop.
        call = (event.fields.get("toolName"), event.fields.get("args"))
        try:
            may_be_same = call == self._call
        except RecursionError:  # they are nested too deeply for this quick comparison
            may_be_same = True
        # JSON decides, since 1 equals True in Python.
        is_same = may_be_same and _signature(call) == _signature(self._call)
        self._repeats = self._repeats + 1 if is_same else 1
        self._call = call
        return endings.LOOP if self._repeats >= self._loop_count else None

    def deadline(self) -> float:
        """Return when the child has to be ended if nothing more is heard of it."""
        if self._stands_since is not None:
            return NEVER
        limit = self._started_at + self.timeout_s
        if self._activity_at is None or self._debounce_s == 0:
            return limit
        return max(limit, self._activity_at + self._debounce_s)

    def pause(self, now: float) -> None:
        """Pause the clocks: the child waits for a person."""
        if self._stands_since is None:
            self._stands_since = now

    def resume(self, now: float) -> None:
        """Let the paused clocks continue."""
        since, self._stands_since = self._stands_since, None
        if since is not None:
            self._started_at += now - since
            if self._activity_at is not None:
                self._activity_at += now - since

    def switch_off(self) -> None:
        """Switch all rules off for good: a person has taken the child over."""
        self._started_at = NEVER
        self._loop_count = 0

    def check(self, now: float, hear: Callable[[float], None]) -> Cause | None:
        """Return the cause to end the child now, if its time is over.

        Before that decision, `hear` reads the child's output: activity at this very moment extends the time.
        """
        if now >= self.deadline():
            hear(now)
        return endings.timed_out(self.timeout_s) if now >= self.deadline() else None


def _signature(call: tuple[Any, Any] | None) -> str:
    import json  # noqa: PLC0415  (calls are hardly ever repeated)

    return json.dumps(call, sort_keys=True)
