"""The two FIFOs between a wrapper and the bridge in its live child: what happens, and what is ordered.

Made before the child, and their names removed once the child has opened them: nobody else finds them. Both
ends of each are ours as well, so that none is ever without a reader or a writer while we live.
"""

from __future__ import annotations

import contextlib
import fcntl
import os

from tmuxagents import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

EVENTS, ORDERS = "live-events.fifo", "live-orders.fifo"
_SIZE = 256 * 1024


class Bridge:
    """The wrapper's ends."""

    __slots__ = ("_orders", "_run_dir", "_waiting", "events")

    def __init__(self, run_dir: str) -> None:
        self._run_dir = run_dir
        self._waiting = b""
        self.events = self._make(EVENTS)
        self._orders = self._make(ORDERS)

    def _make(self, name: str) -> int:
        path = f"{self._run_dir}/{name}"
        os.mkfifo(path, 0o600)
        handle = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with contextlib.suppress(OSError):  # an unprivileged user has so much of it and no more
            fcntl.fcntl(handle, fcntl.F_SETPIPE_SZ, _SIZE)
        return handle

    @property
    def waiting(self) -> int | None:
        """Return the descriptor to wait on until more orders can be given; None if none wait."""
        return self._orders if self._waiting else None

    def order(self, order: Mapping[str, Any]) -> None:
        """Give an order. It never blocks: what the FIFO does not take now, waits."""
        self._waiting += jsonline.encode(order)
        self.flush()

    def flush(self) -> None:
        """Give what waits, as far as it is taken now."""
        with contextlib.suppress(BlockingIOError):
            while self._waiting:
                self._waiting = self._waiting[os.write(self._orders, self._waiting) :]

    def forget_names(self) -> None:
        """Remove the names: whoever was to open them has."""
        for name in (EVENTS, ORDERS):
            with contextlib.suppress(OSError):
                os.unlink(f"{self._run_dir}/{name}")
