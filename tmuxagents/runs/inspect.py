"""Read one run from its directory and compute its state. Writes nothing. Joins."""

from __future__ import annotations

import os

from tmuxagents import records
from tmuxagents.errors import NoSuchRun
from tmuxagents.records import Record
from tmuxagents.runs import directory, documents, endings, marks, slots
from tmuxagents.runs.events import is_figure
from tmuxagents.runs.reading import GOES_ON, RunReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tmuxagents.records import Plan
    from tmuxagents.runs.endings import Standing
    from tmuxagents.runs.events import Event
    from tmuxagents.runs.lifecycle import RunState
    from tmuxagents.runs.marks import Mark

NEVER_CAME_AFTER_S = 60.0  # a launcher gives up earlier


class RunView(Record):
    """One run and its current state."""

    run_dir: str
    plan: Plan
    wrapper: dict[str, Any] | None
    result: dict[str, Any] | None
    state: RunState
    activity: str | None
    standing: Standing
    machine: Mapping[str, Any] | None  # set if the run works elsewhere (docs/run-directory.md)
    mark: str | None  # as long as the wrapper lives and the files have this mark, the state is current
    checkpoint: Callable[[], str | None] | None  # makes the text from which the next reader can continue

    __slots__ = tuple(__annotations__)

    @property
    def run_id(self) -> str:
        """Return the id."""
        return self.plan.run_id

    @property
    def ended(self) -> bool:
        """Say whether the run has ended."""
        return self.standing.verdict is not None

    @property
    def ended_at(self) -> float | None:
        """Return when the run ended; for a lost run, the time of its last sign of life."""
        if not self.ended:
            return None
        if self.result is not None and is_figure(self.result.get("endedAt")):
            return float(self.result["endedAt"])
        return last_sign(self.plan, self.wrapper, self.state)

    @property
    def host(self) -> str | None:
        """Return the name of the other machine where the run works; None for this machine."""
        return None if self.machine is None else str(self.machine.get("host") or "?")

    @property
    def is_far(self) -> bool:
        """Say whether the run is on another machine. A job of Slurm is not: all its files are here."""
        return self.host not in (None, records.SLURM)

    @property
    def doing(self) -> str | None:
        """Return what the run is doing now, or what it waits for while it is queued."""
        if self.activity or self.standing.status != records.QUEUED:
            return self.activity
        if self.machine is not None and isinstance(self.machine.get("waiting"), str):
            return str(self.machine["waiting"])
        if self.state.position is not None:
            return slots.waiting_words(self.state.position)
        return slots.following_words(self.plan.after) if self.plan.after else None

    def is_due(self, now: float) -> bool:
        """Say whether the run must be concluded: its wrapper is gone, or did not come in time."""
        if self.standing.foreign or self.result is not None:
            return False
        created = self.plan.created_at
        late = created is not None and now - created > NEVER_CAME_AFTER_S
        return self.ended or (late and directory.identity_of(self.wrapper) is None)

    def document(self, now: float) -> dict[str, Any]:
        """Return the run document."""
        return documents.run(
            self.plan,
            self.state,
            self.standing,
            run_dir=self.run_dir,
            activity=self.doing,
            tmux=self.place,
            host=self.host,
            code=self.code,
            elapsed_s=self.elapsed(now),
            ended_at=self.ended_at,
        )

    @property
    def code(self) -> Mapping[str, Any] | None:
        """Return the record of the code that came back from another machine; None before it is back."""
        found = (self.machine or {}).get("code")
        return found.get("back") if isinstance(found, dict) and isinstance(found.get("back"), dict) else None

    @property
    def place(self) -> Mapping[str, Any] | None:
        """Return the recorded place of the run's window in tmux here: of its wrapper, or of its mirror."""
        found = ((self.wrapper if self.machine is None else self.machine) or {}).get("tmux")
        return found if isinstance(found, dict) else None

    def elapsed(self, now: float) -> float:
        """Return how long the run has worked, in seconds."""
        if self.state.started_at is None:
            return 0.0
        if self.result is not None and self.ended and type(self.result.get("durationMs")) is int:
            return float(self.result["durationMs"] / 1000)
        return max(0.0, (self.ended_at or now) - self.state.started_at)


def last_sign(plan: Plan, wrapper: dict[str, Any] | None, state: RunState) -> float:
    """Return the moment of a run's last sign of life."""
    moments = (state.last_event_at, (wrapper or {}).get("at"), plan.created_at)
    return next((float(at) for at in moments if is_figure(at)), 0.0)  # type: ignore[arg-type]  # is_figure says so


class Follower:
    """One run, read again and again."""

    __slots__ = ("_folder", "_planned", "_reading", "plan", "run_dir")

    def __init__(
        self,
        run_dir: str,
        take: Callable[[Event], object] | None = None,
        *,
        checkpoint: str | None = None,
    ) -> None:
        plan = directory.read_plan(run_dir)
        if plan is None:
            raise removed(run_dir)
        self.run_dir = run_dir
        self.plan = plan
        self._planned: Mark | None = None  # the mark of a far run's plan when it was read
        self._folder: Mark | None = None  # the folder's mark when its plan was last known to be there
        self._reading = RunReader(take, checkpoint=checkpoint)

    def has_news(self, *, held: bool = False) -> bool:
        """Say, without reading, whether there is anything new to read. `held`: the wrapper lives."""
        return self._reading.has_news(self.run_dir, held=held)

    def look(self, presence: str | None = None) -> RunView:
        """Return the run as it is now. `presence`: given if the caller knows that the wrapper lives."""
        reading = self._reading
        facts = reading.facts(self.run_dir, presence)
        if facts.presence != records.HERE and directory.place_of(f"{self.run_dir}/{directory.META}") is None:
            raise removed(self.run_dir)  # removed while we read: missing files mean nothing then
        if reading.machine is not None:
            # The far machine decides what the plan leaves open, so the plan may have changed.
            mark = marks.mark_of(f"{self.run_dir}/{directory.META}")
            if mark != self._planned:
                self.plan, self._planned = directory.read_plan(self.run_dir) or self.plan, mark
        lives = facts.presence == records.HERE
        if facts.result is not None and not lives:  # a result beside a living wrapper is not the wrapper's
            state, result = reading.state, facts.result
            state.model = result["model"] if isinstance(result.get("model"), str) else state.model
            if state.started_at is None and is_figure(result.get("startedAt")):
                state.started_at = float(result["startedAt"])  # a full disk may have lost that event
        standing = endings.state_of(facts, reading.state)
        goes_on = facts.presence in GOES_ON and standing.verdict is None
        return RunView(
            run_dir=self.run_dir,
            plan=self.plan,
            wrapper=reading.wrapper,
            machine=reading.machine,
            result=facts.result if standing.verdict is not None else None,
            state=reading.state,
            activity=reading.activity,
            standing=standing,
            mark=self._mark(reading.folder) if goes_on else None,
            checkpoint=reading.checkpoint if goes_on else None,
        )

    def _mark(self, folder: Mark | None) -> str | None:
        """Return the mark of the run's files; None if the mark is not reliable."""
        if folder is None or not marks.is_reliable(folder):
            return None
        if folder != self._folder:
            has_plan = directory.place_of(f"{self.run_dir}/{directory.META}") is not None
            self._folder = folder if has_plan else None
        return marks.joined(folder, self._reading.events_mark()) if self._folder else None


def inspect(run_dir: str, *, checkpoint: str | None = None) -> RunView:
    """Return the run in a directory. `checkpoint`: of an earlier reader, if there is one."""
    return Follower(run_dir, checkpoint=checkpoint).look()


def removed(run_dir: str) -> NoSuchRun:
    """Return the error for a run whose directory is not there, or not there any more."""
    return NoSuchRun(f'There is no run "{os.path.basename(run_dir)}".', kind="unknown-run")
