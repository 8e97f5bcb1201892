"""Hand the launcher's environment to the wrapper, through two FIFOs in the run directory and no file.

The launcher opens both FIFOs before it opens the window. So a wrapper can distinguish a slow launcher
(nothing to read yet) from one that is gone (end of file). The wrapper answers with one byte once the child
has started, or the run has to wait, or has ended. Only then does the launcher report the run as launched.

The wrapper of a job begins long after its launcher has gone. So a job's run directory has the environment in
a file, until the wrapper has the run, or the run is concluded without a wrapper.

Touches: the run directory.
"""

from __future__ import annotations

import os
import resource
import select
import time

from tmuxagents.cpython import ignoring
from tmuxagents.runs import directory
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

ORDERS, ANSWER = "orders.fifo", "answer.fifo"
READY = b"+"
_LENGTH = 8
_LONGEST = 8 * 1024 * 1024  # the kernel takes 2 MB of environment at most


class Handed:
    """What a launcher hands over."""

    __slots__ = ("environment", "limits", "queued", "session", "umask", "window", "working_directory")

    def __init__(  # noqa: PLR0913  (all that a window needs to know)
        self,
        *,
        environment: Mapping[str, str],
        umask: int,
        limits: Mapping[str, list[int]],
        working_directory: list[int] | None = None,
        window: str | None = None,
        session: str | None = None,
        queued: bool = False,
    ) -> None:
        self.environment = environment
        self.umask = umask
        self.limits = limits
        # Device and inode: the folder may be replaced before the start.
        self.working_directory = working_directory
        self.window = window  # the wrapper's place in tmux, which the launcher knows from opening it
        self.session = session
        self.queued = queued  # in a batch system: the wrapper may begin hours later, on another machine


def encode(handed: Handed) -> bytes:
    """Return the text of what is handed over."""
    return jsonline.encode({name: getattr(handed, name) for name in Handed.__slots__})


def _decode(text: bytes) -> Handed | None:
    try:
        body: dict[str, Any] = jsonline.decode(text)
        return Handed(**body)
    except (ValueError, TypeError):
        return None


# --- the launcher's side ----------------------------------------------------------------------------------


class LauncherEnds:
    """The launcher's ends of the two FIFOs. Made before the window, closed after the answer."""

    __slots__ = ("_answer", "_open", "_orders", "_rest", "_run_dir")

    def __init__(self, run_dir: str) -> None:
        self._run_dir = run_dir
        self._rest = memoryview(b"")
        for name in (ORDERS, ANSWER):
            os.mkfifo(f"{run_dir}/{name}", 0o600)
        # On Linux, O_RDWR never blocks here, and keeps the FIFO alive as long as we live.
        self._orders = os.open(f"{run_dir}/{ORDERS}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._answer = os.open(f"{run_dir}/{ANSWER}", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._open: tuple[int, ...] = (self._orders, self._answer)

    def hand_over(self, handed: Handed) -> None:
        """Provide everything that the wrapper needs."""
        body = encode(handed)
        self._rest = memoryview(len(body).to_bytes(_LENGTH, "big") + body)

    def register(self, poll: select.poll) -> None:
        """Let a poll() return when there is an answer, or room in the FIFO for the rest."""
        poll.register(self._answer, select.POLLIN)
        if self._rest:
            poll.register(self._orders, select.POLLOUT)

    def step(self) -> bool:
        """Write as much as the FIFO takes; say whether there is an answer."""
        if self._rest:
            with ignoring(BlockingIOError):
                self._rest = self._rest[os.write(self._orders, self._rest) :]
        with ignoring(BlockingIOError):
            return bool(os.read(self._answer, 1))
        return False

    def let_go(self) -> None:
        """Close both ends. Their names stay: a wrapper that comes now learns that its launcher has gone."""
        for handle in self._open:
            os.close(handle)
        self._open = ()

    def close(self) -> None:
        """Let go of both ends and remove the names."""
        self.let_go()
        for name in (ORDERS, ANSWER):
            with ignoring(OSError):  # the run has begun or ended: FIFOs that stay do no harm
                os.unlink(f"{self._run_dir}/{name}")


def answered(launchers: Sequence[LauncherEnds], limit_s: float) -> list[LauncherEnds]:
    """Wait until any of these wrappers has answered; return those that have. All are served meanwhile."""
    deadline = time.monotonic() + limit_s
    while True:
        found = [one for one in launchers if one.step()]
        left = deadline - time.monotonic()
        if found or left <= 0:
            return found
        poll = select.poll()
        for one in launchers:
            one.register(poll)
        poll.poll(round(left * 1000) + 1)


def limits_now() -> dict[str, list[int]]:
    """Return our resource limits, for the child to have the same."""
    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    return {name: list(resource.getrlimit(getattr(resource, name))) for name in names}


# --- the wrapper's side -----------------------------------------------------------------------------------


def is_expected(run_dir: str) -> bool:
    """Say whether a launcher means to hand something over."""
    return os.path.exists(f"{run_dir}/{ORDERS}")


def receive(run_dir: str, limit_s: float) -> Handed | None:
    """Return what the launcher hands over; None if it is gone, or silent for too long."""
    try:
        handle = os.open(f"{run_dir}/{ORDERS}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = _read_all(handle, time.monotonic() + limit_s)
    finally:
        os.close(handle)
    return None if text is None else _decode(text)


def left(run_dir: str) -> Handed | None:
    """Return what a launcher left in the run directory before it went; None if there is nothing."""
    text = directory.read_bytes(f"{run_dir}/{directory.HANDED}", limit=_LONGEST)
    return None if text is None else _decode(text)


def _read_all(handle: int, deadline: float) -> bytes | None:
    text = b""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    while len(text) < _LENGTH or len(text) < _LENGTH + int.from_bytes(text[:_LENGTH], "big"):
        left = deadline - time.monotonic()
        if left <= 0 or len(text) > _LONGEST:
            return None
        try:
            piece = os.read(handle, 65536)
        except BlockingIOError:
            poll.poll(round(left * 1000) + 1)  # after the read: without a writer so far, poll is silent
            continue
        if not piece:
            return None
        text += piece
    return text[_LENGTH:]


def answer(run_dir: str) -> None:
    """Tell the launcher, if it is still there, that the run is ours."""
    with ignoring(OSError):
        handle = os.open(f"{run_dir}/{ANSWER}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(handle, READY)
        finally:
            os.close(handle)
