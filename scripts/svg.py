"""A terminal's screen as a picture, and several as a film: text with SGR sequences in, SVG out. No I/O.

It knows 16, 256 and 24-bit colours, bold, dim, italic, underline and reverse, and fails with any other
sequence. Each run of equal cells is one <text> of fixed length, so that any font keeps the columns. A film
needs no script: SVG's own animation shows and hides each row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby, islice
from operator import attrgetter
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


EXTENDED = {38: "foreground", 48: "background"}
OF_24_BITS, GREYS = 2, 232
LEVELS = (0, 95, 135, 175, 215, 255)  # of red, green and blue in the cube of 256 colours


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


@dataclass(frozen=True)
class Frame:
    """A screen of a film, and how long it is shown."""

    seconds: float
    lines: Sequence[str]


def picture(lines: Sequence[str], width: int, *, title: str) -> str:
    """Return an SVG of a screen with this many columns."""
    return document(len(lines), width, title, [mark for run in runs(lines) for mark in drawn(run)])


def film(frames: Sequence[Frame], width: int, *, title: str) -> str:
    """Return an SVG that shows the screens one after another, again and again.

    A viewer that plays no animation shows the last screen.
    """
    rows: dict[tuple[Run, ...], list[tuple[float, float]]] = {}  # each distinct row: when it is shown
    start = 0.0
    for frame in frames:
        end = start + frame.seconds
        for cells in rows_of(frame.lines):
            shown = rows.setdefault(cells, [])
            if shown and shown[-1][1] == start:
                start_before, _ = shown.pop()
                shown.append((start_before, end))
            else:
                shown.append((start, end))
        start = end
    marks = []
    for cells, shown in rows.items():
        drawing = "".join(mark for run in cells for mark in drawn(run))
        if shown == [(0.0, start)]:
            marks.append(drawing)
        else:
            is_last = shown[-1][1] == start
            marks.append(
                f'<g visibility="{"visible" if is_last else "hidden"}">{timed(shown, start)}{drawing}</g>'
            )
    return document(max(len(frame.lines) for frame in frames), width, title, marks)


def rows_of(lines: Sequence[str]) -> Iterator[tuple[Run, ...]]:
    """Yield the runs of each row that shows anything."""
    for _, cells in groupby(runs(lines), key=attrgetter("row")):
        yield tuple(cells)


def timed(shown: Sequence[tuple[float, float]], whole: float) -> str:
    """Return the animation that shows something at these times of the whole film."""
    steps = {0.0: "hidden"}
    for start, end in shown:
        steps[start / whole] = "visible"
        if end < whole:
            steps[end / whole] = "hidden"
    times, values = ";".join(f"{time:.4g}" for time in steps), ";".join(steps.values())
    return (
        f'<animate attributeName="visibility" calcMode="discrete" values="{values}" keyTimes="{times}" '
        f'dur="{whole:.4g}s" repeatCount="indefinite"/>'
    )


def document(rows: int, width: int, title: str, marks: Sequence[str]) -> str:
    """Return an SVG with a terminal's background and these marks on it."""
    across, down = round(width * CELL + 2 * MARGIN), rows * LINE + 2 * MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" width="{across}" '
        f'height="{down}" role="img" font-family="{FONT}" font-size="{SIZE}" fill="{FOREGROUND}">'
    )
    frame = f'<rect width="{across}" height="{down}" rx="8" fill="{BACKGROUND}"/>'
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
    left = iter(codes)
    for code in left:
        if code in EXTENDED:
            style = replace(style, **{EXTENDED[code]: extended(left)})  # type: ignore[arg-type]  # likewise
        else:
            style = replace(style, **CODES[code]) if code else Style()  # type: ignore[arg-type]  # names of its fields
    return style


def extended(codes: Iterator[int]) -> str:
    """Take a colour of 256 or of 24 bits from the codes after 38 or 48."""
    if next(codes) == OF_24_BITS:
        return "#{:02x}{:02x}{:02x}".format(*islice(codes, 3))
    number = next(codes)
    if number < len(NAMED):
        return NAMED[number]
    if number >= GREYS:
        return "#" + f"{8 + (number - GREYS) * 10:02x}" * 3
    cube = number - len(NAMED)
    return "#{:02x}{:02x}{:02x}".format(*(LEVELS[cube // step % 6] for step in (36, 6, 1)))
