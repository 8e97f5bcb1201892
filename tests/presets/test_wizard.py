"""The questions about a new preset or profile, answered by a script."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxagents.presets import editing

PRESET = ("Scope", "Description", "Model", "System prompt", "Tools")
PROFILE = ("Scope", "Provider", "Model", "System prompt", "Text appended", "Thinking", "Tools")


class Script:
    """Gives answers in order, and notes what was asked."""

    def __init__(self, *answers: str, agrees: bool = True) -> None:
        self._answers = list(answers)
        self._agrees = agrees
        self.asked: list[str] = []
        self.shown = ""

    def text(self, question: str) -> str:
        self.asked.append(question)
        return self._answers.pop(0)

    prompt = text

    def choice(self, question: str, choices: tuple[str, ...], default: str) -> str:
        answer = self.text(question) or default
        assert answer in choices
        return answer

    def agrees(self, question: str, text: str) -> bool:
        self.asked.append(question)
        self.shown = text
        return self._agrees


@pytest.mark.parametrize(
    ("kind", "answers", "asked", "fields"),
    [
        (
            "preset",
            ("", "", "Looks", "", "Be brief.", "read, ls,"),
            ("Scope", "Description", *PRESET[1:]),
            {"description": "Looks", "systemPrompt": "Be brief.", "tools": ["read", "ls"]},
        ),
        ("profile", ("", *[""] * 8), (*PROFILE, "Extensions", "Skills"), {}),
        (
            "profile",
            ("", "p", "m", "", "", "high", "none", "remove", "remove"),
            (*PROFILE, "Extensions", "Skills"),
            {
                "provider": "p",
                "model": "m",
                "thinkingLevel": "high",
                **dict.fromkeys(("noTools", "noExtensions", "noSkills"), True),
            },
        ),
        (
            "profile",
            ("", *[""] * 5, "allowlist", "read", "add", "/x", "add", "a", "b, c"),
            (*PROFILE, "Only these", "Extensions", "Paths", "Skills", "Suggested skills", "Skills to load"),
            {"tools": ["read"], "extensions": ["/x"], "suggestedSkills": ["a"], "loadSkills": ["b", "c"]},
        ),
        (
            "profile",
            ("", *[""] * 5, "blacklist", "bash", "", ""),
            (*PROFILE, "All but these", "Extensions", "Skills"),
            {"excludeTools": ["bash"]},
        ),
    ],
)
def test_each_answer_becomes_a_field(
    kind: str, answers: tuple[str, ...], asked: tuple[str, ...], fields: dict[str, Any]
) -> None:
    script = Script(*answers)
    assert editing.ask_for_preset(kind, "x", "project", script) == editing.Answers("project", fields)
    assert len(script.asked) == len(asked) + 1
    assert all(question.startswith(start) for question, start in zip(script.asked, asked, strict=False))
    assert script.asked[-1] == "Save?"
    assert all(key in script.shown for key in fields)


def test_answers_that_are_not_to_be_saved_are_none() -> None:
    assert editing.ask_for_preset("profile", "x", "global", Script(*[""] * 9, agrees=False)) is None
