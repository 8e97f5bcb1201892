"""Rows of a rendering as text that a test can compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tmuxagents.render import flow, rows, styles
from tmuxagents.render.story import Story

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.render.story import Block
    from tmuxagents.render.styles import Row
    from tmuxagents.runs.events import Event


def plain(found: Iterable[Row]) -> list[str]:
    """Return rows as a terminal without colours shows them."""
    return [styles.format_row(row, colour=False) for row in found]


def marked(row: Row) -> str:
    """Return a row with each style before its text: `<bold>so`."""
    return "".join(f"<{style}>{text}" for style, text in row)


def markdown(text: str, width: int = 40) -> list[str]:
    """Return markdown as plain rows."""
    return plain(flow.markdown_rows(text, width))


def told(*events: Event) -> list[Block]:
    """Return the blocks that events make, and then the open calls."""
    story = Story()
    for number, event in enumerate(events):
        event.at = event.at or 1000.0 + number
        story.take(event)
    return [*story.blocks, *story.open]


def screen(*events: Event, width: int = 60) -> list[str]:
    """Return the plain rows that events make."""
    return plain(rows.all_rows(told(*events), width))
