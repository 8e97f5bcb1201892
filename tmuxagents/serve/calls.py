"""One request that takes its time, and the process that carries it out."""

from __future__ import annotations

import json
import time

from tmuxagents.edges.subcall import Subcall
from tmuxagents.serve import protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.serve.protocol import Message, Request

ALIVE_S = 15.0  # so often a call that says nothing new is told of, so that no client gives it up
LONGEST_NAME, LONGEST_ADDRESS = 100, 1000
_WAITING = ("subagent", "delegate_to_subagents")


class Call:
    """A request, and its process."""

    def __init__(self, request: Request, process: Subcall, limit_s: float | None) -> None:
        self.request = request
        self.process = process
        self.is_answered = False
        self._goes_on = False  # whatever becomes of the client
        self.last: dict[str, Any] | None = None  # what was told last
        self.told = 0
        now = time.monotonic()
        self.tells_at = now + ALIVE_S
        self.gives_up_at = None if limit_s is None else now + limit_s

    @property
    def waits_for_children(self) -> bool:
        """Say whether it goes on as long as its children do."""
        return self.request.params.get("name") in _WAITING

    def let_go(self) -> None:
        """Let it go on to its end: from now on nothing stops it that the client does."""
        self._goes_on = True
        self.process.let_go()

    def cancel(self) -> None:
        """Ask it to end its children and then itself, unless it was let go."""
        if not self._goes_on:
            self.process.cancel()

    def progress(self, document: dict[str, Any] | None = None) -> Message | None:
        """Return how it stands, for a client that wants to know."""
        self.last = document or self.last
        self.tells_at = time.monotonic() + ALIVE_S
        self.told += 1
        if self.request.token is None or self.is_answered:
            return None
        text = self.last["content"][0]["text"] if self.last else "starting"
        return protocol.progressed(self.request, self.told, text)

    def answer(self, document: dict[str, Any]) -> Message:
        """Return the answer out of what the process came to."""
        made = protocol.called if self.request.method == protocol.CALL else protocol.read_out
        return made(self.request, document)


def begin(request: Request, options: Sequence[str], limit_s: float | None) -> Call | Message:
    """Start what a request asks for; return the error of one that cannot be meant. Raises OSError."""
    params = request.params
    if request.method == protocol.RESOURCES:
        return Call(request, Subcall([*options, "_resource"]), None)
    if request.method == protocol.READ:
        if not _is_word(params.get("uri"), LONGEST_ADDRESS):
            return protocol.error(request.id, protocol.BAD_PARAMS, "A resource is read by its uri.")
        return Call(request, Subcall([*options, "_resource", "--", params["uri"]]), None)
    if not _is_word(params.get("name"), LONGEST_NAME):
        return protocol.error(request.id, protocol.BAD_PARAMS, "A call has the name of a tool.")
    arguments = params.get("arguments")
    try:
        given = json.dumps({} if arguments is None else arguments).encode()
    except RecursionError:  # it could just be read
        return protocol.error(request.id, protocol.BAD_PARAMS, "These arguments are nested too deeply.")
    words = [*options, "call", "--stream", "--", params["name"], "-"]
    return Call(request, Subcall(words, given), limit_s)


def _is_word(value: Any, longest: int) -> bool:
    """Say whether this fits on a command line."""
    return isinstance(value, str) and 0 < len(value) <= longest and value.isprintable()
