"""Settings of agents: types, commands, variables that nothing shows, and what a project may not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tmuxagents.agents import installed
from tmuxagents.errors import BadRequest
from tmuxagents.integrate import config
from tmuxagents.settings import keys

if TYPE_CHECKING:
    from tmuxagents.settings.keys import Settings


def resolved(agents: Any, *, where: str = "global_text") -> Settings:
    texts: dict[str, Any] = {where: json.dumps({"subagents": {"agents": agents}})}
    return keys.resolve({}, **texts)


def test_an_agent_of_the_user_has_a_type_a_command_and_variables() -> None:
    mine = {"type": "acp", "command": ["goose", "acp"], "env": {"KEY": "secret"}, "home": "~/other"}
    found = resolved({"goose": mine, "plain": {"type": "command"}})
    assert found.agent_kinds == {"goose": "acp", "plain": "command"}
    assert found.agent_commands == {"goose": ["goose", "acp"]}
    assert found.agent_variables == {"goose": {"KEY": "secret"}}
    assert found.agent_homes == {"goose": "~/other"}
    assert found.warnings == []
    assert installed.names(found)[-2:] == ["goose", "plain"]
    assert installed.agent_of("plain", found).name == "plain"


def test_what_variables_hold_is_shown_nowhere() -> None:
    found = resolved({"goose": {"env": {"KEY": "secret"}, "type": "acp"}})
    shown = {key: value for key, value, _ in keys.rows(found) if key.startswith("agents.goose")}
    assert shown == {"agents.goose.env": {"KEY": "(set)"}, "agents.goose.type": "acp"}


def test_a_project_defines_no_agent() -> None:
    found = resolved({"goose": {"type": "acp", "env": {"KEY": "x"}}}, where="project_text")
    assert (found.agent_kinds, found.agent_variables) == ({}, {})
    assert "a project may not set" in found.warnings[0]
    with pytest.raises(BadRequest, match='Unknown agent: "goose"'):
        installed.agent_of("goose", found)


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("type", "docker", "must be one of acp, command"),
        ("env", ["A"], "must be an object of names and texts"),
        ("env", {"A": 1}, "must be an object of names and texts"),
        ("env", {"1 A": "x"}, "must be an object of names and texts"),
        ("env", {"A": "\0"}, "must be an object of names and texts"),
        ("home", 5, "must be a line of text"),
        ("command", "goose", "must be a list of words"),
    ],
)
def test_a_wrong_value_is_one_warning(key: str, value: Any, wanted: str) -> None:
    found = resolved({"goose": {key: value}})
    assert wanted in found.warnings[0]
    assert (found.agent_kinds, found.agent_commands, found.agent_homes) == ({}, {}, {})


def test_a_person_types_them() -> None:
    assert config.value_of("agents.goose.type", ["acp"]) == "acp"
    assert config.value_of("agents.goose.command", ["goose", "acp"]) == ["goose", "acp"]
    assert config.value_of("agents.goose.env", ['{"A": "b"}']) == {"A": "b"}
    with pytest.raises(BadRequest, match="must be an object of names and texts"):
        config.value_of("agents.goose.env", ["A=b"])
    with pytest.raises(BadRequest, match="There is no setting"):
        config.value_of("agents.goose.odd", ["x"])


def test_an_unknown_key_of_an_agent_is_odd_and_changes_nothing() -> None:
    text = json.dumps({"subagents": {"agents": {"goose": {"odd": 1}}}})
    assert list(config.oddities(text)) != []
    assert keys.resolve({}, global_text=text).warnings == []
    assert keys.agent_rule_of("agents.type") is None
    assert keys.agent_rule_of("other.goose.type") is None
