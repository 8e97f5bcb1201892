"""A glance at a run: whether it stands as the registry has it, without reading anything it has written.

It does where its ending is written down: nothing will change that. And it does where its wrapper lives and
its files are known by the mark that they had before they were last read: what a run is that lives depends on
its events alone (runs/endings.state_of).

Joins.
"""

from __future__ import annotations

from tmuxagents.runs import marks
from tmuxagents.system import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.registry.database import Row


def pulse_of(wrapper: Mapping[str, Any] | None) -> str | None:
    """Return who a wrapper is as one word; None if there is none, or it does not say."""
    keys = ("bootId", "pidNamespace", "pid", "startTime")
    facts = [wrapper.get(key) if wrapper else None for key in keys]
    if not isinstance(facts[0], str) or not all(type(figure) is int for figure in facts[1:]):
        return None
    return " ".join(map(str, facts))


class Glance:
    """Looks at runs of one folder, at one moment."""

    __slots__ = ("_here", "_runs")

    def __init__(self, runs: str) -> None:
        self._runs = runs
        self._here = ""  # how the pulses of this boot and pid namespace begin

    def stands(self, row: Row) -> bool:
        """Say whether a run is as its row says."""
        if row.concluded or row.mark is None or row.wrapper is None:
            return row.concluded
        # In this order: who lives now has written all that is there, whatever happens next.
        return self._lives(row.wrapper) and marks.of_run(f"{self._runs}/{row.run_id}") == row.mark

    def _lives(self, pulse: str) -> bool:
        self._here = self._here or f"{identity.boot_id()} {identity.pid_namespace()} "
        pid, _, started = pulse.removeprefix(self._here).partition(" ")
        return started.isdecimal() and identity.start_time(int(pid)) == int(started)
