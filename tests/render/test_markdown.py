"""Markdown as rows of a terminal."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.drawn import markdown, marked
from tmuxagents.render import flow, styles


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", []),
        ("\n\n", []),
        ("one\ntwo", ["one", "two"]),
        ("one\\\ntwo", ["one", "two"]),
        ("one\\\\", ["one\\"]),
        ("one\n\n\ntwo", ["one", "", "two"]),
        ("## Head ##\ntext", ["Head", "", "text"]),
        ("#no heading", ["#no heading"]),
        ("#", [""]),
        ("####### seven", ["####### seven"]),
        ("text\n# Head", ["text", "", "Head"]),
        ("a\n---\nb", ["a", "", "─" * 40, "", "b"]),
        ("* * *", ["─" * 40]),
        ("--", ["--"]),
        ("> said\n> so\n\nby me", ["│ said", "│ so", "", "by me"]),
        (">deep\n> > er", ["│ deep", "│", "│ │ er"]),
        ("- a\n- b", ["• a", "• b"]),
        ("- a\n\n- b", ["• a", "• b"]),
        ("+ a\n* b", ["• a", "• b"]),
        ("-", ["•"]),
        ("- a\n  more\n- b", ["• a", "  more", "• b"]),
        ("- a\nlazy\n\nnot", ["• a", "  lazy", "", "not"]),
        ("- a\n# Head", ["• a", "", "Head"]),
        ("- a\n\n  second", ["• a", "", "  second"]),
        ("- a\n  - b\n    - c\n- d", ["• a", "  • b", "    • c", "• d"]),
        ("1. one\n2. two\n10) ten", ["1. one", "2. two", "10) ten"]),
        ("1. one\n   - a\n2. two", ["1. one", "   • a", "2. two"]),
        ("1.no", ["1.no"]),
        ("1 no", ["1 no"]),
        ("1. one\n\n- a", ["1. one", "", "• a"]),
        ("- [x] done\n- [ ] open\n- [X] too", ["☑ done", "☐ open", "☑ too"]),
        ("- a\n  ```\n  x\n  ```\n  b", ["• a", "", "    x", "", "  b"]),
        ("```python\nx = 1\n\n    y\n```\nafter", ["  x = 1", "", "      y", "", "after"]),
        ("~~~\n```\n~~~", ["  ```"]),
        ("```\nopen", ["  open"]),
        ("  ```\n  a\n b\n  ```", ["  a", "  b"]),
        ("text\n```\nx\n```", ["text", "", "  x"]),
        ("```\n    " + "long " * 9 + "\n```", ["      " + "long " * 5 + "long", "        long long long"]),
        ("    four spaces", ["four spaces"]),
        ("a\tb", ["a   b"]),
        ("1. " + "word " * 12, ["1. word word word word word word word", "   word word word word word"]),
    ],
)
def test_markdown(text: str, rows: list[str]) -> None:
    assert markdown(text) == rows


TABLE = "| file | change |\n|---|--:|\n| `a.py` | **4** |\n| b.py |"


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        (TABLE, 40, ["file │ change", "─────┼───────", "a.py │      4", "b.py │"]),
        ("a|b\n:-:|-\nlong|x\n1|2|3\nend", 40, [" a   │ b", "─────┼──", "long │ x", " 1   │ 2", "", "end"]),
        ("a|b\nno|-", 40, ["a|b", "no|-"]),
        ("a|b\n", 40, ["a|b"]),
        ("a|b\n:|-", 40, ["a|b", ":|-"]),
        ("text\na|b\n-|-\n", 40, ["text", "", "a │ b", "──┼──"]),
        ("| one |\n|:--|\n| x \\| `y|z` |", 40, ["one", "───────", "x | y|z"]),
        (
            "| name | what it is |\n|---|---|\n| first | some words that need room |",
            24,
            [
                "name  │ what it is",
                "──────┼─────────────────",
                "first │ some words that",
                "      │ need room",
            ],
        ),
        (
            "|a|b|c|\n|-|-|-|\n|first one|second one|third one|",
            16,
            ["a: first one", "b: second one", "c: third one"],
        ),
        (
            "|a|b|\n|-|-|\n|first one|2|\n|x|second one|",
            11,
            ["a: first", "  one", "b: 2", "", "a: x", "b: second", "  one"],
        ),
        ("|日本|b|\n|-|-|\n|x|y|", 40, ["日本 │ b", "─────┼──", "x    │ y"]),
        ("||\n|-|", 40, ["", ""]),
    ],
)
def test_a_table(text: str, width: int, rows: list[str]) -> None:
    assert markdown(text, width) == rows


def test_how_it_looks() -> None:
    text = "# A `b`\n- **c**\n\n> d\n\n```\ne\n```\n\n|f|\n|-|\n|g|"
    assert [marked(row) for row in flow.markdown_rows(text, 40) if row] == [
        *("<bold magenta>A <bold magenta cyan>b", "<cyan>•<> <bold>c", "<dim>│ <>d", "<>  <cyan>e"),
        *("<bold>f", "<dim>─", "<>g"),
    ]


def test_lists_and_quotes_of_any_depth_end_as_text() -> None:
    assert markdown("> " * 12 + "x")[0].endswith("> > > > x")
    assert markdown("- " * 12 + "x")[0].endswith("- - - - x")


@given(st.text("a日 \n#*-`>|1.:[]", max_size=80), st.integers(20, 60))
def test_no_row_is_wider_than_its_place(text: str, width: int) -> None:
    assert all(styles.width_of(row) <= width for row in flow.markdown_rows(text, width))


@pytest.mark.parametrize(
    "part", ["> ", "- ", "|", "- a\n", "a|b\n-|-\n", "```\n", "\n", "1. a\n\n", "a\n", "|a" * 50 + "\n"]
)
def test_no_text_takes_long(part: str) -> None:
    started = time.process_time()
    flow.markdown_rows(part * (16_000 // len(part)), 80)
    assert time.process_time() - started < 2
