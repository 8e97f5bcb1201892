"""Presets in words: one line, all fields, a table, documents. No key is shown whole anywhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.presets.preset_files import catalogue, file, preset, profile
from tests.schema_examples import VALIDATORS
from tmuxagents.presets import describe


def test_a_summary_of_everything() -> None:
    found = profile(
        "provider: a\nmodel: b\nthinkingLevel: high\nappendSystemPrompt: x\ntools: r,s\n"
        "excludeTools: z\nsuggestedSkills: u\nloadSkills: v,w",
        "Body",
    )
    assert describe.summary("p", found.fields) == (
        "profile: p, model=b, thinking=high, custom-system-prompt, appended-system-prompt, tools=[r,s], "
        "suggestedSkills=[u], loadSkills=[v,w]"
    )
    assert describe.summary("p", {"tools": []}) == "profile: p, tools=[]"


def test_a_detail_of_everything() -> None:
    found = profile(
        "provider: a\nmodel: b\nthinkingLevel: high\nappendSystemPrompt: x\napiKey: sk-123456789\n"
        "noExtensions: true\ntools: [r, s]\nextensions: /e\nextraArgs: ['a,b', é]",
        "Two\nlines",
    )
    assert describe.detail("p", found.fields, aligned=True) == (
        "Profile: p\n"
        "  provider:          a\n"
        "  model:             b\n"
        "  thinkingLevel:     high\n"
        "  systemPrompt:      Two\n"
        "                     lines\n"
        "  appendSystemPrompt: x\n"
        "  tools:             [r, s]\n"
        "  extensions:        [/e]\n"
        "  noExtensions:      true\n"
        "  apiKey:            sk-1****6789\n"
        '  extraArgs:         ["a,b","é"]'
    )
    assert "systemPrompt:      Two\nlines\n" in describe.detail("p", found.fields)


def test_a_profile_and_a_preset_as_lines() -> None:
    fields = {"model": "a/b", "systemPrompt": "x"}
    line = describe.choice("profile", "researcher", fields)
    assert line == "profile: researcher, model=a/b, custom-system-prompt"
    preset = {"model": "a/b", "tools": ["read", "ls"], "systemPrompt": "x", "description": "Finds\nits way"}
    assert describe.choice("preset", "scout", preset) == (
        "preset: scout, model=a/b, tools=[read,ls] — Finds its way"
    )
    assert describe.choice("preset", "scout", {}) == "preset: scout"


def test_a_detail_tells_of_tools_what_is_in_force() -> None:
    def told(**fields: Any) -> list[str]:
        return [line.split(":")[0].strip() for line in describe.detail("p", fields).split("\n")[1:]]

    assert told(noTools=True, tools=["r"], excludeTools=["w"]) == ["noTools"]
    assert told(tools=["r"], excludeTools=["w"]) == ["tools"]
    assert told(tools=[], excludeTools=["w"]) == ["tools"]
    assert told(excludeTools=["w"]) == ["excludeTools"]
    assert told(excludeTools=[]) == []
    assert told(tools=[], extensions=[], suggestedSkills=[], extraArgs=[]) == ["tools", "extraArgs"]


def test_a_detail_of_a_preset() -> None:
    found = preset("model: a/b\ntools: read,ls\ntimeout: 90\nkeepBackground: false", "Look.")
    assert describe.detail(found.name, found.fields, found.kind) == (
        "Preset: scout\n"
        "  description:       Looks around\n"
        "  model:             a/b\n"
        "  tools:             [read, ls]\n"
        "  timeout:           90\n"
        "  systemPrompt:      Look."
    )


@given(st.text(min_size=1))
def test_most_of_a_key_is_never_shown(key: str) -> None:
    shown = describe.mask(key)
    assert len(shown) in (4, 12)
    assert shown.replace("****", "") in ("", key[:4] + key[-4:])
    if len(key) <= 8:
        assert shown == "****"


SECRET = "sk-SECRETSECRETSECRET"


def test_no_view_shows_a_key() -> None:
    found = profile(f"apiKey: {SECRET}")
    views = (
        describe.detail("p", found.fields),
        describe.summary("p", found.fields),
        "\n".join(describe.table([found], 200)),
        str(describe.document(found)),
        repr(found),
    )
    assert all("SECRET" not in view for view in views)


# --- the table --------------------------------------------------------------------------------------------


def test_the_table_marks_what_is_hidden() -> None:
    found = catalogue(
        file("name: scout\ndescription: Mine\nmodel: a/b\ntools: read,ls"),
        file("name: scout\ndescription: Theirs", source="project"),
        file("name: p\nprovider: x\nmodel: y\nexcludeTools: bash", kind="profile"),
    )
    assert describe.table(found.presets, 100) == [
        "NAME   KIND     SOURCE           MODEL  TOOLS         DESCRIPTION",
        "p      profile  global           x/y    all but bash  -",
        "scout  preset   project          -      default       Theirs",
        "scout  preset   global (hidden)  a/b    read,ls       Mine",
    ]


def test_no_row_no_header() -> None:
    assert describe.table([], 100) == []


def test_the_table_is_as_wide_as_it_may_be_and_obeys_nobody() -> None:
    found = preset(f"model: {'m' * 60}\ntools: {'t' * 60}")
    found.fields["description"] = "a\n\x1b[31mred\x1b[0m   " + "x" * 200
    rows = describe.table([found], 140)
    assert [len(row) for row in rows] == [len(rows[0]), 140]
    assert "m" * 39 + "…" in rows[1]
    assert "a redxxx"[:5] in rows[1].replace("  ", " ")
    assert "\x1b" not in rows[1]


# --- where it comes from ----------------------------------------------------------------------------------


def test_provenance() -> None:
    found = catalogue(file("name: a\ndescription: d"), file("name: a\ndescription: e", source="project"))
    first, second = found.presets
    own, theirs = "/home/dev/.pi/agent/subagents/a.md", "/home/dev/app/.pi/subagents/a.md"
    assert describe.provenance(first) == [
        f"File: {theirs} (project, sha256 {first.hash})",
        f"Hides: {own}",
    ]
    assert describe.provenance(second) == [
        f"File: {own} (global, sha256 {second.hash})",
        f"Hidden by: {theirs}",
    ]


# --- documents --------------------------------------------------------------------------------------------

ODD = (
    "",
    "apiKey: k",
    "tools: []",
    "noTools: true",
    "excludeTools: a",
    "tools: a,b",
    "extraArgs: ['', '-x']\nsuggestedSkills: s\nloadSkills: l\nextensions: e",
    "noExtensions: true\nnoSkills: true\nnoContextFiles: true\nthinkingLevel: odd",
)


@pytest.mark.parametrize("header", ODD)
def test_a_document_of_a_profile_validates(header: str) -> None:
    VALIDATORS["preset"].validate({"v": 1} | describe.document(profile(header)))


@pytest.mark.parametrize(
    "header",
    ["", "model: m", "tools: +ls", "agent: pi\ndriver: live\ntimeout: 1\nkeepBackground: false\nnesting: 3"],
)
@pytest.mark.parametrize("source", ["global", "project"])
def test_a_document_of_a_preset_validates(header: str, source: str) -> None:
    found = preset(header, "Body", source=source)
    VALIDATORS["preset"].validate({"v": 1} | describe.document(found))
    VALIDATORS["preset"].validate({"v": 1, "presets": [describe.document(found)], "warnings": []})


def test_a_document_has_the_keys_of_its_example() -> None:
    schema: Any = VALIDATORS["preset"].schema
    example = schema["else"]["else"]["else"]["required"]
    assert ["v", *describe.document(preset())] == sorted(
        example, key=["v", *describe.document(preset())].index
    )


def test_tools_and_their_rule_in_a_document() -> None:
    def told(header: str) -> tuple[str, list[str], list[str]]:
        shape = describe.document(profile(header))
        return shape["toolRule"], shape["tools"], shape["excludeTools"]

    assert told("") == ("default", [], [])
    assert told("tools: a") == ("only", ["a"], [])
    assert told("tools: []") == ("none", [], [])
    assert told("excludeTools: a") == ("except", [], ["a"])


def test_an_account_is_shown_by_names_alone() -> None:
    found = preset("account: work\nhome: ~/.work\nenv: {A_TOKEN: secret}")
    assert "secret" not in describe.detail("p", found.fields, "preset")
    assert "A_TOKEN" in describe.detail("p", found.fields, "preset")
    document = describe.document(found)
    assert (document["account"], document["home"], document["env"]) == ("work", "~/.work", ["A_TOKEN"])
