"""Ask installed agents about themselves, by short processes with limits of time and output.

This module knows no particular agent and parses no answer: a question decides which line of output is enough.

Touches: installed agents.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from typing import NamedTuple

from tmuxagents.system import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

MOST_BYTES = 32 * 1024 * 1024
_LEAVES_S = 0.3  # a process that has answered exits by itself once its stdin is closed
_TERM_S = 0.5


class Question(NamedTuple):
    """A program to start, its input and its limits.

    `enough` decides whether a line is the answer. The output after the answer is not read.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    limit_s: float
    request: bytes = b""
    enough: Callable[[bytes], bool] | None = None


def ask(questions: Sequence[Question]) -> list[bytes | None]:
    """Ask all at once. Return each one's stdout or answering line; None for one that was not in time."""
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
    """One question in progress: a process that leads its own session."""

    def __init__(self, question: Question) -> None:
        self.answer: bytes | None = None
        self.done = False
        self.handle = -1
        self.deadline = time.monotonic() + question.limit_s
        self._enough = question.enough
        self._question = question
        self._output = bytearray()
        self._seen = 0  # lines before this offset have been checked
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._process = subprocess.Popen(
                self._question.argv,
                env=self._question.environment,
                cwd="/",  # the caller's folder could change the answer, and could not be unmounted meanwhile
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
        """Read what has come; a line that is the answer ends the question."""
        piece = os.read(self.handle, 65536)
        self._output += piece
        if not piece:
            self.done = True
            self.answer = bytes(self._output) if self._enough is None else None
        elif len(self._output) > MOST_BYTES:
            self.done = True
        elif self._enough is not None and b"\n" in piece:
            end = self._output.rfind(b"\n")
            complete = bytes(self._output[self._seen : end]).split(b"\n")
            self.answer = next(filter(self._enough, complete), None)
            self.done = self.answer is not None
            self._seen = end + 1

    def give_up_in_time(self) -> None:
        """Stop waiting after the limit. An ended process has answered, even if others hold its pipe."""
        if self.done or time.monotonic() < self.deadline:
            return
        self.done = True
        if self._enough is None and self._is_over(0):
            self.answer = bytes(self._output)

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
            process.send_group(self._process.pid, signal.SIGTERM, signal.SIGCONT)
            self._is_over(_TERM_S)
        process.send_group(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()

    def _is_over(self, limit_s: float) -> bool:
        """Wait until the process has ended, without reaping it; say whether it has."""
        assert self._process is not None
        try:
            handle = os.pidfd_open(self._process.pid)
        except ProcessLookupError:  # SIGCHLD is ignored, so the kernel reaps our children
            return True
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            return bool(poll.poll(limit_s * 1000))
        finally:
            os.close(handle)
