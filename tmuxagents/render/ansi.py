"""Rows as bytes for a terminal: SGR sequences of the 16 colours, or none at all. Pure."""

from __future__ import annotations

from tmuxagents.render import styles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tmuxagents.render.styles import Row

_RESET = "\x1b[m"
_begun = {styles.PLAIN: ""}  # style -> the sequence that begins it


def is_coloured(environment: Mapping[str, str]) -> bool:
    """Say whether a terminal is to be given colours: not with NO_COLOR, nor a dumb one."""
    return not environment.get("NO_COLOR") and environment.get("TERM", "") not in ("", "dumb")


def text(rows: Iterable[Row], *, colour: bool) -> str:
    """Return rows as text, each with its newline."""
    return "".join([line(row, colour=colour) + "\n" for row in rows])


def line(row: Row, *, colour: bool) -> str:
    """Return one row as text."""
    if not colour:
        return "".join([words for _, words in row]).rstrip()
    return "".join([f"{_begin(style)}{words}{_RESET}" if style else words for style, words in row])


def _begin(style: str) -> str:
    found = _begun.get(style)
    if found is None:
        found = _begun[style] = f"\x1b[{';'.join(styles.SGR[word] for word in style.split())}m"
    return found
