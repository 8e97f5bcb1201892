"""How a pi is called."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.pi_lines import (
    SETTLED,
)
from tmuxagents.agents import AGENTS
from tmuxagents.agents.pi import AGENT

META: dict[str, Any] = {
    "sessionPath": "child-session.jsonl",
    "resolvedModel": None,
    "presetKind": None,
    "systemPromptPath": None,
    "appendSystemPromptPath": None,
    "tools": [],
}
RUN_DIR = "/state/runs/01a1ee15069b4c1f"
SESSION = ["--mode", "json", "--session", f"{RUN_DIR}/child-session.jsonl"]
APPENDED, SYSTEM = "append-system-prompt.md", "system-prompt.md"


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, []),
        ({"resolvedModel": "mock/mock-text"}, ["--model", "mock/mock-text"]),
        (
            {"presetKind": "preset", "systemPromptPath": SYSTEM},
            ["--append-system-prompt", f"{RUN_DIR}/{SYSTEM}"],
        ),
        (
            {"presetKind": "profile", "systemPromptPath": SYSTEM, "appendSystemPromptPath": APPENDED},
            ["--system-prompt", f"{RUN_DIR}/{SYSTEM}", "--append-system-prompt", f"{RUN_DIR}/{APPENDED}"],
        ),
        ({"tools": ["read", "ls"]}, ["--tools", "read,ls"]),
        (
            {"tools": ["read"], "resolvedModel": "a/b", "presetKind": "preset", "systemPromptPath": SYSTEM},
            ["--model", "a/b", "--append-system-prompt", f"{RUN_DIR}/{SYSTEM}", "--tools", "read"],
        ),
    ],
)
def test_command_line(changes: dict[str, Any], more: list[str]) -> None:
    assert AGENT.arguments({**META, **changes}, RUN_DIR) == [*SESSION, *more]


def test_a_session_elsewhere_is_named_by_its_whole_path() -> None:
    line_ = AGENT.arguments({**META, "sessionPath": "/elsewhere/session.jsonl"}, RUN_DIR)
    assert line_ == ["--mode", "json", "--session", "/elsewhere/session.jsonl"]


def test_no_text_of_the_task_stands_on_the_command_line() -> None:
    told = {**META, "task": "SECRET", "systemPrompt": "SECRET", "name": "SECRET", "preset": "SECRET"}
    assert "SECRET" not in " ".join(AGENT.arguments(told, RUN_DIR))


def test_environment() -> None:
    assert AGENT.environment("/agent/dir") == {"PI_SUBAGENTS_CHILD": "1", "PI_CODING_AGENT_DIR": "/agent/dir"}


def test_the_table_of_brands_knows_pi() -> None:
    assert {name: agent.name for name, agent in AGENTS.items()} == {"pi": "pi"}
    assert (AGENTS["pi"].program, AGENTS["pi"].program_variable) == ("pi", "TMUXAGENTS_PI")


def test_each_child_has_a_reader_of_its_own() -> None:
    first, second = AGENT.reader(), AGENT.reader()
    first.feed(SETTLED, 0.0)
    assert (first.settled, second.settled) == (True, False)
