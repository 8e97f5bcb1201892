"""Signals as something to wait for: a descriptor, what was caught since the last look, what it means."""

from __future__ import annotations

import os

from tmuxagents.core import endings
from tmuxagents.edges import process
from tmuxagents.edges.bare import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# What a signal to the wrapper means.
CAUSES: dict[int, endings.Cause] = {
    signal.SIGTERM: endings.STOPPED,
    signal.SIGINT: endings.PARENT,
    signal.SIGHUP: endings.WINDOW_CLOSED,
}
_SERVER_LIMIT_S = 0.3
# Typing in the window or a window in the background must never stop or end a wrapper by itself.
_IGNORED = (
    *(signal.SIGPIPE, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM),
)
_CAUGHT = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class Signals:
    """The signals that a wrapper attends to, from now on."""

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
    """Say what a hang-up was: a window that was closed, or the end of its server, a moment later."""
    if tmux["serverStartTime"] is None:
        return endings.WINDOW_CLOSED
    gone = process.wait_gone(tmux["serverPid"], tmux["serverStartTime"], _SERVER_LIMIT_S)
    return endings.SERVER_ENDED if gone else endings.WINDOW_CLOSED
