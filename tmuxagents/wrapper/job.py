"""What ended a run that is a job of Slurm. Joins.

Slurm signals the child as it does the wrapper, so the child's own ending does not say that Slurm wanted it.
"""

from __future__ import annotations

from tmuxagents.records import COMPLETED, Exit, Verdict
from tmuxagents.slurm import commands, jobs
from tmuxagents.system import process_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_OURS = ("timeout", "loop", "parent", "config", "dependency", "spawn")  # decided by us, whatever Slurm does


def judged(verdict: Verdict, environment: Mapping[str, str]) -> Verdict:
    """Return the ending with Slurm's reason for it, if there is one. Slurm soon forgets a job."""
    if verdict.status == COMPLETED or verdict.reason in _OURS:
        return verdict
    job = commands.own_job(environment)
    cause = job.called_off if job is not None else None
    if cause is None and verdict.signal == "SIGKILL" and process_table.was_short():
        cause = jobs.OUT_OF_MEMORY
    return cause.verdict(Exit(verdict.exit_code, verdict.signal)) if cause is not None else verdict
