"""A terminal's screen as a picture: text with SGR sequences in, SVG out. No I/O.

It knows what our screens hold, 16 colours, bold, dim, italic, underline, reverse, and fails with the rest.
Each run of equal cells is one <text> of fixed length, so that any font keeps the columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from tmuxagents.text.width import columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CELL, LINE, SIZE, MARGIN = 8.4, 19, 14, 14
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
FOREGROUND, BACKGROUND = "#d4d7dd", "#1b1e24"
# The 16 colours that a program names by number: 8 plain, 8 bright.
NAMED = (
    *("#3b404b", "#e0717b", "#8fbf6f", "#dcb368", "#6aa7e8", "#c387d6", "#5cb8c0", "#c9ccd3"),
    *("#6b7280", "#f08d95", "#a9d68a", "#efcb85", "#8dbff2", "#d6a5e4", "#7fd0d6", "#f4f5f7"),
)
SEQUENCE = re.compile(r"\x1b\[([0-9;:]*)m")
# What a code changes.
CODES: dict[int, dict[str, str | bool]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": True},
    7: {"reverse": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    27: {"reverse": False},
    39: {"foreground": ""},
    49: {"background": ""},
}
for number, colour in enumerate(NAMED):
    CODES[number + (30 if number < len(NAMED) / 2 else 82)] = {"foreground": colour}
    CODES[number + (40 if number < len(NAMED) / 2 else 92)] = {"background": colour}


@dataclass(frozen=True)
class Style:
    """How a cell looks."""

    foreground: str = ""
    background: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False


@dataclass(frozen=True)
class Run:
    """Neighbouring cells of one style."""

    row: int
    column: int
    text: str
    style: Style


def picture(lines: Sequence[str], width: int, *, title: str) -> str:
    """Return an SVG of a screen of so many columns."""
    across, down = round(width * CELL + 2 * MARGIN), len(lines) * LINE + 2 * MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" width="{across}" '
        f'height="{down}" role="img" font-family="{FONT}" font-size="{SIZE}" fill="{FOREGROUND}">'
    )
    frame = f'<rect width="{across}" height="{down}" rx="8" fill="{BACKGROUND}"/>'
    marks = [mark for run in runs(lines) for mark in drawn(run)]
    return "\n".join([head, f"<title>{escape(title)}</title>", frame, *marks, "</svg>", ""])


def drawn(run: Run) -> Iterator[str]:
    """Yield the marks of a run: its ground, and its letters."""
    style, length = run.style, columns(run.text) * CELL
    left, top = MARGIN + run.column * CELL, MARGIN + run.row * LINE
    colour, ground = style.foreground, style.background
    if style.reverse:
        colour, ground = ground or BACKGROUND, colour or FOREGROUND
    if ground:
        yield f'<rect x="{left:.5g}" y="{top}" width="{length:.5g}" height="{LINE}" fill="{ground}"/>'
    if run.text.strip():
        place = f'x="{left:.5g}" y="{top + 14}" textLength="{length:.5g}" lengthAdjust="spacingAndGlyphs"'
        yield f'<text {place} xml:space="preserve"{looks(style, colour)}>{escape(run.text)}</text>'


def looks(style: Style, colour: str) -> str:
    """Return the attributes of a text."""
    wanted = {
        f' fill="{colour}"': colour,
        ' font-weight="bold"': style.bold,
        ' opacity="0.6"': style.dim,
        ' font-style="italic"': style.italic,
        ' text-decoration="underline"': style.underline,
    }
    return "".join(attribute for attribute, is_wanted in wanted.items() if is_wanted)


def runs(lines: Sequence[str]) -> Iterator[Run]:
    """Cut lines into runs of one style; what tmux prints at the end of a line still holds in the next."""
    style = Style()
    for row, line in enumerate(lines):
        column = at = 0
        for found in [*SEQUENCE.finditer(line), None]:
            if text := line[at : found.start() if found else None]:
                yield Run(row, column, text, style)
                column += columns(text)
            if found:
                at = found.end()
                style = changed(style, [int(code or 0) for code in re.split("[;:]", found[1] or "0")])


def changed(style: Style, codes: list[int]) -> Style:
    """Return a style after an SGR sequence."""
    for code in codes:
        style = replace(style, **CODES[code]) if code else Style()  # type: ignore[arg-type]  # names of its fields
    return style
