"""Settings: which source wins, what a value may be, and what a project may decide."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit import strategies, vectors
from tmuxagents.core import settings

if TYPE_CHECKING:
    from tmuxagents.core.settings import Settings

# key -> default, least, most: the table of the contract
RANGES: dict[str, tuple[float, float, float | None]] = {
    "maxLinesPerWindow": (15, 1, None),
    "commandPreviewWidth": (160, 20, None),
    "extend_timeout_debounce": (30, 0, 300),
    "looping_tool_count": (5, 0, 50),
    "maxRunning": (16, 1, None),
}
GLOBAL_ONLY = {"maxRunning"}


def text_of(section: Any) -> str | None:
    """Return a settings file; a section that is a text is a whole file as it stands."""
    return section if section is None or isinstance(section, str) else json.dumps({"subagents": section})


def resolved(*, user: Any = None, project: Any = None, **environment: str) -> Settings:
    return settings.resolve(environment, global_text=text_of(user), project_text=text_of(project))


@pytest.mark.parametrize(("given_", "expected"), vectors.group("settings"))
def test_settings_vector(given_: dict[str, Any], expected: dict[str, Any]) -> None:
    files = [
        text if text is None or isinstance(text, str) else json.dumps(text)
        for text in (given_["global"], given_["project"])
    ]
    assert given_["with_cwd"] or files[1] is None
    found = settings.resolve({}, global_text=files[0], project_text=files[1])
    assert found.numbers[given_["key"]] == expected["value"]
    assert bool(found.warnings) is expected["warned"]


def test_every_key_of_the_table_is_known() -> None:
    assert set(resolved().numbers) >= set(RANGES)


@pytest.mark.parametrize("key", RANGES)
def test_a_figure_out_of_range_becomes_the_nearest_that_is_in(key: str) -> None:
    default, least, most = RANGES[key]
    for value, used in (
        (least - 1, least),
        (least, least),
        (-1e30, least),
        (10**6, most or 10**6),
        (None, default),
    ):
        assert resolved(user={key: value}).numbers[key] == used


@pytest.mark.parametrize("value", [None, "12", "", True, False, [12], {"n": 12}, float("inf"), float("nan")])
@pytest.mark.parametrize("key", RANGES)
def test_what_is_no_figure_is_the_default(key: str, value: Any) -> None:
    assert resolved(user={key: value}).numbers[key] == RANGES[key][0]


SOURCES = [
    ({}, None, None, 5, "default"),
    ({}, {"looping_tool_count": 6}, None, 6, "global"),
    ({}, {"looping_tool_count": 6}, {"looping_tool_count": 7}, 7, "project"),
    ({}, None, {"looping_tool_count": 7}, 7, "project"),
    (
        {"TMUXAGENTS_LOOPING_TOOL_COUNT": "8"},
        {"looping_tool_count": 6},
        {"looping_tool_count": 7},
        8,
        "environment",
    ),
    ({"TMUXAGENTS_LOOPING_TOOL_COUNT": "99"}, None, None, 50, "environment"),
    ({"TMUXAGENTS_LOOPING_TOOL_COUNT": "many"}, {"looping_tool_count": 6}, None, 5, "environment"),
    ({"TMUXAGENTS_LOOPING_TOOL_COUNT": ""}, {"looping_tool_count": 6}, None, 6, "global"),
    ({"TMUXAGENTS_LOOPING_TOOL_COUNT": "1e999"}, None, None, 5, "environment"),
    ({"TMUXAGENTS_LOOPING_TOOL_COUNT": "[" * 100_000}, None, None, 5, "environment"),
]


@pytest.mark.parametrize(
    ("environment", "user", "project", "value", "source"), SOURCES, ids=range(len(SOURCES))
)
def test_environment_over_project_over_global_over_default(
    *, environment: dict[str, str], user: Any, project: Any, value: float, source: str
) -> None:
    found = resolved(user=user, project=project, **environment)
    assert (found.numbers["looping_tool_count"], found.sources["looping_tool_count"]) == (value, source)


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("maxRunning", "TMUXAGENTS_MAX_RUNNING"),
        ("defaultModel", "TMUXAGENTS_DEFAULT_MODEL"),
        ("extend_timeout_debounce", "TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE"),
        ("timeout", "TMUXAGENTS_TIMEOUT"),
        ("tmux.socket", "TMUXAGENTS_SOCKET"),
        ("tmux.session", "TMUXAGENTS_SESSION"),
    ],
)
def test_the_variable_of_a_key(key: str, variable: str) -> None:
    assert settings.variable_of(key) == variable


# --- files ---


@pytest.mark.parametrize("text", ["", "{", "not json", "[" * 100_000, '{"subagents": %s}' % ("1" * 5000)])
@pytest.mark.parametrize("source", ["global", "project"])
def test_a_file_that_cannot_be_read_is_one_warning_and_no_more(source: str, text: str) -> None:
    found = resolved(user=text) if source == "global" else resolved(project=text)
    assert len(found.warnings) == 1
    assert source in found.warnings[0]
    assert found.numbers == resolved().numbers


@pytest.mark.parametrize(
    "text", ["{}", "[]", "5", '{"subagents": 5}', '{"subagents": null}', '{"other": {"x": 1}}']
)
def test_a_file_without_our_part_says_nothing(text: str) -> None:
    assert resolved(user=text, project=text).numbers == resolved().numbers


def test_unknown_keys_are_nobodys_fault() -> None:
    assert resolved(user={"looping_tool_similarity": 0.95, "anything": []}).warnings == []


@given(st.dictionaries(st.sampled_from([*RANGES, "keepBackground", "agents"]), strategies.wild_values))
def test_whatever_a_file_holds_every_value_is_in_its_range(section: dict[str, Any]) -> None:
    numbers = resolved(user=json.dumps({"subagents": section})).numbers
    for key, (_, least, most) in RANGES.items():
        assert least <= numbers[key] <= (most or numbers[key])


# --- what is no figure ---


@pytest.mark.parametrize(
    ("user", "variables", "kept"),
    [
        (None, {}, False),
        ({"keepBackground": True}, {}, True),
        ({"keepBackground": False}, {}, False),
        ({"keepBackground": "yes"}, {}, False),
        (None, {"TMUXAGENTS_KEEP_BACKGROUND": "1"}, True),
        (None, {"TMUXAGENTS_KEEP_BACKGROUND": "true"}, True),
        ({"keepBackground": True}, {"TMUXAGENTS_KEEP_BACKGROUND": "0"}, False),
        ({"keepBackground": True}, {"TMUXAGENTS_KEEP_BACKGROUND": "false"}, False),
    ],
)
def test_keep_background(user: Any, variables: dict[str, str], *, kept: bool) -> None:
    assert resolved(user=user, **variables).keep_background is kept


@pytest.mark.parametrize(
    ("agents", "commands"),
    [
        ({"pi": {"command": ["node", "/opt/pi/cli.js"]}}, {"pi": ["node", "/opt/pi/cli.js"]}),
        ({"pi": {"command": "pi"}}, {}),
        ({"pi": {"command": []}}, {}),
        ({"pi": {"command": ["node", 5]}}, {}),
        ({"pi": {}}, {}),
        ({"pi": ["pi"]}, {}),
        (["pi"], {}),
        (None, {}),
    ],
)
def test_the_command_of_an_agent_is_a_list_of_words(agents: Any, commands: dict[str, list[str]]) -> None:
    assert resolved(user={"agents": agents}).agent_commands == commands


# --- what a project may decide ---

DANGEROUS = {
    "maxRunning": 99,
    "keepBackground": True,
    "agents": {"pi": {"command": ["/tmp/evil"]}},
    "onEnd": ["/tmp/evil"],
}


def test_a_project_decides_nothing_but_display_and_limits() -> None:
    found = resolved(project=DANGEROUS)
    assert (found.keep_background, found.agent_commands) == (False, {})
    assert found.numbers == resolved().numbers
    assert {found.sources[key] for key in ("keepBackground", "maxRunning")} == {"default"}


@pytest.mark.parametrize("key", DANGEROUS)
def test_a_key_that_a_project_may_not_set_is_warned_of_by_name(key: str) -> None:
    warnings = resolved(project={key: DANGEROUS[key], "maxLinesPerWindow": 9}).warnings
    assert [key in warning for warning in warnings] == [True]


def test_a_key_that_a_project_may_set_is_not_warned_of() -> None:
    allowed = {"timeout": 60, "defaultModel": "a/b", "maxConcurrency": 2, "keepWindows": 30}
    assert resolved(project={**allowed, **dict.fromkeys(set(RANGES) - GLOBAL_ONLY, 20)}).warnings == []


def test_how_many_runs_there_may_be_is_the_users_alone() -> None:
    found = resolved(user={"maxRunning": 4}, project={"maxRunning": 99})
    assert (found.numbers["maxRunning"], found.sources["maxRunning"]) == (4, "global")
    assert resolved(project={"maxRunning": 99}, TMUXAGENTS_MAX_RUNNING="2").numbers["maxRunning"] == 2


# --- how wide a command is shown ---


@pytest.mark.parametrize(
    ("user", "project", "columns", "width"),
    [
        (None, None, None, 160),
        (None, None, 120, 116),
        (None, None, 164, 160),
        (None, None, 300, 296),
        (None, None, 24, 20),
        (None, None, 10, 20),
        (None, None, 0, 20),
        ({"commandPreviewWidth": 50}, None, 120, 50),
        ({"commandPreviewWidth": 50}, None, None, 50),
        ({"commandPreviewWidth": 50}, {"commandPreviewWidth": 60}, 120, 60),
        ({"commandPreviewWidth": 5}, None, 120, 20),
        ({"commandPreviewWidth": 50.9}, None, 120, 50),
        ({"commandPreviewWidth": "wide"}, None, 120, 160),
    ],
)
def test_the_width_is_what_is_set_or_else_what_the_window_has(
    user: Any, project: Any, columns: int | None, width: int
) -> None:
    found = resolved(user=user, project=project)
    shown = settings.preview_width(found, columns)
    assert (shown, type(shown)) == (width, int)
