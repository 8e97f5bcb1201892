"""The hidden verb _follow: what a parent's session is to be told of its background runs, as JSON lines.

Light, as cli/looks is: it works beside a parent for as long as one of its runs does.
"""

from __future__ import annotations

import json
import time

from tmuxagents import jsonline
from tmuxagents.cli import calling, streams
from tmuxagents.commands import accompany
from tmuxagents.core import companion
from tmuxagents.edges.lifeline import Lifeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def follow(**_: Any) -> int:
    """Look after the background runs of the session whose entries come on stdin, and tell what is new."""
    parent = Lifeline()
    given = _read(parent.line())
    entries, since = given.get("entries"), given.get("since")
    memory = companion.Memory(entries if isinstance(entries, list) else ())
    since = float(since) if isinstance(since, (int, float)) else time.time()
    looked_after = accompany.Companion(calling.caller(), memory, since=since, tell=_tell)
    try:
        looked_after.stay(parent)
    except BrokenPipeError:  # it has gone while it was told
        streams.give_up()
    return 0


def _read(line: bytes | None) -> dict[str, Any]:
    try:
        given = json.loads(line or b"{}")
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _tell(document: dict[str, Any]) -> None:
    streams.write(jsonline.encode(document))
