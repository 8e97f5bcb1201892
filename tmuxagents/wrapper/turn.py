"""Waits in the window until a slot is free and it is this run's turn; can be stopped like a running one."""

from __future__ import annotations

import select
import time

from tmuxagents.core import events, queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tmuxagents.edges.slots import Queue
    from tmuxagents.wrapper.keys import Keys
    from tmuxagents.wrapper.recorder import Recorder
    from tmuxagents.wrapper.signals import Signals


class Turn:
    """The wait of one run. `slot` is kept until we leave, or close it."""

    def __init__(  # noqa: PLR0913  (the parts that a wait joins)
        self,
        *,
        slots: Queue,
        most: int,
        recorder: Recorder,
        keys: Keys,
        signals: Signals,
        queued: Callable[[], None],
    ) -> None:
        self._slots = slots
        self._most = most
        self._recorder = recorder
        self._keys = keys
        self._signals = signals
        self._queued = queued  # called when it has to wait
        self._position: int | None = None
        self.slot: int | None = None

    def wait(self, run_id: str, stopped: Callable[[], bool]) -> bool:
        """Wait for a slot; say whether there is one (else somebody stopped the run meanwhile)."""
        name = queue.ticket_name(time.time_ns(), run_id)
        ticket, begun = self._slots.draw(name), time.monotonic()
        try:
            while True:
                position = self._look(name)
                if position == 0:
                    self.slot = self._slots.take(self._most)
                if self.slot is not None:
                    return True
                waited_s = time.monotonic() - begun
                if waited_s >= queue.RUSH_S:
                    self._say(position)
                self._pause(queue.pause_s(position, waited_s))
                if stopped():
                    return False
        finally:
            self._slots.give_back(name, ticket)

    def _look(self, name: str) -> int:
        """Return how many wait before us, without the dead at the front."""
        older = queue.before(name, self._slots.tickets())
        while older and not self._slots.is_held(older[0]):
            older.pop(0)
        return len(older)

    def _say(self, position: int) -> None:
        if position == self._position:
            return
        self._position = position
        self._recorder.event(events.queued(position))
        self._recorder.hint(queue.waiting_words(position))
        self._recorder.title(queue.waiting_words(position))
        self._recorder.flush(time.monotonic(), last=True)
        self._queued()

    def _pause(self, limit_s: float) -> None:
        poll = select.poll()
        for handle in (self._signals.handle, self._keys.handle):
            if handle is not None:
                poll.register(handle, select.POLLIN)
        poll.poll(round(limit_s * 1000))
