"""A text of ours in front of a person's own value of a tmux option: put there, found again, taken away."""

from __future__ import annotations


class InFront:
    """One such text. `mark`: the part of it that says, wherever it stands, that it is ours."""

    __slots__ = ("_mark", "_text")

    def __init__(self, text: str, mark: str) -> None:
        self._text = text
        self._mark = mark

    def is_in(self, value: str) -> bool:
        """Say whether a value shows it already, wherever."""
        return self._mark in value

    def joined(self, value: str) -> str:
        """Return a value with it in front."""
        return self._text + value

    def parted(self, value: str) -> str | None:
        """Return a value without it; None where it does not stand as we put it."""
        rest = value.removeprefix(self._text)
        return None if rest == value or self.is_in(rest) else rest
