"""What /profile does inside a parent: the words of core/profile_command, the questions of the wizard."""

from __future__ import annotations

import os

from tmuxagents import configured
from tmuxagents.cli import calling, preset_wizard
from tmuxagents.cli.talk import ERROR
from tmuxagents.commands import edit_presets, presets
from tmuxagents.core import preset_edit, profile_command
from tmuxagents.core.preset_fields import GLOBAL, PROFILE
from tmuxagents.errors import TmuxAgentsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import click

    from tmuxagents.cli.talk import Talk
    from tmuxagents.core.profile_command import Answer

_SAVE, _DISCARD, _AGAIN = "Save", "Discard", "Edit again"
_NONE = "(none)"


def completions() -> list[str]:
    """Return all verbs and names that could be typed."""
    return [*preset_edit.COMPLETED, *_profiles()]


def _profiles() -> dict[str, Mapping[str, Any]]:
    folder = calling.folder() or "/"
    settings = configured.load(os.environ, calling.caller().project)
    found = presets.survey(folder, os.environ, settings).presets
    return {one.name: one.fields for one in found if one.hidden_by is None}


def lead(talk: Talk, line: str) -> None:
    """Answer what stands behind /profile, and do what it says."""
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


def _shelf() -> edit_presets.Shelf:
    folder = calling.folder() or "/"
    return edit_presets.Shelf(folder, os.environ, configured.load(os.environ, calling.caller().project))


def _create(talk: Talk, answer: Answer) -> None:
    name, shelf = str(answer.name), _shelf()
    answers = preset_wizard.ask(name, PROFILE, GLOBAL, _InTalk(talk))
    draft = shelf.place(name, kind=PROFILE, source=answers.source)
    draft.text = preset_edit.compose(name, answers.fields, PROFILE)
    talk.say(preset_edit.saved(edit_presets.create(draft)))


def _edit(talk: Talk, answer: Answer) -> None:
    """Let the file that counts be edited as a text, until it is good."""
    draft = edit_presets.text_of(_shelf().named(str(answer.name))[0])
    text: str | None = draft.text
    before = draft.text
    while True:
        text = talk.edit(draft.path, text or "")
        if text is None or text == before:
            raise talk.cancel()
        draft.text = text
        flaws = preset_edit.flaws_of(draft)
        if not flaws:
            break
        talk.say("\n".join(flaw.words() for flaw in flaws), ERROR)
    talk.say(preset_edit.saved(edit_presets.rewrite(draft)))


def _delete(talk: Talk, answer: Answer) -> None:
    """Remove all files of a name, once somebody has said so."""
    if answer.question is None or answer.afterwards is None:
        return
    if not talk.confirm(*answer.question):
        return  # a no is no news
    edit_presets.remove(_shelf().named(str(answer.name)))
    level, text = answer.afterwards
    talk.say(text, level)


_ACTS = {profile_command.CREATE: _create, profile_command.EDIT: _edit, profile_command.DELETE: _delete}


class _InTalk:
    """The wizard's questions, put to the person in the talk."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def text(self, question: str) -> str:
        """Ask for a line; an empty one is none."""
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

    def cancel(self) -> click.exceptions.Exit:
        """Return what to raise if it is not."""
        return self._talk.cancel()

    def _given(self, answer: str | None) -> str:
        if answer is None:
            raise self.cancel()
        return answer
