"""A run that is a job of Slurm: which job, asking it to end, a program beside it. Joins."""

from __future__ import annotations

from tmuxagents.runs import directory
from tmuxagents.runs.conclude import conclude
from tmuxagents.runs.endings import STOPPED
from tmuxagents.slurm import commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def job_of(marker: Mapping[str, Any]) -> str | None:
    """Return the id of the job that a marker names."""
    handle = marker.get("handle")
    job_id = handle.get("job") if isinstance(handle, dict) else None
    return job_id if isinstance(job_id, str) and job_id.isdigit() else None


def stop(run_dir: str, environment: Mapping[str, str], *, hard: bool = False) -> None:
    """Ask a run's job to end, as `stop` does on this machine. `hard`: for a wrapper that does not."""
    job_id = job_of(directory.read_machine(run_dir) or {})
    if job_id is None:
        conclude(run_dir, cause=STOPPED, never_came=STOPPED.message, gone=True)
    elif hard:
        commands.cancel(job_id, environment)
    else:
        commands.ask_to_end(job_id, environment)
        if directory.read_wrapper(run_dir) is None and _is_over(job_id, environment):
            conclude(run_dir, cause=STOPPED, never_came=STOPPED.message, gone=True)


def _is_over(job_id: str, environment: Mapping[str, str]) -> bool:
    return any(job.id == job_id and job.is_over for job in commands.queue(environment))


def exec_prefix(run_dir: str, *, tty: bool = False) -> list[str] | None:
    """Return the words before a command that make it run on the run's node; None if it has no job."""
    job_id = job_of(directory.read_machine(run_dir) or {})
    return None if job_id is None else commands.inside(job_id, tty=tty)
