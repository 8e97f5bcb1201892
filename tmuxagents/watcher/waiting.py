"""Lets a watcher sleep until files change, wrappers end, or work in other threads is done. Joins."""

from __future__ import annotations

import math
import os
import select
from typing import NamedTuple

from tmuxagents.system import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.records import Identity


class Woken(NamedTuple):
    """What ended a wait. `gone`: the runs whose wrappers are; `urgent`: no time for the rest of a round."""

    gone: set[str]
    urgent: bool


class Sleeper:
    """One poll() over everything a watcher waits for. `patient`: a handle that can wait a round."""

    def __init__(self, patient: int, urgent: Iterable[int]) -> None:
        self._poll = select.poll()
        self._patient = patient
        self._wrappers: dict[int, str] = {}  # pidfd -> run
        self._handles: dict[str, int] = {}
        self.done = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        for handle in (patient, self.done, *urgent):
            self._poll.register(handle, select.POLLIN)

    def wake(self) -> None:
        """End the wait, from whatever thread."""
        os.eventfd_write(self.done, 1)

    def hold(self, run: str, wrapper: Identity) -> bool:
        """Wait on a run's wrapper, too; say whether it lives."""
        handle = process.open_handle(wrapper.pid, wrapper.start_time)
        if handle is None:
            return False
        self._wrappers[handle] = run
        self._handles[run] = handle
        self._poll.register(handle, select.POLLIN)
        return True

    def holds(self, run: str) -> bool:
        """Say whether a run's wrapper is waited on, and so lives."""
        return run in self._handles

    def let_go(self, run: str) -> None:
        """Wait on a run's wrapper no longer."""
        handle = self._handles.pop(run, None)
        if handle is not None:
            del self._wrappers[handle]
            self._poll.unregister(handle)
            os.close(handle)

    def wait(self, limit_s: float, *, patiently: bool = False) -> Woken:
        """Wait, at most so long; `patiently`: only for what is urgent."""
        self._poll.modify(self._patient, 0 if patiently else select.POLLIN)
        fired = {handle for handle, _ in self._poll.poll(math.ceil(max(0.0, limit_s) * 1000))}
        if self.done in fired:
            os.eventfd_read(self.done)
        gone = {self._wrappers[handle] for handle in fired if handle in self._wrappers}
        for run in gone:
            self.let_go(run)
        return Woken(gone, urgent=bool(fired - {self._patient}))
