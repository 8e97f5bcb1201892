"""The tree of errors, each with a message, an exit code and, if there is one, a hint on what to do. Pure.

A child that failed is not an error but data (see runs/endings). Errors are raised anywhere. They are caught
at the boundaries that docs/architecture.md lists, such as `cli` and `wrapper/run`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Fault:
    """One fault of a request; several can be reported at once."""

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
        self.warnings: list[str] = []  # about parts that were skipped before; they may be the reason


class BadRequest(TmuxAgentsError):
    """The request itself is wrong; nothing was made."""

    exit_code = 2


class BadConfig(TmuxAgentsError):
    """A requested file is invalid; the message has its path and the line or field."""

    exit_code = 2


class Unusable(TmuxAgentsError):
    """The machine cannot do what was requested; the hint is one thing to try."""

    exit_code = 3


class NotPossible(TmuxAgentsError):
    """The run does not allow what was requested."""

    exit_code = 4


class Interrupted(TmuxAgentsError):
    """The work was interrupted by Ctrl-C."""

    exit_code = 130


class NoSuchRun(NotPossible):
    """No run, or more than one, has this name; the candidates are similar names."""
