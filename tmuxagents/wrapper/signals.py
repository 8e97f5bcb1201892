"""The signals to a wrapper, the keys that a person types into its window, and the meaning of both. Joins.

Ctrl-C twice stops the run; other keys do nothing.
"""

from __future__ import annotations

import os
import select
import time

from tmuxagents.cpython import signal
from tmuxagents.runs import endings
from tmuxagents.system import process
from tmuxagents.wrapper.terminal import CTRL_C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.wrapper.recorder import Recorder
    from tmuxagents.wrapper.terminal import Terminal

CAUSES: dict[int, endings.Cause] = {
    signal.SIGTERM: endings.STOPPED,
    signal.SIGINT: endings.PARENT,
    signal.SIGHUP: endings.WINDOW_CLOSED,
}
_SERVER_LIMIT_S = 0.3
# No key, and no output while it is in the background, may stop or end a wrapper by a signal.
_IGNORED = (
    *(signal.SIGPIPE, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM),
)
_CAUGHT = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGWINCH)


class Signals:
    """Catches the signals that mean something to a wrapper, from now on."""

    __slots__ = ("_writing", "handle")

    def __init__(self) -> None:
        self.handle, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        for number in _CAUGHT:
            signal.signal(number, _noted)

    def attend_to(self, number: int) -> None:
        """Attend to one more signal, which was ignored so far."""
        signal.signal(number, _noted)

    def caught(self) -> frozenset[int]:
        """Return the numbers of the signals that came, and forget them."""
        try:
            return frozenset(os.read(self.handle, 4096))
        except BlockingIOError:
            return frozenset()


def _noted(_number: int, _frame: object) -> None:
    """Do nothing: the wake-up descriptor has the number."""


def hang_up(tmux: Mapping[str, Any]) -> endings.Cause:
    """Return the cause of a hang-up: the window was closed, or the tmux server ends within a moment."""
    if tmux["serverStartTime"] is None:
        return endings.WINDOW_CLOSED
    gone = process.wait_gone(tmux["serverPid"], tmux["serverStartTime"], _SERVER_LIMIT_S)
    return endings.SERVER_ENDED if gone else endings.WINDOW_CLOSED


CONFIRM_S = 3.0
_READ_S = 0.3  # a person needs this long to read the question; two Ctrl-C in one paste do not count


class Console:
    """The parts that a wrapper has from its start to its end: signals, terminal and recorder."""

    __slots__ = ("_asked_at", "recorder", "signals", "terminal")

    def __init__(self, *, recorder: Recorder, signals: Signals, terminal: Terminal) -> None:
        self.recorder = recorder
        self.signals = signals
        self.terminal = terminal
        self._asked_at: float | None = None

    def wait(self, limit_s: float, other: int | None = None) -> None:
        """Wait for a signal, a key or another descriptor, but not longer than `limit_s`."""
        poll = select.poll()
        for handle in (self.signals.handle, self.terminal.keys, other):
            if handle is not None:
                poll.register(handle, select.POLLIN)
        poll.poll(round(limit_s * 1000))

    def announce(self, words: str) -> None:
        """Show in the window, and as its title, why no child has started yet."""
        self.recorder.hint(words)
        self.recorder.title(words)
        self.recorder.flush(time.monotonic(), last=True)

    def stop_wanted(self, now: float) -> bool:
        """Read the keys that were typed; say whether they stop the run."""
        if CTRL_C not in self.terminal.pressed():
            return False
        since_asked = None if self._asked_at is None else now - self._asked_at
        if since_asked is not None and since_asked < _READ_S:
            return False
        if since_asked is not None and since_asked <= CONFIRM_S:
            return True
        self._asked_at = now
        self.recorder.hint(f"Ctrl-C again within {CONFIRM_S:g} s stops this run")
        self.recorder.flush(now, last=True)
        return False
