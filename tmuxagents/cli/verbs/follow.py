"""The hidden verb _follow: reports about background runs for a parent's session, as JSON lines.

Light, as cli/verbs/looks is: it works beside a parent for as long as one of its runs does.

Joins.
"""

from __future__ import annotations

import json
import time

from tmuxagents.cli import printing
from tmuxagents.companion import follow as companion_follow
from tmuxagents.registry import lookup
from tmuxagents.system.lifeline import Lifeline
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def follow(**_: Any) -> int:
    """Look after the background runs of the session whose entries come on stdin, and tell what is new."""
    parent = Lifeline()
    given = _read(parent.line())
    entries, since = given.get("entries"), given.get("since")
    memory = companion_follow.Memory(entries if isinstance(entries, list) else ())
    since = float(since) if isinstance(since, (int, float)) else time.time()
    looked_after = companion_follow.Companion(lookup.here(), memory, since=since, tell=_tell)
    try:
        looked_after.stay(parent)
    except BrokenPipeError:  # the parent has gone meanwhile
        printing.give_up()
    return 0


def _read(line: bytes | None) -> dict[str, Any]:
    try:
        given = json.loads(line or b"{}")
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _tell(document: dict[str, Any]) -> None:
    printing.write(jsonline.encode(document))
