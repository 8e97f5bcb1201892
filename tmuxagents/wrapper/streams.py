"""Read a child's stdout and stderr: log their lines, and record the events in them. Joins."""

from __future__ import annotations

import fcntl
import os
import sys
import termios

from tmuxagents.agents.base import LINE_LIMIT, LineSplitter, Oversized
from tmuxagents.cpython import ignoring
from tmuxagents.runs import directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tmuxagents.agents.base import Reader
    from tmuxagents.runs.endings import Cause
    from tmuxagents.wrapper.guards import Guards
    from tmuxagents.wrapper.recorder import Recorder

_AT_ONCE = 256 * 1024  # as much as a pipe holds
_PIECE = 64 * 1024  # a larger buffer would be taken from the system and given back at each read
EVERY_S = 0.4  # less than the silence after which a watcher has to be woken (runs/logs)
_AT_ONCE_TIMES = 8.0  # how often we may read at once after a silence, however long it was
_MUCH = 32 * 1024  # bytes in about a second; a child that prints more prints much
_ROOM = 8  # so does one that fills this fraction of its pipe, which must not become full


class _Pace:
    """Decides when to read again from a child that prints little but often.

    A hundred such children would cause wake-ups all day. A child that was silent is read at once,
    and so is one that prints much.
    """

    __slots__ = ("_heard_at", "_most", "_much", "_times", "next_at")

    def __init__(self, room: int) -> None:
        self.next_at = 0.0
        self._heard_at = self._much = 0.0
        self._most = min(_MUCH, room // _ROOM)
        self._times = _AT_ONCE_TIMES  # how often it may still be read at once

    @property
    def was_resting(self) -> bool:
        """Say whether text that is read now may be some time old."""
        return self.next_at > self._heard_at

    def heard(self, amount: int, now: float) -> None:
        """Record how many bytes were read; 0 means silence."""
        if not amount:
            self.next_at = self._heard_at
            return
        since = now - self._heard_at
        self._heard_at = now
        self._times = max(0.0, min(_AT_ONCE_TIMES, self._times + since / EVERY_S) - 1)
        self._much = self._much * 0.5**since + amount
        is_paced = self._times < 1 and self._much < self._most
        self.next_at = now + EVERY_S if is_paced else now


class Streams:
    """Our ends of the two pipes of one child."""

    __slots__ = (
        "_guards",
        "_looped",
        "_pace",
        "_reader",
        "_recorder",
        "_stderr_lines",
        "_stdout_lines",
        "lacks_usage",
        "reply",
        "stderr",
        "stdout",
    )

    def __init__(
        self,
        pipes: tuple[int, int],
        *,
        reader: Reader,
        recorder: Recorder,
        guards: Guards,
        looped: Callable[[Cause, float], None],
    ) -> None:
        self.lacks_usage = False  # the child has ended without the file that holds its usage
        self.stdout: int | None = pipes[0]  # None: every process that had it has closed it
        self.stderr: int | None = pipes[1]
        room = 0  # the pipe's size: only two pages if an unprivileged user has many pipes
        if reader.paces:
            with ignoring(OSError):  # it is no pipe
                room = fcntl.fcntl(pipes[0], fcntl.F_GETPIPE_SZ)
        self._pace = _Pace(room)
        self._stdout_lines = LineSplitter()
        self._stderr_lines = LineSplitter()
        self._reader = reader
        self._recorder = recorder
        self._guards = guards
        self.reply: Callable[[bytes], None] | None = None  # writes to a child whose stdin stays open
        self._looped = looped  # called when the child has repeated a tool call too often

    @property
    def due_at(self) -> float:
        """Return when to read stdout again; until then, nothing is lost or decided by not reading it."""
        return self._pace.next_at

    def hear(self, now: float) -> None:
        """Read and record stdout, after a poll has reported output or its end."""
        if self.stdout is not None and self._hear(self.stdout, now, _AT_ONCE):
            os.close(self.stdout)
            self.stdout = None

    def hear_errors(self) -> None:
        """Read and record stderr, after a poll has reported output or its end."""
        if self.stderr is not None and self._hear_errors(self.stderr, _AT_ONCE):
            os.close(self.stderr)
            self.stderr = None

    def hear_now(self, now: float) -> None:
        """Read and record the stdout so far, without a poll."""
        if self.stdout is not None:
            self._hear(self.stdout, now, _held(self.stdout))

    def hear_rest(self, now: float) -> None:
        """Read and record all output up to the child's end. Other processes may keep the pipes open."""
        self.hear_now(now)
        if self.stderr is not None:
            self._hear_errors(self.stderr, _held(self.stderr))
        self._record_stdout(self._stdout_lines.flush(), now)
        self._record_stderr(self._stderr_lines.flush())

    def note_end(self, exit_code: int | None) -> None:
        """Record the events that the child's exit adds to its output."""
        reported = self._reader.ended(exit_code, self._written())
        self.lacks_usage = self._reader.file is not None and not any(one.type == "usage" for one in reported)
        for event in reported:
            self._recorder.event(event)
        self._recorder.note_reader(self._reader)

    def note_written(self) -> None:
        """Record the usage that leftovers wrote as they ended: the agent itself may have been one of them."""
        if self.lacks_usage:
            for event in self._reader.used(self._written() or b""):
                self._recorder.event(event)

    def _written(self) -> bytes | None:
        """Return the content of the file that some agents write at their end; None if there is none."""
        with ignoring(OSError):
            if self._reader.file is not None:
                return directory.read_bytes(f"{self._recorder.run_dir}/{self._reader.file}", limit=LINE_LIMIT)
        return None

    def _hear(self, pipe: int, now: float, amount: int) -> bool:
        """Read and record stdout, up to a number of bytes; say whether it has ended."""
        if self._pace.was_resting:
            self._reader.note_late(now)
        heard = 0
        for piece in _pieces(pipe, amount):
            if not piece:
                return True
            self._record_stdout(self._stdout_lines.feed(piece), now)
            heard += len(piece)
        self._pace.heard(heard, now)
        return False

    def _hear_errors(self, pipe: int, amount: int) -> bool:
        for piece in _pieces(pipe, amount):
            if not piece:
                return True
            self._record_stderr(self._stderr_lines.feed(piece))
        return False

    def _record_stdout(self, lines: list[bytes | Oversized], now: float) -> None:
        """Record the events in lines, and log all lines in one write, even if one causes an error."""
        logged: list[bytes] = []
        reader, recorder = self._reader, self._recorder
        try:
            for line in lines:
                if isinstance(line, Oversized):
                    logged.append(line.brief())
                    reading = reader.feed_oversized(line, now)
                else:
                    if not line.startswith(reader.snapshots):
                        logged.append(line)
                    reading = reader.feed(line, now)
                if reading.active:
                    self._guards.note_activity(now)
                if reading.reply and self.reply is not None:
                    self.reply(reading.reply)
                if reading.plain is not None:
                    recorder.plain_output(reading.plain)
                for event in reading.events:
                    recorder.event(event)
                    if event.type == "tool_call" and (cause := self._guards.note_call(event)) is not None:
                        self._looped(cause, now)
        finally:
            recorder.note_reader(reader)
            logged.append(b"")
            recorder.stdout.write(b"\n".join(logged))

    def _record_stderr(self, lines: list[bytes | Oversized]) -> None:
        for line in lines:
            whole = line.brief() if isinstance(line, Oversized) else line
            self._recorder.stderr.write(whole + b"\n")
            self._recorder.stderr_line(whole)
            for event in self._reader.overheard(whole):
                self._recorder.event(event)


def _pieces(pipe: int, amount: int) -> Iterator[bytes]:
    """Yield the content of a pipe, up to a number of bytes; an empty piece means that the pipe has ended."""
    while amount > 0:
        asked = min(_PIECE, amount)
        try:
            piece = os.read(pipe, asked)
        except BlockingIOError:
            return
        yield piece
        if len(piece) < asked:
            return  # a pipe gives all that it has
        amount -= asked


def _held(descriptor: int) -> int:
    """Return how many bytes a pipe holds now."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0"), sys.byteorder)
