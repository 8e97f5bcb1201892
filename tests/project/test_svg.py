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


@pytest.mark.parametrize(
    ("codes", "colour"),
    [
        ("38;2;1;2;255", "#0102ff"),
        ("38;5;3", svg.NAMED[3]),
        ("38;5;200", "#ff00d7"),
        ("38;5;16", "#000000"),
        ("38;5;232", "#080808"),
        ("38;5;255", "#eeeeee"),
    ],
)
def test_a_colour_of_many_is_its_own(codes: str, colour: str) -> None:
    (mark,) = texts(f"\x1b[1;{codes}mx")
    assert (mark["fill"], mark["font-weight"]) == (colour, "bold")


def test_an_unknown_sequence_is_refused() -> None:
    with pytest.raises(KeyError):
        svg.picture(["\x1b[5mblink"], 20, title="t")


def shown(film: str, text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return whether a row is shown without animation, and when it is shown: the steps of its animation."""
    root = ET.fromstring(film)
    (group,) = (found for found in root.iter(f"{SPACE}g") if "".join(found.itertext()).strip() == text)
    (clock,) = group.iter(f"{SPACE}animate")
    return group.attrib["visibility"], list(
        zip(clock.attrib["keyTimes"].split(";"), clock.attrib["values"].split(";"), strict=True)
    )


def test_a_film_shows_each_row_at_its_time() -> None:
    frames = [
        svg.Frame(1, ["always", "first"]),
        svg.Frame(2, ["always", "then"]),
        svg.Frame(1, ["always", "first", "last"]),
    ]
    film = svg.film(frames, 20, title="t")
    assert [found.text for found in ET.fromstring(film) if found.tag == f"{SPACE}text"] == ["always"]
    assert shown(film, "then") == ("hidden", [("0", "hidden"), ("0.25", "visible"), ("0.75", "hidden")])
    assert shown(film, "first") == ("visible", [("0", "visible"), ("0.25", "hidden"), ("0.75", "visible")])
    assert shown(film, "last") == ("visible", [("0", "hidden"), ("0.75", "visible")])
    assert film.count('dur="4s"') == 3
