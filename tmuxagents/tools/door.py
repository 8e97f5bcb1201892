"""The caller of a tool with its folder and its receiver of progress, and the tool's answer. Joins."""

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
        """Reports requests to cancel a call, while it is entered."""

        @property
        def handle(self) -> int:
            """The descriptor that becomes readable when the call is to be cancelled."""

        def came(self) -> bool:
            """Say whether the call is to be cancelled."""

        def __enter__(self) -> Self: ...

        def __exit__(self, *_: object) -> None: ...


class Answer:
    """The answer of a tool."""

    __slots__ = ("details", "text", "warnings")

    def __init__(self, text: str, details: Mapping[str, Any], warnings: list[str] | None = None) -> None:
        self.text = text
        self.details = details
        self.warnings = warnings or []

    def document(self, *, whole: bool) -> dict[str, Any]:
        """Return the answer as JSON, with whole documents of runs or brief ones."""
        return answers.result(self.text, self.details if whole else answers.compact(self.details))


class Door:
    """The caller of a tool, in `folder` (None if that was removed).

    `hear` gets each progress document; without it there is no progress.
    """

    def __init__(  # noqa: PLR0913  (one field per fact about the caller)
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
        """Return a launcher for this caller."""
        umask = os.umask(0o077)  # what we make is private from here on
        return Launcher(self.caller, self.environment, umask=umask, socket=self._socket)

    def find(self, reference: str) -> str:
        """Return the directory of a run, or refuse in the words of the tools."""
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
    message = "The caller's working directory was removed."
    return BadRequest(message, kind="bad-cwd", hint="give cwd", field="cwd")
