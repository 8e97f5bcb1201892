"""Markdown as rows of a terminal. Pure."""

from __future__ import annotations

from tmuxagents.render import flow, inline, markdown, styles
from tmuxagents.text import width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.render.markdown import Node
    from tmuxagents.render.styles import Row

_BAR, _CROSS, _LINE = " │ ", "─┼─", "─"
_INDENT = "  "
_LEAST_CELL = 6


def rows(text: str, room: int) -> list[Row]:
    """Return the rows of a markdown text."""
    return _of_nodes(markdown.parse(text), room)


def spans(text: str, style: str = styles.PLAIN) -> Row:
    """Return the inside of a line of markdown."""
    return [(styles.joined(style, piece.style), piece.text) for piece in inline.pieces(text)]


def _of_nodes(nodes: Sequence[Node], room: int, *, in_item: bool = False) -> list[Row]:
    found: list[Row] = []
    before: Node | None = None
    for node in nodes:
        if before is not None and not _is_tight(before, node, in_item=in_item):
            found.append([])
        found += _KINDS[node.kind](node, room)
        before = node
    return found


def _is_tight(before: Node, node: Node, *, in_item: bool) -> bool:
    """Say whether two nodes follow directly: items of one list, and a list below its item."""
    if node.kind != markdown.ITEM:
        return False
    return before.text[:1].isdigit() == node.text[:1].isdigit() if before.kind == markdown.ITEM else in_item


def _heading(node: Node, room: int) -> list[Row]:
    return flow.wrapped(spans(node.text, styles.HEADING), room)


def _paragraph(node: Node, room: int) -> list[Row]:
    return flow.wrapped(spans(node.text), room)


def _code(node: Node, room: int) -> list[Row]:
    found: list[Row] = []
    room -= len(_INDENT)
    for line in node.lines:
        pieces = flow.wrapped([(styles.CODE, line)], room)
        if len(pieces) > 1:
            indent = min(len(line) - len(line.lstrip()), room // 2)
            hang = indent + len(_INDENT)
            rest = flow.wrapped([(styles.CODE, line.lstrip())], room - hang)
            pieces = flow.indented(rest, [(styles.PLAIN, " " * indent)], [(styles.PLAIN, " " * hang)])
        found += pieces
    return flow.indented(found, [(styles.PLAIN, _INDENT)])


def _quote(node: Node, room: int) -> list[Row]:
    inside = _of_nodes(node.nodes, room - 2)
    return flow.indented(inside, [(styles.DIM, "│ ")])


def _item(node: Node, room: int) -> list[Row]:
    hang = width.columns(node.text) + 1
    inside = _of_nodes(node.nodes, room - hang, in_item=True) or [[]]
    return flow.indented(
        inside, [(styles.MARKER, node.text), (styles.PLAIN, " ")], [(styles.PLAIN, " " * hang)]
    )


def _rule(_node: Node, room: int) -> list[Row]:
    return [[(styles.DIM, _LINE * min(room, 40))]]


def _table(node: Node, room: int) -> list[Row]:
    head, *body = (
        [spans(cell, styles.BOLD if not number else "") for cell in row]
        for number, row in enumerate(node.cells)
    )
    wanted = [max(map(styles.width_of, column)) for column in zip(head, *body, strict=True)]
    widths = _shared(wanted, room - len(_BAR) * (len(wanted) - 1))
    if widths is None:
        return _records(head, body, room)
    found = _table_row(head, widths, node.aligns)
    found.append([(styles.DIM, _CROSS.join(_LINE * wide for wide in widths))])
    for row in body:
        found += _table_row(row, widths, node.aligns)
    return found


def _shared(wanted: Sequence[int], room: int) -> list[int] | None:
    """Return the widths of columns in the room there is, the widest cut first; None if it is too small."""
    if sum(wanted) <= room:
        return list(wanted)
    if room < sum(min(_LEAST_CELL, wide) for wide in wanted):
        return None
    most = max(wanted)
    while sum(min(most, wide) for wide in wanted) > room:
        most -= 1
    return [min(most, wide) for wide in wanted]


def _table_row(cells: Sequence[Row], widths: Sequence[int], aligns: Sequence[str]) -> list[Row]:
    columns = [flow.wrapped(cell, wide) for cell, wide in zip(cells, widths, strict=True)]
    found: list[Row] = []
    for number in range(max(map(len, columns))):
        row: Row = []
        for column, wide, align in zip(columns, widths, aligns, strict=True):
            if row:
                row.append((styles.DIM, _BAR))
            row += _aligned(column[number] if number < len(column) else [], wide, align)
        found.append(row)
    return found


def _aligned(cell: Row, wide: int, align: str) -> Row:
    left = wide - styles.width_of(cell)
    before = left if align == markdown.RIGHT else left // 2 if align == markdown.CENTRE else 0
    blanks = [(styles.PLAIN, " " * before)], [(styles.PLAIN, " " * (left - before))]
    return [span for span in (*blanks[0], *cell, *blanks[1]) if span[1]]


def _records(head: Sequence[Row], body: Sequence[Sequence[Row]], room: int) -> list[Row]:
    """Return a table without room for its columns: each row as lines of `name: value`."""
    found: list[Row] = []
    for row in body:
        if found:
            found.append([])
        for name, value in zip(head, row, strict=True):
            words = [*name, (styles.BOLD, ": "), *value]
            found += flow.indented(flow.wrapped(words, room - len(_INDENT)), [], [(styles.PLAIN, _INDENT)])
    return found


_KINDS = {
    markdown.HEADING: _heading,
    markdown.PARAGRAPH: _paragraph,
    markdown.CODE: _code,
    markdown.QUOTE: _quote,
    markdown.ITEM: _item,
    markdown.RULE: _rule,
    markdown.TABLE: _table,
}
