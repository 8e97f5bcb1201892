"""A call of this program by this program: arguments in by stdin, JSON lines out by a pipe, ended by signals.

It leads a session of its own: what ends its caller's group does not end it, and it sees to its children. If
its caller ends, it is asked to end as well, unless it was let go before.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PIECE = 1024 * 1024
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class Subcall:
    """One call that is carried out by a process."""

    def __init__(self, words: Sequence[str], content: bytes = b"") -> None:
        command = [sys.executable, "-P", "-m", "tmuxagents", *words]
        stdin, caller = _holding(content), os.getpid()

        def be_asked() -> None:
            # Held back until it listens (cli/interrupts): in the middle of its start they could be lost.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGUSR1])
            _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
            if os.getppid() != caller:
                os._exit(1)  # it was killed a moment ago

        try:
            self._process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=be_asked,  # noqa: PLW1509  (this program has one thread)
            )
        finally:
            os.close(stdin)
        assert self._process.stdout is not None
        self.handle = self._process.stdout.fileno()
        os.set_blocking(self.handle, False)
        self._begun = b""
        self.is_over = False

    def lines(self) -> Iterator[bytes]:
        """Yield the whole lines that have come; `is_over` is right after that."""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.handle, _PIECE):
                *whole, self._begun = (self._begun + piece).split(b"\n")
                yield from whole
            self.is_over = True

    def cancel(self) -> None:
        """Ask it to end its children and then itself."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def let_go(self) -> None:
        """Have it go on whatever is asked later, and whatever becomes of us."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGUSR1)

    def close(self) -> int | None:
        """Stop listening; return its exit code, None while it goes on."""
        assert self._process.stdout is not None
        self._process.stdout.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(1.0 if self.is_over else 0.0)
        return None


def _holding(content: bytes) -> int:
    """Return a descriptor that these bytes are read from, however many they are."""
    memory = os.memfd_create("arguments")
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(memory, rest) :]
    os.lseek(memory, 0, os.SEEK_SET)
    return memory
