"""Markdown as nodes: headings, paragraphs, lists, tables, code, quotes. Pure.

The parser accepts what models write: anything that is not a mark is text, and a newline in a paragraph stays.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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

    def __init__(self, kind: str, text: str = "", *, level: int = 0) -> None:
        self.kind = kind
        self.text = text  # of a heading or a paragraph; the language of code; the marker of an item
        self.level = level  # of a heading
        self.lines: list[str] = []  # of code
        self.nodes: list[Node] = []  # in a quote or an item
        self.cells: list[list[str]] = []  # of a table, its head first
        self.aligns: list[str] = []


def parse(text: str) -> list[Node]:
    """Return the nodes of a text."""
    return _Parser(text.expandtabs(_TAB).split("\n"), 0).read()


class _Parser:
    """Reads lines, one node after another."""

    __slots__ = ("_at", "_depth", "_lines", "_nodes")

    def __init__(self, lines: Sequence[str], depth: int) -> None:
        self._lines = lines
        self._depth = depth
        self._at = 0
        self._nodes: list[Node] = []

    def read(self) -> list[Node]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                self._at += 1
            else:
                self._nodes.append(self._next(line))
        return self._nodes

    def _next(self, line: str) -> Node:
        words = line.strip()
        if words.startswith(_FENCES):
            return self._code(line)
        if level := _heading(words):
            self._at += 1
            return Node(HEADING, words[level:].strip().rstrip("#").rstrip(), level=level)
        if _is_rule(words):
            self._at += 1
            return Node(RULE)
        if self._depth < _DEEPEST and (words.startswith(">") or _marker(line) is not None):
            return self._quote() if words.startswith(">") else self._item(line)
        return self._table() if self._begins_table() else self._paragraph()

    def _code(self, line: str) -> Node:
        words = line.strip()
        indent = len(line) - len(line.lstrip())
        fence = words[: len(words) - len(words.lstrip(words[0]))]
        node = Node(CODE, words[len(fence) :].strip())
        self._at += 1
        while self._at < len(self._lines):
            inside = self._lines[self._at]
            self._at += 1
            end = inside.strip()
            if end.startswith(fence) and not end.strip(fence[0]):
                break
            node.lines.append(inside[min(indent, len(inside) - len(inside.lstrip())) :])
        return node

    def _quote(self) -> Node:
        node, inside = Node(QUOTE), []
        while self._at < len(self._lines) and (words := self._lines[self._at].strip()).startswith(">"):
            inside.append(words[1:].removeprefix(" "))
            self._at += 1
        node.nodes = _Parser(inside, self._depth + 1).read()
        return node

    def _item(self, line: str) -> Node:
        marker = _marker(line) or ""
        indent = len(line) - len(line.lstrip())
        words = line.lstrip()[len(marker) :].lstrip()
        box = next((box for box in _BOXES if words.startswith(box)), "")
        node = Node(ITEM, _BOXES[box].strip() if box else marker if marker[0].isdigit() else "•")
        inside = [words[len(box) :]]
        self._at += 1
        while self._at < len(self._lines) and self._goes_on(self._lines[self._at], indent):
            following = self._lines[self._at]
            room = len(following) - len(following.lstrip())
            inside.append(following[min(room, indent + len(marker) + 1) :])
            self._at += 1
        node.nodes = _Parser(inside, self._depth + 1).read()
        return node

    def _goes_on(self, line: str, indent: int) -> bool:
        """Say whether a line belongs to the item with this indent."""
        if not line.strip():  # it does if the next text is further right than the item's marker
            rest = (other for other in self._lines[self._at : self._at + 3] if other.strip())
            after = next(rest, "")
            return len(after) - len(after.lstrip()) > indent
        if len(line) - len(line.lstrip()) > indent:
            return True
        return bool(self._lines[self._at - 1].strip()) and not _begins(line)

    def _begins_table(self) -> bool:
        following = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        return "|" in self._lines[self._at] and _aligns(following) != []

    def _table(self) -> Node:
        node = Node(TABLE)
        node.cells = [_cells(self._lines[self._at])]
        count = len(node.cells[0])
        node.aligns = (_aligns(self._lines[self._at + 1]) + [LEFT] * count)[:count]
        self._at += 2
        while self._at < len(self._lines) and "|" in (line := self._lines[self._at]):
            node.cells.append((_cells(line) + [""] * count)[:count])
            self._at += 1
        return node

    def _paragraph(self) -> Node:
        lines = [self._lines[self._at]]
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip() or _begins(line) or self._begins_table():
                break
            lines.append(line)
            self._at += 1
        return Node(PARAGRAPH, "\n".join(_unbroken(line) for line in lines))


def _unbroken(line: str) -> str:
    """Return a line without the mark of a line break: every newline is a break anyway."""
    words = line.strip()
    return words[:-1] if words.endswith("\\") and not words.endswith("\\\\") else words


def _begins(line: str) -> bool:
    """Say whether a line begins anything but a paragraph."""
    words = line.strip()
    return bool(
        words.startswith((*_FENCES, ">")) or _heading(words) or _is_rule(words) or _marker(line) is not None
    )


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
