"""The width of text on a terminal, cutting text to a width, and tables. Pure.

A character takes one or two columns, by its East Asian width; one that is drawn into the character before it
takes none. Emoji have three more rules. Characters joined by ZERO WIDTH JOINER are one emoji of two columns.
A skin tone adds nothing to the emoji before it. VARIATION SELECTOR-16 makes a character two columns wide.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GAP = "  "
ELLIPSIS = "…"
_NO_COLUMN = ("Mn", "Me", "Cf")
_JAMO, _AFTER_JAMO = "\u1160", "\u1200"  # letters that are drawn into the letter before them
_MORE_JAMO, _AFTER_MORE_JAMO = "\ud7b0", "\ud800"
_JOINER, _AS_EMOJI = "\u200d", "\ufe0f"
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(wide for _, wide in clusters(text))


def clusters(text: str) -> Iterator[tuple[int, int]]:
    """Yield the end and the columns of each character, with all that is drawn into it."""
    from unicodedata import category, east_asian_width  # noqa: PLC0415  (most text is ASCII)

    base, wide, joins = "", 0, False
    for at, sign in enumerate(text):
        kind = category(sign)
        is_part = _JAMO <= sign < _AFTER_JAMO or _MORE_JAMO <= sign < _AFTER_MORE_JAMO
        if base and kind[0] == "S" and not sign.isascii():
            is_part = joins or (sign in _SKIN_TONES and category(base) == "So")
        if sign == _AS_EMOJI and wide == 1:
            wide = 2
        elif kind not in _NO_COLUMN and not is_part:
            if at:
                yield at, wide
            base, wide = sign, 2 if east_asian_width(sign) in "WF" else 1
        joins = sign == _JOINER and wide == 2  # noqa: PLR2004  (an emoji)
    yield len(text), wide


def fit(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """Return a text of at most `width` columns, ending in the ellipsis if something was cut."""
    room = width - len(ellipsis)
    if text.isascii():
        return text if len(text) <= width else text[: max(0, room)].rstrip() + ellipsis
    kept = taken = 0
    for end, wide in clusters(text):
        taken += wide
        if taken > width:  # a long text is not read to its end
            return text[:kept].rstrip() + ellipsis
        kept = end if taken <= room else kept
    return text


def padded(cells: Sequence[str]) -> list[str]:
    """Return the cells of a column, each as wide as the widest."""
    if "".join(cells).isascii():
        width = max(map(len, cells))
        return [cell.ljust(width) for cell in cells]
    width = max(map(columns, cells))
    return [cell + " " * (width - columns(cell)) for cell in cells]


def table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the lines of a table with its header in the first row. The last column gets the rest."""
    *before, last = zip(*rows, strict=True)
    return joined([padded(cells) for cells in before], last, width)


def joined(before: Sequence[Sequence[str]], last: Sequence[str], width: int) -> list[str]:
    """Return the lines of padded columns and a last one, which is cut to the remaining room."""
    room = max(1, width - sum(columns(cells[0]) + len(GAP) for cells in before))
    return list(map(GAP.join, zip(*before, (fit(text, room) for text in last), strict=True)))
