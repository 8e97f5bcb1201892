"""When to tell of changes: the first at once, then a moment after each, and never more than so often."""

from __future__ import annotations

import math

DEBOUNCE_S = 0.05  # what comes together is told together
LEAST_S = 0.1  # between two tellings


class Pace:
    """The changes that somebody is to be told of, as moments of a steady clock."""

    ROUND_S = DEBOUNCE_S

    def __init__(self) -> None:
        self._told: float | None = None
        self._since: float | None = None  # the first change that was not told

    @property
    def waits(self) -> bool:
        """Say whether there is anything that was not told."""
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
        """Say whether to tell now; who is told so tells."""
        if now < self._next():
            return False
        self._told, self._since = now, None
        return True
