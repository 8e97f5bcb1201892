"""The flags of a profile in their fixed order; refused arguments; and that no rule fails open."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.presets.preset_files import profile
from tmuxagents.agents.pi import command
from tmuxagents.errors import BadRequest

GUARDED = (
    'Refusing extraArg "{}" which would override profile tool restrictions. '
    "Use the dedicated profile fields instead."
)


def outcome(given_: dict[str, Any]) -> Any:
    fields = given_["profile"]
    try:
        return command.arguments(fields, cwd=given_.get("cwd"), agent_dir=given_.get("agentDir"))
    except BadRequest as error:
        return f"{error.kind}: {error.message}".removeprefix("bad-profile: ")


def test_the_order_of_all_flags() -> None:
    fields = {
        "extraArgs": ["--verbose", "x y"],
        "suggestedSkills": ["/s/a", "/s/b"],
        "extensions": ["/e/1", "/e/2"],
        "noContextFiles": True,
        "noSkills": True,
        "noExtensions": True,
        "tools": ["read", "ls"],
        "thinkingLevel": "high",
        "appendSystemPrompt": "APPEND",
        "systemPrompt": "SYSTEM",
        "model": "m",
        "provider": "p",
        "apiKey": "KEY",
        "loadSkills": ["unresolved"],
    }
    assert command.arguments(fields) == [
        *("--provider", "p", "--model", "m", "--system-prompt", "SYSTEM", "--append-system-prompt", "APPEND"),
        *("--thinking", "high", "--tools", "read,ls", "--no-extensions", "--no-skills", "--no-context-files"),
        *(
            "--extension",
            "/e/1",
            "--extension",
            "/e/2",
            "--skill",
            "/s/a",
            "--skill",
            "/s/b",
            "--verbose",
            "x y",
        ),
    ]


# --- tools ------------------------------------------------------------------------------------------------

ALL = ("read", "bash", "edit", "write", "grep", "find", "ls")


def tool_flags(header: str) -> list[str]:
    return command.arguments(command.apply_exclusions(profile(header).fields, ALL))


@pytest.mark.parametrize(
    ("header", "flags"),
    [
        ("", []),
        ("tools: read,ls", ["--tools", "read,ls"]),
        ("tools: []", ["--tools", ""]),
        ("tools: ','", ["--tools", ""]),
        ("noTools: true\ntools: read", ["--no-tools"]),
        ("noTools: true\nexcludeTools: read", ["--no-tools"]),
        ("excludeTools: bash,write,unknown", ["--tools", "read,edit,grep,find,ls"]),
        (f"excludeTools: {','.join(ALL)}", ["--tools", ""]),
        ("excludeTools: []", []),
        ("tools: read\nexcludeTools: read", ["--tools", "read"]),
    ],
)
def test_a_rule_that_leaves_no_tool_never_leaves_all(header: str, flags: list[str]) -> None:
    assert tool_flags(header) == flags


def test_exclusions_are_cleared_once_they_are_applied() -> None:
    fields = {"excludeTools": ["bash"], "model": "m"}
    assert command.apply_exclusions(fields, ALL) == {
        "model": "m",
        "tools": ["read", "edit", "write", "grep", "find", "ls"],
    }
    assert fields == {"excludeTools": ["bash"], "model": "m"}


@given(st.lists(st.sampled_from([*ALL, "x"]), min_size=1, max_size=9))
def test_no_excluded_tool_is_ever_allowed(excluded: list[str]) -> None:
    fields = command.apply_exclusions({"excludeTools": excluded}, ALL)
    flag, allowed = command.arguments(fields)
    assert flag == "--tools"
    assert set(filter(None, allowed.split(","))) == set(ALL) - set(excluded)


# --- extra arguments --------------------------------------------------------------------------------------

RESTRICTIONS: tuple[dict[str, Any], ...] = (
    {"tools": ["read"]},
    {"tools": []},
    {"excludeTools": ["bash"]},
    {"noTools": True},
)
TOOL_FLAGS = ("--tools", "-t", "--no-tools", "-nt", "--exclude-tools", "-xt", "--no-builtin-tools", "-nbt")


@pytest.mark.parametrize("restriction", RESTRICTIONS, ids=str)
@pytest.mark.parametrize("flag", TOOL_FLAGS)
@pytest.mark.parametrize("form", ["{}", "{}=x", "{}="])
def test_no_extra_argument_undoes_a_restriction(restriction: dict[str, Any], flag: str, form: str) -> None:
    argument = form.format(flag)
    assert outcome({"profile": {**restriction, "extraArgs": ["--ok", argument]}}) == GUARDED.format(argument)


@pytest.mark.parametrize("argument", [*TOOL_FLAGS, "--toolset", "--tool", "-ts", "--no-tools-x"])
def test_without_a_restriction_there_is_nothing_to_guard(argument: str) -> None:
    free: tuple[dict[str, Any], ...] = ({}, {"excludeTools": []}, {"noTools": False})
    for fields in free:
        assert outcome({"profile": {**fields, "extraArgs": [argument]}}) == [argument]


@pytest.mark.parametrize("argument", ["--toolset", "--tool", "-ts", "--no-tools-x", "x--tools"])
def test_only_these_flags_are_guarded(argument: str) -> None:
    assert outcome({"profile": {"noTools": True, "extraArgs": [argument]}}) == [
        "--no-tools",
        argument,
    ]


@pytest.mark.parametrize(
    "argument",
    [*(f"{sign}x" for sign in " \t\n|&;$\\`!"), "a&&b", "a||b", "a;b", "a>b", "a>>b", "a<b", "a<<b"],
)
def test_an_unsafe_argument_is_refused(argument: str) -> None:
    words = f"Refusing extraArg: potentially unsafe argument '{argument}'"
    assert outcome({"profile": {"extraArgs": [argument]}}) == words


def test_an_unsafe_argument_is_shown_in_short() -> None:
    words = outcome({"profile": {"extraArgs": ["!" + "x" * 100]}})
    assert words == f"Refusing extraArg: potentially unsafe argument '!{'x' * 39}'"


def test_a_null_byte_is_refused_first() -> None:
    assert outcome({"profile": {"extraArgs": [";a\0b"]}}) == "Invalid extraArg: contains null byte"


@pytest.mark.parametrize("argument", ["", "a|b", "a&b", "a$(b)", "a`b`", "a!b", "a\\b", "a b", "--x=y"])
def test_what_means_nothing_to_anybody_is_passed_on(argument: str) -> None:
    assert outcome({"profile": {"extraArgs": [argument]}}) == [argument]


# --- skills -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "cwd", "agent_dir", "allowed"),
    [
        ("/srv/.pi/skills/a/SKILL.md", "/srv", None, True),
        ("/home/.pi/agent/skills/a", "/srv", "/home/.pi/agent", True),
        (".pi/skills/a", "/srv", None, True),
        ("/srv", "/srv", None, True),
        ("/srv/./x/../a", "/srv/", None, True),
        ("/etc/passwd", "/srv", "/home/.pi/agent", False),
        ("/work-of-others/a", "/srv", None, False),
        ("/srv/../etc/passwd", "/srv", None, False),
        ("../a", "/srv", None, False),
        ("/", "/srv", None, False),
        ("/etc/passwd", None, "/home/.pi/agent", False),
        ("/etc/passwd", None, None, True),
    ],
)
def test_a_skill_lies_in_the_childs_folder_or_the_agents(
    path: str, cwd: str | None, agent_dir: str | None, *, allowed: bool
) -> None:
    given_ = {"profile": {"suggestedSkills": [path]}, "cwd": cwd, "agentDir": agent_dir}
    expected = ["--skill", path]
    refused = f"Refusing skill path outside allowed directories: {path}"
    assert outcome(given_) == (expected if allowed else refused)


# --- all that is wrong ------------------------------------------------------------------------------------


def test_all_refusals_in_their_order() -> None:
    found = profile(
        "provider: a\ntools: x\nexcludeTools: y\nnoSkills: true\nsuggestedSkills: s\nextraArgs: ['!', ok, -t]"
    )
    assert list(command.refusals(found.fields, "p")) == [
        (
            'Profile "p" has both "tools" (allowlist) and "excludeTools" (blacklist) set. '
            "These are mutually exclusive — choose one or the other."
        ),
        (
            'Profile "p" has both "suggestedSkills" and "noSkills" set. '
            "These are mutually exclusive — --no-skills would override --skill flags."
        ),
        'Profile "p" sets provider without model; set model as well.',
        "Refusing extraArg: potentially unsafe argument '!'",
        GUARDED.format("-t"),
    ]


def test_a_sound_profile_is_not_refused() -> None:
    for header in ("", "provider: a\nmodel: b", "noSkills: true\nsuggestedSkills: []", "extraArgs: --a"):
        assert list(command.refusals(profile(header).fields, "p")) == []


# --- empty lists, and who counts before whom --------------------------------------------------------------


def test_an_empty_list_of_tools_contradicts_nothing() -> None:
    for fields in ({"tools": ["r"], "excludeTools": []}, {"tools": [], "excludeTools": ["w"]}):
        assert command.tool_conflict(fields, "p") is None
    none = command.apply_exclusions({"tools": [], "excludeTools": ["w"]}, ["r", "w"])
    assert command.arguments(none) == ["--tools", ""]  # and never all but w


def test_no_tools_counts_before_those_that_are_left() -> None:
    left = command.apply_exclusions({"noTools": True, "excludeTools": ["w"]}, ["r", "w"])
    assert left == {"noTools": True, "tools": ["r"]}
    assert command.arguments(left) == ["--no-tools"]


def test_a_flag_that_would_lift_the_restriction_is_refused_as_such() -> None:
    fields = {"tools": ["r"], "extraArgs": ["--tools=a;b"]}
    assert outcome({"profile": fields}) == GUARDED.format("--tools=a;b")


def test_a_skill_without_a_path_is_none() -> None:
    assert command.arguments({"suggestedSkills": ["", "/s/a"]}) == ["--skill", "/s/a"]
