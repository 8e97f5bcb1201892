"""The keeper of runs in Slurm: it records what they wait for, and concludes those whose job is over. Joins.

A lock allows one keeper for a state directory. The keeper asks Slurm about all jobs at once, often while they
change and seldom while they do not. Silence of Slurm is recorded, but changes no run.
"""

from __future__ import annotations

import os
import time

from tmuxagents import records
from tmuxagents.cpython import ignoring
from tmuxagents.errors import Unusable
from tmuxagents.launch import job as handed
from tmuxagents.machines import link
from tmuxagents.runs import directory, writing
from tmuxagents.runs.conclude import conclude
from tmuxagents.slurm import commands, jobs
from tmuxagents.slurm.commands import job_of
from tmuxagents.system import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.runs.endings import Cause
    from tmuxagents.slurm.jobs import Job

_LOOK_S = 1.0  # between two looks into the run directories
_ASK_S, _ASK_AT_MOST_S, _SLOWER = 2.0, 30.0, 1.5  # between two requests to Slurm, which serves many people
_GRACE_S = 3.0  # the result may need a moment from the node's file system to ours
_DEAD_S = 10.0  # until then, Slurm may report why a wrapper was killed
_ABSENT_S = 20.0  # a job that Slurm has not listed for this long is forgotten


def keep(home: str, environment: Mapping[str, str]) -> None:
    """Keep a state directory's runs in Slurm until none is left; return at once if another keeper does."""
    keeper = JobKeeper(home, environment)
    while keeper.open_runs():
        held = link.take(home, records.SLURM)
        if held is None:
            return
        try:
            keeper.run()
        finally:
            os.close(held)  # then look again: a keeper that begins from now on finds the lock free


class JobKeeper:
    """Keeps the runs of one state directory."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._runs = f"{home}/runs"
        self._home = home
        self._environment = environment
        self._done: set[str] = set()  # runs that have ended, or are no jobs
        self._since: dict[tuple[str, str], float] = {}  # (run, condition) -> since when it holds
        self._heard_at, self._unreachable_since = link.heard(home, records.SLURM)
        self._pause_s = _ASK_S

    def run(self) -> None:
        """Go round until no run is left."""
        seen: set[str] = set()
        ask_at = time.monotonic()
        while runs := self.open_runs():
            now = time.monotonic()
            if not runs.keys() <= seen:
                self._pause_s, ask_at = _ASK_S, min(ask_at, now + _ASK_S)
            seen = set(runs)
            if now >= ask_at:
                try:
                    listed = {job.run_id: job for job in commands.queue(self._environment)}
                except Unusable as silence:
                    changed = False
                    self._note_silence(silence.message)
                else:
                    self._note_silence(None)
                    changed = True in [self._attend(name, runs[name], listed.get(name)) for name in runs]
                self._pause_s = _ASK_S if changed else min(self._pause_s * _SLOWER, _ASK_AT_MOST_S)
                ask_at = time.monotonic() + self._pause_s
            time.sleep(_LOOK_S)

    def open_runs(self) -> dict[str, dict[str, Any]]:
        """Return the runs in Slurm that have no result, each with its marker."""
        found = {}
        with ignoring(FileNotFoundError):
            for name in os.listdir(self._runs):
                if name.startswith(".") or name in self._done:
                    continue
                marker = directory.read_machine(f"{self._runs}/{name}")
                is_ours = marker is not None and marker.get("engine") == records.SLURM
                if marker is None or not is_ours or directory.read_result(f"{self._runs}/{name}") is not None:
                    self._done.add(name)
                else:
                    found[name] = marker
        return found

    def _attend(self, name: str, marker: Mapping[str, Any], job: Job | None) -> bool:
        """Bring one run up to date with its job; say whether anything has changed."""
        run_dir = f"{self._runs}/{name}"
        if marker.get("state") == records.SUBMITTING:
            self._confirm(run_dir, marker, job)
            return True
        if job is None:
            if self._lasts(name, "absent", _ABSENT_S):
                conclude(run_dir, never_came="Slurm has forgotten the job.", gone=True)
            return False
        self._since.pop((name, "absent"), None)
        wrapper = directory.identity_of(directory.read_wrapper(run_dir))
        changed = True
        if job.is_over:
            if self._lasts(name, "over", _GRACE_S):
                conclude(run_dir, cause=job.cause, never_came=job.never_came, gone=True)
        elif job.is_queued and wrapper is not None:  # it was queued again, but a run starts only once
            self._call_off(run_dir, job, jobs.PREEMPTED)
        elif job.is_running and process.presence(wrapper) == records.GONE:
            # The wrapper was killed together with Slurm's process beside it, so Slurm has not noticed.
            changed = self._lasts(name, "dead", _DEAD_S)
            if changed:
                self._call_off(run_dir, job, None)
        else:
            words = jobs.waiting_words(job.reason) if job.is_queued else None
            changed = words != marker.get("waiting")
            if changed:
                writing.change_machine(run_dir, {"waiting": words})
        return changed

    def _call_off(self, run_dir: str, job: Job, cause: Cause | None) -> None:
        """Conclude a run although its job is not over, and cancel the job."""
        conclude(run_dir, cause=cause, gone=True)
        with ignoring(Unusable):
            commands.cancel(job.id, self._environment)

    def _confirm(self, run_dir: str, marker: Mapping[str, Any], job: Job | None) -> None:
        """Find out whether a run without a recorded job has one: its launcher may have been killed."""
        held = writing.lock(run_dir, 0.0, handed.SUBMIT_LOCK)
        if held is None:
            return
        try:
            marker = directory.read_machine(run_dir) or marker
            if job_of(marker) is None and job is not None:
                handed.confirm(run_dir, job.id)
            elif job_of(marker) is None and self._lasts(os.path.basename(run_dir), "submitting", _GRACE_S):
                conclude(run_dir, never_came="The job was never handed in.", gone=True)
        finally:
            os.close(held)

    def _lasts(self, name: str, what: str, limit_s: float) -> bool:
        """Say whether a run has been in this condition for as long as the limit."""
        now = time.monotonic()
        return now - self._since.setdefault((name, what), now) >= limit_s

    def _note_silence(self, silence: str | None) -> None:
        """Record that Slurm answers or, with the reason for its silence, since when it does not."""
        now = round(time.time(), 3)
        if silence is None:
            self._unreachable_since, self._heard_at = None, now
        elif self._unreachable_since is None:
            self._unreachable_since = now
        link.write(
            self._home, records.SLURM, heard_at=self._heard_at, since=self._unreachable_since, why=silence
        )
