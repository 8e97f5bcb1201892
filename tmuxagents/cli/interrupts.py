"""Ctrl-C and TERM during a call: a descriptor to wait on, and whether one of them came. Joins."""

from __future__ import annotations

import contextlib
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class SignalInterrupts:
    """Ctrl-C and TERM as a descriptor; HUP is ignored.

    After USR1 Ctrl-C is ignored, too: mcp/calls detaches the call with it.
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
        elif self.number == signal.SIGINT:  # of two at once Python handles the smaller number first
            self.number = 0

    def came(self) -> bool:
        """Say whether the call must be cancelled."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.handle, 64)
        return self.number != 0
