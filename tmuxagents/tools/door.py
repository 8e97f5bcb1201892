"""Who calls a tool, from where, how it hears of the call meanwhile; and what a tool has come to. Joins."""

from __future__ import annotations

import os

from tmuxagents.errors import BadRequest, NoSuchRun
from tmuxagents.launch.launch import Launcher
from tmuxagents.registry import lookup
from tmuxagents.tools import answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol, Self

    class Interrupts(Protocol):
        """What tells that a call is to be cancelled, while it is entered."""

        @property
        def handle(self) -> int:
            """The descriptor that can be read then."""

        def came(self) -> bool:
            """Say whether it is."""

        def __enter__(self) -> Self: ...

        def __exit__(self, *_: object) -> None: ...


class Answer:
    """What a tool has come to."""

    __slots__ = ("details", "text", "warnings")

    def __init__(self, text: str, details: Mapping[str, Any], warnings: list[str] | None = None) -> None:
        self.text = text
        self.details = details
        self.warnings = warnings or []

    def document(self) -> dict[str, Any]:
        """Return the JSON of it."""
        return answers.result(self.text, self.details)


class Door:
    """Who calls, standing in `folder` unless that was removed.

    `hear` gets each line of progress; without it nobody is told before the end.
    """

    def __init__(  # noqa: PLR0913  (one field a fact of who calls)
        self,
        caller: lookup.Caller,
        environment: Mapping[str, str],
        *,
        interrupts: Interrupts,
        folder: str | None,
        socket: str | None = None,
        hear: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.caller = caller
        self.folder = folder
        self.environment = environment
        self.interrupts = interrupts
        self.hear = hear
        self._socket = socket

    def launcher(self) -> Launcher:
        """Return the caller as one who launches."""
        umask = os.umask(0o077)  # what we make is private from here on
        return Launcher(self.caller, self.environment, umask=umask, socket=self._socket)

    def find(self, reference: str) -> str:
        """Return the directory of the run that is meant, or refuse in the words of the tools."""
        try:
            return lookup.find_run(reference, self.caller)
        except NoSuchRun as unknown:
            if unknown.kind != "unknown-run":
                raise
            message = answers.not_found(reference)
            raise NoSuchRun(
                message, kind=unknown.kind, hint=unknown.hint, field="runId", candidates=unknown.candidates
            ) from unknown


def no_cwd() -> BadRequest:
    """Return the refusal of a call without `cwd` whose caller's own folder was removed."""
    message = "The folder that the caller stands in was removed."
    return BadRequest(message, kind="bad-cwd", hint="give cwd", field="cwd")
