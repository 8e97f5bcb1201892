"""One run as the watcher follows it: its status, and its news. Joins."""

from __future__ import annotations

import time

from tmuxagents import records
from tmuxagents.registry import learn
from tmuxagents.runs import directory, logs
from tmuxagents.runs.inspect import Follower

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import Future
    from typing import Any

    from tmuxagents.records import Identity
    from tmuxagents.registry.database import Row
    from tmuxagents.runs.inspect import RunView

DEAF_S = 1.0  # so long an event may take to come
GIVEN_UP = 10  # failures; then no watcher stays for it
_LONGEST_S = 60.0  # between two tries


class Following:
    """A run that has not ended, or whose end was not announced yet."""

    __slots__ = (
        *("_failures", "_follower", "_is_behind", "_knocked_at", "_not_before", "_saved", "_spoke_at"),
        *("announced", "conclusion", "run", "run_dir"),
    )

    def __init__(self, run_dir: str, checkpoint: str | None = None) -> None:
        self._follower = Follower(run_dir, checkpoint=checkpoint)
        self.run_dir = run_dir
        self.run: RunView | None = None
        self.conclusion: Future[dict[str, Any] | None] | None = None
        self.announced = False
        self._saved: Row | None = None
        self._is_behind = False
        self._failures = 0
        self._not_before = self._knocked_at = 0.0
        self._spoke_at = time.monotonic()  # or may have

    @property
    def counts(self) -> bool:
        """Say whether a watcher stays for it: what another host writes here is left to the watcher there."""
        run = self.run
        foreign = run is not None and run.standing.foreign and run.machine is None
        return not foreign and self._failures < GIVEN_UP

    @property
    def wrapper(self) -> Identity | None:
        """Return who its wrapper is, if that lives here and can be waited on."""
        run = self.run
        if run is None or run.standing.foreign or run.ended:
            return None
        return directory.identity_of(run.wrapper)

    def look(self, *, held: bool) -> RunView:
        """Look at it. `held`: its wrapper is waited on, and so lives."""
        self.run = self._follower.look(records.HERE if held else None)
        return self.run

    def has_news(self, *, held: bool) -> bool:
        """Say, without reading, whether a look would tell anything new."""
        return self._follower.has_news(held=held)

    def is_concluded(self) -> bool:
        """Say whether no process is left to write its ending."""
        return self.conclusion is None or self.conclusion.done()

    # --- what the registry gets

    def news(self, run: RunView, *, all_of_it: bool) -> Row | None:
        """Return its row if its status differs from the saved one; `all_of_it`: or its activity."""
        saved = self._saved
        told = saved is None or learn.is_news(learn.reported_columns(saved), learn.reported_state(run))
        moved = saved is None or run.state.seq != saved.event_seq
        self._is_behind = moved and not told and not all_of_it
        if not told and not (moved and all_of_it):
            return None
        return self.keep(learn.row(run))

    def keep(self, row: Row) -> Row:
        """Take a row for saved."""
        self._saved = row
        return row

    # --- when it is looked at without an event

    def failed(self) -> None:
        """Take note that something could not be done: it is tried again, ever less often."""
        self._failures += 1
        self._not_before = time.monotonic() + min(2.0**self._failures, _LONGEST_S)

    def is_due(self) -> bool:
        """Say whether something of it waits to be saved, or to be tried again."""
        tried = self._failures > 0 and time.monotonic() >= self._not_before
        return self._is_behind or tried

    def rests(self) -> bool:
        """Say whether what failed is not to be tried again yet."""
        return time.monotonic() < self._not_before

    # --- whether it speaks, and whether that is heard

    def heard(self) -> None:
        """Take note that an event told of it."""
        self._spoke_at = time.monotonic()
        self._knocked_at = 0.0

    def found(self, since: float | None = None) -> None:
        """Take note that it has news. `since`: nothing was heard of it, though we listen since then.

        Not every writer closes what he writes to: so an event is made, to see whether that one is heard.
        """
        if since is not None and self.is_silent() and not self._knocked_at:
            knocked = logs.knock(f"{self.run_dir}/{directory.EVENTS}")
            self._knocked_at = time.monotonic() if knocked else 0.0
        self._spoke_at = time.monotonic()

    def is_silent(self) -> bool:
        """Say whether it said nothing for so long that an event tells of its next words."""
        return time.monotonic() - self._spoke_at > logs.QUIET_S

    def is_unheard(self, since: float | None) -> bool:
        """Say whether the event that was made of it has not come, though we listen `since` then."""
        if since is None or self._knocked_at < since:
            self._knocked_at = 0.0
        return self._knocked_at > 0 and time.monotonic() - self._knocked_at > DEAF_S
