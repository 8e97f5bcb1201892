"""pi's own session file: whether a child can continue it, and in which folder. Pure.

pi skips what it cannot read, and silently forgets everything before an entry whose predecessor is missing. So
this module checks that a file is complete, before a child continues it.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ChildSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FOREIGN = "is not a session of pi"
_BROKEN = "is incomplete: a part of the conversation is missing"
_SILENT = "holds no conversation"


def read(text: str) -> ChildSession:
    """Return the session in a file, without an incomplete last line, or the problem with it."""
    *lines, tail = text.split("\n")
    if _parse(tail) is not None:  # complete, but for its newline
        lines.append(tail)
    tree = _Tree()
    for number, line in enumerate(lines, 1):
        entry = _parse(line)
        if entry is not None:
            tree.take(entry)
        elif line.strip():
            return ChildSession(problem=f"is damaged (line {number})" if tree.header else _FOREIGN)
    problem = tree.problem()
    if problem is not None:
        return ChildSession(problem=problem)
    return ChildSession("".join(f"{line}\n" for line in lines), cwd=tree.cwd)


def _parse(line: str) -> dict[str, Any] | None:
    return raw_json.parse(line.encode("utf-8"))


class _Tree:
    """The entries of a file, each with its predecessor; the conversation ends with the last entry."""

    def __init__(self) -> None:
        self.header: dict[str, Any] | None = None
        self._parents: dict[str, Any] = {}
        self._last: Any = None
        self._said = False

    def take(self, entry: dict[str, Any]) -> None:
        if self.header is None:
            self.header = entry
            return
        self._said = self._said or entry.get("type") == "message"
        if isinstance(entry.get("id"), str):
            self._last = entry["id"]
            self._parents[self._last] = entry.get("parentId")

    @property
    def cwd(self) -> str:
        """Return the session's working directory."""
        cwd = (self.header or {}).get("cwd")
        return cwd if isinstance(cwd, str) else ""

    def problem(self) -> str | None:
        """Return why no child could continue it."""
        if self.header is None:
            return _SILENT
        if self.header.get("type") != "session" or not isinstance(self.header.get("id"), str):
            return _FOREIGN
        if not self.cwd.startswith("/"):
            return _FOREIGN
        if not self._said:
            return _SILENT
        left, at = dict(self._parents), self._last
        while at is not None:
            if not isinstance(at, str) or at not in left:
                return _BROKEN
            at = left.pop(at)  # so that a cycle is found, too
        return None
