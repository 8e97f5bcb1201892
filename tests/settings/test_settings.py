"""Settings: which source wins, what a value may be, and what a project may decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.settings import keys
from tmuxagents.settings.rules import Choice, Flag, Names, Number, Rule, Windows

if TYPE_CHECKING:
    from tmuxagents.settings.keys import Settings

# key -> default, least, most: the table of the contract
RANGES: dict[str, tuple[float, float, float | None]] = {
    "maxLinesPerWindow": (15, 1, None),
    "commandPreviewWidth": (160, 20, None),
    "extend_timeout_debounce": (30, 0, 300),
    "looping_tool_count": (5, 0, 50),
    "maxConcurrency": (4, 1, None),
    "maxRunning": (16, 1, None),
    "timeout": (600, 1, None),
}
GLOBAL_ONLY = {"maxRunning"}
# As before this project: no word about a bad one.
UNTOLD = {"maxLinesPerWindow", "commandPreviewWidth", "extend_timeout_debounce", "looping_tool_count"}


def text_of(section: Any) -> str | None:
    """Return a settings file; a section that is a text is a whole file as it stands."""
    return section if section is None or isinstance(section, str) else json.dumps({"subagents": section})


def resolved(*, user: Any = None, project: Any = None, **environment: str) -> Settings:
    return keys.resolve(environment, global_text=text_of(user), project_text=text_of(project))


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
        ("agents.pi.command", "TMUXAGENTS_PI"),
        ("keepRuns", "TMUXAGENTS_KEEP_RUNS"),
    ],
)
def test_the_variable_of_a_key(key: str, variable: str) -> None:
    assert keys.variable_of(key) == variable


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
    "projectProfiles": "full",
    "projectPresets": True,
    "presetsFrom": ["claude"],
    "defaultAgent": "evil",
    "driver": "live",
    "tmux": {"socket": "/tmp/evil", "session": "current"},
    "keepRuns": "0s",
    "notify": "bell",
    "unheardOf": 1,
}


def test_a_project_decides_nothing_but_display_and_limits() -> None:
    found = resolved(project=DANGEROUS)
    assert found.values == resolved().values
    assert set(found.sources.values()) == {"default"}


@pytest.mark.parametrize("key", DANGEROUS)
def test_a_key_that_a_project_may_not_set_is_warned_of_by_name(key: str) -> None:
    warnings = resolved(project={key: DANGEROUS[key], "maxLinesPerWindow": 9}).warnings
    assert [key in warning for warning in warnings] == [True]


def test_a_key_that_a_project_may_set_is_not_warned_of() -> None:
    allowed = {"timeout": 60, "defaultModel": "a/b", "maxConcurrency": 2, "keepWindows": 30}
    assert resolved(project={**dict.fromkeys(set(RANGES) - GLOBAL_ONLY, 20), **allowed}).warnings == []
    assert {*allowed, *RANGES} - GLOBAL_ONLY == set(keys.PROJECT_KEYS)


def test_a_value_that_was_replaced_by_the_default_comes_from_there() -> None:
    told = {key: source for key, _, source in keys.rows(resolved(user={"defaultModel": 7, "timeout": 60}))}
    assert (told["defaultModel"], told["timeout"]) == ("default", "global")


def test_a_concurrency_of_the_projects_that_is_none_does_not_raise_the_users() -> None:
    found = resolved(user={"maxConcurrency": 2}, project={"maxConcurrency": "many"})
    assert ("maxConcurrency", 2, "global") in keys.rows(found)


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
        ({"commandPreviewWidth": "wide"}, None, 120, 116),
        ({"commandPreviewWidth": "wide"}, None, None, 160),
        ({"commandPreviewWidth": 160}, None, 120, 160),
        ({"commandPreviewWidth": 50}, {"commandPreviewWidth": None}, 120, 116),
    ],
)
def test_the_width_is_what_is_set_or_else_what_the_window_has(
    user: Any, project: Any, columns: int | None, width: int
) -> None:
    found = resolved(user=user, project=project)
    shown = keys.preview_width(found, columns)
    assert (shown, type(shown)) == (width, int)


def test_a_project_that_sets_thousands_of_keys_gets_one_warning_that_can_be_read() -> None:
    (warning,) = resolved(project={f"{number:0100}": 1 for number in range(10_000)}).warnings
    assert len(warning) < 1000
    assert "and 9990 more" in warning


# --- figures, told or not ---


@pytest.mark.parametrize("key", RANGES)
@pytest.mark.parametrize("value", [-5, "x", True, [5], float("inf")])
def test_a_bad_figure_is_one_warning_but_not_of_the_four_old_keys(key: str, value: Any) -> None:
    warnings = resolved(user={key: value}).warnings
    assert [key in warning for warning in warnings] == ([] if key in UNTOLD else [True])


@pytest.mark.parametrize("key", RANGES)
def test_a_bad_variable_is_always_told(key: str) -> None:
    (warning,) = resolved(**{keys.variable_of(key): "many"}).warnings
    assert keys.variable_of(key) in warning


@pytest.mark.parametrize(
    ("user", "project", "environment", "used", "source", "warned"),
    [
        (None, 2, None, 2, "project", 0),
        (None, 4, None, 4, "project", 0),
        (None, 5, None, 4, "default", 1),
        (8, 5, None, 5, "project", 0),
        (8, 9, None, 8, "global", 1),
        (2, 3, None, 2, "global", 1),
        (2, None, None, 2, "global", 0),
        (2, 3, "6", 6, "environment", 0),
        (2, "many", None, 2, "global", 2),
        (2, 0, None, 1, "project", 1),
        ("many", 9, None, 4, "global", 2),
    ],
)
def test_a_project_may_lower_how_many_children_a_call_has_and_not_raise_it(  # noqa: PLR0913  (a table)
    *, user: Any, project: Any, environment: str | None, used: float, source: str, warned: int
) -> None:
    variables = {} if environment is None else {"TMUXAGENTS_MAX_CONCURRENCY": environment}
    files: dict[str, Any] = {"user": None, "project": None}
    files |= {} if user is None else {"user": {"maxConcurrency": user}}
    files |= {} if project is None else {"project": {"maxConcurrency": project}}
    found = resolved(**files, **variables)
    assert (found.numbers["maxConcurrency"], found.sources["maxConcurrency"]) == (used, source)
    assert len(found.warnings) == warned


# --- every key: what it may hold ---

GOOD: list[tuple[str, Any, str, Any]] = [
    ("defaultModel", "mock/mock-text", "default_model", "mock/mock-text"),
    ("defaultModel", "  gpt-4o ", "default_model", "gpt-4o"),
    ("defaultAgent", "other", "default_agent", "other"),
    ("driver", "live", "driver", "live"),
    ("tmux.socket", "work", "tmux_socket", "work"),
    ("tmux.socket", "/tmp/sock", "tmux_socket", "/tmp/sock"),
    ("tmux.session", "current", "tmux_session", "current"),
    ("projectPresets", False, "project_presets", False),
    ("projectProfiles", "full", "project_profiles_full", True),
    ("projectProfiles", "safe", "project_profiles_full", False),
    ("presetsFrom", ["claude", "qwen", "claude"], "presets_from", ["claude", "qwen"]),
    ("keepBackground", True, "keep_background", True),
    ("keepRuns", "12h", "keep_runs_s", 12 * 3600),
    ("keepRuns", "0s", "keep_runs_s", 0),
    ("keepRuns", "90m", "keep_runs_s", 5400),
    ("keepRuns", "2w", "keep_runs_s", 14 * 86400),
    ("keepRuns", "1y", "keep_runs_s", 365 * 86400),
    ("keepRuns", "all", "keep_runs_s", None),
    ("onEnd", ["notify-send", "done", ""], "on_end", ["notify-send", "done", ""]),
    ("notify", "off", "notify", "off"),
    ("notify", "message", "notify", "message"),
    ("keepWindows", 60, "keep_windows_s", 60),
    ("keepWindows", 0, "keep_windows_s", 0),
    ("keepWindows", "all", "keep_windows_s", None),
    ("keepWindows", "failed", "keep_windows_s", 0),
    ("keepWindows", "none", "keep_windows_s", 0),
]
DEFAULTS: dict[str, Any] = {
    "default_model": None,
    "default_agent": "pi",
    "driver": "batch",
    "tmux_socket": None,
    "tmux_session": None,
    "project_presets": True,
    "project_profiles_full": False,
    "keep_background": False,
    "keep_runs_s": 30 * 86400,
    "on_end": None,
    "notify": "status",
    "keep_windows_s": 300,
    "close_failed": False,
    "agent_commands": {},
}
BAD: dict[str, list[Any]] = {
    "defaultModel": ["", " ", 5, True, ["a"], "a\nb", "a\0", "\x1b[2J", "x" * 5000],
    "defaultAgent": ["", 5, {}],
    "driver": ["Live", "", "tty", True, 1],
    "tmux.socket": ["", ".", "..", "a/b", "../x", 5, "a\nb"],
    "tmux.session": ["work", "", "Current", 5],
    "projectPresets": ["false", 0, 1, "no", []],
    "projectProfiles": [True, "FULL", ""],
    "presetsFrom": ["claude", [5], {"claude": True}, ["a-b"], ["../claude"]],
    "keepBackground": ["yes", 1, 0, "true", []],
    "onEnd": ["notify-send", [], [""], ["a", 5], ["a\0"], {"a": 1}],
    "notify": ["loud", "", 5],
    "keepWindows": ["never", "300", True, float("inf"), []],
}
UNSAFE_AGES = [
    "",
    "30",
    30,
    "30 d",
    "-1d",
    "d",
    "30D",
    "all ",
    "forever",
    True,
    ["30d"],
    "9" * 30 + "d",
    "٣d",
]


def at(key: str, value: Any) -> dict[str, Any]:
    """Return a section with a key as people write it."""
    outer, _, inner = key.partition(".")
    return {outer: {inner: value}} if inner else {key: value}


def test_without_any_source_everything_is_the_default() -> None:
    found = resolved()
    assert {name: getattr(found, name) for name in DEFAULTS} == DEFAULTS
    assert {key: found.numbers[key] for key in RANGES} == {key: row[0] for key, row in RANGES.items()}
    assert set(found.sources.values()) == {"default"}
    assert found.warnings == []


@pytest.mark.parametrize(("key", "value", "name", "used"), GOOD)
def test_a_good_value_is_used(key: str, value: Any, name: str, used: Any) -> None:
    for section in (at(key, value), {key: value}):  # nested or with a dot
        found = resolved(user=section)
        assert (getattr(found, name), found.sources[key], found.warnings) == (used, "global", [])


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in BAD for value in BAD[key]])
def test_a_bad_value_is_the_default_and_one_warning_that_names_it(key: str, value: Any) -> None:
    found = resolved(user=at(key, value))
    assert found.values[key] == resolved().values[key]
    assert found.sources[key] == "global"
    assert [key in warning for warning in found.warnings] == [True]


@pytest.mark.parametrize("value", UNSAFE_AGES)
def test_an_age_that_cannot_be_read_loses_nothing(value: Any) -> None:
    found = resolved(user={"keepRuns": value})
    assert found.keep_runs_s is None
    assert ["keepRuns" in warning for warning in found.warnings] == [True]


@pytest.mark.parametrize("key", keys.KEYS)
def test_null_is_the_default_without_a_word(key: str) -> None:
    outer = key.rpartition(".")[0]
    section = {"agents": {"pi": {"command": None}}} if outer == "agents.pi" else at(key, None)
    found = resolved(user=section)
    assert (found.values[key], found.warnings) == (resolved().values[key], [])


@pytest.mark.parametrize(
    ("value", "closes"), [("none", True), ("failed", False), ("all", False), (300, False), (0, False)]
)
def test_the_window_of_a_failed_run_goes_only_where_none_is_kept(*, value: Any, closes: bool) -> None:
    assert resolved(project={"keepWindows": value}).close_failed is closes


@pytest.mark.parametrize("key", [*RANGES, "keepWindows"])
def test_no_figure_is_too_large_to_reckon_with(key: str) -> None:
    used = resolved(user={key: 10**400}).values[key]
    assert used == (RANGES[key][2] if key in RANGES else None) or used == 10**9
    assert resolved(user={"keepWindows": -1}).keep_windows_s == 0


# --- every key: by variable ---


@pytest.mark.parametrize(
    ("key", "text", "name", "used"),
    [
        ("defaultModel", "123", "default_model", "123"),
        ("defaultModel", "null", "default_model", "null"),
        ("driver", "live", "driver", "live"),
        ("tmux.socket", "work", "tmux_socket", "work"),
        ("tmux.session", "current", "tmux_session", "current"),
        ("projectPresets", "0", "project_presets", False),
        ("projectPresets", "False", "project_presets", False),
        ("keepRuns", "7d", "keep_runs_s", 7 * 86400),
        ("notify", "bell", "notify", "bell"),
        ("keepWindows", "60", "keep_windows_s", 60),
        ("keepWindows", "none", "keep_windows_s", 0),
        ("agents.pi.command", "/opt/my pi", "agent_commands", {"pi": ["/opt/my pi"]}),
    ],
)
def test_a_variable_wins(key: str, text: str, name: str, used: Any) -> None:
    found = resolved(user=at("driver", "batch"), **{keys.variable_of(key): text})
    assert (getattr(found, name), found.sources[key], found.warnings) == (used, "environment", [])


@pytest.mark.parametrize("key", keys.KEYS)
def test_an_empty_variable_says_nothing(key: str) -> None:
    found = resolved(**{keys.variable_of(key): ""})
    assert (found.values, found.sources[key], found.warnings) == (resolved().values, "default", [])


@pytest.mark.parametrize(("key", "text"), [("onEnd", "/bin/true"), ("projectProfiles", "full")])
def test_what_is_the_global_files_alone_has_no_variable(key: str, text: str) -> None:
    found = resolved(**{keys.variable_of(key): text})
    assert found.values == resolved().values


def test_no_two_keys_share_a_variable_and_none_has_a_name_that_means_something_else() -> None:
    variables = [keys.variable_of(key) for key in keys.KEYS]
    taken = {"HOME", "OWNER", "RUN", "CHILD", "ROLE", "NESTING", "ROOT", "STATUS"}
    assert len(set(variables)) == len(variables)
    assert not {f"TMUXAGENTS_{name}" for name in taken} & set(variables)


@pytest.mark.parametrize(
    ("key", "written", "used"),
    [
        ("timeout", "5m", 300),
        ("timeout", "1h30m", 5400),
        ("timeout", "90s", 90),
        ("timeout", 90, 90),
        ("timeout", "1.5s", 1.5),
        ("extend_timeout_debounce", "1m", 60),
        ("keepWindows", "2h", 7200),
        ("keepWindows", "failed", "failed"),
    ],
)
def test_a_duration_is_written_as_people_write_it(key: str, written: object, used: object) -> None:
    in_file = resolved(user={key: written})
    assert (in_file.values[key], in_file.sources[key], in_file.warnings) == (used, "global", [])
    in_variable = resolved(**{keys.variable_of(key): str(written)})
    assert (in_variable.values[key], in_variable.warnings) == (used, [])


@pytest.mark.parametrize("written", ["600", "soon", "5m3", "m", "", "5 m", True])
def test_a_text_without_a_unit_is_no_duration(written: object) -> None:
    found = resolved(user={"timeout": written})
    assert found.values["timeout"] == 600
    assert "a duration like 90s or 5m" in found.warnings[0]


@pytest.mark.parametrize(("written", "seconds"), [("1d12h", 129600), ("2w", 1209600), ("1y", 31536000)])
def test_an_age_is_a_duration_too(written: str, seconds: float) -> None:
    assert resolved(user={"keepRuns": written}).keep_runs_s == seconds


# --- words about it ---


def test_the_rows_are_the_table_with_value_and_source() -> None:
    found = resolved(user={"agents": {"other": {"command": ["x"]}}, "timeout": 60}, TMUXAGENTS_DRIVER="live")
    rows = {key: (value, source) for key, value, source in keys.rows(found)}
    assert list(rows) == [*keys.KEYS, "agents.other.command"]
    assert rows["timeout"] == (60, "global")
    assert rows["driver"] == ("live", "environment")
    assert rows["agents.other.command"] == (["x"], "global")
    assert rows["keepRuns"] == ("30d", "default")


def test_a_warning_names_the_file() -> None:
    found = keys.resolve(
        {},
        global_text='{"subagents": {"driver": "x"}}',
        project_text='{"subagents": {"timeout": "x", "onEnd": ["x"]}}',
        paths={"global": "/agent/settings.json", "project": "/code/app/.pi/settings.json"},
    )
    assert sorted(found.warnings) == [
        'global settings (/agent/settings.json): driver must be one of batch, live; "batch" is used',
        "project settings (/code/app/.pi/settings.json): a project may not set 'onEnd'; ignored",
        (
            "project settings (/code/app/.pi/settings.json): "
            "timeout must be a duration like 90s or 5m, at least 1; 600 is used"
        ),
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "timeout must be at least 1; 1 is used"),
        (1e18, "timeout must be at most 1000000000; 1000000000 is used"),
    ],
)
def test_a_warning_of_a_figure_names_the_end_that_it_is_beyond(value: float, words: str) -> None:
    assert resolved(user={"timeout": value}).warnings == [f"global settings: {words}"]


def test_similarity_of_calls_is_no_setting() -> None:
    assert not [key for key in keys.KEYS if "similar" in key]


@given(st.dictionaries(st.sampled_from([*keys.KEYS, "tmux", "agents"]), strategies.wild_values))
def test_whatever_both_files_hold_nothing_stops_and_all_has_its_kind(section: dict[str, Any]) -> None:
    text = json.dumps({"subagents": section})
    found = keys.resolve({}, global_text=text, project_text=text)
    assert list(found.values)[: len(keys.KEYS)] == list(keys.KEYS)
    assert found.driver in ("batch", "live")
    assert found.keep_runs_s is None or found.keep_runs_s >= 0
    assert found.keep_windows_s is None or found.keep_windows_s >= 0
    assert all(isinstance(word, str) for words in found.agent_commands.values() for word in words)
    assert all(isinstance(warning, str) for warning in found.warnings)


# --- the page for users ---

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_for_users_says_of_every_key_what_the_table_says() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    told = {key.strip("`"): cells for key, *cells in rows if len(cells) == 4}
    assert list(told) == list(keys.KEYS)
    for key, rule in keys.KEYS.items():
        default, may_be, variable, project = told[key]
        shown = default.strip("`")
        assert shown == (
            "none" if rule.default is None else str(rule.default).replace("F", "f").replace("T", "t")
        )
        has_none = key in keys.GLOBAL_ONLY
        assert variable.split(" ")[0] == ("none" if has_none else f"`{keys.variable_of(key)}`"), key
        assert (project != "no") is (key in keys.PROJECT_KEYS), key
        if isinstance(rule, Choice):
            assert all(f"`{word}`" in may_be for word in rule.words), key
        elif isinstance(rule, Flag):
            assert {"true", "false:"} <= set(may_be.replace(",", "").split()), key
        elif isinstance(rule, Windows):
            assert all(f"`{word}`" in may_be for word in rule.words), key
        elif isinstance(rule, Number):
            span = f"{rule.least:g} to {rule.most:g}" if rule.most is not None else f"at least {rule.least:g}"
            assert may_be.startswith(span), key


def test_the_example_on_the_page_for_users_is_in_force() -> None:
    _, fence, rest = PAGE.read_text("utf-8").partition("```json\n")
    found = keys.resolve({}, global_text=rest.partition("```")[0])
    assert fence
    assert (found.default_model, found.tmux_session) == ("github-copilot/gpt-4o", "current")
    assert (found.numbers["timeout"], found.warnings) == (900, [])


def test_the_ages_on_the_page_for_users_can_be_read() -> None:
    (row,) = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `keepRuns`")]
    ages = [word for word in row.split("|")[3].split("`")[1::2] if word != "all"]
    assert len(ages) > 3
    assert all(resolved(user={"keepRuns": age}).warnings == [] for age in ages)


def test_a_rule_for_any_text_takes_it_as_it_is() -> None:
    rule = Rule(None)
    assert rule.literal(" x ") == " x "
    assert rule.read(" x ") == (" x ", None)


def test_names_are_typed_with_commas() -> None:
    assert Names(None).literal(" claude , codex,,") == ["claude", "codex"]
