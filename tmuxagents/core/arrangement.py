"""How tmux arranges the panes of a window: its five names, and texts with a checksum.

tmux 3.3a ends, with all its sessions, at a text that it does not understand. So whatever it would not take is
refused here: the sum, the grammar, the figures, and the number of panes.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ("even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled")
TILED = "tiled"
_TEXT = re.compile(r"([0-9a-f]{4}),(.+)", re.DOTALL)
_PLACE = re.compile(
    r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3}),([0-9]{1,4}),([0-9]{1,4})(?:,[0-9]{1,9}(?![0-9x]))?"
)
_SUM_BITS = 16
_BESIDE, _BELOW = "{}", "[]"  # how cells stand that lie beside, or below, one another
_DEEPEST = 64


class _Odd(Exception):
    """What is wrong with a text."""


class _Cell:
    """A pane, or cells beside or below one another."""

    __slots__ = ("cells", "height", "left", "top", "way", "width")

    def __init__(self, figures: Sequence[str]) -> None:
        self.width, self.height, self.left, self.top = map(int, figures)
        self.way = ""
        self.cells: list[_Cell] = []

    def panes(self) -> int:
        """Return how many panes it holds."""
        return sum(cell.panes() for cell in self.cells) if self.cells else 1


def checksum(text: str) -> str:
    """Return what tmux puts in front of a layout's text."""
    total = 0
    for letter in text.encode():
        total = ((total >> 1) + ((total & 1) << (_SUM_BITS - 1)) + letter) % (1 << _SUM_BITS)
    return f"{total:04x}"


def fault(layout: str, panes: int | None) -> str | None:
    """Say why tmux would not take a layout for so many panes (None: any number); None if it would."""
    if layout in NAMES:
        return None
    found = _TEXT.fullmatch(layout)
    if found is None:
        return f"it is none of {', '.join(NAMES)}, and no layout as tmux prints one"
    if panes is None:
        return "a window whose panes come and go has one of the named layouts"
    if not found[2].isascii() or checksum(found[2]) != found[1]:
        return "its checksum is wrong: copy it whole, from `tmux list-windows`"
    try:
        count = _count(found[2])
    except _Odd as why:
        return str(why)
    return None if count == panes else f"it is for {count} panes, and the window has {panes}"


def _count(text: str) -> int:
    """Return for how many panes a text is; raise _Odd where tmux would not take it."""
    cell, end = _read(text, 0, 0)
    if end != len(text):
        raise _Odd("something stands behind its end")
    _measure(cell)
    return cell.panes()


def _read(text: str, start: int, depth: int) -> tuple[_Cell, int]:
    """Return the cell that begins there, and where it ends."""
    found = _PLACE.match(text, start)
    if found is None or depth > _DEEPEST:
        raise _Odd("it is no layout as tmux prints one")
    cell, end = _Cell(found.groups()), found.end()
    way = next((way for way in (_BESIDE, _BELOW) if text[end : end + 1] == way[0]), "")
    if not way:
        return cell, end
    cell.way = way
    while not cell.cells or text[end : end + 1] == ",":
        inside, end = _read(text, end + 1, depth + 1)
        cell.cells.append(inside)
    if text[end : end + 1] != way[1]:
        raise _Odd("it is no layout as tmux prints one")
    return cell, end + 1


def _measure(cell: _Cell) -> None:
    """Raise _Odd unless the cells inside fill a cell, with one line between each two."""
    at_left, at_top = cell.left, cell.top
    for inside in cell.cells:
        beside = cell.way == _BESIDE
        across = inside.height == cell.height if beside else inside.width == cell.width
        if not across or (inside.left, inside.top) != (at_left, at_top):
            raise _Odd("its figures do not fit together")
        at_left += inside.width + 1 if beside else 0
        at_top += 0 if beside else inside.height + 1
        _measure(inside)
    if not cell.cells:
        return
    ends = (
        (at_left - 1, cell.left + cell.width) if cell.way == _BESIDE else (at_top - 1, cell.top + cell.height)
    )
    if ends[0] != ends[1]:
        raise _Odd("its figures do not fit together")
