"""Styled text and markdown as rows of a given width: only a word wider than a row is broken. Pure."""

from __future__ import annotations

from tmuxagents.render import inline, markdown, styles
from tmuxagents.text import width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tmuxagents.render.markdown import Node
    from tmuxagents.render.styles import Row, Span

LEAST = 6  # columns that a text always gets, however narrow its place is


def wrapped(spans: Iterable[Span], room: int) -> list[Row]:
    """Return the rows of a text; a newline in it begins a new row."""
    room = max(LEAST, room)
    lines: list[Row] = [[]]
    for style, text in spans:
        first, *others = text.split("\n")
        lines[-1].append((style, first))
        lines += [[(style, other)] for other in others]
    return [row for line in lines for row in _broken(line, room)]


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
    """Return rows behind an indent: `first` for the first row and, if given, `rest` for the others."""
    following = first if rest is None else rest
    found = [[*(following if number else first), *row] for number, row in enumerate(rows)]
    return [row if any(not text.isspace() for _, text in row) else [] for row in found]


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
        if wide > room - gap_wide:  # it fits into no row
            first, *full, word = _cut(word, room - gap_wide, room)
            rows += map(_merged, [[*gap, *first], *full])
            gap, gap_wide, wide = [], 0, styles.width_of(word)
        row += [*gap, *word]
        taken += gap_wide + wide
        gap = []
    rows.append(_merged(row))
    return rows


def _words(line: Row) -> Iterator[tuple[Row, int]]:
    """Yield each word, and the blanks between two words, with its columns.

    A word may have several styles. A wide letter is a word.
    """
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
    """Yield the blanks, the words, and the wide letters of a text."""
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or text[end].isspace() != text[end - 1].isspace():
            token = text[start:end]
            yield from [token] if token.isascii() else _narrow_and_wide(token)
            start = end


def _narrow_and_wide(token: str) -> Iterator[str]:
    """Yield the parts between which a word may be broken: each wide letter is one part."""
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
    """Cut a word; `first` is the room in the first of its rows."""
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
    """Return a row with neighbours of the same style joined, and without blanks at its end."""
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


# --- markdown ---------------------------------------------------------------------------------------------

_BAR, _CROSS, _LINE = " │ ", "─┼─", "─"
_INDENT = "  "
_LEAST_CELL = 6
_RULE = 40


def markdown_rows(text: str, room: int) -> list[Row]:
    """Return the rows of a markdown text."""
    return _of_nodes(markdown.parse(text), room)


def markdown_spans(text: str, style: str = styles.PLAIN) -> Row:
    """Return the spans of a line of markdown."""
    return [(styles.joined(style, piece.style), piece.text) for piece in inline.pieces(text)]


def _of_nodes(nodes: Sequence[Node], room: int, *, in_item: bool = False) -> list[Row]:
    found: list[Row] = []
    before: Node | None = None
    for node in nodes:
        if before is not None:
            # No empty row separates the items of one list, or a list from the text of the item above it.
            is_tight = in_item
            if before.kind == markdown.ITEM:
                is_tight = before.text[:1].isdigit() == node.text[:1].isdigit()
            found += [] if is_tight and node.kind == markdown.ITEM else [[]]
        before = node
        match node.kind:
            case markdown.CODE:
                found += _code(node, room)
            case markdown.QUOTE:
                found += indented(_of_nodes(node.nodes, room - 2), [(styles.DIM, "│ ")])
            case markdown.ITEM:
                hang = width.columns(node.text) + 1
                inside = _of_nodes(node.nodes, room - hang, in_item=True) or [[]]
                marker = [(styles.MARKER, node.text), (styles.PLAIN, " ")]
                found += indented(inside, marker, [(styles.PLAIN, " " * hang)])
            case markdown.RULE:
                found.append([(styles.DIM, _LINE * min(room, _RULE))])
            case markdown.TABLE:
                found += _table(node, room)
            case _:
                style = styles.HEADING if node.kind == markdown.HEADING else styles.PLAIN
                found += wrapped(markdown_spans(node.text, style), room)
    return found


def _code(node: Node, room: int) -> list[Row]:
    found: list[Row] = []
    room -= len(_INDENT)
    for line in node.lines:
        pieces = wrapped([(styles.CODE, line)], room)
        if len(pieces) > 1:
            indent = min(len(line) - len(line.lstrip()), room // 2)
            hang = indent + len(_INDENT)
            rest = wrapped([(styles.CODE, line.lstrip())], room - hang)
            pieces = indented(rest, [(styles.PLAIN, " " * indent)], [(styles.PLAIN, " " * hang)])
        found += pieces
    return indented(found, [(styles.PLAIN, _INDENT)])


def _table(node: Node, room: int) -> list[Row]:
    head, *body = (
        [markdown_spans(cell, styles.BOLD if not number else "") for cell in row]
        for number, row in enumerate(node.cells)
    )
    widths = [max(map(styles.width_of, column)) for column in zip(head, *body, strict=True)]
    shared = room - len(_BAR) * (len(widths) - 1)
    found: list[Row] = []
    if shared < sum(min(_LEAST_CELL, wide) for wide in widths):
        # It is too wide: each of its rows becomes lines of `name: value`.
        for row in body:
            found += [[]] if found else []
            for name, value in zip(head, row, strict=True):
                words = [*name, (styles.BOLD, ": "), *value]
                found += indented(wrapped(words, room - len(_INDENT)), [], [(styles.PLAIN, _INDENT)])
        return found
    most = max(widths)
    while sum(widths) > shared:  # the widest columns are cut first
        most -= 1
        widths = [min(most, wide) for wide in widths]
    found += _table_row(head, widths, node.aligns)
    found.append([(styles.DIM, _CROSS.join(_LINE * wide for wide in widths))])
    for row in body:
        found += _table_row(row, widths, node.aligns)
    return found


def _table_row(cells: Sequence[Row], widths: Sequence[int], aligns: Sequence[str]) -> list[Row]:
    columns = [wrapped(cell, wide) for cell, wide in zip(cells, widths, strict=True)]
    found: list[Row] = []
    for number in range(max(map(len, columns))):
        row: Row = []
        for column, wide, align in zip(columns, widths, aligns, strict=True):
            if row:
                row.append((styles.DIM, _BAR))
            cell = column[number] if number < len(column) else []
            left = wide - styles.width_of(cell)
            before = left if align == markdown.RIGHT else left // 2 if align == markdown.CENTRE else 0
            spans = [(styles.PLAIN, " " * before), *cell, (styles.PLAIN, " " * (left - before))]
            row += [span for span in spans if span[1]]
        found.append(row)
    return found
