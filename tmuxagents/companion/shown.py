"""The children of a call as a parent inside pi shows them: a line each, and opened, what each did. Joins."""

from __future__ import annotations

import time

from tmuxagents import records
from tmuxagents.companion import lines
from tmuxagents.errors import NoSuchRun
from tmuxagents.render import rows
from tmuxagents.render.reading import StoryReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_ROWS = 120  # of a child that is opened


def children(document: Mapping[str, Any], runs: str, width: int) -> list[dict[str, Any]]:
    """Return the children that a call waits for. Those that have ended come with what they did."""
    details = document["details"]
    found = details.get("windows") or (details.get("runs") if "mode" in details else None) or ()
    return [lines.child(run, time.time()) | {"rows": _rows(run, runs, width)} for run in found]


def _rows(run: Mapping[str, Any], runs: str, width: int) -> list[list[tuple[str, str]]]:
    if (run.get("state") or run["status"]) not in records.ENDED:
        return []
    try:
        reader = StoryReader(f"{runs}/{run['runId']}")
        reader.look()
    except NoSuchRun:  # its files were removed meanwhile
        return []
    return rows.all_rows(reader.story.blocks[1:], width)[-MOST_ROWS:]  # without what the line says already
