"""The questions about a new preset or profile, in a fixed order. An empty answer leaves a field out. Pure."""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.presets import describe
from tmuxagents.presets.fields import BODY, DESCRIPTION, GLOBAL, PRESET, PROFILE, PROJECT, THINKING_LEVELS
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Asker(Protocol):
        """Asks a person the questions; each raises if the person leaves."""

        def text(self, question: str) -> str:
            """Ask for a line, which may be empty."""

        def choice(self, question: str, choices: tuple[str, ...], default: str) -> str:
            """Ask for one of some words; an empty one leaves the field out."""

        def prompt(self, question: str) -> str:
            """Ask for a text of any length."""

        def agrees(self, question: str, text: str) -> bool:
            """Show a text, and ask whether it is right."""

    Step = Callable[[Asker], dict[str, Any]]

# By the answer: the fields that it sets, each to a value or by a further question for a list.
_WAYS: dict[str, dict[str, dict[str, bool | str]]] = {
    "Tools": {
        "none": {"noTools": True},
        "allowlist": {"tools": "Only these"},
        "blacklist": {"excludeTools": "All but these"},
    },
    "Extensions": {"remove": {"noExtensions": True}, "add": {"extensions": "Paths"}},
    "Skills": {
        "remove": {"noSkills": True},
        "add": {"suggestedSkills": "Suggested skills", "loadSkills": "Skills to load"},
    },
}


class Answers(NamedTuple):
    """The answers: global or project, and the fields."""

    source: str
    fields: dict[str, Any]


def ask(kind: str, name: str, source: str, asker: Asker) -> Answers | None:
    """Ask for all fields and show them; return None if they are not to be saved."""
    answers = Answers(asker.choice("Scope", (GLOBAL, PROJECT), source), {})
    for step in _STEPS[kind]:
        answers.fields.update({key: value for key, value in step(asker).items() if value})
    shown = safe.text(describe.detail(name, answers.fields, kind))
    return answers if asker.agrees("Save?", shown) else None


def _list(asker: Asker, question: str) -> list[str]:
    answer = asker.text(f"{question} (with commas between)")
    return [word.strip() for word in answer.split(",") if word.strip()]


def _description(asker: Asker) -> dict[str, Any]:
    answer = ""
    while not answer:  # the one field besides the name that a preset must have
        answer = asker.text("Description")
    return {DESCRIPTION: answer}


def _text(key: str, question: str) -> Step:
    return lambda asker: {key: asker.text(question)}


def _prompt(key: str, question: str) -> Step:
    return lambda asker: {key: asker.prompt(question)}


def _one_of(question: str) -> Step:
    def step(asker: Asker) -> dict[str, Any]:
        ways = _WAYS[question]
        chosen = ways.get(asker.choice(question, ("", *ways), ""), {})
        return {key: how if how is True else _list(asker, str(how)) for key, how in chosen.items()}

    return step


_STEPS: dict[str, tuple[Step, ...]] = {
    PRESET: (
        _description,
        _text("model", "Model"),
        _prompt(BODY, "System prompt"),
        lambda asker: {"tools": _list(asker, "Tools")},
    ),
    PROFILE: (
        _text("provider", "Provider"),
        _text("model", "Model"),
        _prompt(BODY, "System prompt"),
        _prompt("appendSystemPrompt", "Text appended to the system prompt"),
        lambda asker: {"thinkingLevel": asker.choice("Thinking", ("", *THINKING_LEVELS), "")},
        *(_one_of("Tools"), _one_of("Extensions"), _one_of("Skills")),
    ),
}
