"""Follow all runs for a watcher: read their news, conclude lost runs, claim announcements of ends. Joins."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tmuxagents import records
from tmuxagents.errors import NoSuchRun
from tmuxagents.records import is_run_id
from tmuxagents.registry import learn
from tmuxagents.runs import directory, logs, writing
from tmuxagents.runs.conclude import NEVER_OPENED, conclude
from tmuxagents.runs.inspect import Follower

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future
    from typing import Any

    from tmuxagents.records import Identity
    from tmuxagents.registry.database import Row
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.watcher.waking import Sleeper

DEAF_S = 1.0  # an event that takes longer to come is missing
GIVEN_UP = 10  # after this many failures, no watcher stays for the run
_LONGEST_S = 60.0  # between two tries of a step that fails
_CONCLUDED_AT_ONCE = 4  # each may take seconds: leftovers get time to end


class Ending(NamedTuple):
    """A run that has ended, or a live run that has settled. `claimed`: this watcher announces it."""

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
        self._writing: set[str] = set()  # runs that just wrote: no event need report their next lines
        self._again: set[str] = set()  # runs to be read in the next round, which comes at once
        self.checkpoints: dict[str, str] = {}  # of new runs: how far any process has read them
        self._rows: dict[str, Row] = {}
        self.waited: set[str] = set()  # runs that could not begin at once: their windows may show that
        self._endings: list[Ending] = []

    @property
    def busy(self) -> bool:
        """Say whether there is a run for which a watcher stays."""
        return any(one.counts for one in self._live.values())

    @property
    def hosts(self) -> set[str]:
        """Return the other machines on which runs have not ended."""
        runs = (one.run for one in self._live.values())
        return {run.host for run in runs if run is not None and run.host is not None and not run.ended}

    @property
    def has_writers(self) -> bool:
        """Say whether any run must be checked in each round."""
        return bool(self._writing)

    def is_new(self, name: str) -> bool:
        """Say whether the watcher has not seen a run yet."""
        return name not in self._live and name not in self._over

    def note_events(self, names: Iterable[str]) -> set[str]:
        """Note the runs that events have named; return those that have to be read."""
        runs = {name for name in names if name not in self._over and is_run_id(name)}
        for name in runs:
            if name in self._live:
                self._live[name].note_event()
                self._writing.add(name)
        return runs

    def with_news(self) -> set[str]:
        """Return the runs with news among those that wrote a moment ago; drop those that are silent now."""
        names = set()
        for name in list(self._writing):
            one = self._live[name]
            is_silent = one.is_silent()  # checked before the news: an event reports later ones
            if one.has_news(held=self._waiting.holds(name)) and not one.rests():
                one.note_news()
                names.add(name)
            elif is_silent:
                self._writing.discard(name)
        return names

    def unknown(self, rows: Iterable[Row]) -> set[str]:
        """Return the runs of these rows that are neither followed nor over."""
        return {row.run_id for row in rows if self.is_new(row.run_id)}

    def due(self, since: float | None) -> tuple[set[str], bool]:
        """Return the runs to be read although no event named them, and whether an expected event is missing.

        `since`: when listening began; None: there is no watch.
        """
        names, deaf = set(), False
        for name, one in self._live.items():
            held = self._waiting.holds(name)
            deaf = one.is_unheard(since) or deaf
            if one.has_news(held=held):
                one.note_news(since)
                self._writing.add(name)
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
        self._writing.add(name)
        return one

    def _drop(self, name: str) -> None:
        self._waiting.let_go(name)
        self._concluding.discard(name)
        self._writing.discard(name)
        self.waited.discard(name)
        del self._live[name]

    # --- ends

    def _end(self, name: str, one: Following, run: RunView) -> None:
        """Take over how a run ended, whichever process wrote the result."""
        if one.is_foreign:
            self._rows[name] = learn.row(run)
        elif not self._announce(one, run, good=run.standing.status == records.COMPLETED):
            return
        self._drop(name)
        self._over.add(name)

    def _announce(self, one: Following, run: RunView, *, good: bool) -> bool:
        """Try to claim the announcement; say whether it is decided which process announces the run."""
        claimed = False if one.announced else None  # None: not known yet
        if claimed is None and not one.rests():
            try:
                claimed = writing.announce(one.run_dir)
            except OSError as error:
                self._complain(f"cannot announce the end of {one.run_dir}: {error.strerror}")
                one.failed()
                claimed = None if one.counts else False
        one.announced = claimed is not None
        row = one.saved = self._rows[run.run_id] = learn.row(run)
        if claimed is not None:
            self._endings.append(Ending(row, good=good, ended=run.ended, claimed=claimed))
        return one.announced

    def _conclude(self, name: str, one: Following, run: RunView) -> None:
        """Have a run's ending written, in a thread, since the run's leftovers get time to end."""
        if one.conclusion is None and not one.rests():
            never_came = None if run.ended else NEVER_OPENED
            one.conclusion = self._pool.submit(conclude, one.run_dir, never_came=never_came)
            self._concluding.add(name)
            one.conclusion.add_done_callback(lambda _: self._waiting.wake())
        elif one.conclusion is not None and one.conclusion.done():
            conclusion, one.conclusion = one.conclusion, None
            if conclusion.result() is None:  # another process is concluding it
                one.failed()


# --- one run ----------------------------------------------------------------------------------------------


class Following:
    """One run that has not ended, or whose end was not announced yet."""

    __slots__ = (
        *("_failures", "_follower", "_is_behind", "_knocked_at", "_not_before", "_wrote_at"),
        *("announced", "conclusion", "run", "run_dir", "saved"),
    )

    def __init__(self, run_dir: str, checkpoint: str | None = None) -> None:
        self._follower = Follower(run_dir, checkpoint=checkpoint)
        self.run_dir = run_dir
        self.run: RunView | None = None
        self.conclusion: Future[dict[str, Any] | None] | None = None
        self.announced = False
        self.saved: Row | None = None
        self._is_behind = False
        self._failures = 0
        self._not_before = self._knocked_at = 0.0
        self._wrote_at = time.monotonic()  # when it last wrote, as far as we know

    @property
    def is_foreign(self) -> bool:
        """Say whether another host that shares the state directory has the run, and announces it."""
        run = self.run
        return run is not None and run.standing.foreign and run.machine is None

    @property
    def counts(self) -> bool:
        """Say whether a watcher stays for it."""
        return not self.is_foreign and self._failures < GIVEN_UP

    @property
    def wrapper(self) -> Identity | None:
        """Return the identity of its wrapper, if the wrapper is here and can be waited on."""
        run = self.run
        if run is None or run.standing.foreign or run.ended:
            return None
        return directory.identity_of(run.wrapper)

    def look(self, *, held: bool) -> RunView:
        """Read the run and return its view. `held`: we wait on its wrapper, which therefore lives."""
        self.run = self._follower.look(records.HERE if held else None)
        return self.run

    def has_news(self, *, held: bool) -> bool:
        """Say, without reading, whether a look would find anything new."""
        return self._follower.has_news(held=held)

    def is_concluded(self) -> bool:
        """Say whether no thread is writing its ending now."""
        return self.conclusion is None or self.conclusion.done()

    # --- what the registry gets

    def news(self, run: RunView, *, all_of_it: bool) -> Row | None:
        """Return the run's row if its status is not the saved one; `all_of_it`: also for a new activity."""
        saved = self.saved
        is_news = saved is None or learn.is_news(learn.reported_columns(saved), learn.reported_state(run))
        moved = saved is None or run.state.seq != saved.event_seq
        self._is_behind = moved and not is_news and not all_of_it
        if not is_news and not (moved and all_of_it):
            return None
        self.saved = learn.row(run)
        return self.saved

    # --- whether it is read without an event

    def failed(self) -> None:
        """Note that a step failed: it is tried again, after ever longer pauses."""
        self._failures += 1
        self._not_before = time.monotonic() + min(2.0**self._failures, _LONGEST_S)

    def is_due(self) -> bool:
        """Say whether its row must still be saved, or a failed step tried again."""
        tried = self._failures > 0 and time.monotonic() >= self._not_before
        return self._is_behind or tried

    def rests(self) -> bool:
        """Say whether it is too early to try a failed step again."""
        return time.monotonic() < self._not_before

    # --- whether it writes, and whether events report that

    def note_event(self) -> None:
        """Note that an event named it."""
        self._wrote_at = time.monotonic()
        self._knocked_at = 0.0

    def note_news(self, since: float | None = None) -> None:
        """Note that it has news. `since`: we have listened since then, and yet no event named it.

        A writer that keeps its file open makes no event. So we make one, and see whether it arrives.
        """
        if since is not None and self.is_silent() and not self._knocked_at:
            knocked = logs.knock(f"{self.run_dir}/{directory.EVENTS}")
            self._knocked_at = time.monotonic() if knocked else 0.0
        self._wrote_at = time.monotonic()

    def is_silent(self) -> bool:
        """Say whether it was silent long enough for an event to report its next lines."""
        return time.monotonic() - self._wrote_at > logs.QUIET_S

    def is_unheard(self, since: float | None) -> bool:
        """Say whether the event that we made for it is overdue. `since`: when listening began."""
        if since is None or self._knocked_at < since:
            self._knocked_at = 0.0
        return self._knocked_at > 0 and time.monotonic() - self._knocked_at > DEAF_S
