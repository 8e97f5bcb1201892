"""One preset or profile file: its fields, what is wrong with it, and what a project's file may not decide."""

from __future__ import annotations

import pytest

from tests.presets.preset_files import bad, file, preset, profile, text_file
from tests.presets.shelf import EXAMPLE
from tmuxagents.presets import preset as presets_preset
from tmuxagents.presets.preset import BadPreset

REFUSING = (
    'Warning: Refusing to load {} from project-local profile "p" in /home/dev/app/.pi/agent-profiles/a.md. '
    "Move the profile to the global directory (~/.pi/agent/agent-profiles/) or use environment variables."
)


# --- presets ----------------------------------------------------------------------------------------------


def test_the_example_is_read_as_it_stands() -> None:
    read = presets_preset.parse(text_file(EXAMPLE))
    assert isinstance(read, presets_preset.Preset)
    assert (read.name, read.kind, read.source, read.model) == (
        "repo-scout",
        "preset",
        "global",
        "github-copilot/gpt-4o",
    )
    assert read.fields == {
        "description": "Finds its way around a repository",
        "model": "github-copilot/gpt-4o",
        "tools": ["read", "grep", "find", "ls"],
        "systemPrompt": "Look around quickly, report what you found in a few lines, change nothing.",
    }
    assert (read.warnings, read.notes) == ([], [])


@pytest.mark.parametrize("text", ["/etc/passwd", "-", "@x", "---", "$(touch x)", "{{previous}}", "a\n---\nb"])
def test_a_body_is_a_text_whatever_it_looks_like(text: str) -> None:
    assert preset(body=f"\n{text}\n").fields["systemPrompt"] == text


def test_an_empty_body_is_no_prompt() -> None:
    assert "systemPrompt" not in preset(body=" \n\n").fields


@pytest.mark.parametrize(
    ("header", "tools"),
    [
        ("tools: read", ["read"]),
        ("tools: ' read , ,bash, '", ["read", "bash"]),
        ("tools: [read, ' bash ', '']", ["read", "bash"]),
        ("tools:\n  - read\n  - mcp__a__*", ["read", "mcp__a__*"]),
        ("tools: +ls,-bash,a.b:c_d", ["+ls", "-bash", "a.b:c_d"]),
        ("tools: 017", ["017"]),
    ],
)
def test_tools_of_a_preset(header: str, tools: list[str]) -> None:
    assert preset(header).tools == tools


def test_without_tools_none_is_forbidden() -> None:
    assert preset().tools is None


@pytest.mark.parametrize(
    "empty", ["tools:", "tools: ''", "tools: []", "tools: ','", "tools: ['', ' ']", "tools: ~"]
)
def test_empty_tools_are_no_word_for_all_or_none(empty: str) -> None:
    # The child would be given no tool at all, and its author meant something else.
    assert bad(f"name: a\ndescription: d\n{empty}") == [
        "line 4, tools: it is empty: name the tools, or leave the key out to restrict none"
    ]


@pytest.mark.parametrize("odd", ["read bash", "--x y", "a/b", "a;b", "a$", "é"])
def test_a_tool_has_the_letters_of_a_tool(odd: str) -> None:
    assert bad(f"name: a\ndescription: d\ntools: ['{odd}', read]") == [
        f"line 4, tools: {odd!r} is no name of a tool"
    ]


@pytest.mark.parametrize(
    ("header", "wrong"),
    [
        ("name: a", ["description: it is missing: say in a few words what the preset is for"]),
        (
            "name: a\ndescription:",
            ["line 3, description: it is missing: say in a few words what the preset is for"],
        ),
        (
            "name: a\ndescription: [x]",
            ["line 3, description: this must be a text; put it in quotes"],
        ),
        ("name: a\ndescription: d\ntools: true", ["line 4, tools: this must be a list of words"]),
        ("name: a\ndescription: d\ntools: {a: b}", ["line 4, tools: this must be a list of words"]),
        ("name: a\ndescription: d\nmodel: [x]", ["line 4, model: this must be the name of a model"]),
        ("name: a\ndescription: d\nmodel: true", ["line 4, model: this must be the name of a model"]),
        (
            "name: a\ndescription: d\ntools: [[read]]",
            ["line 4, tools: this must be a list of words"],
        ),
        ("name: a\ndescription: b: c", ['line 3, description: a text that holds ": " must be in quotes']),
        ("name: ''\ndescription: d", ["line 2, name: it is empty"]),
        ("name: ' '\ndescription: d", ["line 2, name: it is empty"]),
        (f"name: {'x' * 101}\ndescription: d", ["line 2, name: it is longer than 100 characters"]),
        ('name: "a\\nb"\ndescription: d', ["line 2, name: it holds a control character"]),
        ('name: "a\\e[31m"\ndescription: d', ["line 2, name: it holds a control character"]),
        (
            "name: a\ndescription: d\ntimeout: 0",
            ["line 4, timeout: this must be a duration like 90s or 5m, at least 1s"],
        ),
        (
            "name: a\ndescription: d\ntimeout: 9007199254740993",
            ["line 4, timeout: this must be at most 1000000000 seconds"],
        ),
        (
            "name: a\ndescription: d\nagent: 5\ndriver: tty",
            [
                "line 4, agent: this must be the name of an agent",
                "line 5, driver: this must be batch or live",
            ],
        ),
    ],
)
def test_a_bad_preset_says_where_and_why(header: str, wrong: list[str]) -> None:
    assert bad(header) == wrong


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("model: 017", "017"),
        ("model: 1.50", "1.50"),
        ("model: ' a/b '", " a/b "),
        ("model: a/b:high", "a/b:high"),
    ],
)
def test_a_text_that_looks_like_a_number_is_read_as_it_was_written(header: str, text: str) -> None:
    assert preset(header).fields["model"] == text


@pytest.mark.parametrize("blank", ["model:", "model: ''", "model: ' '", "model: ~"])
def test_a_blank_model_is_none(blank: str) -> None:
    assert preset(blank).model is None


def test_the_users_own_presets_may_say_more() -> None:
    own = preset("agent: pi\ndriver: live\ntimeout: 90.5\nkeepBackground: true\nnesting: 2")
    assert (own.agent, own.driver, own.timeout, own.keep_background, own.nesting) == (
        "pi",
        "live",
        90.5,
        True,
        2,
    )
    plain = preset()
    assert (plain.agent, plain.driver, plain.timeout, plain.keep_background, plain.nesting) == (None,) * 5
    assert preset("keepBackground: false").keep_background is False


@pytest.mark.parametrize(
    "odd",
    [
        *("agent: [pi]", "agent: ''", "driver: true", "driver: Batch"),
        *("timeout: '60'", "timeout: true", "timeout: .inf", "timeout: .nan", "timeout: 0.9", "timeout: -5"),
        *("keepBackground: 'true'", "keepBackground: 1", "keepBackground: yes"),
        *("nesting: 0", "nesting: 4", "nesting: 1.0", "nesting: '1'", "nesting: true"),
    ],
)
def test_our_own_keys_are_checked(odd: str) -> None:
    key = odd.partition(":")[0]
    (wrong,) = bad(f"name: a\ndescription: d\n{odd}")
    assert wrong.startswith(f"line 4, {key}: this must be ")


def test_an_empty_key_of_ours_says_nothing() -> None:
    assert "timeout" not in preset("timeout:").fields
    assert preset("timeout: 1h30m").fields["timeout"] == 5400


# --- what is no preset ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("just notes\n", 1, "it has no header: the file must begin with a line `---`"),
        ("", 1, "it has no header: the file must begin with a line `---`"),
        ("---\ndescription: d\n---\n", 1, "it is missing"),
        ("---\ndescription: d\nname:\n---\n", 1, "it is missing"),
        ("---\nname: 123\n---\n", 2, "the name must be a text; put it in quotes"),
        ("---\nname: 017\n---\n", 2, "the name must be a text; put it in quotes"),
        ("---\nname: true\n---\n", 2, "the name must be a text; put it in quotes"),
        ("---\nname: [a]\n---\n", 2, "the name must be a text; put it in quotes"),
    ],
)
def test_without_a_name_it_is_none_and_nobody_is_told_unless_he_asks(
    text: str, line: int, words: str
) -> None:
    assert presets_preset.parse(text_file(text)) is None
    (flaw,) = presets_preset.nameless(text_file(text))
    assert (flaw.line, flaw.message) == (line, words)


@pytest.mark.parametrize("name", ["no", "off", "2026-11-18", "12:30", "1e", "null-ish", "~x", "0x"])
def test_words_that_other_readers_take_for_something_else_are_names(name: str) -> None:
    read = presets_preset.parse(file(f"name: {name}\ndescription: d"))
    assert isinstance(read, presets_preset.Preset)
    assert read.name == name


def test_a_header_that_does_not_end_is_bad() -> None:
    read = presets_preset.parse(text_file("---\nname: a\ndescription: d\nbody"))
    assert isinstance(read, BadPreset)
    assert read.warning() == (
        "Failed to load preset from /home/dev/.pi/agent/subagents/a.md: "
        "line 1: the header is not closed: a line `---` is missing"
    )


def test_a_malformed_file_is_bad() -> None:
    read = presets_preset.parse(text_file("---\nname: a\n  b: [\n---\n", kind="profile"))
    assert isinstance(read, BadPreset)
    assert (read.name, read.flaws[0].line) == (None, 3)
    assert read.warning().startswith(
        "Failed to load profile from /home/dev/.pi/agent/agent-profiles/a.md: line 3"
    )


@pytest.mark.parametrize("name", ["a b", "a/b", "../x", "-rf", "a\\b", "a:b", "a\u202eb"])
def test_an_odd_name_is_warned_of(name: str) -> None:
    for read in (
        presets_preset.parse(file(f"name: '{name}'\ndescription: d")),
        presets_preset.parse(file(f"name: '{name}'", kind="profile")),
    ):
        assert isinstance(read, presets_preset.Preset)
        (warning,) = read.warnings
        assert warning.startswith(f"{read.kind} {name!r} in {read.path}: a name should be made of ")


@pytest.mark.parametrize("name", ["réviseur", "日本", "_x", ".x", "a.b-c_d", "__proto__", "it's", "a+b"])
def test_a_name_without_blanks_and_slashes_is_nobodys_business(name: str) -> None:
    read = presets_preset.parse(file(f'name: "{name}"\ndescription: d'))
    assert isinstance(read, presets_preset.Preset)
    assert read.warnings == []


def test_a_projects_name_that_may_only_look_like_another_is_warned_of() -> None:
    read = presets_preset.parse(text_file("---\nname: sc\u043eut\ndescription: d\n---\n", source="project"))
    assert isinstance(read, presets_preset.Preset)
    (warning,) = read.warnings
    assert "a name should be made of " in warning


# --- profiles ---------------------------------------------------------------------------------------------


def test_a_profile_with_every_field() -> None:
    lines = (
        "provider: anthropic\nmodel: claude\nthinkingLevel: off\nappendSystemPrompt: Be brief.\n"
        "apiKey: sk-1\nnoTools: true\nnoExtensions: true\nnoSkills: true\nnoContextFiles: true\n"
        "tools: [a, 1]\nexcludeTools: b\nextensions: /x.js\nextraArgs: --a,--b\n"
        "suggestedSkills: s\nloadSkills: [l]"
    )
    assert profile(lines, "Body.").fields == {
        "provider": "anthropic",
        "model": "claude",
        "thinkingLevel": "off",
        "appendSystemPrompt": "Be brief.",
        "apiKey": "sk-1",
        "noTools": True,
        "noExtensions": True,
        "noSkills": True,
        "noContextFiles": True,
        "tools": ["a", "1"],
        "excludeTools": ["b"],
        "extensions": ["/x.js"],
        "extraArgs": ["--a", "--b"],
        "suggestedSkills": ["s"],
        "loadSkills": ["l"],
        "systemPrompt": "Body.",
    }


@pytest.mark.parametrize("value", ["'true'", "yes", "1", "false", "~", "[true]"])
def test_a_flag_counts_only_when_it_is_literally_true(value: str) -> None:
    assert "noTools" not in profile(f"noTools: {value}").fields


@pytest.mark.parametrize(
    ("header", "note"),
    [
        ("noTools: 'true'", "line 3, noTools: this counts only when it is literally true"),
        ("noSkills: 1", "line 3, noSkills: this counts only when it is literally true"),
        ("model: true", "line 3, model: this must be a text; it is ignored"),
        ("apiKey: [a]", "line 3, apiKey: this must be a text; it is ignored"),
        ("tools: true", "line 3, tools: this must be a list of words; it is ignored"),
        (
            "thinkingLevel: banana",
            "line 3, thinkingLevel: pi knows off, minimal, low, medium, high, xhigh, max",
        ),
        ("colour: red", "line 3, colour: a profile has no such key; it is ignored"),
        ("timeout: 5", "line 3, timeout: a profile has no such key; it is ignored"),
        (
            "systemPrompt: x",
            "line 3, systemPrompt: the text below the header is the prompt; this key is ignored",
        ),
    ],
)
def test_what_is_ignored_is_noted_for_those_who_check(header: str, note: str) -> None:
    read = profile(header)
    assert [one.words() for one in read.notes] == [note]
    assert read.warnings == []


@pytest.mark.parametrize("value", ["false", "true", "~"])
def test_a_plain_flag_is_not_odd(value: str) -> None:
    assert profile(f"noTools: {value}").notes == []


def test_a_list_of_lists_is_bad_in_a_profile_too() -> None:
    read = presets_preset.parse(file("name: p\nextraArgs: [[a]]", kind="profile"))
    assert isinstance(read, BadPreset)
    assert [flaw.words() for flaw in read.flaws] == ["line 3, extraArgs: this must be a list of words"]


@pytest.mark.parametrize(
    ("header", "model"),
    [
        ("model: a/b", "a/b"),
        ("provider: a\nmodel: b", "a/b"),
        ("provider: a\nmodel: a/b", "a/b"),
        ("provider: a\nmodel: c/b", "a/c/b"),
        ("provider: a", None),
        ("", None),
    ],
)
def test_the_model_of_a_profile_has_its_provider(header: str, model: str | None) -> None:
    assert profile(header).model == model


def test_a_key_is_there_for_who_asks() -> None:
    assert (profile("apiKey: k").api_key, profile().api_key) == ("k", None)


def test_neither_key_nor_prompt_stands_in_a_log() -> None:
    assert repr(profile("apiKey: SECRET", "SECRET")) == "<global profile 'p'>"


# --- files of a project -----------------------------------------------------------------------------------


def test_a_projects_preset_may_set_four_keys() -> None:
    read = preset("model: a/b\ntools: read\ntimeout: 9\nagent: pi\nenv: {A: b}\napiKey: x", source="project")
    assert sorted(read.fields) == ["description", "model", "tools"]
    path = "/home/dev/app/.pi/subagents/a.md"
    assert read.warnings == [
        f"{path}: a project's preset may not set {key}; it is ignored"
        for key in ("timeout", "agent", "env", "apiKey")
    ]
    assert read.notes == []


def test_a_key_with_the_name_of_the_body_does_not_take_the_body_away() -> None:
    read = preset("systemPrompt: from the header", "Look around.", source="project")
    assert read.fields["systemPrompt"] == "Look around."
    assert [warning.partition(": ")[2] for warning in read.warnings] == [
        "a project's preset may not set systemPrompt; it is ignored"
    ]


def test_a_key_that_is_dropped_need_not_be_right() -> None:
    assert "timeout" not in preset("timeout: soon\nnesting: 99", source="project").fields


def test_a_long_key_is_told_in_short() -> None:
    (warning,) = preset(f"{'k' * 500}: 1", source="project").warnings
    assert "k" * 100 + "…" in warning
    assert "k" * 101 not in warning


def test_a_projects_profile_keeps_all_but_three_fields() -> None:
    lines = (
        "apiKey: SECRET\nextensions: ./evil.js\nextraArgs: -e,evil.js\nthinkingLevel: high\nnoSkills: true"
    )
    read = profile(lines, source="project")
    assert read.fields == {"thinkingLevel": "high", "noSkills": True}
    assert read.warnings == [REFUSING.format(key) for key in ("apiKey", "extensions", "extraArgs")]


def test_a_projects_profile_is_whole_if_the_user_says_so() -> None:
    read = profile("apiKey: k\nextensions: x\nextraArgs: y", source="project", full=True)
    assert read.fields == {"apiKey": "k", "extensions": ["x"], "extraArgs": ["y"]}
    assert read.warnings == []


def test_what_is_refused_of_a_projects_profile_need_not_be_right() -> None:
    assert profile("extraArgs: [[a]]", source="project").fields == {}


def test_one_that_is_made_ready_leaves_the_file_as_it_was_read() -> None:
    read = profile("excludeTools: bash")
    read.hidden_by = "/elsewhere"
    ready = read.ready({"tools": ["read"]}, ["careful"])
    assert (ready.fields, ready.warnings, ready.name, ready.path, ready.hash) == (
        {"tools": ["read"]},
        ["careful"],
        read.name,
        read.path,
        read.hash,
    )
    assert (ready.hidden_by, ready.hidden, read.fields) == ("/elsewhere", None, {"excludeTools": ["bash"]})


def test_a_profile_with_an_empty_name_is_none_and_a_preset_a_bad_one() -> None:
    assert presets_preset.parse(file("name: ''", kind="profile")) is None
    assert isinstance(presets_preset.parse(file("name: ''\ndescription: d")), BadPreset)
    assert [flaw.words() for flaw in presets_preset.nameless(file("name: ''", kind="profile"))] == [
        "line 2, name: it is empty"
    ]
