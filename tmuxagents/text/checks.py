"""The result of one check of a machine, near or far, as a record and as a line. Pure."""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OK, WARNING, BROKEN = "ok", "warning", "broken"
_WIDTH = max(map(len, (OK, WARNING, BROKEN)))


class Check(NamedTuple):
    """One thing that was examined. `hint`: how to correct a problem."""

    name: str
    message: str
    state: str = OK
    hint: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"name": self.name, "state": self.state, "message": self.message, "hint": self.hint}

    def line(self) -> str:
        """Return the check as a line."""
        words = f"{self.name}: {self.message.rstrip('.')}." + (f" Fix: {self.hint}" if self.hint else "")
        return f"{self.state:<{_WIDTH}}  {safe.line(words)}"


def warning(name: str, message: str, hint: str) -> Check:
    """Return a check that found a problem, but runs still work."""
    return Check(name, message, WARNING, hint)


def broken(name: str, message: str, hint: str | None) -> Check:
    """Return a check that found a problem that prevents every run."""
    return Check(name, message, BROKEN, hint or "see the message")
