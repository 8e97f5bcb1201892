"""Styled text in rows of a width."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.drawn import marked, plain
from tmuxagents.render import flow, styles
from tmuxagents.text.width import columns


@pytest.mark.parametrize(
    ("text", "room", "rows"),
    [
        ("", 10, [""]),
        ("one two", 10, ["one two"]),
        ("one two three", 10, ["one two", "three"]),
        ("one  two", 7, ["one", "two"]),
        ("a\nb\n\nc", 10, ["a", "b", "", "c"]),
        ("    x = 1 + 2 + 3", 12, ["    x = 1 +", "2 + 3"]),
        ("          x y z", 12, ["x y z"]),
        ("abcdefghijklmno", 6, ["abcdef", "ghijkl", "mno"]),
        ("ab cdefghijklmno", 6, ["ab", "cdefgh", "ijklmn", "o"]),
        ("日本語のテスト", 6, ["日本語", "のテス", "ト"]),
        ("a日本", 6, ["a日本"]),
        ("ab日本語cd ef", 6, ["ab日本", "語cd", "ef"]),
        ("é" * 8, 6, ["é" * 6, "é" * 2]),
        ("       日", 6, ["日"]),
        ("words that end   ", 20, ["words that end"]),
        ("x", 1, ["x"]),
    ],
)
def test_text_is_broken_between_words(text: str, room: int, rows: list[str]) -> None:
    assert plain(flow.wrapped([("", text)], room)) == rows


def test_styles_stay_with_their_words() -> None:
    spans = [("", "see "), ("cyan", "get()"), ("", ", then "), ("bold", "stop now")]
    assert [*map(marked, flow.wrapped(spans, 12))] == [
        "<>see <cyan>get()<>,",
        "<>then <bold>stop",
        "<bold>now",
    ]


def test_a_word_of_two_styles_that_fits_nowhere_is_cut_where_it_has_to() -> None:
    spans = [("bold", "abcd"), ("", "efghijkl"), ("cyan", "日本")]
    assert [*map(marked, flow.wrapped(spans, 6))] == ["<bold>abcd<>ef", "<>ghijkl", "<cyan>日本"]


@pytest.mark.parametrize(
    ("row", "room", "shown"),
    [
        ([("", "short")], 10, "<>short"),
        ([("", "one two three")], 10, "<>one two…"),
        ([("", "one twothree")], 8, "<>one two…"),
        ([("", "abcdefghij")], 5, "<>abcd…"),
        ([("bold", "abc"), ("", " defghijkl")], 8, "<bold>abc<> def…"),
        ([("bold", "abcd"), ("", "ef")], 5, "<bold>abcd<>…"),
        ([("bold", "abcd"), ("", "")], 3, "<bold>ab…"),
        ([("", "日本語")], 5, "<>日本…"),
    ],
)
def test_a_row_is_cut_to_its_room(row: styles.Row, room: int, shown: str) -> None:
    assert marked(flow.fitted(row, room)) == shown


def test_a_row_is_behind_its_indent_and_an_empty_one_is_empty() -> None:
    rows: list[styles.Row] = [[("", "a")], [], [("", "b")]]
    assert [*map(marked, flow.indented(rows, [("", "- ")], [("", "  ")]))] == ["<>- <>a", "", "<>  <>b"]
    assert [*map(marked, flow.indented(rows, [("dim", "│ ")]))] == ["<dim>│ <>a", "<dim>│ ", "<dim>│ <>b"]


texts = st.text("ab日é \n👩‍💻", max_size=40)


@given(st.lists(st.tuples(st.sampled_from(["", "bold"]), texts), max_size=4), st.integers(6, 30))
def test_no_row_is_too_wide_and_nothing_is_lost(spans: styles.Row, room: int) -> None:
    rows = flow.wrapped(spans, room)
    assert max(map(styles.width_of, rows)) <= room
    before, after = "".join(text for _, text in spans), "".join(plain(rows))
    assert after.replace(" ", "") == before.replace(" ", "").replace("\n", "")


@given(st.text("ab日é ", max_size=40), st.integers(2, 30))
def test_a_cut_row_fits(text: str, room: int) -> None:
    row = flow.fitted([("", text)], room)
    assert styles.width_of(row) <= room
    assert (marked(row) == f"<>{text}") is (columns(text) <= room)


@given(st.text("abcdef ", max_size=80), st.integers(6, 30))
def test_no_word_that_fits_is_broken(text: str, room: int) -> None:
    shown = " ".join(plain(flow.wrapped([("", text)], room))).split()
    assert [word for word in text.split() if len(word) <= room] == [
        word for word in text.split() if len(word) <= room and word in shown
    ]


@pytest.mark.parametrize("sign", ["x", "é", "日", "x "])
def test_no_text_takes_long(sign: str) -> None:
    started = time.process_time()
    flow.wrapped([("", sign * 32_000)], 20)
    assert time.process_time() - started < 2
