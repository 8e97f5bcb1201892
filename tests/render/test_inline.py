"""Emphasis, code and links in a line of markdown."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.render import inline


def read(text: str) -> str:
    """Return the pieces of a text, each styled one with its style in front."""
    return "".join(
        f"<{piece.style}>{piece.text}</>" if piece.style else piece.text for piece in inline.pieces(text)
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain words", "plain words"),
        ("a **bold** word", "a <bold>bold</> word"),
        ("a __bold__ word", "a <bold>bold</> word"),
        ("an *italic* one", "an <italic>italic</> one"),
        ("an _italic_ one", "an <italic>italic</> one"),
        ("***both***", "<bold italic>both</>"),
        ("****four****", "****four****"),
        ("**a *b***", "<bold>a </><bold italic>b</>"),
        ("**bold *and* more**", "<bold>bold </><bold italic>and</><bold> more</>"),
        ("**a** and **b**", "<bold>a</> and <bold>b</>"),
        ("*a **b** c*", "<italic>a </><italic bold>b</><italic> c</>"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("2*3", "2*3"),
        ("**open", "**open"),
        ("*not * closed", "*not * closed"),
        ("snake_case_name", "snake_case_name"),
        ("_a_b", "_a_b"),
        ("a ~~gone~~ word", "a <strike>gone</> word"),
        ("~~~~", "~~~~"),
        ("~~open", "~~open"),
        ("a ~ b", "a ~ b"),
        ("`code`", "<cyan>code</>"),
        ("`a*b*`", "<cyan>a*b*</>"),
        ("``a ` b``", "<cyan>a ` b</>"),
        ("`` `x` ``", "<cyan>`x`</>"),
        ("` `", "<cyan> </>"),
        ("`open", "`open"),
        ("`a``b", "`a``b"),
        ("``a` b", "``a` b"),
        ("``a``` b``", "<cyan>a``` b</>"),
        ("**a `b` c**", "<bold>a </><bold cyan>b</><bold> c</>"),
        ("\\*no\\*", "*no*"),
        ("C:\\dir", "C:\\dir"),
        ("end\\", "end\\"),
        ("[text](https://a.de)", "<blue underline>text</><dim> (https://a.de)</>"),
        ('[text](https://a.de "title")', "<blue underline>text</><dim> (https://a.de)</>"),
        ("[file](src/a.py)", "<blue underline>file</>"),
        ("[](https://a.de)", "<blue underline>https://a.de</>"),
        ("[**b**](x)", "<blue underline bold>b</>"),
        ("[a] and [b](c)", "[a] and <blue underline>b</>"),
        ("[a](open", "[a](open"),
        ("[a]", "[a]"),
        ("![alt](x.png)", "<blue underline>alt</>"),
        ("wow!", "wow!"),
        ("wow![x", "wow![x"),
        ("<https://a.de>", "<blue underline>https://a.de</>"),
        ("a < b > c", "a < b > c"),
        ("<https://a b>", "<<blue underline>https://a</> b>"),
        ("see https://a.de/x.", "see <blue underline>https://a.de/x</>."),
        ("(http://a.de)", "(<blue underline>http://a.de</>)"),
        ("xhttps://a.de", "xhttps://a.de"),
        ("https://", "https://"),
        ("hash https://a.de", "hash <blue underline>https://a.de</>"),
    ],
)
def test_marks_become_styles(text: str, shown: str) -> None:
    assert read(text) == shown


def test_marks_deep_inside_each_other_end_as_text() -> None:
    (*_, inner, _, _, _, _) = inline.pieces("*a **b _c __d ~~e \\* e~~ d__ c_ b** a*")
    assert (inner.text, inner.style) == ("e \\* e", "italic bold strike")


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[a](https://a.de) b", ["https://a.de", "-", ""]),
        ("https://a.de", ["https://a.de"]),
        ("[a](javascript:alert(1))", ["javascript:alert(1", ""]),
    ],
)
def test_a_link_knows_where_it_leads(text: str, targets: list[str]) -> None:
    assert [piece.target for piece in inline.pieces(text)] == targets


@pytest.mark.parametrize(
    ("target", "may"), [("HTTPS://a", True), ("mailto:a@b", True), ("javascript:x", False)]
)
def test_only_an_address_may_be_followed(target: str, *, may: bool) -> None:
    assert inline.is_address(target) is may


@given(st.text("ab *_`~[]()<>!\\h:/\n", max_size=60))
def test_no_letter_is_lost(text: str) -> None:
    shown = "".join(piece.text for piece in inline.pieces(text))
    assert [sign for sign in shown if sign in "ab"][: len(text)] == [sign for sign in shown if sign in "ab"]
    assert set(shown) <= set(text)


@pytest.mark.parametrize(
    "part", ["*a ", "`a ", "``a ` ", "[a](", "[", "~~a ", "<a ", "_a ", "**a *b ", "![", "*"]
)
def test_no_text_takes_long(part: str) -> None:
    started = time.process_time()
    inline.pieces(part * (32_000 // len(part)))
    assert time.process_time() - started < 2
