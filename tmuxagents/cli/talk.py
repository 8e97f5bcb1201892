"""A talk with a person through the program that started us: JSON lines out and in."""

from __future__ import annotations

import json

import click

from tmuxagents import jsonline
from tmuxagents.cli import streams
from tmuxagents.core import preset_edit, sanitize
from tmuxagents.edges.lifeline import Lifeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

INFO, WARNING, ERROR = "info", "warning", "error"


class Left(click.exceptions.Exit):
    """The person has left the talk, or there is nobody; nothing was changed."""

    def __init__(self) -> None:
        super().__init__(0)


class Talk:
    """One talk. `alone`: there is nobody to ask, and what is said goes wherever that program puts it."""

    def __init__(self, *, alone: bool = False) -> None:
        self.alone = alone
        self._partner = Lifeline()

    def say(self, text: str, level: str = INFO) -> None:
        """Tell something."""
        streams.write(jsonline.encode({"say": sanitize.text(text), "level": level}))

    def select(self, title: str, options: Iterable[str]) -> str | None:
        """Ask for one of some lines, given as they are to be shown; None: for none of them."""
        answer = self._ask("select", title, options=[sanitize.text(option) for option in options])
        return answer if isinstance(answer, str) else None

    def confirm(self, title: str, text: str) -> bool:
        """Ask whether to go on."""
        return self._ask("confirm", title, text=text) is True

    def edit(self, title: str, text: str) -> str | None:
        """Let somebody edit a text; None if they did not keep it."""
        answer = self._ask("editor", title, text=text)
        return answer if isinstance(answer, str) else None

    def input(self, title: str, text: str | None = None) -> str | None:
        """Ask for a line; None: they have left."""
        answer = self._ask("input", title, text=text)
        return answer if isinstance(answer, str) else None

    def cancel(self) -> Left:
        """Say that nothing was changed."""
        self.say(preset_edit.CANCELLED)
        return Left()

    def _ask(self, kind: str, title: str, **more: Any) -> Any:
        if self.alone:
            self.say("There is nobody here to ask.", ERROR)
            raise Left
        streams.write(jsonline.encode({"ask": kind, "title": sanitize.line(title), **more}))
        line = self._partner.line()
        if line is None:
            raise Left
        try:
            answer = json.loads(line)
        except ValueError:
            return None
        return answer.get("answer") if isinstance(answer, dict) else None
