"""A talk with a person through the program that started us (JSON lines), and what /profile says in it.

Joins.
"""

from __future__ import annotations

import json
import os

import click

from tmuxagents.cli import printing
from tmuxagents.companion import profile_command
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.presets import change, editing, survey, wizard
from tmuxagents.presets.fields import GLOBAL, PROFILE
from tmuxagents.registry import lookup
from tmuxagents.settings import load
from tmuxagents.system.lifeline import Lifeline
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from tmuxagents.companion.profile_command import ProfileAnswer

INFO, WARNING, ERROR = "info", "warning", "error"


class PersonLeft(click.exceptions.Exit):
    """The person has left the talk, or there is nobody; nothing was changed."""

    def __init__(self) -> None:
        super().__init__(0)


class ParentTalk:
    """One talk. `alone`: there is nobody to ask, and what is said goes wherever that program puts it."""

    def __init__(self, *, alone: bool = False) -> None:
        self.alone = alone
        self._partner = Lifeline()

    def say(self, text: str, level: str = INFO) -> None:
        """Tell something."""
        printing.write(jsonline.encode({"say": safe.text(text), "level": level}))

    def select(self, title: str, options: Iterable[str]) -> str | None:
        """Ask for one of some lines, given as they are to be shown; None: for none of them."""
        answer = self._ask("select", title, options=[safe.text(option) for option in options])
        return answer if isinstance(answer, str) else None

    def confirm(self, title: str, text: str) -> bool:
        """Ask whether to go on."""
        return self._ask("confirm", title, text=text) is True

    def edit(self, title: str, text: str) -> str | None:
        """Let a person edit a text; None if they did not keep it."""
        answer = self._ask("editor", title, text=text)
        return answer if isinstance(answer, str) else None

    def input(self, title: str, text: str | None = None) -> str | None:
        """Ask for a line; None: they have left."""
        answer = self._ask("input", title, text=text)
        return answer if isinstance(answer, str) else None

    def cancelled(self) -> PersonLeft:
        """Say that nothing was changed; return what to raise."""
        self.say(profile_command.CANCELLED)
        return PersonLeft()

    def _ask(self, kind: str, title: str, **more: Any) -> Any:
        if self.alone:
            self.say("There is nobody here to ask.", ERROR)
            raise PersonLeft
        printing.write(jsonline.encode({"ask": kind, "title": safe.line(title), **more}))
        line = self._partner.line()
        if line is None:
            raise PersonLeft
        try:
            answer = json.loads(line)
        except ValueError:
            return None
        return answer.get("answer") if isinstance(answer, dict) else None


_SAVE, _DISCARD, _AGAIN = "Save", "Discard", "Edit again"
_NONE = "(none)"


def completions() -> list[str]:
    """Return all verbs and names that could be typed."""
    return profile_command.completions("", _profiles()) or []


def _profiles() -> dict[str, Mapping[str, Any]]:
    settings = load.load(os.environ, lookup.here().project)
    found = survey.survey(lookup.folder() or "/", os.environ, settings).presets
    return {one.name: one.fields for one in found if one.hidden_by is None}


def lead(talk: ParentTalk, line: str) -> None:
    """Carry out the words after /profile, and answer."""
    answer = profile_command.answer(line, _profiles())
    if answer.note is not None:
        level, text = answer.note
        talk.say(text, level)
    if answer.act is None or answer.name is None:
        return
    try:
        _ACTS[answer.act](talk, answer)
    except TmuxAgentsError as problem:
        talk.say(problem.message, ERROR)


def _shelf() -> change.PresetShelf:
    return change.PresetShelf(
        lookup.folder() or "/", os.environ, load.load(os.environ, lookup.here().project)
    )


def _create(talk: ParentTalk, answer: ProfileAnswer) -> None:
    name, shelf = str(answer.name), _shelf()
    answers = wizard.ask(PROFILE, name, GLOBAL, _InTalk(talk))
    if answers is None:
        raise talk.cancelled()
    draft = shelf.place(name, kind=PROFILE, source=answers.source)
    draft.text = editing.compose(name, answers.fields, PROFILE)
    talk.say(profile_command.saved(change.create(draft)))


def _edit(talk: ParentTalk, answer: ProfileAnswer) -> None:
    """Let the file that counts be edited as a text, until it is good."""
    draft = change.text_of(_shelf().named(str(answer.name))[0])
    text: str | None = draft.text
    before = draft.text
    while True:
        text = talk.edit(draft.path, text or "")
        if text is None or text == before:
            raise talk.cancelled()
        draft.text = text
        flaws = editing.flaws_of(draft)
        if not flaws:
            break
        talk.say("\n".join(flaw.words() for flaw in flaws), ERROR)
    talk.say(profile_command.saved(change.rewrite(draft)))


def _delete(talk: ParentTalk, answer: ProfileAnswer) -> None:
    """Remove all files of a name, after a confirmation."""
    if answer.question is None or answer.afterwards is None:
        return
    if not talk.confirm(*answer.question):
        return  # a no is no news
    change.remove(_shelf().named(str(answer.name)))
    level, text = answer.afterwards
    talk.say(text, level)


_ACTS = {profile_command.CREATE: _create, profile_command.EDIT: _edit, profile_command.DELETE: _delete}


class _InTalk:
    """The wizard's questions, put to the person in the talk."""

    def __init__(self, talk: ParentTalk) -> None:
        self._talk = talk

    def text(self, question: str) -> str:
        """Ask for a line, which may be empty."""
        return self._given(self._talk.input(question)).strip()

    def choice(self, question: str, choices: tuple[str, ...], default: str) -> str:
        """Ask for one of some words; the default comes first."""
        words = [default, *(word for word in choices if word != default)]
        chosen = self._given(self._talk.select(question, [word or _NONE for word in words]))
        return "" if chosen == _NONE and "" in choices else chosen

    def prompt(self, question: str) -> str:
        """Ask for a text of any length."""
        return self._given(self._talk.edit(question, "")).strip()

    def agrees(self, question: str, text: str) -> bool:
        """Show a text, and ask whether it is right."""
        return self._talk.confirm(question, text)

    def _given(self, answer: str | None) -> str:
        if answer is None:
            raise self._talk.cancelled()
        return answer
