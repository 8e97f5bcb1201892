"""The error tree: what went wrong, its exit code, and a hint on what to do. Pure.

A child that failed is not an error but data (see runs/endings). Errors are raised anywhere and caught in
`cli`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Fault:
    """One thing wrong with a request: several can be reported at once."""

    __slots__ = ("field", "kind", "message")

    def __init__(self, kind: str, message: str, *, field: str | None = None) -> None:
        self.kind = kind
        self.message = message
        self.field = field


class TmuxAgentsError(Exception):
    """Base of all errors that a person can act on."""

    exit_code = 70

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        hint: str | None = None,
        field: str | None = None,
        faults: Sequence[Fault] = (),
        candidates: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.hint = hint
        self.faults = list(faults) or [Fault(kind, message, field=field)]
        self.candidates = list(candidates)
        self.warnings: list[str] = []  # what was skipped before, and may be the reason


class BadRequest(TmuxAgentsError):
    """The request itself is wrong; nothing was made."""

    exit_code = 2


class BadConfig(TmuxAgentsError):
    """A file that was asked for is wrong; the message carries its path and the line or field."""

    exit_code = 2


class Unusable(TmuxAgentsError):
    """The machine cannot do it; the hint is one thing to try."""

    exit_code = 3


class NotPossible(TmuxAgentsError):
    """The run does not allow it."""

    exit_code = 4


class Interrupted(TmuxAgentsError):
    """Ctrl-C: the work was broken off."""

    exit_code = 130


class NoSuchRun(NotPossible):
    """No run, or more than one, has this name; the candidates have similar ones."""
