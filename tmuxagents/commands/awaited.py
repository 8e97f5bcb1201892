"""Wait for runs, and look at them as soon as they have ended: whatever can be done before is done before.

The registry stays open while we sleep, with nothing begun in it: that keeps nobody from anything, and who
asks it then follows its file.
"""

from __future__ import annotations

import math
import time

from tmuxagents.commands import known, poll, wait
from tmuxagents.commands.asked import Asked
from tmuxagents.commands.look import look_by, look_in, told_on
from tmuxagents.commands.reconcile import reconcile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.commands.inspect import Run
    from tmuxagents.commands.known import Caller
    from tmuxagents.commands.look import Look
    from tmuxagents.edges.registry import Registry


class Awaited:
    """A wait: what for, and what came of it. `since`: what has changed since that cursor is told then."""

    __slots__ = (
        *("_again", "_any", "_asked", "_caller", "_deadline", "_since", "found", "ids", "in_time"),
        "told",
    )

    def __init__(
        self,
        caller: Caller,
        asked: Asked,
        *,
        any_of_them: bool,
        limit_s: float | None,
        since: str | None = None,
    ) -> None:
        self._caller = caller
        self._asked = asked
        self._any = any_of_them
        self._deadline = math.inf if limit_s is None else time.monotonic() + limit_s
        self._since = since
        self._again: Asked | None = None
        self.ids: Sequence[str] = ()  # which were waited for
        self.in_time = False
        self.told: tuple[Look, bool] | None = None  # the changes, and whether the cursor meant nothing
        found, warnings = known.consult(caller, self._ask, last=True)
        self.found = told_on(found, warnings, caller)

    def _ask(self, book: Registry) -> Look:
        """Wait, and look. Begun again where the registry fails, for the same runs."""
        again = self._again = self._again or self._found(book)
        seen: list[Run] = []
        name = book.name()
        if not self._has_news(book):
            # What will be asked and told at the end is so once before: then all of it is at hand.
            look_by(book, self._caller, again)
            book.get_ready()
            folders = [f"{self._caller.runs}/{run_id}" for run_id in self.ids]
            self.in_time = wait.wait(folders, seen, any_of_them=self._any, deadline=self._deadline)
        if not (book.is_still(name) and again.alone):
            reconcile(book, self._caller.runs)
        found = look_by(book, self._caller, again, [run for run in seen if run.result is not None])
        if self._since is not None:
            self.told = poll.changes_by(book, self._caller, self._asked, self._since)
        return found

    def _found(self, book: Registry) -> Asked:
        """Return what is asked when it is over: about the runs that are meant now."""
        first = look_in(book, self._caller, self._asked)
        self.ids = (*first.asked.ids, *first.active) if first.asked.active else first.asked.ids
        again = Asked(first.asked.scope, ids=self.ids, active=False, wanted=self._asked.wanted)
        again.ended = self._asked.ended
        again.alone = again.scope.kind == "named"
        return again

    def _has_news(self, book: Registry) -> bool:
        """Say whether there is something to tell at once."""
        if self._any and self._since is not None:
            self.in_time = poll.has_ends(book, self._caller, self._asked, self._since)
        return self.in_time
