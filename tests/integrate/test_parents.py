"""The places where each parent looks, and our texts there."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.integrate import parents
from tmuxagents.integrate.parents import CLAUDE, CODEX


@pytest.mark.parametrize(
    ("target", "environment", "config", "skill"),
    [
        (CLAUDE, {}, "/h/.claude.json", "/h/.claude/skills/tmuxagents"),
        (CLAUDE, {"CLAUDE_CONFIG_DIR": "/c/"}, "/c/.claude.json", "/c/skills/tmuxagents"),
        (CLAUDE, {"CLAUDE_CONFIG_DIR": "c"}, "/h/.claude.json", "/h/.claude/skills/tmuxagents"),
        (CODEX, {}, "/h/.codex/config.toml", "/h/.agents/skills/tmuxagents"),
        (CODEX, {"CODEX_HOME": "/x"}, "/x/config.toml", "/h/.agents/skills/tmuxagents"),
    ],
)
def test_where_a_persons_parents_look(
    target: str, environment: dict[str, str], config: str, skill: str
) -> None:
    place = parents.of_user(target, environment, "/h", "/b/tmuxagents")
    assert (place.config, place.skill, place.private) == (config, skill, True)


def test_what_a_project_shares_has_no_path_of_one_machine() -> None:
    for target, config in ((CLAUDE, "/p/.mcp.json"), (CODEX, "/p/.codex/config.toml")):
        place = parents.of_project(target, "/p")
        assert (place.config, place.command, place.private) == (config, "tmuxagents", False)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_toml_says_what_was_meant(command: str) -> None:
    found = tomllib.loads("\n".join(parents.toml_lines(command)))["mcp_servers"]["tmuxagents"]
    assert (found["command"], found["args"], found["tool_timeout_sec"]) == (command, ["mcp"], 300)
    assert {"TMUX", "TMUXAGENTS_HOME", "PI_SUBAGENTS_CHILD"} <= set(found["env_vars"])


@pytest.mark.parametrize(
    ("changes", "ours"),
    [
        ({}, True),
        ({"command": "tmuxagents", "env": {}}, True),
        ({"type": "http"}, False),
        ({"args": ["mcp", "--limit", "60"]}, False),
        ({"env": {"A": "b"}}, False),
        ({"command": "/b/other"}, False),
        ({"command": ["tmuxagents"]}, False),
        ({"url": "x"}, False),
    ],
)
def test_which_entry_is_ours(changes: dict[str, Any], *, ours: bool) -> None:
    assert parents.is_ours(parents.entry("/b/tmuxagents") | changes) is ours
    assert parents.is_ours("tmuxagents") is False
