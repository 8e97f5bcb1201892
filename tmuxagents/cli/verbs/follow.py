"""The hidden verb _follow: reports background runs to a parent's session, as JSON lines. Joins.

It imports little, because it runs beside a parent for as long as one of the parent's runs does.
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
    """Watch the background runs of the session whose entries come on stdin, and report what is new."""
    parent = Lifeline()
    try:
        given = json.loads(parent.line() or b"{}")
    except ValueError:
        given = None
    given = given if isinstance(given, dict) else {}
    entries, since = given.get("entries"), given.get("since")
    memory = companion_follow.Memory(entries if isinstance(entries, list) else ())
    since = float(since) if isinstance(since, (int, float)) else time.time()

    def tell(document: dict[str, Any]) -> None:
        printing.write(jsonline.encode(document))

    try:
        companion_follow.Companion(lookup.here(), memory, since=since, tell=tell).stay(parent)
    except BrokenPipeError:  # the parent has ended
        printing.give_up()
    return 0
