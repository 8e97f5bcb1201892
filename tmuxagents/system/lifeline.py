"""Input from the program that started us: lines on stdin, the end of that program, and signals.

This module imports little, because the companion uses it and runs as long as its parent.

Touches: stdin, signals.
"""

from __future__ import annotations

import os
import select

from tmuxagents.cpython import ignoring, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

_PIECE = 65536


class Lifeline:
    """Our stdin, whose other end another program holds. We read the lines that it writes."""

    def __init__(self) -> None:
        self.handle = 0
        self.gone = False
        self._begun = b""

    def line(self) -> bytes | None:
        """Wait for a whole line; None if none will come any more."""
        while b"\n" not in self._begun and not self.gone:
            self._read()
        line, found, self._begun = self._begun.partition(b"\n")
        return line if found else None

    def speaks(self) -> bool:
        """Say whether there is something to read now, or the other end is closed."""
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        return bool(poll.poll(0))

    def lines(self) -> Iterator[bytes]:
        """Read once, which waits if nothing has come yet, and yield the complete lines."""
        self._read()
        *whole, self._begun = self._begun.split(b"\n")
        yield from whole

    def _read(self) -> None:
        try:
            piece = os.read(self.handle, _PIECE)
        except OSError:
            piece = b""
        self._begun += piece
        self.gone = not piece


class SignalInterrupts:
    """Ctrl-C and TERM as a descriptor; HUP is ignored.

    After USR1, by which mcp/requests detaches the call, Ctrl-C is ignored, too.
    """

    def __init__(self) -> None:
        self.handle, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.number = 0
        self._alone = False

    def listen(self) -> None:
        """Handle signals from now on, including one that was blocked before.

        Python's KeyboardInterrupt can be lost while a module is imported.
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            signal.signal(number, self._note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGUSR1])

    def __enter__(self) -> Self:
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self.listen()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if self.number:  # it came before the wake-up descriptor was set
            os.write(self._writing, b"\0")
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(-1)

    def _note(self, number: int, _frame: object) -> None:
        if number == signal.SIGUSR1:
            self._alone = True
        if number == signal.SIGTERM or not self._alone:
            self.number = self.number or number
        elif self.number == signal.SIGINT:  # if two come at once, Python handles the smaller number first
            self.number = 0

    def came(self) -> bool:
        """Say whether the call must be cancelled."""
        with ignoring(BlockingIOError):
            os.read(self.handle, 64)
        return self.number != 0
