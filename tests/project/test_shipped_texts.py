"""The skill and the workflow prompts that ship with the package: their form, and what they may not say."""

from __future__ import annotations

import re

import pytest

from tmuxagents.system import shipped
from tmuxagents.text import yaml

SKILL, PROMPTS = shipped.skill(), shipped.prompts()
TEXTS = {"SKILL.md": SKILL, **PROMPTS}
ROLES = re.compile(r"\b(scout|planner|reviewer|worker|chain)s?\b", re.IGNORECASE)


def test_the_skill_is_one_that_agents_load() -> None:
    fields = yaml.parse(SKILL).fields
    assert set(fields) == {"name", "description"}
    assert fields["name"] == "tmuxagents"  # that of its folder
    assert 40 < len(fields["description"]) <= 1024
    assert "Use when" in fields["description"]
    assert all(word in fields["description"] for word in ("child agent", "subagent", "tmux", "background"))


def test_the_skill_is_short_and_teaches_the_round() -> None:
    assert len(SKILL.encode()) <= 3584
    words = (
        "launch",
        "poll --wait",
        "wait --output",
        "stop",
        "poll --since 0",
        "presets list",
        "send --wait",
    )
    for word in (*words, "--live", "{previous}", "--task-file -", "600 s"):
        assert f"tmuxagents {word}" in SKILL or word in SKILL
    for status in ("completed", "failed", "aborted"):
        assert f"`{status}`" in SKILL
    assert "## When not to" in SKILL


def test_there_is_a_prompt_for_each_step() -> None:
    assert list(PROMPTS) == ["implement", "inspect", "plan", "review", "revise"]
    for name in PROMPTS:
        assert name in SKILL


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_short_and_takes_a_task(name: str) -> None:
    found = yaml.parse(PROMPTS[name])
    assert set(found.fields) == {"description", "argument-hint"}
    assert found.body.count("$ARGUMENTS") == 1
    assert len(PROMPTS[name].encode()) <= 1500


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_describes_repeated_calls_or_parallel_tasks(name: str) -> None:
    assert "parallel `tasks`" in PROMPTS[name] or "repeated calls" in PROMPTS[name]


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_names_a_role_or_a_chain(name: str) -> None:
    assert ROLES.findall(TEXTS[name]) == []
