"""Styled text in rows of a width: broken between words, never inside one that fits. Pure."""

from __future__ import annotations

from tmuxagents.render import styles
from tmuxagents.text import width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tmuxagents.render.styles import Row, Span

LEAST = 6  # columns that a text always gets, however narrow its place is


def wrapped(spans: Iterable[Span], room: int) -> list[Row]:
    """Return the rows of a text; a newline in it begins a new row."""
    room = max(LEAST, room)
    rows: list[Row] = []
    for line in _lines(spans):
        rows += _broken(line, room)
    return rows


def fitted(spans: Row, room: int) -> Row:
    """Return a row of at most `room` columns, cut between words where that costs little."""
    if styles.width_of(spans) <= room:
        return spans
    number, left = 0, room - 1
    while (taken := width.columns(spans[number][1])) <= left:
        number, left = number + 1, left - taken
    style, text = spans[number]
    words = width.fit(text, left + 1).removesuffix(width.ELLIPSIS) if left else ""
    if not text[len(words) : len(words) + 1].isspace() and (at := words.rfind(" ")) > len(words) * 2 // 3:
        words = words[:at].rstrip()
    return [*spans[:number], (style, words + width.ELLIPSIS)]


def indented(rows: Iterable[Row], first: Row, rest: Row | None = None) -> list[Row]:
    """Return rows behind an indent; `rest`: that of all rows but the first, if it is another."""
    following = first if rest is None else rest
    found = [[*(following if number else first), *row] for number, row in enumerate(rows)]
    return [row if any(not text.isspace() for _, text in row) else [] for row in found]


def _lines(spans: Iterable[Span]) -> Iterator[Row]:
    line: Row = []
    for style, text in spans:
        first, *others = text.split("\n")
        line.append((style, first))
        for other in others:
            yield line
            line = [(style, other)]
    yield line


def _broken(line: Row, room: int) -> list[Row]:
    if sum(len(text) for _, text in line) <= room and all(text.isascii() for _, text in line):
        return [_merged(line)]
    rows: list[Row] = []
    row: Row = []
    taken = 0
    gap: Row = []  # blanks before the next word, if it is in the same row
    for token, columns in _words(line):
        word, wide = token, columns
        if word[0][1].isspace():
            gap += word
            continue
        gap_wide = styles.width_of(gap)
        if not row and gap_wide > room // 2:  # an indent that leaves no place
            gap, gap_wide = [], 0
        if taken + gap_wide + wide > room and row:
            rows.append(_merged(row))
            row, taken, gap, gap_wide = [], 0, [], 0
        if wide > room - gap_wide:
            first, *full, word = _cut(word, room - gap_wide, room)
            rows += map(_merged, [[*gap, *first], *full])
            gap, gap_wide, wide = [], 0, styles.width_of(word)
        row += [*gap, *word]
        taken += gap_wide + wide
        gap = []
    rows.append(_merged(row))
    return rows


def _words(line: Row) -> Iterator[tuple[Row, int]]:
    """Yield words and the blanks between them. A word may have several styles; wide signs are words."""
    word: Row = []
    wide = 0
    for style, text in line:
        for token in _tokens(text):
            is_part = not token.isspace() and (token.isascii() or width.columns(token) == len(token))
            if not is_part and word:
                yield word, wide
                word, wide = [], 0
            if is_part:
                word.append((style, token))
                wide += width.columns(token)
            else:
                yield [(style, token)], width.columns(token)
    if word:
        yield word, wide


def _tokens(text: str) -> Iterator[str]:
    """Yield the blanks, the words, and the wide signs of a text."""
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or text[end].isspace() != text[end - 1].isspace():
            token = text[start:end]
            yield from [token] if token.isascii() else _narrow_and_wide(token)
            start = end


def _narrow_and_wide(token: str) -> Iterator[str]:
    """Yield the parts of a word between which it may be broken: each wide sign is one."""
    start = before = 0
    for end, wide in width.clusters(token):
        if wide > 1:
            if before > start:
                yield token[start:before]
            yield token[before:end]
            start = end
        before = end
    if start < len(token):
        yield token[start:]


def _cut(word: Row, first: int, room: int) -> list[Row]:
    """Cut a word that fits into no row; `first` is the room in the first of its rows."""
    found: list[Row] = [[]]
    left = first
    for style, text in word:
        start = before = 0
        for end, wide in width.clusters(text):
            if wide > left:
                found[-1].append((style, text[start:before]))
                found.append([])
                start, left = before, room
            left -= wide
            before = end
        found[-1].append((style, text[start:]))
    return found


def _merged(row: Row) -> Row:
    """Return a row whose neighbours of one style are one span, without blanks at its end."""
    found: Row = []
    for style, text in row:
        if found and found[-1][0] == style:
            found[-1] = style, found[-1][1] + text
        elif text:
            found.append((style, text))
    while found:
        style, text = found.pop()
        if kept := text.rstrip():
            return [*found, (style, kept)]
    return found
