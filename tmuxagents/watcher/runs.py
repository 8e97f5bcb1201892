"""Follows all runs for a watcher: reads them, has the lost ones concluded, finds those that have ended.

Joins.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tmuxagents import records
from tmuxagents.errors import NoSuchRun
from tmuxagents.records import is_run_id
from tmuxagents.registry import learn
from tmuxagents.runs import writing
from tmuxagents.runs.conclude import NEVER_OPENED, conclude
from tmuxagents.watcher.following import Following

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tmuxagents.registry.database import Row
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.watcher.telling import Sleeper

_CONCLUDED_AT_ONCE = 4  # each may take seconds: what is left of a run gets its time to leave


class Ending(NamedTuple):
    """A run that has ended, or a live one that has settled. `claimed`: it is ours to announce."""

    row: Row
    good: bool
    ended: bool
    claimed: bool


class Runs:
    """The runs that a watcher follows."""

    def __init__(self, runs: str, waiting: Sleeper, complain: Callable[[str], None]) -> None:
        self._runs = runs
        self._waiting = waiting
        self._complain = complain
        self._pool = ThreadPoolExecutor(_CONCLUDED_AT_ONCE)
        self._live: dict[str, Following] = {}
        self._over: set[str] = set()
        self._concluding: set[str] = set()
        self._speaking: set[str] = set()  # no event tells of what these say next
        self._again: set[str] = set()  # to be read in the next round, which comes at once
        self.checkpoints: dict[str, str] = {}  # how far the new ones were read, by any process
        self._rows: dict[str, Row] = {}
        self.waited: set[str] = set()  # runs that were not to begin at once: their windows may say so
        self._endings: list[Ending] = []

    @property
    def busy(self) -> bool:
        """Say whether there is any that a watcher stays for."""
        return any(one.counts for one in self._live.values())

    @property
    def hosts(self) -> set[str]:
        """Return the other machines on which runs have not ended."""
        runs = (one.run for one in self._live.values())
        return {run.host for run in runs if run is not None and run.host is not None and not run.ended}

    @property
    def speaking(self) -> bool:
        """Say whether any has to be looked at in each round."""
        return bool(self._speaking)

    def is_new(self, name: str) -> bool:
        """Say whether nothing is known of a run yet."""
        return name not in self._live and name not in self._over

    def heard(self, names: Iterable[str]) -> set[str]:
        """Take note of what events have told of; return the runs among it that may have to be looked at."""
        runs = {name for name in names if name not in self._over and is_run_id(name)}
        for name in runs:
            if name in self._live:
                self._live[name].heard()
                self._speaking.add(name)
        return runs

    def spoken(self) -> set[str]:
        """Return those with news of the runs that spoke a moment ago; those are left alone that have none."""
        names = set()
        for name in list(self._speaking):
            one = self._live[name]
            is_silent = one.is_silent()  # asked first: an event tells of words that come after that
            if one.has_news(held=self._waiting.holds(name)) and not one.rests():
                one.found()
                names.add(name)
            elif is_silent:
                self._speaking.discard(name)
        return names

    def unknown(self, rows: Iterable[Row]) -> set[str]:
        """Return the runs of these rows that are neither followed nor over."""
        return {row.run_id for row in rows if self.is_new(row.run_id)}

    def due(self, since: float | None) -> tuple[set[str], bool]:
        """Return the runs to be looked at though no event told of them, and whether one should have.

        `since`: when listening began; None where nobody listens.
        """
        names, deaf = set(), False
        for name, one in self._live.items():
            held = self._waiting.holds(name)
            deaf = one.is_unheard(since) or deaf
            if one.has_news(held=held):
                one.found(since)
                self._speaking.add(name)
                names.add(name)
            elif one.is_due() or not held:
                names.add(name)
        return names, deaf

    @property
    def is_pressed(self) -> bool:
        """Say whether the next round has to come at once."""
        return bool(self._again)

    def attend(self, names: Iterable[str], *, all_of_it: bool) -> tuple[dict[str, Row], list[Ending]]:
        """Read these runs; return the rows to be saved, and the endings to be shown.

        `all_of_it`: rows are saved for a new activity, too.
        """
        again, self._again = self._again, set()
        done = {name for name in self._concluding if self._live[name].is_concluded()}
        self._concluding -= done
        for name in again.union(names, done):
            try:
                self._attend(name, all_of_it=all_of_it)
            except Exception as error:  # noqa: BLE001  (one odd run must not stop the others)
                self._complain(f"run {name}: {type(error).__name__}: {error}")
                if name in self._live:
                    self._live[name].failed()
        rows, self._rows = self._rows, {}
        endings, self._endings = self._endings, []
        return rows, endings

    def _attend(self, name: str, *, all_of_it: bool) -> None:
        one = self._live.get(name) or self._begin(name)
        if one is None:
            return
        held = self._waiting.holds(name)
        try:
            run = one.look(held=held)
        except NoSuchRun:  # removed
            self._drop(name)
            return
        if not held:
            # Wait on its wrapper from now on, if there is one
            wrapper = one.wrapper
            if wrapper is not None and not self._waiting.hold(name, wrapper):
                self._again.add(name)  # it has ended since we looked
        if run.result is not None:
            self._end(name, one, run)
        else:
            if run.is_due(time.time()):
                self._conclude(name, one, run)
            elif run.plan.driver == records.LIVE and run.state.settled and not one.announced:
                self._announce(one, run, good=run.state.stop_reason == "stop")
            if (row := one.news(run, all_of_it=all_of_it)) is not None:
                self._rows[name] = row
            if run.plan.after or run.state.position is not None or run.machine is not None:
                self.waited.add(name)

    def _begin(self, name: str) -> Following | None:
        if name in self._over:
            return None
        try:
            one = Following(f"{self._runs}/{name}", self.checkpoints.pop(name, None))
        except NoSuchRun:
            return None
        self._live[name] = one
        self._speaking.add(name)
        return one

    def _drop(self, name: str) -> None:
        self._waiting.let_go(name)
        self._concluding.discard(name)
        self._speaking.discard(name)
        self.waited.discard(name)
        del self._live[name]

    # --- ends

    def _end(self, name: str, one: Following, run: RunView) -> None:
        """Take its ending from the result, whichever process wrote it."""
        foreign = run.standing.foreign and run.machine is None  # told of by the watcher there
        if foreign or self._announce(one, run, good=run.standing.status == records.COMPLETED):
            self._drop(name)
            self._over.add(name)
        if foreign:
            self._rows[name] = learn.row(run)

    def _announce(self, one: Following, run: RunView, *, good: bool) -> bool:
        """Claim the announcement; say whether that is settled, ours or not."""
        claimed = self._claim(one)
        row = self._rows[run.run_id] = one.keep(learn.row(run))
        if claimed is None:
            return False
        self._endings.append(Ending(row, good=good, ended=run.ended, claimed=claimed))
        return True

    def _claim(self, one: Following) -> bool | None:
        """Take the right to announce it; None where that cannot be said now."""
        if one.announced:
            return False
        if one.rests():
            return None
        claimed: bool | None
        try:
            claimed = writing.announce(one.run_dir)
        except OSError as error:
            self._complain(f"cannot announce the end of {one.run_dir}: {error.strerror}")
            one.failed()
            claimed = None if one.counts else False
        one.announced = claimed is not None
        return claimed

    def _conclude(self, name: str, one: Following, run: RunView) -> None:
        """Have its ending written: in a thread, since what is left of it gets its time to leave."""
        if one.conclusion is None and not one.rests():
            never_came = None if run.ended else NEVER_OPENED
            one.conclusion = self._pool.submit(conclude, one.run_dir, never_came=never_came)
            self._concluding.add(name)
            one.conclusion.add_done_callback(lambda _: self._waiting.wake())
        elif one.conclusion is not None and one.conclusion.done():
            conclusion, one.conclusion = one.conclusion, None
            if conclusion.result() is None:  # another process is concluding it
                one.failed()
