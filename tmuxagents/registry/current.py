"""Decide whether a registry row is still current, using `stat` only: no run file is read.

The row of a run with a result is always current. Any other row is current while the run's wrapper lives and
the run's files have the mark that is in the row. The state of a run whose wrapper lives depends only on its
events (runs/endings.state_of).

Joins.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.runs import marks
from tmuxagents.system import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.registry.database import Row


def pulse_of(wrapper: Mapping[str, Any] | None) -> str | None:
    """Return a text that identifies a wrapper; None if there is no wrapper.json, or no identity in it."""
    keys = ("bootId", "pidNamespace", "pid", "startTime")
    facts = [wrapper.get(key) if wrapper else None for key in keys]
    if not isinstance(facts[0], str) or not all(type(figure) is int for figure in facts[1:]):
        return None
    return " ".join(map(str, facts))


class CurrentCheck:
    """Checks rows of the runs in one folder, at one moment."""

    __slots__ = ("_here", "_runs")

    def __init__(self, runs: str) -> None:
        self._runs = runs
        self._here = ""  # how the pulses of this boot and pid namespace begin

    def is_current(self, row: Row) -> bool:
        """Say whether a row still describes its run."""
        if row.concluded or row.mark is None or row.wrapper is None:
            return row.concluded
        # Keep this order: a mark taken after the wrapper was seen alive covers all that the wrapper wrote.
        if row.wrapper != records.MIRRORED:
            self._here = self._here or f"{identity.boot_id()} {identity.pid_namespace()} "
            pid, _, started = row.wrapper.removeprefix(self._here).partition(" ")
            if not (pid.isdecimal() and started.isdecimal()) or identity.start_time(int(pid)) != int(started):
                return False
        return marks.of_run(f"{self._runs}/{row.run_id}") == row.mark
