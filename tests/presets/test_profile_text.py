"""A saved preset or profile: its form, and that it is read back the same, whatever stands in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.presets.preset_files import text_file
from tmuxagents.presets import editing, fields, preset


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain words", "plain words"),
        ("--verbose", "--verbose"),
        ("a/b-c.d", "a/b-c.d"),
        ("é ü 漢", "é ü 漢"),
        ("- item", '"- item"'),
        ("-", '"-"'),
        ("a: b", '"a: b"'),
        ("a:b", '"a:b"'),
        ("# a", '"# a"'),
        ("it's", '"it\'s"'),
        ("two\nlines", '"two\\nlines"'),
        (" edge", '" edge"'),
        ("edge ", '"edge "'),
        *((word, f'"{word}"') for word in ("true", "null", "~", "123", "1.5", ".inf", "0x1", "[a]", "{a}")),
        *((word, f'"{word}"') for word in ("&a", "*a", "!a", "|", ">", "%a", "@a", "`a", "?", ",")),
        ("\x1b[31m", '"\\u001b[31m"'),
        ("a\x85\u2028\ufeffb", '"a\\u0085\\u2028\\ufeffb"'),
        ("\U0001f600", "\U0001f600"),
    ],
)
def test_quotes_only_where_they_are_needed(value: str, written: str) -> None:
    assert editing.scalar(value) == written


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["a", "b"], "tools: a,b"),
        (["a b"], "tools: a b"),
        ([], "tools: []"),
        (["1"], 'tools: "1"'),
        (["a,b", "c"], 'tools: ["a,b", "c"]'),
        ([" a"], 'tools: [" a"]'),
        (["", "a"], 'tools: ["", "a"]'),
        (["true"], 'tools: "true"'),
    ],
)
def test_lists_stand_on_one_line(words: list[str], line: str) -> None:
    assert editing.text("p", {"tools": words}).splitlines()[2] == line


def test_a_preset_has_its_own_keys() -> None:
    fields = {
        "description": "Writes",
        "model": "a/b",
        "tools": ["read"],
        "timeout": 90.5,
        "keepBackground": True,
        "nesting": 2,
        "driver": "live",
        "agent": "pi",
        "apiKey": "of no preset",
        "systemPrompt": "Write.",
    }
    assert editing.text("writer", fields, "preset") == (
        "---\nname: writer\ndescription: Writes\nmodel: a/b\ntools: read\nagent: pi\ndriver: live\n"
        "timeout: 90.5\nkeepBackground: true\nnesting: 2\n---\n\nWrite.\n"
    )


# --- there and back ---------------------------------------------------------------------------------------

_said = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
_tricky = st.sampled_from(
    [
        "true",
        "~",
        "- a",
        "a: b",
        "#x",
        "---",
        "\n---\n",
        "a\n---\nname: evil",
        "''",
        '"',
        "\\",
        "\\n",
        "[",
        "a,b",
    ]
)
_text = st.builds("".join, st.lists(_said | _tricky, min_size=1, max_size=3)).filter(str.strip)
_words = st.lists(_said | _tricky, max_size=4)
_flags = st.just(value=True)
_body = _text.map(lambda body: body.replace("\r\n", "\n").replace("\r", "\n").strip()).filter(bool)
_profiles = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(fields.PROFILE_TEXTS, _text),
        **dict.fromkeys(fields.PROFILE_FLAGS, _flags),
        **dict.fromkeys(fields.PROFILE_LISTS, _words),
        "systemPrompt": _body,
    },
)
_tool = st.text("abzABZ019_.:*+-", min_size=1, max_size=8)
_presets = st.fixed_dictionaries(
    {"description": _text},
    optional={
        "model": _text,
        "tools": st.lists(_tool, min_size=1, max_size=4),
        "agent": _text,
        "driver": st.sampled_from(["batch", "live"]),
        "timeout": st.integers(1, 10**6) | st.floats(1, 10**6),
        "keepBackground": st.booleans(),
        "nesting": st.integers(1, 3),
        "env": st.dictionaries(
            st.text("AZ_", min_size=1, max_size=5), _said | _tricky, min_size=1, max_size=3
        ),
        "systemPrompt": _body,
    },
)
_names = st.text("abzABZ019_-", min_size=1, max_size=20)


def read_back(name: str, fields: dict[str, Any], kind: str) -> preset.Preset:
    text = editing.compose(name, fields, kind)
    read = preset.parse(text_file(text, kind=kind))
    assert isinstance(read, preset.Preset), (text, read)
    return read


@given(_names, _profiles)
@example("p", {"appendSystemPrompt": "first\nsecond: x\n# third\n"})
@example("true", {"model": "true", "thinkingLevel": "123", "extraArgs": ["--a=b,c", "true", "123", ""]})
@example("p", {"tools": [], "extraArgs": [","]})
def test_a_profile_is_read_back_as_it_was_saved(name: str, fields: dict[str, Any]) -> None:
    read = read_back(name, fields, "profile")
    assert (read.name, read.fields) == (name, fields)


@given(_names, _presets)
@example("p", {"description": "d", "env": {"A": "\U0001f600 \x85"}})
def test_a_preset_is_read_back_as_it_was_saved(name: str, fields: dict[str, Any]) -> None:
    read = read_back(name, fields, "preset")
    assert (read.name, read.fields) == (name, fields)


@given(_names, _profiles)
def test_saving_twice_changes_nothing(name: str, fields: dict[str, Any]) -> None:
    once = editing.compose(name, fields, "profile")
    assert editing.compose(name, read_back(name, fields, "profile").fields, "profile") == once


def test_a_body_is_saved_as_it_will_be_read() -> None:
    assert editing.compose("p", {"systemPrompt": "\n a\r\nb\rc \n"}, "profile").endswith("---\n\na\nb\nc\n")
    assert editing.compose("p", {"systemPrompt": " \n"}, "profile") == "---\nname: p\n---\n"
