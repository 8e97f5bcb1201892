"""Which tools a preset leaves a child, and whether one allows more than another."""

from __future__ import annotations

import json

import pytest

from tests.presets.preset_files import preset, profile
from tmuxagents.agents import AGENTS
from tmuxagents.errors import BadRequest
from tmuxagents.launch import demands
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.presets import describe, survey
from tmuxagents.presets.describe import DEFAULT, EXCEPT, NONE, ONLY
from tmuxagents.runs.documents import plan_of
from tmuxagents.settings.keys import Settings

COMMON = AGENTS["pi"].tools
LISTED = [name for name in AGENTS if AGENTS[name].capabilities().tools]


@pytest.mark.parametrize(
    ("header", "rule", "tools", "words"),
    [
        ("", DEFAULT, [], "default"),
        ("tools: a,b,a", ONLY, ["a", "b"], "a,b,a"),
        ("tools: []", NONE, [], "none"),
        ("noTools: true\ntools: a", NONE, [], "none"),
        ("excludeTools: a,b", EXCEPT, ["a", "b"], "all but a,b"),
        ("excludeTools: []", DEFAULT, [], "default"),
        ("tools: a\nexcludeTools: b", ONLY, ["a"], "a"),
        ("tools: +a", DEFAULT, [], "default"),
        ("tools: +a,-b", EXCEPT, ["b"], "all but b"),
    ],
)
def test_the_rule(header: str, rule: str, tools: list[str], words: str) -> None:
    found = describe.scope(profile(header))
    assert (found.rule, list(found.tools), describe.words(profile(header))) == (rule, tools, words)


@pytest.mark.parametrize(
    ("here", "there", "more"),
    [
        ("tools: a", "tools: a", None),
        ("tools: a", "tools: a,b", None),
        ("tools: a,b", "tools: a", "b"),
        ("tools: a", "noTools: true", "a"),
        ("tools: a", "", None),
        ("tools: a,b", "excludeTools: b", "b"),
        ("tools: a", "excludeTools: b", None),
        ("tools: mcp__x__y", "tools: mcp__x__*", None),
        ("tools: mcp__x__y", "tools: mcp__z__*", "mcp__x__y"),
        ("noTools: true", "tools: a", None),
        ("noTools: true", "", None),
        ("", "tools: a", "all"),
        ("", "noTools: true", "all"),
        ("", "", None),
        ("", "excludeTools: b,c", "b, c"),
        ("excludeTools: c", "excludeTools: b,c", "b"),
        ("excludeTools: b,c", "excludeTools: c", None),
        ("excludeTools: c", "", None),
        ("excludeTools: c", "tools: a", "all but c"),
        ("tools: +x", "tools: a", "all"),
    ],
)
def test_what_one_allows_beyond_another(here: str, there: str, more: str | None) -> None:
    assert describe.wider(profile(here), profile(there)) == more


def test_tools_that_nobody_knows() -> None:
    found = profile("tools: read,reed,+ls,-lss,mcp__a,ba*\nexcludeTools: bash,bosh")
    assert list(describe.unknown(found, ("read", "ls", "bash"))) == ["reed", "-lss", "bosh"]


def test_these_agents_take_a_list_of_tools() -> None:
    assert {"claude", "opencode", "qwen", "copilot"} <= set(LISTED)
    for name in set(AGENTS) - set(LISTED) - {"pi"}:
        request = LaunchRequest(task="x", cwd="/p", project="/p")
        with pytest.raises(BadRequest, match=f"The agent {name} cannot be restricted to a list of tools"):
            demands.grant(name, AGENTS[name].capabilities(), request, preset("tools: read"))


@pytest.mark.parametrize("tool", COMMON)
@pytest.mark.parametrize("name", LISTED)
def test_each_agent_gets_a_common_tool_by_its_own_name(name: str, tool: str) -> None:
    agent, found = AGENTS[name], preset(f"agent: {name}\ntools: {tool}")
    request = LaunchRequest(task="x", cwd="/p", project="/p")
    (its,) = demands.grant(name, agent.capabilities(), request, found).tools
    about = {"runId": "01a1ee15069b4c1f", "agent": name, "permission": "edit", "cwd": "/p", "tools": [its]}
    plan = plan_of(about)
    told = json.dumps([*agent.arguments(plan, "/r"), agent.environment("/a", plan)])
    as_pattern = "edi" if (name, tool) == ("opencode", "write") else its[:-1]  # one permission for both
    assert as_pattern in told
    assert list(survey.unknown_tools(found, survey.tools_of(found, Settings()))) == []
