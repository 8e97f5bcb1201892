"""The MCP server: one loop over what the client says and what its calls print. Each call is a process.

So a call can take as long as it likes, be ended by a signal, or break, and the server answers on.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import time

from tmuxagents import jsonline
from tmuxagents.edges.subcall import Subcall
from tmuxagents.serve import protocol
from tmuxagents.serve.waiting import still_working

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.serve.protocol import Message, Request

MOST_AT_ONCE = 32
LONGEST_LINE = 16 * 1024 * 1024
LONGEST_NAME = 100
ALIVE_S = 15.0  # so often a call that says nothing new is told of, so that no client gives it up
_PIECE = 256 * 1024


class Call:
    """One call of a client, and the process that carries it out."""

    def __init__(self, request: Request, process: Subcall, limit_s: float | None) -> None:
        self.request = request
        self.process = process
        self.is_answered = False
        self.last: dict[str, Any] | None = None  # what was told last
        self.told = 0
        now = time.monotonic()
        self.tells_at = now + ALIVE_S
        self.gives_up_at = None if limit_s is None else now + limit_s

    def progress(self, document: dict[str, Any] | None = None) -> Message | None:
        """Return how it stands, for a client that wants to know."""
        self.last = document or self.last
        self.tells_at = time.monotonic() + ALIVE_S
        self.told += 1
        if self.request.token is None or self.is_answered:
            return None
        text = self.last["content"][0]["text"] if self.last else "starting"
        return protocol.progressed(self.request, self.told, text)


class Server:
    """Serves one client. `options` are those of the command line that hold for each call."""

    def __init__(
        self, reading: int, writing: int, *, offered: bool, limit_s: float | None, options: Sequence[str] = ()
    ) -> None:
        self._reading = reading
        self._writing = writing
        self._offered = offered
        self._limit_s = limit_s
        self._options = options
        self._selector = selectors.DefaultSelector()
        self._calls: dict[Any, Call] = {}  # by the id of the request; those that were answered by another key
        self._begun = bytearray()
        self._skips = False  # the rest of a line that is too long
        self._goes_on = True

    def serve(self) -> None:
        """Serve until the client leaves or a signal comes; then nothing that it waits for is left at work."""
        waking, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        self._selector.register(waking, selectors.EVENT_READ, self._leave)
        self._selector.register(self._reading, selectors.EVENT_READ, self._hear)
        try:
            while self._goes_on:
                for key, _ in self._selector.select(self._pause()):
                    key.data()
                self._look_at_clock()
        except BrokenPipeError:
            pass  # nobody hears us any more
        finally:
            for call in self._calls.values():
                call.process.cancel()

    def _leave(self) -> None:
        self._goes_on = False

    def _say(self, message: Message | None) -> None:
        rest = memoryview(jsonline.encode(message)) if message is not None else memoryview(b"")
        while rest:
            rest = rest[os.write(self._writing, rest) :]

    # --- what the client says -----------------------------------------------------------------------------

    def _hear(self) -> None:
        piece = os.read(self._reading, _PIECE)
        if not piece:
            self._leave()
            return
        *lines, rest = piece.split(b"\n")
        for line in lines:
            self._take_line(line)
        self._collect(rest)

    def _collect(self, piece: bytes) -> bool:
        """Keep a part of a line, unless it belongs to one that nobody can have meant."""
        if not self._skips and len(self._begun) + len(piece) > LONGEST_LINE:
            self._begun.clear()
            self._skips = True
            self._say(protocol.error(None, protocol.INVALID, "This message is too long."))
        if not self._skips:
            self._begun += piece
        return not self._skips

    def _take_line(self, end: bytes) -> None:
        whole = self._collect(end)
        line = bytes(self._begun).strip()
        self._begun.clear()
        self._skips = False
        if whole and line:
            self._take(protocol.read(line))

    def _take(self, said: Request | Message | None) -> None:
        if said is None or isinstance(said, dict):
            self._say(said)
        elif said.id is None:
            self._cancel(protocol.cancelled_id(said))
        else:
            answer = protocol.answer(said, offered=self._offered)
            if answer is not None:
                self._say(answer)
            else:
                self._begin(said)

    def _cancel(self, own: Any) -> None:
        call = self._calls.get(own)
        if call is not None:
            call.is_answered = True  # who has cancelled a request wants no answer
            call.process.cancel()

    # --- calls --------------------------------------------------------------------------------------------

    def _begin(self, request: Request) -> None:
        name, arguments = request.params.get("name"), request.params.get("arguments")
        if not _is_name(name):
            self._say(protocol.error(request.id, protocol.BAD_PARAMS, "A call has the name of a tool."))
        elif request.id in self._calls:
            self._say(protocol.error(request.id, protocol.INVALID, "This id is in use."))
        elif len(self._calls) >= MOST_AT_ONCE:
            self._say(protocol.failed(request, f"{MOST_AT_ONCE} calls are at work: wait for one of them."))
        else:
            given = json.dumps({} if arguments is None else arguments).encode()
            self._start(request, str(name), given)

    def _start(self, request: Request, name: str, arguments: bytes) -> None:
        try:
            process = Subcall(name, arguments, self._options)
        except OSError as why:
            self._say(protocol.failed(request, f"The call cannot be started: {why.strerror}."))
            return
        call = Call(request, process, self._limit_s)
        self._calls[request.id] = call
        self._selector.register(process.handle, selectors.EVENT_READ, lambda: self._listen(call))

    def _listen(self, call: Call) -> None:
        for line in call.process.lines():
            with contextlib.suppress(ValueError):
                self._pass_on(call, json.loads(line))
        if call.process.is_over:
            self._selector.unregister(call.process.handle)
            code = call.process.close()
            self._answer(call, protocol.failed(call.request, f"The call broke off (exit code {code})."))
            self._calls = {own: other for own, other in self._calls.items() if other is not call}

    def _pass_on(self, call: Call, document: dict[str, Any]) -> None:
        if document.get("type") == "progress":
            self._say(call.progress(document))
        else:
            self._answer(call, protocol.called(call.request, document))

    def _answer(self, call: Call, message: Message) -> None:
        if not call.is_answered:
            call.is_answered = True
            self._say(message)

    # --- time ---------------------------------------------------------------------------------------------

    def _pause(self) -> float | None:
        """Return how long nothing is to be done by the clock."""
        open_calls = [call for call in self._calls.values() if not call.is_answered]
        moments = [call.tells_at for call in open_calls]
        moments += [call.gives_up_at for call in open_calls if call.gives_up_at is not None]
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        for call in [call for call in self._calls.values() if not call.is_answered]:
            if call.gives_up_at is not None and now >= call.gives_up_at:
                self._answer(
                    call, protocol.called(call.request, still_working(call.last, self._limit_s or 0))
                )
            elif now >= call.tells_at:
                self._say(call.progress())


def _is_name(name: Any) -> bool:
    """Say whether a tool could be called so: a word that fits on a command line."""
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()
