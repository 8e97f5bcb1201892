"""Questions about a new preset or profile, in a fixed order, and texts in an editor. Writes nothing. Joins.

An empty answer leaves a field out. Leaving at any question changes nothing.
"""

from __future__ import annotations

import contextlib
import signal

import click

from tmuxagents.cli import printing
from tmuxagents.cli.verbs import tasks
from tmuxagents.presets import describe, editing, fields
from tmuxagents.presets.fields import BODY, DESCRIPTION, GLOBAL, PRESET, PROJECT
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol

    from tmuxagents.presets.preset import PresetFile

    class Asker(Protocol):
        """Asks a person the questions, on a terminal or elsewhere."""

        def text(self, question: str) -> str:
            """Ask for a line; an empty one is none."""

        def choice(self, question: str, choices: tuple[str, ...], default: str) -> str:
            """Ask for one of some words."""

        def prompt(self, question: str) -> str:
            """Ask for a text of any length."""

        def agrees(self, question: str, text: str) -> bool:
            """Show a text, and ask whether it is right."""

        def cancel(self) -> click.exceptions.Exit:
            """Return what to raise if it is not."""

    Step = Callable[[Asker], dict[str, Any]]

_NONE, _ALLOW, _BLOCK, _REMOVE, _ADD = "none", "allowlist", "blacklist", "remove", "add"
_EDITOR = "e"


class Cancelled(click.exceptions.Exit):
    """The person has left; nothing was changed."""

    def __init__(self, code: int = 0) -> None:
        printing.lines([editing.CANCELLED], printing.ERR)
        super().__init__(code)


class Answers:
    """What the answers came to."""

    __slots__ = ("fields", "source")

    def __init__(self, source: str, fields: dict[str, Any]) -> None:
        self.source = source
        self.fields = fields


def is_possible() -> bool:
    """Say whether there is a terminal to ask on."""
    return printing.is_terminal(printing.IN) and printing.is_terminal(printing.ERR)


def ask(name: str, kind: str, source: str, asker: Asker | None = None) -> Answers:
    """Ask for all fields, show them, and return them if they are to be saved."""
    asker = asker or OnTerminal()
    answers = Answers(asker.choice("Scope", (GLOBAL, PROJECT), source), {})
    for step in _STEPS[kind]:
        answers.fields |= {key: value for key, value in step(asker).items() if value}
    if not asker.agrees("Save?", safe.text(describe.detail(name, answers.fields, kind))):
        raise asker.cancel()
    return answers


class OnTerminal:
    """Questions on the terminal that the command was called on."""

    def text(self, question: str) -> str:
        """Ask for a line; an empty one is none."""
        with _leaving():
            answer: str = click.prompt(question, default="", show_default=False, err=True)
        return answer.strip()

    def choice(self, question: str, choices: tuple[str, ...], default: str) -> str:
        """Ask for one of some words; an empty default leaves the field out, and is not shown as one."""
        shown = f"{question} ({', '.join(filter(None, choices))})"
        which = click.Choice(choices)
        with _leaving():
            answer: str = click.prompt(
                shown, type=which, default=default, show_default=bool(default), show_choices=False, err=True
            )
        return answer

    def prompt(self, question: str) -> str:
        """Ask for a text of any length."""
        answer = self.text(f"{question} ({_EDITOR}: in an editor)")
        return (tasks.edited("") or "").strip() if answer == _EDITOR else answer

    def agrees(self, question: str, text: str) -> bool:
        """Show a text, and ask whether it is right."""
        printing.lines(text.split("\n"), printing.ERR)
        with _leaving():
            return click.confirm(question, default=True, err=True)

    def cancel(self) -> click.exceptions.Exit:
        """Return what to raise if it is not."""
        return Cancelled()


@contextlib.contextmanager
def _leaving() -> Iterator[None]:
    """Turn Ctrl-C and Ctrl-D into Cancelled."""
    try:
        yield
    except click.Abort:
        printing.lines([""], printing.ERR)
        raise Cancelled(128 + signal.SIGINT) from None


# --- the steps --------------------------------------------------------------------------------------------


def _list(asker: Asker, question: str) -> list[str]:
    answer = asker.text(f"{question} (with commas between)")
    return [word.strip() for word in answer.split(",") if word.strip()]


def _description(asker: Asker) -> dict[str, Any]:
    answer = ""
    while not answer:  # the one field besides the name that a preset must have
        answer = asker.text("Description")
    return {DESCRIPTION: answer}


def _tools(asker: Asker) -> dict[str, Any]:
    how = asker.choice("Tools", ("", _NONE, _ALLOW, _BLOCK), "")
    if how == _NONE:
        return {"noTools": True}
    if how == _ALLOW:
        return {"tools": _list(asker, "Only these")}
    return {"excludeTools": _list(asker, "All but these")} if how == _BLOCK else {}


def _extensions(asker: Asker) -> dict[str, Any]:
    how = asker.choice("Extensions", ("", _REMOVE, _ADD), "")
    if how == _REMOVE:
        return {"noExtensions": True}
    return {"extensions": _list(asker, "Paths")} if how == _ADD else {}


def _skills(asker: Asker) -> dict[str, Any]:
    how = asker.choice("Skills", ("", _REMOVE, _ADD), "")
    if how == _REMOVE:
        return {"noSkills": True}
    if how != _ADD:
        return {}
    return {"suggestedSkills": _list(asker, "Suggested skills"), "loadSkills": _list(asker, "Skills to load")}


def _text(key: str, question: str) -> Step:
    return lambda asker: {key: asker.text(question)}


def _prompt(key: str, question: str) -> Step:
    return lambda asker: {key: asker.prompt(question)}


_STEPS: dict[str, tuple[Step, ...]] = {
    PRESET: (
        _description,
        _text("model", "Model"),
        _prompt(BODY, "System prompt"),
        lambda asker: {"tools": _list(asker, "Tools")},
    ),
    fields.PROFILE: (
        _text("provider", "Provider"),
        _text("model", "Model"),
        _prompt(BODY, "System prompt"),
        _prompt("appendSystemPrompt", "Text appended to the system prompt"),
        lambda asker: {"thinkingLevel": asker.choice("Thinking", ("", *fields.THINKING_LEVELS), "")},
        *(_tools, _extensions, _skills),
    ),
}


# --- an editor --------------------------------------------------------------------------------------------


def in_editor(draft: PresetFile) -> None:
    """Open a draft in an editor until it is good; raise Cancelled if nothing was changed."""
    before = draft.text
    while True:
        edited = tasks.edited(draft.text)
        if edited is None or edited == before:
            raise Cancelled
        draft.text = edited
        flaws = editing.flaws_of(draft)
        if not flaws or not is_possible():
            return  # the caller refuses a bad one
        printing.lines((safe.line(flaw.words()) for flaw in flaws), printing.ERR)
        if not click.confirm("Edit again?", default=True, err=True):
            raise Cancelled
