"""The rows of a call: the end of its output, diffs, heads of files."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.render import tool_calls
from tmuxagents.runs import events

LONG = "\n".join(f"line {number} of a long log of a build" for number in range(1, 201))


def brought(
    text: str, *, failed: bool = False, limits: tool_calls.Limits = tool_calls.WINDOW
) -> tuple[list[str], int | None]:
    result = events.tool_result("1", "bash", is_error=failed, text=text, duration_ms=None)
    parts, code = tool_calls.output_end(result.fields, limits)
    return [f"({words})" if what == tool_calls.GAP else words for what, words in parts], code


@pytest.mark.parametrize(
    ("text", "failed", "lines", "code"),
    [
        ("", False, [], None),
        ("one\ntwo\n", False, ["one", "two"], None),
        ("1\n2\n3", False, ["1", "2", "3"], None),
        ("1\n2\n3\n4", False, ["(… 1 line above)", "2", "3", "4"], None),
        ("1\n2\n\n3\n\n4\n", False, ["(… 1 line above)", "2", "3", "4"], None),
        ("1\n\n\n4", False, ["1", "4"], None),
        ("1\n2\n3\n4", True, ["1", "2", "3", "4"], None),
        ("no\n\nCommand exited with code 3", True, ["no"], 3),
        ("Command exited with code 1234", True, ["Command exited with code 1234"], None),
        ("exited with code x", True, ["exited with code x"], None),
        ("Command exited with code 3", False, ["Command exited with code 3"], None),
        ("\x1b[31mred\x1b[m\tx", False, ["red x"], None),
        ("x" * 450, False, ["x" * 400], None),
        (
            LONG,
            False,
            [
                "(… 197 lines above)",
                *(f"line {number} of a long log of a build" for number in (198, 199, 200)),
            ],
            None,
        ),
        (
            LONG + "\n\nCommand exited with code 2",
            True,
            [
                "(… 194 lines above)",
                *(f"line {number} of a long log of a build" for number in range(195, 201)),
            ],
            2,
        ),
    ],
)
def test_the_end_of_the_output_is_shown(
    text: str, *, failed: bool, lines: list[str], code: int | None
) -> None:
    assert brought(text, failed=failed) == (lines, code)


def test_the_whole_has_both_ends_and_says_what_is_between() -> None:
    lines, _ = brought(LONG, limits=tool_calls.WHOLE)
    at = next(number for number, line in enumerate(lines) if line.startswith("("))
    assert (lines[0], lines[-1]) == ("line 1 of a long log of a build", "line 200 of a long log of a build")
    missing = int(lines[at].strip("(…) lines"))
    assert lines[at - 1 : at + 2 : 2] == [
        f"line {at} of a long log of a build",
        f"line {at + 1 + missing} of a long log of a build",
    ]
    assert brought(LONG[:1500], limits=tool_calls.WHOLE)[0] == LONG[:1500].split("\n")


def test_a_middle_that_has_to_be_passed_ends_the_end() -> None:
    text = "head\n" * 200 + "x" * 1490 + "\n" + "end"
    assert brought(text, failed=True)[0] == ["(… 199 lines above)", "head", "x" * 400, "end"]


@pytest.mark.parametrize("fields", [{}, {"text": 5}, {"text": None, "tail": "x"}])
def test_a_result_without_text_brings_nothing(fields: dict[str, Any]) -> None:
    assert tool_calls.output_end(fields, tool_calls.WINDOW) == ([], None)


@pytest.mark.parametrize("left_out", [None, "x", True, -1, 0, 10**12])
def test_an_odd_count_of_lines_left_out_counts_as_none(left_out: Any) -> None:
    fields = {"text": "head\n...", "tail": "tail", "leftOut": left_out}
    assert tool_calls.output_end(fields, tool_calls.WHOLE)[0] == [
        (tool_calls.OUTPUT, "head"),
        (tool_calls.OUTPUT, "...tail"),
    ]


def test_an_event_of_an_older_version_is_shown_as_far_as_it_goes() -> None:
    fields = {"text": "1\n2\n3\n4...", "isError": False}
    assert [words for _, words in tool_calls.output_end(fields, tool_calls.WINDOW)[0]] == [
        "… 1 line above",
        "2",
        "3",
        "4...",
    ]


# --- changes ---

OLD, NEW = "a\nb\nc\nd\ne\nf\ng\nh\n", "a\nb\nX\nd\ne\nf\ng\nY\nh\n"


def asked(tool: str, args: Any, limits: tool_calls.Limits = tool_calls.WINDOW) -> list[str]:
    return [
        f"{tool_calls.SIGNS.get(what, '')[:1]}{words}"
        for what, words in tool_calls.change_of(tool, args, limits)
    ]


@pytest.mark.parametrize(
    ("tool", "args", "lines"),
    [
        ("bash", {"command": "ls"}, []),
        ("write", "text", []),
        ("write", {"content": 5}, []),
        ("write", {"content": ""}, []),
        ("write", {"content": "a\n\nb\n"}, ["+a", "+", "+b"]),
        ("write", {"content": "1\n2\n3\n4\n5\n6\n"}, ["+1", "+2", "+3", "+4", "+5", "+6"]),
        ("write", {"content": "1\n2\n3\n4\n5\n6\n7"}, ["+1", "+2", "+3", "+4", "+5", "… 2 more lines"]),
        ("edit", {}, []),
        ("edit", {"edits": [5, {"oldText": "a\nb", "newText": "a\nc"}]}, [" a", "-b", "+c"]),
        ("edit", {"old_string": "a", "new_string": "b"}, ["-a", "+b"]),
        (
            "edit",
            {"oldText": OLD, "newText": NEW},
            [" a", " b", "-c", "+X", " d", " e", " f", " g", "+Y", " h"],
        ),
        (
            "edit",
            {"oldText": "1\n2\n3\n4\n5\n6\n7\nx", "newText": "a\n2\n3\n4\n5\n6\n7\ny"},
            ["-1", "+a", " 2", " 3", "⋯", " 6", " 7", "-x", "+y"],
        ),
        (
            "edit",
            {"edits": [{"oldText": "a", "newText": ""}, {"oldText": "", "newText": "b"}]},
            ["-a", "⋯", "+b"],
        ),
        (
            "edit",
            {"oldText": "\n".join("abcdefghijklmnopqrst"), "newText": "\n".join("ABCDEFGHIJKLMNOPQRST")},
            [*(f"-{sign}" for sign in "abcdefghijklmnopqrst"), "+A", "+B", "+C", "+D", "… 16 more lines"],
        ),
    ],
)
def test_a_change_is_shown(tool: str, args: Any, lines: list[str]) -> None:
    assert asked(tool, args) == lines


def test_large_texts_are_not_compared_line_by_line() -> None:
    old, new = (["x", *(f"{name}{number}" for number in range(300)), "y"] for name in ("a", "b"))
    found = [what for what, _ in tool_calls.diff(old, new)]
    assert found == [tool_calls.SAME, *[tool_calls.REMOVED] * 300, *[tool_calls.ADDED] * 300, tool_calls.SAME]


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_a_diff_leads_from_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    found = list(tool_calls.diff(old, new))
    assert [line for what, line in found if what != tool_calls.ADDED] == old
    assert [line for what, line in found if what != tool_calls.REMOVED] == new
    if old == new:
        assert {what for what, _ in found} <= {tool_calls.SAME}


@pytest.mark.parametrize(
    ("tool", "args", "words"),
    [
        ("bash", {"command": "ls"}, ""),
        ("bash", {}, ""),
        ("read", [], ""),
        ("edit", {"oldText": "a\nb", "newText": "a\nc\nd"}, "+2 -1"),
        ("write", {"content": "a\nb\n"}, "2 lines"),
        ("write", {"content": "a"}, "1 line"),
        ("write", {"content": ""}, "0 lines"),
        ("write", {"path": "x"}, ""),
        ("search_web", {"query": "x\ny"}, '{"query":"x\\ny"}'),
        ("search_web", {"query": "x" * 999}, '{"query":"' + "x" * 390),
    ],
)
def test_what_no_phrase_says_is_said_beside_it(tool: str, args: Any, words: str) -> None:
    assert tool_calls.about(tool, args) == words


@pytest.mark.parametrize(
    ("tool", "fields", "words"),
    [
        ("bash", {"text": "x"}, ""),
        ("ls", {"text": "x", "summary": "2 files"}, "2 files"),
        ("read", {"text": None}, ""),
        ("read", {"text": "a\nb\n"}, "2 lines"),
        (
            "read",
            events.tool_result(None, "read", is_error=False, text=LONG, duration_ms=0).fields,
            "200 lines",
        ),
    ],
)
def test_a_result_is_summed_up(tool: str, fields: dict[str, Any], words: str) -> None:
    assert tool_calls.summary(tool, fields) == words
