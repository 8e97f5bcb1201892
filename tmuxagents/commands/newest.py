"""The newest run of a caller, as a view that goes on to the next one: which it is now, and its transcript."""

from __future__ import annotations

import sys
import time

from tmuxagents.commands import known, poll
from tmuxagents.edges import foreground

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from tmuxagents.commands.known import Caller
    from tmuxagents.edges.registry import Registry

ROUND_S = 1.0


def newest(caller: Caller) -> str | None:
    """Return the newest run of the caller's scope, None if there is none."""
    scope = poll.asked_by(caller, ()).scope

    def ask(book: Registry) -> str | None:
        return next((row.run_id for row in book.rows(scope, limit=1)), None)

    return known.consult(caller, ask)[0]


def follow(caller: Caller, begin: Callable[[str | None], None]) -> NoReturn:
    """Show the transcript of the newest run on our terminal, for ever; tell `begin` of each one first."""
    shown: str | None = None
    beside: foreground.Beside | None = None
    begin(None)
    try:
        while True:
            found = newest(caller)
            if found is not None and found != shown:
                shown = found
                if beside is not None:
                    beside.end()
                begin(found)
                beside = foreground.Beside(
                    [sys.executable, "-P", "-m", "tmuxagents", "transcript", "-f", found]
                )
            time.sleep(ROUND_S)
    finally:
        if beside is not None:
            beside.end()
