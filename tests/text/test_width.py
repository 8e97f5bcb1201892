"""How many columns a text takes, where it is cut, and tables."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tmuxagents.text import width

WIDTHS = [
    ("", 0),
    ("ascii", 5),
    ("漢字", 4),
    ("한글", 4),
    ("\u1112\u1161\u11ab", 2),
    ("e\u0301a\u0301", 2),
    ("\u0301", 0),
    ("\u0301a", 1),
    ("😀", 2),
    ("→", 1),
    # joined by ZERO WIDTH JOINER
    ("👩\u200d💻", 2),
    ("👨\u200d👩\u200d👧\u200d👦", 2),
    ("❤\ufe0f\u200d🔥", 2),
    ("🙂\u200d↔\ufe0f", 2),
    ("👩\u200d💻👩\u200d💻", 4),
    ("👩\u200da", 3),
    ("क\u094d\u200dष", 2),
    # skin tones
    ("👍🏽", 2),
    ("👩🏽\u200d💻", 2),
    ("☝🏽", 1),
    ("🏽", 2),
    ("a🏽", 3),
    # VARIATION SELECTOR-16
    ("▶", 1),
    ("▶\ufe0f", 2),
    ("⚠\ufe0f!", 3),
    ("😀\ufe0f", 2),
    ("1\ufe0f\u20e3", 2),
    ("1\ufe0f\u20e32\ufe0f\u20e3", 4),
    ("🇩🇪", 2),
]


@pytest.mark.parametrize(("text", "columns"), WIDTHS)
def test_the_width_of_a_text(text: str, columns: int) -> None:
    assert width.columns(text) == columns


@given(st.lists(st.sampled_from([text for text, _ in WIDTHS if text[:1] not in "🏽\u0301"]), max_size=9))
def test_texts_one_after_the_other_take_what_each_of_them_takes(texts: list[str]) -> None:
    assert width.columns(" ".join(texts)) == sum(map(width.columns, texts)) + max(0, len(texts) - 1)


@pytest.mark.parametrize(
    ("text", "room", "fitted"),
    [
        ("twelve signs", 12, "twelve signs"),
        ("twelve signs", 11, "twelve sig…"),
        ("twelve signs", 8, "twelve…"),
        ("漢字漢字", 8, "漢字漢字"),
        ("漢字漢字", 7, "漢字漢…"),
        ("漢字漢字", 6, "漢字…"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("a👩\u200d💻b", 4, "a👩\u200d💻b"),
        ("a👩\u200d💻bc", 4, "a👩\u200d💻…"),
        ("a👩\u200d💻bc", 3, "a…"),
        ("1\ufe0f\u20e31\ufe0f\u20e3", 3, "1\ufe0f\u20e3…"),
        ("anything", 1, "…"),
        ("abc", 2, "a…"),
        ("", 0, ""),
        ("", -1, "…"),
    ],
)
def test_a_text_is_cut_to_columns_and_never_inside_of_a_sign(text: str, room: int, fitted: str) -> None:
    assert width.fit(text, room) == fitted


@given(st.text(max_size=40) | st.text("a👩💻🏽\u200d\ufe0f漢\u0301⚠ ", max_size=20), st.integers(1, 40))
@example("⚠\ufe0fa", 2)
def test_what_is_cut_fits(text: str, room: int) -> None:
    fitted = width.fit(text, room)
    assert width.columns(fitted) <= room
    assert fitted == text or fitted.endswith("…")


def test_a_table_cuts_its_last_column_alone() -> None:
    rows = [("NAME", "N", "WORDS"), ("漢字漢", "12", "some words"), ("a", "1", "")]
    assert width.table(rows, 18) == ["NAME    N   WORDS", "漢字漢  12  some…", "a       1   "]
    assert width.table(rows, 3)[1] == "漢字漢  12  …"
