"""Questions about a new preset or profile, in a fixed order, and texts in an editor. Writes nothing.

An empty answer leaves a field out. Whoever leaves, wherever that is, has changed nothing.
"""

from __future__ import annotations

import signal
import sys

import click

from tmuxagents.cli import streams, words
from tmuxagents.core import preset_edit, preset_fields, preset_words, sanitize
from tmuxagents.core.preset_fields import BODY, DESCRIPTION, GLOBAL, PRESET, PROJECT
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.core.preset_edit import Draft

_NONE, _ALLOW, _BLOCK, _REMOVE, _ADD = "none", "allowlist", "blacklist", "remove", "add"
_EDITOR = "e"


class Cancelled(click.exceptions.Exit):
    """Somebody has left; nothing was changed."""

    def __init__(self, code: int = 0) -> None:
        words.lines([preset_edit.CANCELLED], streams.ERR)
        super().__init__(code)


class Answers:
    """What the answers came to."""

    __slots__ = ("fields", "source")

    def __init__(self, source: str, fields: dict[str, Any]) -> None:
        self.source = source
        self.fields = fields


def is_possible() -> bool:
    """Say whether there is a terminal to ask on."""
    return sys.stdin.isatty() and streams.is_terminal(streams.ERR)


def ask(name: str, kind: str, source: str) -> Answers:
    """Ask for all fields, show them, and return them if they are to be saved."""
    try:
        answers = Answers(_choice("Scope", (GLOBAL, PROJECT), source), {})
        for step in _STEPS[kind]:
            answers.fields |= {key: value for key, value in step().items() if value}
        words.lines(sanitize.text(preset_words.detail(name, answers.fields, kind)).split("\n"), streams.ERR)
        is_wanted = click.confirm("Save?", default=True, err=True)
    except click.Abort:
        words.lines([""], streams.ERR)
        raise Cancelled(128 + signal.SIGINT) from None
    if not is_wanted:
        raise Cancelled
    return answers


# --- the steps --------------------------------------------------------------------------------------------


def _text(question: str) -> str:
    answer: str = click.prompt(question, default="", show_default=False, err=True)
    return answer.strip()


def _choice(question: str, choices: tuple[str, ...], default: str) -> str:
    """Ask for one of some words; an empty default leaves the field out, and is not shown as one."""
    shown = f"{question} ({', '.join(filter(None, choices))})"
    which = click.Choice(choices)
    answer: str = click.prompt(
        shown, type=which, default=default, show_default=bool(default), show_choices=False, err=True
    )
    return answer


def _list(question: str) -> list[str]:
    return [word.strip() for word in _text(f"{question} (with commas between)").split(",") if word.strip()]


def _prompt(question: str) -> str:
    answer = _text(f"{question} ({_EDITOR}: in an editor)")
    return (_edited("") or "").strip() if answer == _EDITOR else answer


def _description() -> dict[str, Any]:
    answer = ""
    while not answer:  # the one field besides the name that a preset must have
        answer = _text("Description")
    return {DESCRIPTION: answer}


def _provider() -> dict[str, Any]:
    return {"provider": _text("Provider")}


def _model() -> dict[str, Any]:
    return {"model": _text("Model")}


def _system_prompt() -> dict[str, Any]:
    return {BODY: _prompt("System prompt")}


def _appended() -> dict[str, Any]:
    return {"appendSystemPrompt": _prompt("Text appended to the system prompt")}


def _thinking() -> dict[str, Any]:
    return {"thinkingLevel": _choice("Thinking", ("", *preset_fields.THINKING_LEVELS), "")}


def _preset_tools() -> dict[str, Any]:
    return {"tools": _list("Tools")}


def _tools() -> dict[str, Any]:
    how = _choice("Tools", ("", _NONE, _ALLOW, _BLOCK), "")
    if how == _NONE:
        return {"noTools": True}
    if how == _ALLOW:
        return {"tools": _list("Only these")}
    return {"excludeTools": _list("All but these")} if how == _BLOCK else {}


def _extensions() -> dict[str, Any]:
    how = _choice("Extensions", ("", _REMOVE, _ADD), "")
    if how == _REMOVE:
        return {"noExtensions": True}
    return {"extensions": _list("Paths")} if how == _ADD else {}


def _skills() -> dict[str, Any]:
    how = _choice("Skills", ("", _REMOVE, _ADD), "")
    if how == _REMOVE:
        return {"noSkills": True}
    if how != _ADD:
        return {}
    return {"suggestedSkills": _list("Suggested skills"), "loadSkills": _list("Skills to load")}


_STEPS = {
    PRESET: (_description, _model, _system_prompt, _preset_tools),
    preset_fields.PROFILE: (
        *(_provider, _model, _system_prompt, _appended, _thinking),
        *(_tools, _extensions, _skills),
    ),
}


# --- an editor --------------------------------------------------------------------------------------------


def in_editor(draft: Draft) -> None:
    """Let somebody edit a draft until it is good; raise Cancelled if nothing was changed."""
    text = draft.text
    while True:
        edited = _edited(text)
        if edited is None or edited == draft.text:
            raise Cancelled
        flaws = preset_edit.flaws_of(_with(draft, edited))
        if not flaws or not is_possible():
            draft.text = edited  # a bad one is refused by whoever writes it
            return
        words.lines((sanitize.line(flaw.words()) for flaw in flaws), streams.ERR)
        if not click.confirm("Edit again?", default=True, err=True):
            raise Cancelled
        text = edited


def _with(draft: Draft, text: str) -> Draft:
    return preset_edit.Draft(kind=draft.kind, source=draft.source, path=draft.path, text=text)


def _edited(text: str) -> str | None:
    """Return a text as it was saved in an editor; None if it was not."""
    try:
        edited: str | None = click.edit(text, extension=".md")
    except click.UsageError:
        raise
    except click.ClickException as error:
        hint = "set EDITOR to one that works"
        raise BadRequest(error.format_message(), kind="usage", hint=hint) from error
    return edited
