"""The MCP server: one loop over requests and the output of calls. Each call is a process. Joins.

So a call may take any time, end by a signal or crash, and the server still answers. The requests may also
come from a file: its end does not mean that the client has left, so the server answers all requests in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import signal
import stat
import time
from functools import partial

from tmuxagents.mcp import protocol, requests
from tmuxagents.mcp.requests import still_working
from tmuxagents.mcp.resources import Notices
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, BinaryIO

    from tmuxagents.mcp.protocol import Message, Request
    from tmuxagents.mcp.requests import CallProcess

MOST_AT_ONCE = 32
LONGEST_LINE = 16 * 1024 * 1024
LAST_ANSWERS_S = 20.0  # for the open requests of a client that has closed its end
_PIECE = 256 * 1024


class Server:
    """Serves one client. `options`: options of the command line for each call."""

    def __init__(
        self, reading: int, writing: int, *, offered: bool, limit_s: float | None, options: Sequence[str] = ()
    ) -> None:
        self._reading = reading
        self._writing, self._piece = _unblocked(writing)
        self._offered = offered
        self._limit_s = limit_s
        self._options = options
        self._selector = selectors.DefaultSelector()
        self._calls: dict[Any, CallProcess] = {}  # by the id of the request
        self._notices = Notices()
        self._begun = bytearray()
        self._skips = False  # skip the rest of a line that is too long
        self._file: BinaryIO | None = None  # set if the requests are a file
        self._is_heard = False  # all requests have come
        self._ends_at: float | None = None

    def serve(self) -> None:
        """Serve until the client leaves or a signal comes; then cancel the open calls."""
        self._waking, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        self._selector.register(self._waking, selectors.EVENT_READ, self._leave)
        try:
            self._selector.register(self._reading, selectors.EVENT_READ, self._hear)
        except PermissionError:  # epoll refuses regular files, which are always readable
            self._file = os.fdopen(self._reading, "rb", closefd=False)
        try:
            while not self._is_over():
                reads_on = self._file is not None and not self._is_heard and len(self._calls) < MOST_AT_ONCE
                for key, _ in self._selector.select(0 if reads_on else self._pause()):
                    key.data()
                if reads_on:
                    self._hear()
                self._look_at_clock()
        except BrokenPipeError:
            pass  # the client is gone
        finally:
            for call in self._calls.values():
                call.cancel()

    def _is_over(self) -> bool:
        if self._ends_at is not None and time.monotonic() >= self._ends_at:
            return True
        # A client that has closed its end waits for no children. The end of a file closes nothing.
        return self._is_heard and not any(
            self._file is not None or not call.waits_for_children for call in self._unanswered()
        )

    def _leave(self) -> None:
        self._ends_at = 0.0

    def _unanswered(self) -> list[CallProcess]:
        return [call for call in self._calls.values() if not call.is_answered]

    def _say(self, message: Message | None) -> None:
        rest = memoryview(jsonline.encode(message)) if message is not None else memoryview(b"")
        while rest:
            self._wait_for_room()
            with contextlib.suppress(BlockingIOError):  # the client made the pipe non-blocking
                rest = rest[os.write(self._writing, rest[: self._piece]) :]

    def _wait_for_room(self) -> None:
        """Wait until a write cannot block. Raises BrokenPipeError after a signal, or if the client has gone.

        A client that has closed its end gets some time to read its answers.
        """
        poll = select.poll()
        poll.register(self._writing, select.POLLOUT)
        poll.register(self._waking, select.POLLIN)
        poll.register(self._reading, select.POLLRDHUP)
        ends_at = self._ends_at
        while True:
            left_ms = None if ends_at is None else max(0, round((ends_at - time.monotonic()) * 1000))
            ready = dict(poll.poll(left_ms))
            if self._waking in ready or left_ms == 0:
                raise BrokenPipeError
            if self._writing in ready:
                return
            if self._reading in ready:
                poll.unregister(self._reading)
                ends_at = time.monotonic() + LAST_ANSWERS_S if ends_at is None else ends_at

    # --- requests -----------------------------------------------------------------------------------------

    def _hear(self) -> None:
        try:
            piece = self._file.readline(_PIECE) if self._file else os.read(self._reading, _PIECE)
        except BlockingIOError:
            return
        if piece:
            *lines, rest = piece.split(b"\n")
            for line in lines:
                self._take_line(line)
            self._collect(rest)
            return
        self._take_line(b"")  # the last line may lack a newline
        self._is_heard = True
        if self._file is None:  # the client has closed its end, but may still read its answers
            self._selector.unregister(self._reading)
            self._ends_at = time.monotonic() + LAST_ANSWERS_S
            for call in self._calls.values():
                if call.waits_for_children:
                    call.cancel()

    def _collect(self, piece: bytes) -> bool:
        """Keep a part of a line, unless the line is too long."""
        if not self._skips and len(self._begun) + len(piece) > LONGEST_LINE:
            self._begun.clear()
            self._skips = True
            self._say(protocol.error(None, protocol.INVALID, "This message is too long."))
        if not self._skips:
            self._begun += piece
        return not self._skips

    def _take_line(self, end: bytes) -> None:
        """Take the end of a line, and do what the whole line says."""
        is_whole = self._collect(end)
        line = bytes(self._begun).strip()
        self._begun.clear()
        self._skips = False
        taken = protocol.read(line) if is_whole and line else None
        if taken is None or isinstance(taken, dict):
            self._say(taken)
        elif taken.id is None:
            own = protocol.cancelled_id(taken)
            call = self._calls.get(own)
            if call is not None:
                call.is_answered = True  # a cancelled request gets no answer
                call.cancel()
            self._notices.drop(own)
        else:
            for notice in self._notices.hear(taken):
                self._say(notice)
            if self._offered and protocol.is_subscription(taken):
                for message in self._notices.subscribe(taken):
                    self._say(message)
                return
            answer = protocol.answer(taken, offered=self._offered)
            if answer is not None:
                self._say(answer)
            else:
                self._begin(taken)

    # --- calls --------------------------------------------------------------------------------------------

    def _begin(self, request: Request) -> None:
        call: CallProcess | Message
        if request.id in self._calls:
            call = protocol.error(request.id, protocol.INVALID, "This id is in use.")
        elif len(self._calls) >= MOST_AT_ONCE:
            call = protocol.failed(request, f"{MOST_AT_ONCE} calls are at work: wait for one of them.")
        else:
            try:
                call = requests.begin(request, self._options, self._limit_s)
            except OSError as why:
                call = protocol.failed(request, f"The call cannot be started: {why.strerror}.")
        if isinstance(call, dict):
            self._say(call)
        else:
            self._calls[request.id] = call
            self._selector.register(call.process.handle, selectors.EVENT_READ, partial(self._listen, call))

    def _listen(self, call: CallProcess) -> None:
        for line in call.process.lines():
            try:
                document = json.loads(line)
            except ValueError:
                continue
            if document.get("type") == "progress":
                self._say(call.progress(document))
                continue
            if call.request.params.get("name") == "background_agent":
                self._notices.watch(document)
            self._answer(call, call.answer(document))
        if call.process.is_over:
            self._selector.unregister(call.process.handle)
            code = call.process.close()
            self._answer(call, protocol.failed(call.request, f"The call failed (exit code {code})."))
            self._calls = {own: other for own, other in self._calls.items() if other is not call}

    def _answer(self, call: CallProcess, message: Message) -> None:
        if not call.is_answered:
            call.is_answered = True
            self._say(message)

    # --- time ---------------------------------------------------------------------------------------------

    def _pause(self) -> float | None:
        """Return the time until the next timed step in seconds, None if there is none."""
        moments = [call.tells_at for call in self._unanswered()]
        moments += [call.gives_up_at for call in self._unanswered() if call.gives_up_at is not None]
        moments += [self._ends_at] if self._ends_at is not None else []
        pauses = [max(0.0, min(moments) - time.monotonic())] if moments else []
        pause = self._notices.pause()
        return min([*pauses, pause]) if pause is not None else min(pauses, default=None)

    def _look_at_clock(self) -> None:
        for notice in self._notices.news():
            self._say(notice)
        now = time.monotonic()
        for call in self._unanswered():
            if call.gives_up_at is not None and now >= call.gives_up_at:
                call.let_go()
                self._answer(
                    call, protocol.called(call.request, still_working(call.last, self._limit_s or 0))
                )
            elif now >= call.tells_at:
                self._say(call.progress())


def _unblocked(handle: int) -> tuple[int, int]:
    """Return a handle of the same pipe that does not block, and how many bytes to write at once.

    The handle that the client gave us is not changed. If it cannot be opened anew, PIPE_BUF bytes are written
    at once, because a handle that is ready has room for that many.
    """
    if stat.S_ISFIFO(os.fstat(handle).st_mode):
        with contextlib.suppress(OSError):  # the pipe belongs to another user
            return os.open(f"/proc/self/fd/{handle}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC), _PIECE
    return handle, select.PIPE_BUF
