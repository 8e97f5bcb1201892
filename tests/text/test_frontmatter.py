"""YAML as people write it: scalars of YAML 1.2, faults with line and key, no dangerous feature."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tmuxagents.text import yaml
from tmuxagents.text.yaml import Malformed

KB = 1024


def refusal(text: str) -> tuple[int | None, str | None, str]:
    with pytest.raises(Malformed) as caught:
        yaml.load(text)
    error = caught.value
    return error.line, error.field, error.reason


# --- scalars ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *((word, word) for word in ("off", "on", "yes", "no", "y", "n", "Off", "NO", "tRue", "nil", "none")),
        *((word, word) for word in ("12:30", "12:30:45", "2026-11-18", "2026-11-18T10:00:00Z", "1_000")),
        *(
            (word, word)
            for word in ("0b101", "0o9", "0xg", "+", "--", ".", "1e", "1.2.3", "1-2", ".infinity")
        ),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("false", "False", "FALSE")),
        *(("017", 17), ("0", 0), ("-5", -5), ("+5", 5), ("0o17", 15), ("0xff", 255)),
        *(("1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("-1.5E-1", -0.15)),
        *((".inf", float("inf")), ("-.INF", float("-inf"))),
        *(("'5'", "5"), ('"true"', "true"), ("''", ""), ('"~"', "~")),
        ("9" * 64, int("9" * 64)),
        ("9" * 65, "9" * 65),
    ],
)
def test_a_scalar_means_what_yaml_1_2_says(written: str, value: Any) -> None:
    read = yaml.load(f"a: {written}").value["a"]
    assert (read, type(read)) == (value, type(value))


def test_no_number_is_one() -> None:
    for word in (".nan", ".NaN", ".NAN"):
        read = yaml.load(f"a: {word}").value["a"]
        assert read != read  # noqa: PLR0124  (that is what no number is)


def test_every_scalar_is_there_as_it_was_written_too() -> None:
    loaded = yaml.load("a: 017\nb: [1.50, True, ~, x]\nc: {d: 0x10}")
    assert loaded.value == {"a": 17, "b": [1.5, True, None, "x"], "c": {"d": 16}}
    assert loaded.written == {"a": "017", "b": ["1.50", "True", "~", "x"], "c": {"d": "0x10"}}


def test_keys_are_words_whatever_they_look_like() -> None:
    assert yaml.load("1: a\ntrue: b\n~: c\n<<: {d: e}").value == {
        "1": "a",
        "true": "b",
        "~": "c",
        "<<": {"d": "e"},
    }


def test_each_place_has_its_line() -> None:
    loaded = yaml.load("tasks:\n  - task: x\n    files:\n      - a\n      - b\n  - task: y\n")
    assert loaded.lines == {
        (): 1,
        ("tasks",): 2,
        ("tasks", 0): 2,
        ("tasks", 0, "task"): 2,
        ("tasks", 0, "files"): 4,
        ("tasks", 0, "files", 0): 4,
        ("tasks", 0, "files", 1): 5,
        ("tasks", 1): 6,
        ("tasks", 1, "task"): 6,
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing\n", None),
        ("x", "x"),
        ("[a, b]", ["a", "b"]),
        ("%YAML 1.2\n---\na: 1", {"a": 1}),
    ],
)
def test_a_document_may_be_anything(text: str, value: Any) -> None:
    assert yaml.load(text).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a:\tx\nb:\t\ty", {"a": "x", "b": "y"}),
        ("a: x\t\nb: 'y' \t\n", {"a": "x", "b": "y"}),
        ("a: x\t# one\nb: 'y'\t# two\n", {"a": "x", "b": "y"}),
        ("a: x\ty z\nb\t: 1", {"a": "x\ty z", "b": 1}),
        ("a: [x,\ty\t]\nb: {c:\t1,\td: 2}", {"a": ["x", "y"], "b": {"c": 1, "d": 2}}),
        ("a:\n  - \tx\n  -\ty\n\t\n\t# none\nb: 1", {"a": ["x", "y"], "b": 1}),
        ("a:\t|\n  x\ty\nb:\t>-\n  z", {"a": "x\ty\n", "b": "z"}),
    ],
)
def test_a_tab_is_a_blank_wherever_it_does_not_indent(text: str, value: Any) -> None:
    assert yaml.load(text).value == value


@pytest.mark.parametrize("text", ["\ta: 1", "a:\n\t- x", "a: 1\n\tb: 2", "- \ta: 1\n  b: 2", "-\t- x\n"])
def test_nothing_that_is_laid_out_by_its_column_begins_behind_a_tab(text: str) -> None:
    refusal(text)


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "field", "reason"),
    [
        ("name: x\ndescription: a: b", 2, "description", 'a text that holds ": " must be in quotes'),
        ("name\ndescription: a", 2, "description", 'the line before it is no "key: value"'),
        ("a:\n\tb: 1", 2, "a", "a tab cannot indent; use blanks"),
        ('name: x\nb: "open\nc: d', 2, "b", "a quote is not closed"),
        ("a: `x`", 1, "a", "put a text that begins with ` in quotes"),
        ("a: @x", 1, "a", "put a text that begins with @ in quotes"),
        ("a: %x", 1, "a", "put a text that begins with % in quotes"),
        ("a: 1\nb: 2\na: 3", 3, "a", 'the key "a" occurs twice'),
        ("a:\n  b: 1\n  b: 2", 3, "b", 'the key "b" occurs twice'),
        ("a: 1\n---\nb: 2", 2, None, "there may be only one document"),
        ("[a]: x", 1, None, "a key must be a word"),
        ("? {a: b}\n: x", 1, None, "a key must be a word"),
        ("a: x\0", 1, None, "it holds a character that may not be there (U+0000)"),
        ("a: 1\nb: \x1b[31m", 2, None, "it holds a character that may not be there (U+001B)"),
        ("a: \ud800", 1, None, "it holds a character that may not be there (U+D800)"),
        ('a: "\\0"', 1, "a", "it holds a character that may not be there (U+0000)"),
        ('a: "\\ud800"', 1, "a", "it holds a character that may not be there (U+D800)"),
        ('a: 1\nb: "\\UFFFFFFFF"', 2, None, "it cannot be read as YAML"),
        ("a: - b", 1, "a", "a list begins on a line of its own"),
        ("a: ]", 1, "a", "expected the node content, but found ']'"),
    ],
)
def test_a_fault_has_line_key_and_words(text: str, line: int, field: str | None, reason: str) -> None:
    assert refusal(text) == (line, field, reason)


@pytest.mark.parametrize(
    "text",
    [
        *("a: &x 1", "a: &x 1\nb: *x", "a: *x", "a: *", "a: &", "*x : 1", "&x a: 1", "<<: *x"),
        *("a: [&x 1, *x]", "- &x a\n- *x"),
    ],
)
def test_anchors_and_aliases_are_refused(text: str) -> None:
    assert refusal(text)[2] == (
        "anchors and aliases (& and *) are not allowed; put a text that begins so in quotes"
    )


@pytest.mark.parametrize(
    "text",
    ["a: !!str 1", "a: !x y", "a: !", "!!map {a: b}", "a: !!python/object/apply:os.system [x]", "!x a: b"],
)
def test_tags_are_refused(text: str) -> None:
    assert refusal(text)[2] == "tags (!) are not allowed; put a text that begins so in quotes"


def test_four_levels_and_no_more() -> None:
    assert yaml.load("a: [[[x]]]").value == {"a": [[["x"]]]}
    assert refusal("a: [[[[x]]]]")[2] == "it is nested deeper than 4 levels"
    assert refusal("a:\n  b:\n    c:\n      d:\n        e: 1")[:2] == (5, "a")
    assert yaml.load("a: [[[[x]]]]", deepest=5).value == {"a": [[[["x"]]]]}


def test_two_thousand_entries_and_no_more() -> None:
    most = "[" + "a," * 1999 + "]"
    assert len(yaml.load(most).value) == 1999
    assert refusal("[" + "a," * 2000 + "]")[2] == "it has more than 2000 entries"


def test_64_kb_and_no_more() -> None:
    assert len(yaml.load("a: " + "x" * (64 * KB - 3)).value["a"]) == 64 * KB - 3
    assert refusal("a: " + "x" * (64 * KB - 2)) == (None, None, "it is larger than 64 KB")
    assert refusal("a: " + "é" * (32 * KB - 1))[2] == "it is larger than 64 KB"


BOMBS = {
    "deep lists": "[" * 60000,
    "deep maps": "{a: " * 15000,
    "deep dashes": "- " * 30000,
    "deep questions": "? " * 30000,
    "deep indents": "".join(" " * depth + "a:\n" for depth in range(300)),
    "laughs": "a: &a [x,x]\n" + "".join(f"b{i}: &b{i} [*a,*a]\n" for i in range(1000)),
    "merges": "a: &a {x: 1}\n" + "".join(f"b{i}: {{<<: *a}}\n" for i in range(1000)),
    "keys": "".join(f"k{i}: 1\n" for i in range(7000)),
    "directives": "%A " * 20000,
    "documents": "---\n" * 15000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_is_made_to_hurt_is_refused(name: str) -> None:
    # Without the limits these take seconds, gigabytes, or the interpreter's stack.
    assert refusal(BOMBS[name])[2]


@pytest.mark.parametrize("text", ["a: " + "x " * 30000, "#\n" * 30000, 'a: "' + "\\x41" * 16000 + '"'])
def test_what_is_only_long_is_read(text: str) -> None:
    yaml.load(text)


_signs = st.sampled_from(
    [*"-?:,[]{}#&*!|>'\"%@`~<=. \n\ta0\\", ": ", "- ", "\n  ", "---\n", "\x85", "\u2028"]
)


@given(st.lists(_signs, max_size=40).map("".join))
@example("{?")
@example("a: |9")
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    lines = text.count("\n") + text.count("\x85") + text.count("\u2028") + 1
    try:
        assert all(1 <= line <= lines for line in yaml.load(text).lines.values())
    except Malformed as error:
        refused = error
    else:
        return
    assert refused.reason
    assert refused.line is not None
    assert 1 <= refused.line <= lines


# --- the fence --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "header", "body"),
    [
        ("---\na: 1\n---\nbody", "\na: 1", "body"),
        ("\ufeff---\na: 1\n---\nbody", "\na: 1", "body"),
        ("---\r\na: 1\r\n---\r\nbody\r\nmore\r\n", "\na: 1", "body\nmore"),
        ("---\ra: 1\r---\rbody", "\na: 1", "body"),
        ("---\n---\nbody", "", "body"),
        ("---\n---", "", ""),
        ("---\na: 1\n---body", "\na: 1", "body"),
        ("---\na: 1\n---\n\n  body  \n\n", "\na: 1", "body"),
        ("---\na: 1\n---\none\n---\ntwo", "\na: 1", "one\n---\ntwo"),
        ("---\na: 1", None, "---\na: 1"),
        ("---", None, "---"),
        ("", None, ""),
        ("a: 1\n---\nbody", None, "a: 1\n---\nbody"),
        (" ---\na: 1\n---\n", None, " ---\na: 1\n---\n"),
        ("\n---\na: 1\n---\n", None, "\n---\na: 1\n---\n"),
    ],
)
def test_the_fence(text: str, header: str | None, body: str) -> None:
    assert yaml.split(text) == (header, body)


@pytest.mark.parametrize(("style", "value"), [("|", "one\ntwo\n"), (">", "one two\n"), ("|-", "one\ntwo")])
def test_a_block_of_text_is_the_same_in_the_last_line_as_before_others(style: str, value: str) -> None:
    block = f"b: {style}\n  one\n  two\n"
    for header in (f"{block}a: x\n", f"a: x\n{block}"):
        assert yaml.parse(f"---\n{header}---\nBody").fields == {"a": "x", "b": value}


def test_what_is_missing_at_the_end_is_missed_in_the_last_line_of_the_header() -> None:
    with pytest.raises(Malformed) as refused:
        yaml.parse("---\na: x\nb: [one, two\n\n---\nBody\n")
    assert (refused.value.line, refused.value.field) == (3, "b")


def test_only_a_header_that_does_not_end_is_unclosed() -> None:
    assert yaml.is_unclosed("---\nname: a\nbody")
    assert yaml.is_unclosed("\ufeff---")
    for text in ("---\nname: a\n---\n", "no header", "", "# notes\n---\n"):
        assert not yaml.is_unclosed(text)


def test_lines_count_from_the_top_of_the_file() -> None:
    header = yaml.parse("---\nname: a\n# a comment\ntools:\n  - read\n---\nbody")
    assert header.lines == {"name": 2, "tools": 5}
    with pytest.raises(Malformed) as caught:
        yaml.parse("---\nname: a\nb: c: d\n---\n")
    assert (caught.value.line, caught.value.field) == (3, "b")


@pytest.mark.parametrize("header", ["- a\n- b", "text", "[a]", "5"])
def test_a_header_that_is_no_mapping_is_refused(header: str) -> None:
    with pytest.raises(Malformed, match="the header must be a list of `key: value` lines"):
        yaml.parse(f"---\n{header}\n---\n")


def test_an_empty_header_has_no_fields() -> None:
    for text in ("---\n---\nbody", "---\n# nothing\n---\nbody", "---\n\n---\nbody"):
        header = yaml.parse(text)
        assert (header.fields, header.written, header.lines, header.body) == ({}, {}, {}, "body")
