"""Rows as bytes for a terminal."""

from __future__ import annotations

import pytest

from tmuxagents.render import styles


def test_a_row_is_coloured_or_plain() -> None:
    row = [("bold green", "✓"), ("", " a"), ("dim", " ")]
    assert styles.format_row(row, colour=True) == "\x1b[1;32m✓\x1b[m a\x1b[2m \x1b[m"
    assert styles.format_rows([row, []], colour=False) == "✓ a\n\n"


def test_every_style_has_its_sequence() -> None:
    for name, style in vars(styles).items():
        if name[0] != "_" and name.isupper() and isinstance(style, str):
            assert styles.format_row([(style, "x")], colour=True).endswith("x\x1b[m" if style else "x")


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({"TERM": "tmux-256color"}, True),
        ({"TERM": "tmux-256color", "NO_COLOR": ""}, True),
        ({"TERM": "tmux-256color", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_colours_are_for_who_wants_them(environment: dict[str, str], *, coloured: bool) -> None:
    assert styles.is_coloured(environment) is coloured


def test_two_styles_are_one() -> None:
    assert styles.joined("bold", "bold cyan") == "bold cyan"
    assert (styles.joined("", "dim"), styles.joined("dim", "")) == ("dim", "dim")
