"""Calls that a child gives no id: told once, though answers name them, and they begin, and end, and again."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST = 1000


class Nameless:
    """The calls without an id that have been told and not yet begun, and those that have no result."""

    __slots__ = ("_told", "_unanswered")

    def __init__(self) -> None:
        self._told: list[tuple[str, Any]] = []
        self._unanswered: list[str] = []

    def answer_begins(self) -> None:
        """Forget what an answer named and what never began: the next one names its own."""
        self._told.clear()

    def tell(self, tool: str, args: Any) -> None:
        """Take note of a call that an answer named."""
        self._told.append((tool, args))
        self.begin(tool)

    def begin(self, tool: str) -> None:
        """Take note of a call that waits for its result."""
        self._unanswered.append(tool)
        del self._unanswered[:-_MOST]

    def was_told(self, tool: str, args: Any) -> bool:
        """Say whether a call that begins is one that was told; it is so once."""
        if not self._told:
            return False
        exact = [number for number, call in enumerate(self._told) if call == (tool, args)]
        alike = exact or [number for number, call in enumerate(self._told) if call[0] == tool]
        if alike:
            del self._told[alike[0]]
        return bool(alike)

    def waits(self, tool: str | None) -> bool:
        """Say whether a call of this tool waits for its result; any call, if the tool is not said."""
        return bool(self._unanswered) if tool is None else tool in self._unanswered

    def end(self, tool: str | None) -> None:
        """Take note of a result: the oldest call that it can belong to has it."""
        if self.waits(tool):
            del self._unanswered[0 if tool is None else self._unanswered.index(tool)]
