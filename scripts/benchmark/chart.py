"""The chart of a run as SVG: each goal and how much of it is used, and the curves of growth. No I/O."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from scripts.benchmark.curves import BY_CHILDREN, BY_KNOWN
from scripts.benchmark.table import number
from scripts.svg import BACKGROUND, FONT, FOREGROUND, NAMED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scripts.benchmark.table import Figure

WIDTH, MARGIN, LINE, SIZE = 990, 24, 20, 13
_NAMES, _BARS = 560, 300  # of a line: its words, and what one whole goal takes
_LONGEST = 1.25  # goals; what is more is cut, and its figure tells
_PLOT, _TICKS = 200, 4  # height of a plot, lines across it
_RED, _GREEN, _GREY = NAMED[1], NAMED[2], NAMED[8]
_COLOURS = (NAMED[4], NAMED[3], NAMED[5], NAMED[6])


def picture(figures: Sequence[Figure]) -> str:
    """Return the chart."""
    marks, top = ["", ""], float(MARGIN)
    goals = [figure for figure in figures if figure.goal]
    if goals:
        marks += [_text(MARGIN, top + SIZE, "How much of each goal is used (the line is the whole of it)")]
        marks += _bars(goals, top + 1.5 * LINE)
        top += (len(goals) + 3) * LINE
    for row, words in ((BY_CHILDREN, "live children"), (BY_KNOWN, "known runs")):
        curves = [figure for figure in figures if figure.row == row and figure.ours.endswith(" F")]
        if curves:
            marks += [_text(MARGIN, top + SIZE, f"CPU time by {words}, in starts of a bare Python (F)")]
            marks += _plot(curves, top + 2 * LINE)
            top += _PLOT + 4 * LINE
    marks[0] = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:.5g}" width="{WIDTH}" '
        f'height="{top:.5g}" role="img" font-family="{FONT}" font-size="{SIZE}" fill="{FOREGROUND}">'
    )
    marks[1] = (
        f"<title>What tmuxagents costs</title>"
        f'<rect width="{WIDTH}" height="{top:.5g}" rx="8" fill="{BACKGROUND}"/>'
    )
    return "\n".join([*marks, "</svg>", ""])


def _bars(goals: Sequence[Figure], top: float) -> Iterator[str]:
    left = MARGIN + _NAMES
    for line, figure in enumerate(goals):
        share = figure.figure / (figure.goal or 1)
        down = top + line * LINE
        yield _text(MARGIN, down + SIZE, f"{figure.row:2} {figure.what}".replace("`", ""))
        colour = _GREEN if figure.met else _RED
        yield _box(left, down + 3, max(1.0, min(share, _LONGEST) * _BARS), LINE - 7, colour)
        yield _text(left + _LONGEST * _BARS - 4, down + SIZE, f"{100 * share:.0f} %", anchor="end")
    yield _line(left + _BARS, top, left + _BARS, top + len(goals) * LINE, FOREGROUND)


def _plot(curves: Sequence[Figure], top: float) -> Iterator[str]:
    """Yield curves over a logarithmic count."""
    left, right = MARGIN + 40, WIDTH - MARGIN - 130
    most = max(value for figure in curves for _, value in figure.points)
    last = max(count for figure in curves for count, _ in figure.points)
    step = _step(most / _TICKS)

    def across(count: int) -> float:
        return left + (right - left) * math.log(count) / math.log(max(last, 2))

    def down(value: float) -> float:
        return top + _PLOT * (1 - value / (step * math.ceil(most / step)))

    for tick in range(math.ceil(most / step) + 1):
        yield _line(left, down(tick * step), right, down(tick * step), _GREY)
        yield _text(left - 8, down(tick * step) + 4, f"{tick * step:g}", anchor="end")
    for count, _ in curves[0].points:
        yield _text(across(count), top + _PLOT + LINE, f"{count:,}", anchor="middle")
    for line, figure in enumerate(curves):
        colour = _COLOURS[line % len(_COLOURS)]
        places = " ".join(f"{across(count):.5g},{down(value):.5g}" for count, value in figure.points)
        yield f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for count, value in figure.points:
            yield f'<circle cx="{across(count):.5g}" cy="{down(value):.5g}" r="3" fill="{colour}"/>'
        words = f"{figure.what.partition('`')[2].partition('`')[0]} {number(figure.points[-1][1])}"
        yield _text(right + 10, top + (line + 1) * LINE, words, colour=colour)


def _step(least: float) -> float:
    """Return the next of 1, 2, 5, 10, … that is not below a figure."""
    power: float = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least)


def _text(left: float, down: float, words: str, *, anchor: str = "", colour: str = "") -> str:
    more = f' text-anchor="{anchor}"' if anchor else ""
    more += f' fill="{colour}"' if colour else ""
    return f'<text x="{left:.5g}" y="{down:.5g}" xml:space="preserve"{more}>{escape(words)}</text>'


def _box(left: float, top: float, width: float, height: float, colour: str) -> str:
    size = f'width="{width:.5g}" height="{height:.5g}"'
    return f'<rect x="{left:.5g}" y="{top:.5g}" {size} fill="{colour}"/>'


def _line(left: float, top: float, right: float, bottom: float, colour: str) -> str:
    places = f'x1="{left:.5g}" y1="{top:.5g}" x2="{right:.5g}" y2="{bottom:.5g}"'
    return f'<line {places} stroke="{colour}"/>'
