"""Settings in the text of a file: put in and taken out, while everything else stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tmuxagents.errors import BadRequest
from tmuxagents.integrate import config
from tmuxagents.integrate.own_text import CannotEdit
from tmuxagents.settings import keys

pytestmark = pytest.mark.pure

OTHERS = '{\r\n\t"theme": "dark", "n": 1e3,\r\n\t"defaultModel" :"x"\r\n}\r\n'
NESTED = (
    '{"subagents": {"timeout": 5, "tmux": {"session" : "current", "socket":"a"}, '
    '"agents": {"pi": {"command": ["p"]}}}}'
)


@pytest.mark.parametrize(
    ("text", "key", "value", "expected"),
    [
        (None, "timeout", 9, '{\n  "subagents": {\n    "timeout": 9\n  }\n}\n'),
        (" \n", "timeout", 9, '{\n  "subagents": {\n    "timeout": 9\n  }\n}\n'),
        ('{"subagents": {"timeout" :5 , "x": 1}}', "timeout", 9, '{"subagents": {"timeout" :9 , "x": 1}}'),
        ('{"subagents": {"x": 1}}', "timeout", 9, '{"subagents": {"x": 1, "timeout": 9}}'),
        ('{"subagents": {"tmux.socket": "a"}}', "tmux.socket", "b", '{"subagents": {"tmux.socket": "b"}}'),
        (NESTED, "tmux.socket", "b", NESTED.replace('"socket":"a"', '"socket":"b"')),
        (NESTED, "agents.pi.command", ["q", "r"], NESTED.replace('["p"]', '["q", "r"]')),
        (
            '{"subagents": {"tmux": {"socket": "a"}, "tmux.socket": "c"}}',
            "tmux.socket",
            "b",
            '{"subagents": {"tmux": {"socket": "b"}, "tmux.socket": "b"}}',
        ),
        (
            OTHERS,
            "timeout",
            9,
            OTHERS.replace('"x"\r\n}', '"x",\r\n\t"subagents": {\r\n\t\t"timeout": 9\r\n\t}\r\n}'),
        ),
    ],
)
def test_a_setting_is_put_where_it_is_read(text: str | None, key: str, value: Any, expected: str) -> None:
    edited = config.put(text, key, value)
    assert edited == expected
    settings = keys.resolve({}, global_text=edited)
    assert settings.values[key] == value
    assert not settings.warnings


@pytest.mark.parametrize("text", ["{}\n", OTHERS, '{"subagents": {"driver": "live"}}', NESTED])
@pytest.mark.parametrize(
    ("key", "value"), [("keepBackground", True), ("onEnd", ["a", "b"]), ("keepRuns", "3d")]
)
def test_what_was_put_in_is_taken_out_to_the_byte(text: str, key: str, value: Any) -> None:
    assert config.take(config.put(text, key, value), key) == text


def test_nothing_remains_of_a_file_that_held_nothing_else() -> None:
    assert config.take(config.put(None, "timeout", 9), "timeout") is None


@pytest.mark.parametrize(
    ("key", "gone"),
    [
        ("tmux.session", '"session" : "current", '),
        ("tmux.socket", ', "socket":"a"'),
        ("agents.pi.command", '"command": ["p"]'),
        ("timeout", '"timeout": 5, '),
        ("keepRuns", ""),
    ],
)
def test_a_setting_is_taken_out_wherever_it_is(key: str, gone: str) -> None:
    assert config.take(NESTED, key) == NESTED.replace(gone, "")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"subagents": 1}',
        '// mine\n{"subagents": {}}',
        '{"subagents": {"timeout": 1, "timeout": 2}}',
    ],
)
def test_a_file_that_nobody_can_be_sure_of_is_left_alone(text: str) -> None:
    with pytest.raises(CannotEdit):
        config.put(text, "timeout", 9)


@pytest.mark.parametrize(
    ("key", "words", "value"),
    [
        ("timeout", ["900"], 900),
        ("timeout", ["1.5"], 1.5),
        ("keepBackground", ["TRUE"], True),
        ("projectPresets", ["0"], False),
        ("driver", ["live"], "live"),
        ("keepRuns", ["12h"], "12h"),
        ("keepWindows", ["failed"], "failed"),
        ("keepWindows", ["30"], 30),
        ("onEnd", ["notify-send", "a b"], ["notify-send", "a b"]),
        ("onEnd", ['["x", "y"]'], ["x", "y"]),
        ("agents.pi.command", ["/opt/pi"], ["/opt/pi"]),
        ("agents.other.command", ["o", "-x"], ["o", "-x"]),
        ("defaultModel", ["github-copilot/gpt-4o"], "github-copilot/gpt-4o"),
    ],
)
def test_what_somebody_types_is_a_value(key: str, words: list[str], value: Any) -> None:
    found = config.value_of(key, words)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("key", "words", "message"),
    [
        ("timeout", ["0"], "timeout must be at least 1."),
        ("timeout", ["soon"], "timeout must be a duration like 90s or 5m, at least 1."),
        ("timeout", ["1", "2"], "timeout takes one value, not 2."),
        ("looping_tool_count", ["99"], "looping_tool_count must be from 0 to 50."),
        ("keepBackground", ["maybe"], "keepBackground must be true or false."),
        ("driver", ["fast"], "driver must be one of batch, live."),
        ("tmux.session", ["main"], 'tmux.session must be "current".'),
        ("keepRuns", ["never"], 'keepRuns must be an age like "30d" or "12h", or "all".'),
        ("onEnd", ["[1]"], 'onEnd must be a list of words, as ["program", "argument"].'),
        ("onEnd", ["[1"], 'onEnd must be a list of words, as ["program", "argument"].'),
        ("timout", ["1"], 'There is no setting "timout".'),
    ],
)
def test_a_value_that_would_not_count_is_refused(key: str, words: list[str], message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        config.value_of(key, words)
    assert refused.value.message == message


def test_an_unknown_setting_names_the_nearest_or_where_to_look() -> None:
    hints = []
    for key in ("defaultmodel", "agents.pi", "xyzzy"):
        with pytest.raises(BadRequest) as refused:
            config.rule_of(key)
        hints.append(refused.value.hint)
    assert hints == [
        "did you mean defaultModel?",
        "did you mean agents.pi.command?",
        "tmuxagents config list names them all",
    ]


@pytest.mark.parametrize("key", keys.KEYS)
def test_a_project_sets_what_it_may(key: str) -> None:
    if key in keys.PROJECT_KEYS:
        config.refuse_in_project(key)
        return
    with pytest.raises(BadRequest, match=f"A project may not set {key}"):
        config.refuse_in_project(key)


def test_keys_that_nobody_reads_are_named() -> None:
    text = json.dumps({"subagents": {"timout": 1, "timeout": 2, "tmux": {"sesion": 1}, "agents": {"x": {}}}})
    assert list(config.oddities(text)) == [
        'There is no setting "timout": did you mean timeout?',
        'There is no setting "tmux.sesion": did you mean tmux.session?',
    ]
    assert list(config.oddities("{")) == []


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), ("a b", "a b"), (1.5, "1.5"), (False, "false"), (["é"], '["é"]')]
)
def test_a_value_is_shown_as_it_is_typed(value: Any, text: str) -> None:
    assert config.shown(value) == text
