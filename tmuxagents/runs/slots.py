"""Slots and tickets: the limit on running children, and the order in which runs get their turn. Joins.

A running run holds the lock of a slot file. A queued run holds the lock of its ticket. The
kernel releases the locks of a process that dies. The oldest ticket is first.
"""

from __future__ import annotations

import errno
import fcntl
import os

from tmuxagents.cpython import ignoring
from tmuxagents.system import places
from tmuxagents.system.identity import secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_IN_THE_WAY = (errno.EISDIR, errno.ELOOP, errno.ENXIO)  # a folder, a link, a socket
ASIDE = ".displaced-"


class Queue:
    """The slots and tickets of one host."""

    __slots__ = ("_gate", "_slots", "_tickets")

    def __init__(self, folder: str) -> None:
        self._gate = f"{folder}/gate"
        self._slots = f"{folder}/slots"
        self._tickets = f"{folder}/tickets"
        for made in (folder, self._slots, self._tickets):
            places.make_folders(made)

    def draw(self, name: str) -> int:
        """Draw a ticket; return the descriptor that keeps it."""
        while True:
            path = f"{self._tickets}/{name}"
            handle = _opened(path)
            fcntl.flock(handle, fcntl.LOCK_EX)
            with ignoring(FileNotFoundError):
                if os.stat(path).st_ino == os.fstat(handle).st_ino:
                    return handle
            os.close(handle)  # before we locked it, another process took it for a dead one and removed it

    def give_back(self, name: str, handle: int) -> None:
        """Give a ticket back; if its file cannot be removed, the ticket counts as a dead one."""
        with ignoring(OSError):
            os.unlink(f"{self._tickets}/{name}")
        os.close(handle)

    def tickets(self) -> list[str]:
        """Return the names of all tickets, dead ones included."""
        return os.listdir(self._tickets)

    def is_held(self, name: str) -> bool:
        """Say whether a ticket's owner lives; remove the ticket if not."""
        path = f"{self._tickets}/{name}"
        try:
            handle = os.open(path, _FLAGS)
        except OSError as error:
            if error.errno in (errno.ENOENT, *_IN_THE_WAY):
                return False
            raise
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            with ignoring(OSError):  # if it stays, the next process tries again
                os.unlink(path)
            return False
        finally:
            os.close(handle)

    def take(self, most: int) -> int | None:
        """Take one of `most` slots; None if all are taken, or if another process is just taking one."""
        gate = _opened(self._gate)
        try:
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return next((slot for number in range(most) if (slot := self._try(number)) is not None), None)
        except BlockingIOError:
            return None
        finally:
            os.close(gate)

    def has_room(self, most: int) -> bool:
        """Say whether one of `most` slots is free right now, without taking it."""
        for number in range(most):
            slot = self._try(number)
            if slot is not None:
                os.close(slot)
                return True
        return False

    def _try(self, number: int) -> int | None:
        slot = _opened(f"{self._slots}/{number}")
        try:
            fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(slot)
            return None
        return slot


def _opened(path: str) -> int:
    """Open a file to lock, and make it if there is none. Raises OSError."""
    try:
        return os.open(path, _FLAGS | os.O_CREAT, 0o600)
    except OSError as error:
        if error.errno not in _IN_THE_WAY:
            raise
    os.rename(path, f"{os.path.dirname(path)}/{ASIDE}{os.path.basename(path)}-{secret()}")
    return os.open(path, _FLAGS | os.O_CREAT, 0o600)


_DIGITS = 20
# If many runs come at the same time, those before us may be about to start; so we look again soon.
RUSH_S = 0.1
_RUSH_PAUSE_S = 0.005
_SHOWN = 8  # digits of another run's id


def ticket_name(number_ns: int, run_id: str) -> str:
    """Return the name of a ticket; names sort in the order of arrival."""
    return f"{number_ns:0{_DIGITS}d}-{run_id}"


def before(mine: str, tickets: Iterable[str]) -> list[str]:
    """Return the tickets that come before mine, the oldest first."""
    return sorted(name for name in tickets if name < mine)


def pause_s(position: int, waited_s: float = RUSH_S) -> float:
    """Return how long to wait before looking again: the longer, the more tickets are before ours."""
    return min(1.0, 0.05 * (position + 1)) if waited_s >= RUSH_S else _RUSH_PAUSE_S


def waiting_words(position: int) -> str:
    """Return the words for a run that waits for a slot."""
    return f"waiting for a slot, {position} before you" if position else "waiting for a slot"


def following_words(run_ids: Iterable[str]) -> str:
    """Return the words for a run that waits for others."""
    return f"waits for {', '.join(run_id[:_SHOWN] for run_id in run_ids)}"
