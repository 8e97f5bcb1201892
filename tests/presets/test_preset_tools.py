"""Which tools a preset leaves a child, and whether one allows more than another."""

from __future__ import annotations

import pytest

from tests.presets.preset_files import profile
from tmuxagents.presets import describe
from tmuxagents.presets.describe import DEFAULT, EXCEPT, NONE, ONLY


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
