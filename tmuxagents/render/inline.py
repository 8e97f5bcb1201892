"""Emphasis, code and links inside a line of markdown, as pieces of one style each. Pure.

This module does without `re`, which no wrapper loads. Each failed search for a closing mark is remembered, so
every text takes only a few passes, whatever a child writes.
"""

from __future__ import annotations

from tmuxagents.render import styles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import ClassVar

    Dead = set[tuple[str, int]]

_SPECIAL = "\\`*_~[<!"
_ESCAPED = "\\`*_{}[]()#+-.!|~<>"
_AROUND = "<>\"'`|"
_TRAILING = ".,;:!?)'\"*_~`]"
_SCHEMES = ("https://", "http://", "mailto:")
_STRONG, _LONGEST_MARK = 2, 3
_DEEPEST = 4


class Piece:
    """A part of a text in one style; `target` is the address of a link."""

    __slots__ = ("style", "target", "text")

    def __init__(self, text: str, style: str = styles.PLAIN, target: str = "") -> None:
        self.text = text
        self.style = style
        self.target = target


def pieces(text: str) -> list[Piece]:
    """Return the pieces of a text, without its marks."""
    if "://" not in text and not any(sign in text for sign in _SPECIAL):
        return [Piece(text)] if text else []
    return _Inline(text, styles.PLAIN, 0).read()


def is_address(target: str) -> bool:
    """Say whether a link leads to an address that a person may follow."""
    return target.lower().startswith(_SCHEMES)


class _Inline:
    """Reads one text from its beginning to its end."""

    __slots__ = ("_at", "_dead", "_depth", "_found", "_plain", "_special", "_style", "_text")

    def __init__(self, text: str, style: str, depth: int) -> None:
        self._text = text
        self._style = style
        self._depth = depth
        self._at = 0
        self._found: list[Piece] = []
        self._plain: list[str] = []
        self._dead: Dead = set()  # the searches that found nothing
        self._special = _SPECIAL + "h" * ("://" in text)

    def read(self) -> list[Piece]:
        text, special = self._text, self._special
        while self._at < len(text):
            sign = text[self._at]
            if sign not in special:
                end = self._at + 1
                while end < len(text) and text[end] not in special:
                    end += 1
                self._take(end - self._at)
            elif not self._READS[sign](self):
                self._take(1)
        self._close()
        return self._found

    def _take(self, count: int) -> None:
        self._plain.append(self._text[self._at : self._at + count])
        self._at += count

    def _close(self) -> None:
        if self._plain:
            self._found.append(Piece("".join(self._plain), self._style))
            self._plain = []

    def _add(self, text: str, style: str, target: str = "") -> None:
        """Add the text between a pair of marks, and read the marks inside it, too."""
        self._close()
        look = styles.joined(self._style, style)
        inner = (
            [Piece(text, look)] if self._depth >= _DEEPEST else _Inline(text, look, self._depth + 1).read()
        )
        for piece in inner:
            piece.target = piece.target or target
        self._found += inner

    def _run(self, sign: str) -> int:
        """Return how often this sign is repeated from here on."""
        end = self._at
        while end < len(self._text) and self._text[end] == sign:
            end += 1
        return end - self._at

    def _find(self, what: str, start: int, key: tuple[str, int]) -> int:
        """Find a text behind a place; if it is missing, remember that and return -1."""
        if key in self._dead:
            return -1
        found = self._text.find(what, start)
        if found < 0:
            self._dead.add(key)
        return found

    # One method per sign. Each returns whether it has read something.

    def _escape(self) -> bool:
        if self._text[self._at + 1 : self._at + 2] not in tuple(_ESCAPED):
            return False
        self._plain.append(self._text[self._at + 1])
        self._at += 2
        return True

    def _code(self) -> bool:
        count = self._run("`")
        start = self._at + count
        end = self._closing("`", count, start)
        if end < 0:
            self._take(count)
            return True
        inside = self._text[start:end]
        if inside.strip() and inside[0] == inside[-1] == " ":
            inside = inside[1:-1]
        self._close()
        self._found.append(Piece(inside, styles.joined(self._style, styles.CODE)))
        self._at = end + count
        return True

    def _emphasis(self) -> bool:
        sign = self._text[self._at]
        count = self._run(sign)
        start = self._at + count
        before = self._text[self._at - 1] if self._at else " "
        opens = start < len(self._text) and not self._text[start].isspace()
        if not opens or count > _LONGEST_MARK or (sign == "_" and before.isalnum()):
            self._take(count)
            return True
        end = self._closing(sign, count, start + 1)
        if end < 0:
            self._take(count)
            return True
        strong = styles.BOLD if count >= _STRONG else styles.PLAIN
        slanted = styles.ITALIC if count != _STRONG else styles.PLAIN
        self._add(self._text[start:end], styles.joined(strong, slanted))
        self._at = end + count
        return True

    def _closing(self, sign: str, count: int, start: int) -> int:
        """Return the place of the closing signs, or -1. Those of an emphasis are directly behind a letter."""
        marks, key = sign * count, (sign, count)
        end = self._find(marks, start, key)
        while end >= 0:
            after = end
            while after < len(self._text) and self._text[after] == sign:
                after += 1
            ends = after - end == count
            if sign != "`":
                before, inside = self._text[end - 1], sign == "_" and self._text[after : after + 1].isalnum()
                ends = (ends or count > 1) and not (before.isspace() or before == "\\" or inside)
            if ends:
                return after - count
            end = self._find(marks, after, key)
        return -1

    def _strike(self) -> bool:
        end = self._find("~~", self._at + 2, ("~", 2)) if self._text.startswith("~~", self._at) else -1
        if end <= self._at + 2:
            return False
        self._add(self._text[self._at + 2 : end], styles.STRIKE)
        self._at = end + 2
        return True

    def _link(self) -> bool:
        """Read a link, or an image as a link."""
        start = self._at + self._text.startswith("!", self._at)
        if not self._text.startswith("[", start):
            return False
        middle = self._find("](", start + 1, ("[", 0))
        end = self._find(")", middle + 2, (")", 0)) if middle >= 0 else -1
        if end < 0:
            return False
        words, target = self._text[start + 1 : middle], self._text[middle + 2 : end]
        if "[" in words or "\n" in words:  # the link begins further right
            return False
        address = target.strip().partition(" ")[0].strip("<>")
        self._add(words or address, styles.LINK, address)
        if words and is_address(address) and words != address:
            self._found.append(Piece(f" ({address})", styles.joined(self._style, styles.DIM), "-"))
        self._at = end + 1
        return True

    def _bracketed(self) -> bool:
        end = self._find(">", self._at, (">", 0))
        address = self._text[self._at + 1 : end] if end >= 0 else ""
        if not is_address(address) or " " in address or "\n" in address:
            return False
        self._address(address)
        self._at = end + 1
        return True

    def _bare(self) -> bool:
        text, at = self._text, self._at
        if not text.startswith(_SCHEMES[:2], at) or (at and text[at - 1].isalnum()):
            return False
        end = at
        while end < len(text) and not text[end].isspace() and text[end] not in _AROUND:
            end += 1
        while text[end - 1] in _TRAILING:
            end -= 1
        if end - at <= len(_SCHEMES[0]):
            return False
        self._address(text[at:end])
        self._at = end
        return True

    def _address(self, address: str) -> None:
        self._close()
        self._found.append(Piece(address, styles.joined(self._style, styles.LINK), address))

    _READS: ClassVar[Mapping[str, Callable[[_Inline], bool]]] = {
        "\\": _escape,
        "`": _code,
        "*": _emphasis,
        "_": _emphasis,
        "~": _strike,
        "[": _link,
        "!": _link,
        "<": _bracketed,
        "h": _bare,
    }
