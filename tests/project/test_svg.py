"""Screens as pictures: text and colours arrive in the right cells, and nothing of a text becomes markup."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from scripts import svg

SPACE = "{http://www.w3.org/2000/svg}"


def texts(*lines: str, width: int = 20) -> list[dict[str, str]]:
    """Return the texts of a picture, each with its attributes."""
    root = ET.fromstring(svg.picture(lines, width, title="t"))
    return [{"": mark.text or "", **mark.attrib} for mark in root.iter(f"{SPACE}text")]


def grounds(*lines: str) -> list[dict[str, str]]:
    """Return the coloured grounds of a picture."""
    return [mark.attrib for mark in ET.fromstring(svg.picture(lines, 20, title="t")).iter(f"{SPACE}rect")][1:]


def test_a_text_keeps_its_columns() -> None:
    (mark,) = texts("  hello")
    assert (mark[""], float(mark["x"])) == ("  hello", svg.MARGIN)
    assert float(mark["textLength"]) == pytest.approx(7 * svg.CELL, abs=0.1)
    (wide,) = texts("漢字")
    assert float(wide["textLength"]) == pytest.approx(4 * svg.CELL, abs=0.1)


def test_colours_begin_and_end_where_they_do() -> None:
    plain, green, after = texts("ab\x1b[32mcd\x1b[39mef")
    assert ("fill" in plain, green["fill"], "fill" in after) == (False, svg.NAMED[2], False)
    assert float(green["x"]) == pytest.approx(svg.MARGIN + 2 * svg.CELL, abs=0.1)


def test_a_style_goes_on_in_the_next_line() -> None:
    first, second, third = texts("\x1b[1mone", "two\x1b[m", "three")
    assert (first["font-weight"], second["font-weight"], "font-weight" in third) == ("bold", "bold", False)


def test_grounds_are_drawn_and_reverse_swaps() -> None:
    (ground,) = grounds("\x1b[30;42m ok \x1b[0m ")
    assert ground["fill"] == svg.NAMED[2]
    assert float(ground["width"]) == pytest.approx(4 * svg.CELL, abs=0.1)
    (swapped,) = grounds("\x1b[7mx")
    assert swapped["fill"] == svg.FOREGROUND
    (mark,) = texts("\x1b[7mx")
    assert mark["fill"] == svg.BACKGROUND


def test_a_text_is_no_markup() -> None:
    (mark,) = texts("<b>&\"'</b>")
    assert mark[""] == "<b>&\"'</b>"


def test_what_it_does_not_know_it_does_not_guess() -> None:
    with pytest.raises(KeyError):
        svg.picture(["\x1b[38;5;200mpink"], 20, title="t")
