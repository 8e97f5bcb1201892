"""Long requests, each carried out by a process.

Each process leads its own process session. So a signal to the server's process group does not reach it, and
the process has time to end its children. If the server is killed, the process gets SIGINT.

Joins.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

from tmuxagents.mcp import protocol
from tmuxagents.text import safe
from tmuxagents.tools import answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.mcp.protocol import Message, Request

ALIVE_S = 15.0  # a silent call reports progress this often, so that no client gives up
LONGEST_NAME, LONGEST_ADDRESS = 100, 1000
_WAITING = ("subagent", "delegate_to_subagents")


class CallProcess:
    """A request and its process."""

    def __init__(self, request: Request, process: Subcall, limit_s: float | None) -> None:
        self.request = request
        self.process = process
        self.is_answered = False
        self._goes_on = False  # even if the client leaves or cancels
        self.last: dict[str, Any] | None = None  # the last progress document
        self.reports = 0  # reports of progress
        now = time.monotonic()
        self.tells_at = now + ALIVE_S
        self.gives_up_at = None if limit_s is None else now + limit_s

    @property
    def waits_for_children(self) -> bool:
        """Say whether the call lasts until its children have ended, or waits for the end of a run."""
        arguments = self.request.params.get("arguments")
        waits = isinstance(arguments, dict) and arguments.get("wait") is not None
        return self.request.params.get("name") in _WAITING or waits

    def let_go(self) -> None:
        """Let the call run to its end: from now on the client cannot stop it."""
        self._goes_on = True
        self.process.let_go()

    def cancel(self) -> None:
        """Make the process end its children and then itself, unless it was let go."""
        if not self._goes_on:
            self.process.cancel()

    def progress(self, document: dict[str, Any] | None = None) -> Message | None:
        """Note a progress document, if any; return the report, None if the client wants none."""
        self.last = document or self.last
        self.tells_at = time.monotonic() + ALIVE_S
        self.reports += 1
        if self.request.token is None or self.is_answered:
            return None
        text = self.last["content"][0]["text"] if self.last else "starting"
        return protocol.progressed(self.request, self.reports, text)

    def answer(self, document: dict[str, Any]) -> Message:
        """Return the answer to the client, made from the document that the process printed."""
        made = protocol.called if self.request.method == protocol.CALL else protocol.read_out
        return made(self.request, document)


def begin(request: Request, options: Sequence[str], limit_s: float | None) -> CallProcess | Message:
    """Start a call for a request; return an error for a malformed request. Raises OSError."""
    params = request.params
    if request.method == protocol.RESOURCES:
        return CallProcess(request, Subcall([*options, "_resource"]), None)
    if request.method == protocol.READ:
        if not _is_word(params.get("uri"), LONGEST_ADDRESS):
            return protocol.error(request.id, protocol.BAD_PARAMS, "resources/read needs a uri.")
        return CallProcess(request, Subcall([*options, "_resource", "--", params["uri"]]), None)
    if not _is_word(params.get("name"), LONGEST_NAME):
        return protocol.error(request.id, protocol.BAD_PARAMS, "tools/call needs the name of a tool.")
    arguments = params.get("arguments")
    try:
        given = json.dumps({} if arguments is None else arguments).encode()
    except RecursionError:  # json.loads accepts a little more depth
        return protocol.error(request.id, protocol.BAD_PARAMS, "These arguments are nested too deeply.")
    words = [*options, "call", "--stream", "--", params["name"], "-"]
    return CallProcess(request, Subcall(words, given), limit_s)


def _is_word(value: Any, longest: int) -> bool:
    """Say whether a value can be an argument on a command line."""
    return isinstance(value, str) and 0 < len(value) <= longest and value.isprintable()


_PIECE = 1024 * 1024
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class Subcall:
    """The process that carries out one call."""

    def __init__(self, words: Sequence[str], content: bytes = b"") -> None:
        command = [sys.executable, "-P", "-m", "tmuxagents", *words]
        caller = os.getpid()
        stdin = os.memfd_create("arguments")  # unlike a pipe, it holds any number of bytes
        with open(stdin, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(stdin, 0, os.SEEK_SET)

        def end_with_server() -> None:
            # Both stay blocked until system/lifeline handles them: a signal during the start could be lost.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGUSR1])
            _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
            if os.getppid() != caller:
                os._exit(1)  # the server was killed before prctl took effect

        try:
            self._process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=end_with_server,  # noqa: PLW1509  (this program has one thread)
            )
        finally:
            os.close(stdin)
        assert self._process.stdout is not None
        self.handle = self._process.stdout.fileno()
        os.set_blocking(self.handle, False)
        self._begun = b""
        self.is_over = False

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that have come whole. Afterwards `is_over` says whether the output has ended."""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.handle, _PIECE):
                *whole, self._begun = (self._begun + piece).split(b"\n")
                yield from whole
            self.is_over = True

    def cancel(self) -> None:
        """Make the process end its children and then itself."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def let_go(self) -> None:
        """Make the process continue despite later signals, and even if the server ends."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGUSR1)

    def close(self) -> int | None:
        """Stop reading; return the exit code, or None if the process still runs."""
        assert self._process.stdout is not None
        self._process.stdout.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(1.0 if self.is_over else 0.0)
        return None


def still_working(last: Mapping[str, Any] | None, limit_s: float) -> dict[str, Any]:
    """Return the document that answers a call that is not done in time. `last`: its last progress."""
    details: Mapping[str, Any] = last["details"] if last is not None else {}
    lines = [f"Not done after {limit_s:g} s. It goes on; ask again later:"]
    lines += [
        f'{_called(run)} {run["status"]}: background_agent_status {{"runId": "{run["runId"]}"}}'
        for run in details.get("runs", ())
    ]
    for window in details.get("windows", ()):
        ask = f'get_subagent_output {{"sessionId": "{window["sessionId"]}"}}'
        lines.append(f"{_called(window)} {window['state']}: {ask}")
    return answers.result("\n".join(lines), details)


def _called(run: Mapping[str, Any]) -> str:
    return safe.line(str(run.get("name") or run.get("preset") or "agent"))
