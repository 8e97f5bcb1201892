"""Asks installed agents about themselves: short processes, bounded in time and output, of which none stays.

Knows no brand and reads no answer: a question says which line of the output is enough.

Touches: installed agents.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

MOST_BYTES = 32 * 1024 * 1024
_LEAVES_S = 0.3  # with its stdin closed, a process that has answered leaves by itself
_TERM_S = 0.5


class Question:
    """A program to start, what it reads, and what it may take.

    `enough` is asked of each line: once it says so, the rest is not waited for.
    """

    __slots__ = ("argv", "enough", "environment", "limit_s", "request")

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        limit_s: float,
        request: bytes = b"",
        enough: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.argv = list(argv)
        self.environment = environment
        self.limit_s = limit_s
        self.request = request
        self.enough = enough


def ask(questions: Sequence[Question]) -> list[bytes | None]:
    """Ask all at once; return what each printed on stdout, None where it did not answer in time."""
    with contextlib.ExitStack() as stack:
        asked = [stack.enter_context(_Asked(question)) for question in questions]
        while open_ones := [one for one in asked if not one.done]:
            poll = select.poll()
            by_handle = {one.handle: one for one in open_ones}
            for handle in by_handle:
                poll.register(handle, select.POLLIN)
            left = min(one.deadline for one in open_ones) - time.monotonic()
            for handle, _ in poll.poll(max(0, left) * 1000):
                by_handle[handle].take()
            for one in open_ones:
                one.give_up_in_time()
        return [one.answer for one in asked]


class _Asked:
    """One question under way: a process that leads a session of its own."""

    def __init__(self, question: Question) -> None:
        self.answer: bytes | None = None
        self.done = False
        self.handle = -1
        self.deadline = time.monotonic() + question.limit_s
        self._enough = question.enough
        self._question = question
        self._said = bytearray()
        self._seen = 0  # up to here the lines were looked at
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._process = subprocess.Popen(
                self._question.argv,
                env=self._question.environment,
                cwd="/",  # the answer must not depend on where somebody stands, nor hold a folder busy
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError):
            self.done = True
            return self
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.handle = self._process.stdout.fileno()
        with contextlib.suppress(OSError):
            self._process.stdin.write(self._question.request)
        if self._enough is None:
            self._process.stdin.close()
        return self

    def take(self) -> None:
        """Take what is there to be read."""
        piece = os.read(self.handle, 65536)
        self._said += piece
        if not piece:
            self.done = True
            self.answer = bytes(self._said) if self._enough is None else None
        elif len(self._said) > MOST_BYTES:
            self.done = True
        elif self._enough is not None and b"\n" in piece:
            self._look(self._enough)

    def give_up_in_time(self) -> None:
        """Stop waiting after the limit; one that has ended said all, though others may hold its output."""
        if self.done or time.monotonic() < self.deadline:
            return
        self.done = True
        if self._enough is None and self._is_over(0):
            self.answer = bytes(self._said)

    def _look(self, enough: Callable[[bytes], bool]) -> None:
        """Look at the lines that have become whole."""
        end = self._said.rfind(b"\n")
        for line in bytes(self._said[self._seen : end]).split(b"\n"):
            if enough(line):
                self.answer, self.done = line, True
                return
        self._seen = end + 1

    def __exit__(self, *_: object) -> None:
        """End the process and its group, gently first: it may hold a lock on its own files."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        answered = self.answer is not None
        if not (answered and self._is_over(_LEAVES_S)):
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)
            self._is_over(_TERM_S)
        self._signal(signal.SIGKILL)  # the leader is not reaped yet, so the group's number is still its own
        self._process.wait()
        self._process.stdout.close()

    def _is_over(self, limit_s: float) -> bool:
        """Wait until the process has ended, without reaping it; say whether it has."""
        assert self._process is not None
        try:
            handle = os.pidfd_open(self._process.pid)
        except ProcessLookupError:  # we were started so that the kernel reaps our children
            return True
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            return bool(poll.poll(limit_s * 1000))
        finally:
            os.close(handle)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
