"""Markdown as nodes: headings, paragraphs, lists, tables, code, quotes. Pure.

The parser accepts what models write: anything that is not a mark is text, and a newline in a paragraph stays.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

HEADING, PARAGRAPH, CODE, QUOTE, ITEM, TABLE, RULE = (
    *("heading", "paragraph", "code", "quote", "item", "table", "rule"),
)
LEFT, RIGHT, CENTRE = "left", "right", "centre"
_FENCES = ("```", "~~~")
_MOST_MARKS, _MOST_DIGITS = 6, 9
_DEEPEST = 7
_TAB = 4
_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


class Node:
    """A part of a text. Its kind decides which fields are used."""

    __slots__ = ("aligns", "cells", "kind", "level", "lines", "nodes", "text")

    def __init__(self, kind: str, text: str = "", *, level: int = 0, nodes: Sequence[Node] = ()) -> None:
        self.kind = kind
        self.text = text  # of a heading or a paragraph; the language of code; the marker of an item
        self.level = level  # of a heading
        self.nodes = nodes  # in a quote or an item
        self.lines: list[str] = []  # of code
        self.cells: list[list[str]] = []  # of a table, its head first
        self.aligns: list[str] = []


def parse(text: str) -> list[Node]:
    """Return the nodes of a text."""
    return _Parser(text.expandtabs(_TAB).split("\n"), 0).read()


class _Parser:
    """Reads lines, one node after another."""

    __slots__ = ("_at", "_depth", "_lines")

    def __init__(self, lines: Sequence[str], depth: int) -> None:
        self._lines = lines
        self._depth = depth
        self._at = 0

    def read(self) -> list[Node]:
        nodes = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            words = line.strip()
            if not words:
                self._at += 1
            elif words.startswith(_FENCES):
                nodes.append(self._code(line))
            elif level := _heading(words):
                nodes.append(Node(HEADING, words[level:].strip().rstrip("#").rstrip(), level=level))
                self._at += 1
            elif _is_rule(words):
                nodes.append(Node(RULE))
                self._at += 1
            elif self._depth < _DEEPEST and words.startswith(">"):
                quoted = self._while(lambda line: line.strip().startswith(">"))
                inside = [line.strip()[1:].removeprefix(" ") for line in quoted]
                nodes.append(Node(QUOTE, nodes=_Parser(inside, self._depth + 1).read()))
            elif self._depth < _DEEPEST and (marker := _marker(line)) is not None:
                nodes.append(self._item(line, marker))
            elif self._begins_table():
                nodes.append(self._table())
            else:
                self._at += 1
                more = self._while(lambda line: not (_begins(line) or self._begins_table()))
                nodes.append(Node(PARAGRAPH, "\n".join(map(_unbroken, [line, *more]))))
        return nodes

    def _while(self, belongs: Callable[[str], bool]) -> Iterator[str]:
        """Yield the next lines, as long as they belong to a node."""
        while self._at < len(self._lines) and belongs(self._lines[self._at]):
            self._at += 1
            yield self._lines[self._at - 1]

    def _code(self, line: str) -> Node:
        words = line.strip()
        indent = len(line) - len(line.lstrip())
        fence = words[: len(words) - len(words.lstrip(words[0]))]
        node = Node(CODE, words[len(fence) :].strip())

        def is_inside(line: str) -> bool:
            end = line.strip()
            return not end.startswith(fence) or end.strip(fence[0]) != ""

        self._at += 1
        for inside in self._while(is_inside):
            node.lines.append(inside[min(indent, len(inside) - len(inside.lstrip())) :])
        self._at += 1
        return node

    def _item(self, line: str, marker: str) -> Node:
        indent = len(line) - len(line.lstrip())
        words = line.lstrip()[len(marker) :].lstrip()
        box = next((box for box in _BOXES if words.startswith(box)), "")
        inside = [words[len(box) :]]

        def goes_on(line: str) -> bool:
            """Say whether a line belongs to the item."""
            if not line.strip():  # it does if the next text is further right than the item's marker
                rest = (other for other in self._lines[self._at : self._at + 3] if other.strip())
                after = next(rest, "")
                return len(after) - len(after.lstrip()) > indent
            if len(line) - len(line.lstrip()) > indent:
                return True
            return bool(self._lines[self._at - 1].strip()) and not _begins(line)

        self._at += 1
        for following in self._while(goes_on):
            room = len(following) - len(following.lstrip())
            inside.append(following[min(room, indent + len(marker) + 1) :])
        shown = _BOXES[box].strip() if box else marker if marker[0].isdigit() else "•"
        return Node(ITEM, shown, nodes=_Parser(inside, self._depth + 1).read())

    def _begins_table(self) -> bool:
        following = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        return "|" in self._lines[self._at] and _aligns(following) != []

    def _table(self) -> Node:
        head, aligns = _cells(self._lines[self._at]), _aligns(self._lines[self._at + 1])
        self._at += 2
        rows = [head, *map(_cells, self._while(lambda line: "|" in line))]
        node, count = Node(TABLE), len(head)
        node.cells = [(row + [""] * count)[:count] for row in rows]
        node.aligns = (aligns + [LEFT] * count)[:count]
        return node


def _unbroken(line: str) -> str:
    """Return a line without the mark of a line break: every newline is a break anyway."""
    words = line.strip()
    return words[:-1] if words.endswith("\\") and not words.endswith("\\\\") else words


def _begins(line: str) -> bool:
    """Say whether a line is blank, or begins anything but a paragraph."""
    words = line.strip()
    if not words or words.startswith((*_FENCES, ">")):
        return True
    return bool(_heading(words) or _is_rule(words) or _marker(line) is not None)


def _heading(words: str) -> int:
    count = len(words) - len(words.lstrip("#"))
    return count if 0 < count <= _MOST_MARKS and words[count : count + 1] in ("", " ") else 0


def _is_rule(words: str) -> bool:
    flat = words.replace(" ", "")
    return len(flat) > 2 and flat[0] in "-*_" and not flat.strip(flat[0])  # noqa: PLR2004  (three make a rule)


def _marker(line: str) -> str | None:
    """Return the marker of a list item; None for any other line."""
    words = line.lstrip()
    digits = len(words) - len(words.lstrip("0123456789"))
    if words[:2] in ("- ", "* ", "+ ") or words in ("-", "*", "+"):
        return words[0]
    if (
        0 < digits <= _MOST_DIGITS
        and words[digits : digits + 1] in (".", ")")
        and words[digits + 1 :][:1] == " "
    ):
        return words[: digits + 1]
    return None


def _cells(line: str) -> list[str]:
    """Return the cells of a table's row. A bar in code, or behind a backslash, does not divide cells."""
    words = line.strip().removeprefix("|")
    cells, cell, in_code, at = [], "", False, 0
    while at < len(words):
        sign = words[at]
        if sign == "\\" and words[at + 1 : at + 2] == "|":
            cell, at = cell + "|", at + 2
            continue
        if sign == "|" and not in_code:
            cells.append(cell.strip())
            cell = ""
        else:
            in_code ^= sign == "`"
            cell += sign
        at += 1
    return [*cells, cell.strip()] if cell.strip() or not cells else cells


def _aligns(line: str) -> list[str]:
    """Return the alignment of columns, from the line below the head of a table; empty for any other line."""
    words = line.strip()
    if "-" not in words or ("|" not in words and ":" not in words) or words.strip("|:- "):
        return []
    found = []
    for cell in _cells(words):
        if not cell.strip(":") or cell.strip(":").strip("-"):
            return []
        right = cell.endswith(":")
        found.append(CENTRE if right and cell.startswith(":") else RIGHT if right else LEFT)
    return found
