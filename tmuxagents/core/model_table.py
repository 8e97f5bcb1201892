"""The models of an agent as a table for people, in its own order. Ids are never cut: they are copied."""

from __future__ import annotations

from tmuxagents.core import display, sanitize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_HEADER = ("MODEL", "CONTEXT", "OUTPUT", "THINKING", "IMAGES", "NAME")
_GAP = "  "
_THOUSAND = 1000


def lines(models: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """Return the lines of the table; none at all where there is no model."""
    if not models:
        return []
    rows = [_HEADER, *map(_cells, models)]
    widths = [max(display.columns(row[number]) for row in rows) for number in range(len(_HEADER) - 1)]
    room = max(len(_HEADER[-1]), width - sum(widths) - len(_GAP) * len(widths))
    return [_line(row, widths, room) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int], room: int) -> str:
    *cells, last = row
    padded = [cell + " " * (wide - display.columns(cell)) for cell, wide in zip(cells, widths, strict=True)]
    return _GAP.join((*padded, display.fit(last, room)))


def _cells(model: Mapping[str, Any]) -> tuple[str, ...]:
    sizes = (_size(model["contextWindow"]), _size(model["maxTokens"]))
    flags = (_yes(model["reasoning"]), _yes(model["images"]))
    name = model["name"]
    return sanitize.line(model["id"]), *sizes, *flags, sanitize.line(name or "") or display.NONE


def _size(tokens: int | None) -> str:
    if tokens is None:
        return display.NONE
    return str(tokens) if tokens < _THOUSAND else f"{tokens // _THOUSAND}K"


def _yes(flag: bool | None) -> str:  # noqa: FBT001  (a cell's value)
    return display.NONE if flag is None else "yes" if flag else "no"
