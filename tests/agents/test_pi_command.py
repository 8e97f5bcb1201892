"""How a pi is called."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.pi_lines import SETTLED
from tmuxagents.agents import AGENTS
from tmuxagents.agents.pi.command import AGENT, CHILD_EXTENSION
from tmuxagents.runs.documents import plan_of

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
    assert AGENT.arguments(plan_of({**META, **changes}), RUN_DIR) == [*SESSION, *more]


def test_a_session_elsewhere_is_named_by_its_whole_path() -> None:
    line_ = AGENT.arguments(plan_of({**META, "sessionPath": "/elsewhere/session.jsonl"}), RUN_DIR)
    assert line_ == ["--mode", "json", "--session", "/elsewhere/session.jsonl"]


def test_no_text_of_the_task_stands_on_the_command_line() -> None:
    told = {**META, "task": "SECRET", "systemPrompt": "SECRET", "name": "SECRET", "preset": "SECRET"}
    assert "SECRET" not in " ".join(AGENT.arguments(plan_of(told), RUN_DIR))


COPILOT = {"resolvedModel": "github-copilot/gpt-4o", "initiator": "agent"}


def test_environment() -> None:
    assert AGENT.environment("/agent/dir", plan_of(META)) == {
        "PI_SUBAGENTS_CHILD": "1",
        "PI_CODING_AGENT_DIR": "/agent/dir",
    }


@pytest.mark.parametrize(
    ("changes", "marked"),
    [
        ({}, True),
        ({"resolvedModel": "github-copilot/gpt-4o:high"}, True),
        ({"requestedModel": "openai/gpt-4o"}, True),
        ({"initiator": "person"}, False),
        ({"initiator": None}, False),
        ({"resolvedModel": "openai/gpt-4o", "requestedModel": "github-copilot/gpt-4o"}, False),
        ({"resolvedModel": "openrouter/github-copilot/gpt-4o"}, False),
        ({"resolvedModel": "github-copilot-of-mine/gpt-4o"}, False),
        ({"resolvedModel": None}, False),
    ],
)
def test_what_an_agent_asks_of_copilot_is_marked_as_its_own(changes: dict[str, Any], *, marked: bool) -> None:
    plan = plan_of({**META, **COPILOT, **changes})
    line_, surroundings = AGENT.arguments(plan, RUN_DIR), AGENT.environment("/agent/dir", plan)
    assert (surroundings.get("PI_SUBAGENTS_COPILOT_INITIATOR") == "agent") is marked
    assert (line_[4:6] == ["-e", CHILD_EXTENSION]) is marked
    assert ("-e" in line_) is marked


def test_the_mark_is_forgotten_where_the_run_is_not_one_that_has_it() -> None:
    assert AGENT.arguments(plan_of(META), RUN_DIR) == SESSION  # a plan of before, without the fact


def test_the_table_of_brands_knows_pi() -> None:
    assert {name: AGENTS[name].name for name in AGENTS} == {name: name for name in AGENTS}
    assert ("pi" in AGENTS, AGENTS.get("nobody")) == (True, None)
    assert (AGENTS["pi"].program, AGENTS["pi"].program_variable) == ("pi", "TMUXAGENTS_PI")


def test_each_child_has_a_reader_of_its_own() -> None:
    first, second = AGENT.reader(), AGENT.reader()
    first.feed(SETTLED, 0.0)
    assert (first.settled, second.settled) == (True, False)
