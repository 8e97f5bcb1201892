"""The registry as the watcher has it: always open, and whatever happens to its file, always there.

Where the file cannot be used, one in memory takes its place until it can, and then tells it all.
"""

from __future__ import annotations

import time

from tmuxagents.commands import known
from tmuxagents.commands.reconcile import reconcile
from tmuxagents.edges import registry
from tmuxagents.edges.registry import Scope
from tmuxagents.errors import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from tmuxagents.edges.registry import Registry

    T = TypeVar("T")

PATIENCE_S = 0.5  # with who writes right now; all runs wait for it
AGAIN_S = 5.0  # so often a file is tried that could not be used
_TRIES = 3


class Book:
    """The registry of a state directory, or what stands in for it."""

    def __init__(self, home: str, complain: Callable[[str], None]) -> None:
        self._path = registry.path_of(home)
        self._runs = f"{home}/runs"
        self._complain = complain
        self._file: Registry | None = None
        self._memory: Registry | None = None
        self._name = ""
        self._again_at = 0.0

    def use(self, act: Callable[[Registry], T]) -> T:
        """Ask or tell the registry; `act` is begun again where it fails in the middle of it."""
        if self._memory is not None and time.monotonic() >= self._again_at:
            self._return()
        for _ in range(_TRIES if self._memory is None else 0):
            try:
                return act(self._whole_file())
            except registry.Damaged as damage:
                self._close_file()
                self._set_aside(damage)
            except (registry.Unfit, Unusable) as why:
                self._close_file()
                self._complain(f"the registry is not used ({why}); the run directories are read instead")
                break
        return act(self._stand_in())

    def close(self) -> None:
        """Close what is open."""
        self._close_file()
        self._close_memory()

    def _whole_file(self) -> Registry:
        """Return the file's registry; one that is another than last time is told first what there is."""
        if self._file is None:
            self._file = registry.open_file(self._path, PATIENCE_S)
        name = self._file.name()
        if name != self._name:
            reconcile(self._file, self._runs)
            self._name = name
        return self._file

    def _stand_in(self) -> Registry:
        if self._memory is None:
            self._memory = registry.open_memory()
            self._again_at = time.monotonic() + AGAIN_S
            reconcile(self._memory, self._runs)
        return self._memory

    def _return(self) -> None:
        """Go back to the file, if it can be used, with all that was learned meanwhile."""
        self._again_at = time.monotonic() + AGAIN_S
        if self._memory is None:
            return
        try:
            self._whole_file().save(self._memory.rows(Scope("all")))
        except (registry.Damaged, registry.Unfit, Unusable):
            self._close_file()
            return
        self._close_memory()

    def _set_aside(self, damage: registry.Damaged) -> None:
        self._complain(known.set_aside(self._path, damage))

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._name = None, ""

    def _close_memory(self) -> None:
        if self._memory is not None:
            self._memory.close()
        self._memory = None
