"""Look at one run: gather the facts of its directory and say what state it is in. Writes nothing."""

from __future__ import annotations

import os
import time

from tmuxagents import records
from tmuxagents.core import documents, endings, events, lifecycle
from tmuxagents.core.progress import Narrator
from tmuxagents.edges import process, rundir
from tmuxagents.errors import NoSuchRun
from tmuxagents.records import Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.core.endings import Standing
    from tmuxagents.core.lifecycle import RunState


class Run:
    """One run as it stands now."""

    __slots__ = ("activity", "meta", "result", "run_dir", "standing", "state", "wrapper")

    def __init__(  # noqa: PLR0913  (what a look gathers)
        self,
        *,
        run_dir: str,
        meta: dict[str, Any],
        wrapper: dict[str, Any] | None,
        result: dict[str, Any] | None,
        state: RunState,
        activity: str | None,
        standing: Standing,
    ) -> None:
        self.run_dir = run_dir
        self.meta = meta
        self.wrapper = wrapper
        self.result = result
        self.state = state
        self.activity = activity
        self.standing = standing

    @property
    def run_id(self) -> str:
        """Return the id."""
        return str(self.meta["runId"])

    @property
    def ended(self) -> bool:
        """Say whether it has ended."""
        return self.standing.verdict is not None

    @property
    def ended_at(self) -> float | None:
        """Return when it ended; of a run whose wrapper was lost, when it was last heard of."""
        if not self.ended:
            return None
        if self.result is not None and isinstance(self.result.get("endedAt"), (int, float)):
            return float(self.result["endedAt"])
        return last_sign(self.meta, self.wrapper, self.state)

    def document(self, now: float) -> dict[str, Any]:
        """Return the run shape."""
        tmux = self.wrapper.get("tmux") if self.wrapper else None
        return documents.run(
            self.meta,
            self.state,
            self.standing,
            run_dir=self.run_dir,
            activity=self.activity,
            tmux=tmux if isinstance(tmux, dict) else None,
            elapsed_s=self._elapsed(now),
            ended_at=self.ended_at,
        )

    def _elapsed(self, now: float) -> float:
        if self.state.started_at is None:
            return 0.0
        if self.result is not None and self.ended and type(self.result.get("durationMs")) is int:
            return float(self.result["durationMs"] / 1000)
        return max(0.0, (self.ended_at or now) - self.state.started_at)


def last_sign(meta: dict[str, Any], wrapper: dict[str, Any] | None, state: RunState) -> float:
    """Return the last moment that anything is known of a run."""
    known = (state.last_event_at, (wrapper or {}).get("at"), meta.get("createdAt"))
    return next((float(at) for at in known if isinstance(at, (int, float))), 0.0)


def gather(run_dir: str) -> tuple[Facts, dict[str, Any] | None, list[bytes]]:
    """Read the facts of a directory in an order that cannot mislead; return them, wrapper.json, the events.

    First who the wrapper is and whether it lives, then what it wrote: a result is there before its
    wrapper goes, so "gone" and then "no result" is no race. If one came in between, all is read again.
    """
    while True:
        wrapper = rundir.read_wrapper(run_dir)
        presence = process.presence(rundir.identity_of(wrapper))
        lines, _ = rundir.read_lines(f"{run_dir}/{rundir.EVENTS}", 0)
        result = rundir.read_result(run_dir)
        if presence == records.NEVER_CAME and (lines or result) and rundir.read_wrapper(run_dir) != wrapper:
            continue
        started = any(b'"type":"run_started"' in line for line in lines[:4])
        return Facts(presence=presence, started=started, result=result), wrapper, lines


def inspect(run_dir: str) -> Run:
    """Return the run in a directory."""
    meta = rundir.read_meta(run_dir)
    if meta is None:
        raise NoSuchRun(f'There is no run "{os.path.basename(run_dir)}".', kind="unknown-run")
    facts, wrapper, lines = gather(run_dir)
    narrator = Narrator()
    state = lifecycle.RunState()
    activity = None
    for line in lines:
        event = events.decode(line)
        if event is not None:
            lifecycle.apply(state, event)
            activity = narrator.phrase(event) or activity
    if facts.result is not None:
        _take_from_result(state, facts.result)
    standing = endings.state_of(facts, state)
    result = facts.result if standing.verdict is not None else None
    return Run(
        run_dir=run_dir,
        meta=meta,
        wrapper=wrapper,
        result=result,
        state=state,
        activity=activity,
        standing=standing,
    )


def _take_from_result(state: RunState, result: dict[str, Any]) -> None:
    """Take what no event carries."""
    if isinstance(result.get("model"), str):
        state.model = result["model"]


def wait_for_end(run_dir: str, limit_s: float | None = None) -> bool:
    """Wait until a run has ended; say whether it has."""
    deadline = None if limit_s is None else time.monotonic() + limit_s
    while True:
        left = None if deadline is None else deadline - time.monotonic()
        if inspect(run_dir).ended:
            return True
        if left is not None and left <= 0:
            return False
        identity = rundir.identity_of(rundir.read_wrapper(run_dir))
        where = process.presence(identity)
        if identity is not None and where == records.HERE:
            process.wait_gone(identity.pid, identity.start_time, left)
        else:
            pause = 1.0 if where == records.ELSEWHERE else 0.05
            time.sleep(pause if left is None else min(pause, left))
