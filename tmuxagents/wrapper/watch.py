"""Watch a living child until it has ended: record its output, and end the child if a rule demands it. Joins.

This is one loop over a few descriptors. Each wake-up reads, then decides, then writes once. With a hundred
such loops on one machine, caches are cold at every wake-up, and each check costs several times as much. So a
wake-up does few checks.
"""

from __future__ import annotations

import os
import select
import time

from tmuxagents.cpython import signal
from tmuxagents.records import Exit, Record
from tmuxagents.runs import endings, lifecycle
from tmuxagents.system import process
from tmuxagents.wrapper.signals import CAUSES
from tmuxagents.wrapper.streams import Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.agents.base import Reader
    from tmuxagents.wrapper.child import Ladder
    from tmuxagents.wrapper.duplex import ChildInput
    from tmuxagents.wrapper.guards import Guards
    from tmuxagents.wrapper.live import Bridge
    from tmuxagents.wrapper.signals import Console

_LONGEST_WAIT_MS = 3_600_000  # poll takes no more than 24 days, and an early wake-up is harmless
_READ_FROM = 4  # the first descriptors of a poll are read from, the others written to


class WatchParts(Record):
    """The parts for the watch over a child. `pipes`: our ends of its stdout and stderr."""

    __slots__ = ("child", "console", "guards", "ladder", "pipes")

    child: int
    pipes: tuple[int, int]
    console: Console
    guards: Guards
    ladder: Ladder


class ChildWatch:
    """Watches one child from its start to its end."""

    def __init__(self, parts: WatchParts, reader: Reader) -> None:
        self._child = parts.child
        self._reader = reader
        self._console = parts.console
        self._recorder = parts.console.recorder
        self._terminal = parts.console.terminal
        self._signals = parts.console.signals
        self._guards = parts.guards
        self._ladder = parts.ladder
        self._streams = Streams(
            parts.pipes, reader=reader, recorder=self._recorder, guards=parts.guards, looped=self._end_looping
        )
        self._settled_at: float | None = None
        self._guarded_until = parts.guards.deadline()  # may be too early, since output postpones the deadline
        self._poll = select.poll()
        self._polled: tuple[int | None, ...] = ()
        self._channel: ChildInput | Bridge | None = None  # holds text that the child has not taken yet

    @property
    def lacks_usage(self) -> bool:
        """Say whether the child has ended without writing the file that holds its usage."""
        return self._streams.lacks_usage

    def note_written(self) -> None:
        """Record the usage that its leftovers wrote as they ended."""
        self._streams.note_written()

    def run(self) -> Exit | None:
        """Watch until the child is reaped and all its output is read; return its exit.

        None if the child cannot be ended: we may not signal it, or it is stuck in the kernel.
        """
        while True:
            ready = self._wait(time.monotonic())
            now = time.monotonic()
            if ready.pop(self._streams.stdout, 0):
                self._streams.hear(now)
                self._note_settling(now)
            status = self._attend(ready, now) if ready else None
            if status is not None:
                self._streams.hear_rest(now)
                code = os.waitstatus_to_exitcode(status)
                self._streams.note_end(code if code >= 0 else None)
                self._note_settling(now)
                self._recorder.flush(now)
                return Exit(code) if code >= 0 else Exit(None, process.signal_name(-code))
            if self._channel is not None:
                self._channel.flush()
            self._decide(now)
            self._recorder.flush(now)
            if self._ladder.hopeless:
                return None

    # --- what is there ---

    def _wait(self, now: float) -> dict[int | None, int]:
        """Wait until there is something to do; return the descriptors that are ready."""
        streams, terminal, channel = self._streams, self._terminal, self._channel
        wake_at, due_at = self._next_at(), streams.due_at
        # Stdout may stay unread for a while, but not up to a decision, since its silence could end the child.
        is_resting = now < due_at < self._step_at() and not self._ladder.begun
        if is_resting:
            wake_at = min(wake_at, due_at)
        read = (None if is_resting else streams.stdout, streams.stderr, self._signals.handle, terminal.keys)
        polled = (*read, terminal.waiting, channel.waiting if channel else None)
        if polled != self._polled:
            self._polled, self._poll = polled, _poll(*polled)
        pause_ms = (wake_at - now) * 1000 + 1
        ready: dict[int | None, int] = dict(self._poll.poll(int(max(0, min(_LONGEST_WAIT_MS, pause_ms)))))
        if is_resting:  # stdout was not polled, so every wake-up reads it
            ready[streams.stdout] = select.POLLIN
        return ready

    def _next_at(self) -> float:
        """Return when there is something to do even if nothing comes."""
        return min(self._recorder.show_at, self._step_at())

    def _step_at(self) -> float:
        """Return when something has to be decided even if nothing comes."""
        if self._ladder.begun:
            return self._ladder.next_at()
        if self._settled_at is None:
            return self._guarded_until
        return self._settled_at + endings.GRACE_S  # the value is with the table of endings

    # --- settling ---

    def _note_settling(self, now: float) -> None:
        """Note after reading whether the child has settled."""
        if not self._reader.settled:
            self._settled_at = None
        elif self._settled_at is None:
            self._settled_at = now

    def _end_looping(self, cause: endings.Cause, now: float) -> None:
        self._settled_at = None  # the child calls a tool, so it has begun again
        self._end(cause, now)

    # --- what we do about it ---

    def _attend(self, ready: dict[int | None, int], now: float) -> int | None:
        """Attend to all ready descriptors but stdout; return the child's wait status if it has ended."""
        if self._streams.stderr in ready:
            self._streams.hear_errors()
        if self._terminal.waiting in ready:
            self._terminal.flush()
        if self._terminal.keys in ready and self._console.stop_wanted(now):
            self._end(endings.STOPPED, now)
        if self._signals.handle not in ready:
            return None
        caught = self._signals.caught()
        if signal.SIGWINCH in caught:
            self._recorder.resized(now)
        status = process.reap(self._child) if signal.SIGCHLD in caught else None
        if status is None:
            for number, cause in CAUSES.items():  # of several at once, the first of these
                if number in caught:
                    self._hear_now(now)
                    self._end(cause, now)
        self._on_signals(caught, now, ended=status is not None)
        return status

    def _on_signals(self, caught: frozenset[int], now: float, *, ended: bool) -> None:
        """Act on the signals that concern only duplex and live runs. `ended`: the child has ended."""

    def _hear_now(self, now: float) -> None:
        """Read the output so far, which may show that the child settled before this moment."""
        self._streams.hear_now(now)
        self._note_settling(now)

    def _decide(self, now: float) -> None:
        if self._ladder.begun:
            self._ladder.step(now)
        elif self._settled_at is not None:
            if now >= self._settled_at + endings.GRACE_S:
                lifecycle.leave(self._recorder.state)
                self._ladder.begin(None, now)
        elif now >= self._guarded_until:
            cause = self._guards.check(now, self._hear_now)
            self._guarded_until = self._guards.deadline()
            if cause is not None:
                self._end(cause, now)

    def _end(self, cause: endings.Cause, now: float) -> None:
        """End the child, unless it has settled: then it exits within its grace."""
        if self._settled_at is None:
            self._ladder.begin(cause, now)


def _poll(*descriptors: int | None) -> select.poll:
    """Return a poll that waits until one of the first four can be read, or another can be written."""
    poll = select.poll()
    for number, descriptor in enumerate(descriptors):
        if descriptor is not None:
            poll.register(descriptor, select.POLLIN if number < _READ_FROM else select.POLLOUT)
    return poll
