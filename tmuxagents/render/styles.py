"""The styles of a rendering: words that `rich` and `textual` understand, and bytes for a terminal. Pure.

A style is a text such as `bold cyan`. Each word is an attribute or one of the 16 colours of the terminal's
theme, so it reads well on dark and light backgrounds. White, black and yellow are never used: each is
unreadable on a light or a dark background.
"""

from __future__ import annotations

from tmuxagents.text import width

TYPE_CHECKING = False
if TYPE_CHECKING:
    Span = tuple[str, str]  # style, text
    Row = list[Span]
    from collections.abc import Iterable, Mapping

PLAIN = ""
DIM, BOLD, ITALIC, STRIKE = "dim", "bold", "italic", "strike"
NAME, AGENT, TASK = "bold", "cyan", ""
HEADING, CODE, LINK, MARKER = "bold magenta", "cyan", "blue underline", "cyan"
CALL = "bold"
GOOD, BAD, WORK = "green", "red", "cyan"
ADDED, REMOVED = "green", "red"
ASKS = "bold magenta"

SGR = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "underline": "4",
    "strike": "9",
    "red": "31",
    "green": "32",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}


def joined(one: str, other: str) -> str:
    """Return a style that has the words of both."""
    if not one or not other:
        return one or other
    return " ".join(dict.fromkeys([*one.split(), *other.split()]))


def width_of(row: Row) -> int:
    """Return how many columns a row takes."""
    return sum(map(width.columns, (text for _, text in row)))


_RESET = "\x1b[m"
_begun: dict[str, str] = {}  # style -> the sequence that begins it


def is_coloured(environment: Mapping[str, str]) -> bool:
    """Say whether a terminal gets colours: not if NO_COLOR is set, and not if the terminal is dumb."""
    return not environment.get("NO_COLOR") and environment.get("TERM", "") not in ("", "dumb")


def format_rows(rows: Iterable[Row], *, colour: bool) -> str:
    """Return rows as text, each with its newline."""
    return "".join([format_row(row, colour=colour) + "\n" for row in rows])


def format_row(row: Row, *, colour: bool) -> str:
    """Return one row as text."""
    if not colour:
        return "".join([words for _, words in row]).rstrip()
    found = []
    for style, words in row:
        if style and style not in _begun:
            _begun[style] = f"\x1b[{';'.join(SGR[word] for word in style.split())}m"
        found.append(f"{_begun[style]}{words}{_RESET}" if style else words)
    return "".join(found)
