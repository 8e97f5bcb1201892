"""Failures that no person has looked at: the status line marks them until one does, for a day. Joins."""

from __future__ import annotations

import time

from tmuxagents.attach import seen
from tmuxagents.records import FAILED
from tmuxagents.runs import directory, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.registry.database import Row

KEPT_S = 24 * 3600.0


class Attention:
    """The unseen failures of a state directory."""

    def __init__(self, runs: str) -> None:
        self._runs = runs
        self._unseen: dict[str, Row] = {}

    def add(self, rows: Iterable[Row]) -> None:
        """Mark those of these runs that have failed and that no person has looked at since."""
        self._unseen |= {row.run_id: row for row in rows if self._is_unseen(row)}

    def look(self, names: Iterable[str] | None = None) -> bool:
        """Look whether these runs, or all, were seen meanwhile; say whether any is marked no longer."""
        before = len(self._unseen)
        for name in self._unseen.keys() & (self._unseen.keys() if names is None else names):
            if not self._is_unseen(self._unseen[name]):
                del self._unseen[name]
        return len(self._unseen) < before

    def marks(self, server: str) -> list[str]:
        """Return the marks for the status line of a server, those of the latest failures last."""
        rows = sorted(self._unseen.values(), key=lambda row: row.ended_at or 0.0)
        return [words.mark(label(row), good=False) for row in rows if server in (row.server, row.launcher)]

    def _is_unseen(self, row: Row) -> bool:
        is_fresh = row.status == FAILED and time.time() - (row.ended_at or 0.0) < KEPT_S
        is_there = is_fresh and directory.place_of(f"{self._runs}/{row.run_id}") is not None
        return is_there and seen.is_unseen(row, self._runs)


def label(row: Row) -> str:
    """Return what a status line calls a run."""
    return row.name or row.preset or words.short_id(row.run_id, ())
