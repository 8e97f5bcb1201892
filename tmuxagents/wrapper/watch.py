"""The watch over a living child: everything it prints is drained, read and told, until it has ended.

One loop over a few descriptors. Each wake-up reads what is there, then decides, then writes once.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import time

from tmuxagents.agents.base import LineSplitter, Oversized
from tmuxagents.core import endings, lifecycle
from tmuxagents.edges import process
from tmuxagents.edges.bare import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.agents.base import Reader, Reading
    from tmuxagents.core.guards import Guards
    from tmuxagents.edges.terminal import Terminal
    from tmuxagents.wrapper.keys import Keys
    from tmuxagents.wrapper.ladder import Ladder
    from tmuxagents.wrapper.recorder import Recorder
    from tmuxagents.wrapper.signals import Signals

_READ = 256 * 1024
_LONGEST_WAIT_MS = 3_600_000  # poll takes no more than 24 days; waking up is harmless
# What a signal to the wrapper means.
CAUSES: dict[int, endings.Cause] = {
    signal.SIGTERM: endings.STOPPED,
    signal.SIGINT: endings.PARENT,
    signal.SIGHUP: endings.WINDOW_CLOSED,
}


class Pipes:
    """Our ends of the child's two streams."""

    __slots__ = ("stderr", "stderr_lines", "stdout", "stdout_lines")

    def __init__(self, stdout: int, stderr: int) -> None:
        self.stdout: int | None = stdout
        self.stderr: int | None = stderr
        self.stdout_lines = LineSplitter()
        self.stderr_lines = LineSplitter()


class Watch:
    """Watches one child from its start to its end."""

    def __init__(  # noqa: PLR0913  (the parts that a watch joins)
        self,
        *,
        child: int,
        pipes: Pipes,
        reader: Reader,
        recorder: Recorder,
        guards: Guards,
        ladder: Ladder,
        terminal: Terminal,
        keys: Keys,
        signals: Signals,
        snapshots: tuple[bytes, ...],
    ) -> None:
        self._child = child
        self._pipes = pipes
        self._reader = reader
        self._recorder = recorder
        self._guards = guards
        self._ladder = ladder
        self._terminal = terminal
        self._keys = keys
        self._signals = signals
        self._snapshots = snapshots
        self._settled_at: float | None = None

    def run(self) -> int | None:
        """Watch until the child is reaped and all it wrote is read; return its wait status.

        None if it cannot be ended: not ours to signal, or stuck in the kernel.
        """
        while True:
            now = time.monotonic()
            ready = self._wait(now)
            now = time.monotonic()
            self._drain(ready, now)
            status = self._attend(ready, now)
            if status is not None:
                self.drain_rest(now)
                self._recorder.flush(now)
                return status
            self._decide(now)
            self._recorder.flush(now)
            if self._ladder.hopeless:
                return None

    # --- what is there ---

    def _wait(self, now: float) -> set[int]:
        poll = select.poll()
        for descriptor in (self._pipes.stdout, self._pipes.stderr, self._signals.handle, self._keys.handle):
            if descriptor is not None:
                poll.register(descriptor, select.POLLIN)
        for descriptor in self._to_write():
            if descriptor is not None:
                poll.register(descriptor, select.POLLOUT)
        due = self._next_at()
        pause = None if due is None else int(min(_LONGEST_WAIT_MS, max(0, (due - now) * 1000 + 1)))
        return {descriptor for descriptor, _ in poll.poll(pause)}

    def _to_write(self) -> tuple[int | None, ...]:
        """Return the descriptors that something waits for."""
        return (self._terminal.waiting,)

    def _next_at(self) -> float | None:
        due = [at for at in (self._recorder.show_at(), self._ladder.next_at()) if at is not None]
        if not self._ladder.begun:
            settled = self._settled_at
            due.append(self._guards.deadline() if settled is None else settled + endings.GRACE_S)
        return min(due, default=None)

    def _drain(self, ready: set[int], now: float) -> None:
        pipes = self._pipes
        if pipes.stdout in ready and self._read_stdout(now, _READ) == 0:
            pipes.stdout = self._closed(pipes.stdout)
        if pipes.stderr in ready and self._read_stderr(_READ) == 0:
            pipes.stderr = self._closed(pipes.stderr)

    @staticmethod
    def _closed(descriptor: int | None) -> None:
        if descriptor is not None:
            os.close(descriptor)

    def drain_rest(self, now: float) -> None:
        """Read what the child had written when it ended, and no more: others may hold its pipes for ever."""
        pipes = self._pipes
        if pipes.stdout is not None:
            self._read_stdout(now, _held(pipes.stdout))
        if pipes.stderr is not None:
            self._read_stderr(_held(pipes.stderr))
        said: list[bytes] = []
        for line in pipes.stdout_lines.flush():
            self._stdout_line(line, now, said)
        self._recorder.stdout.write(b"".join(said))
        for line in pipes.stderr_lines.flush():
            self._stderr_line(line)
        self._note_settling(now)

    def _read_stdout(self, now: float, amount: int) -> int:
        """Read and tell up to so many bytes; return how many there were."""
        total = 0
        while amount > total and self._pipes.stdout is not None:
            chunk = _read(self._pipes.stdout, min(_READ, amount - total))
            if not chunk:
                break
            total += len(chunk)
            self._stdout_chunk(chunk, now)
        self._note_settling(now)
        return total

    def _stdout_chunk(self, chunk: bytes, now: float) -> None:
        """Tell what the lines of a chunk say; they are logged in one go, also one that made trouble."""
        said: list[bytes] = []
        try:
            for line in self._pipes.stdout_lines.feed(chunk):
                self._stdout_line(line, now, said)
        finally:
            self._recorder.stdout.write(b"".join(said))

    def _read_stderr(self, amount: int) -> int:
        total = 0
        while amount > total and self._pipes.stderr is not None:
            chunk = _read(self._pipes.stderr, min(_READ, amount - total))
            if not chunk:
                break
            total += len(chunk)
            for line in self._pipes.stderr_lines.feed(chunk):
                self._stderr_line(line)
        return total

    # --- what it tells ---

    def _stdout_line(self, line: bytes | Oversized, now: float, said: list[bytes]) -> None:
        if isinstance(line, Oversized):
            said += line.brief(), b"\n"
            self._tell(self._reader.feed_oversized(line, now), now)
            return
        if not line.startswith(self._snapshots):
            said += line, b"\n"
        self._tell(self._reader.feed(line, now), now)

    def _tell(self, reading: Reading, now: float) -> None:
        if reading.active:
            self._guards.note_activity(now)
        if reading.plain is not None:
            self._recorder.plain_output(reading.plain)
        for event in reading.events:
            self._recorder.event(event)
            if event.type == "tool_call" and (cause := self._guards.note_call(event)) is not None:
                self._settled_at = None  # it calls a tool, so it has begun again
                self._end(cause, now)
        state = self._recorder.state
        if state.phase != lifecycle.LEAVING:
            state.model, state.error_message = self._reader.model, self._reader.error_message
        self._recorder.restored |= self._reader.left_out

    def _stderr_line(self, line: bytes | Oversized) -> None:
        whole = line.brief() if isinstance(line, Oversized) else line
        self._recorder.stderr.write(whole + b"\n")
        self._recorder.stderr_line(whole)

    def _note_settling(self, now: float) -> None:
        if not self._reader.settled:
            self._settled_at = None
        elif self._settled_at is None:
            self._settled_at = now

    # --- what we do about it ---

    def _attend(self, ready: set[int], now: float) -> int | None:
        """Look at keys and signals; return the child's wait status if it has ended."""
        if self._terminal.waiting in ready:
            self._terminal.flush()
        if self._keys.handle in ready and self._keys.stop_wanted(now):
            self._end(endings.STOPPED, now)
        if self._signals.handle not in ready:
            return None
        caught = self._signals.caught()
        status = process.reap(self._child) if signal.SIGCHLD in caught else None
        if status is None:
            for number, cause in CAUSES.items():  # of several at once, the first of these
                if number in caught:
                    self._drain_now(now)
                    self._end(cause, now)
        self._heard(caught, now, ended=status is not None)
        return status

    def _heard(self, caught: frozenset[int], now: float, *, ended: bool) -> None:
        """Act on signals that mean something to other kinds of runs."""

    def _drain_now(self, now: float) -> None:
        """Read what the child has said so far: if it had settled before a stop came, it has settled."""
        if self._pipes.stdout is not None:
            self._read_stdout(now, _held(self._pipes.stdout))

    def _decide(self, now: float) -> None:
        self._ladder.step(now)
        if self._ladder.begun:
            return
        if self._settled_at is not None:
            if now >= self._settled_at + endings.GRACE_S:
                lifecycle.leave(self._recorder.state)
                self._ladder.begin(None, now)
        elif (cause := self._guards.check(now)) is not None:
            self._drain_now(now)
            self._end(cause, now)

    def _end(self, cause: endings.Cause, now: float) -> None:
        """End the child, unless it has settled: then it is done, and leaves within its grace."""
        if self._settled_at is None:
            self._ladder.begin(cause, now)


def _read(descriptor: int, amount: int) -> bytes:
    try:
        return os.read(descriptor, amount)
    except BlockingIOError:
        return b""


def _held(descriptor: int) -> int:
    """Return how many bytes a pipe holds now."""
    held: int = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0"))[0]
    return held
