"""Call Slurm's commands, bounded in time: submit a job, list or end jobs, run a command beside one. Joins.

The second half of this module works on the run that a job carries out: it finds the job's id, stops the job,
and reports if Slurm caused the ending.
"""

from __future__ import annotations

import os
import re
import subprocess
import time

from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.records import COMPLETED, Exit
from tmuxagents.runs import directory
from tmuxagents.runs.conclude import conclude
from tmuxagents.runs.endings import STOPPED
from tmuxagents.slurm import jobs
from tmuxagents.slurm.jobs import LONGEST, SlurmSilent
from tmuxagents.system import process, process_table
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.records import Verdict
    from tmuxagents.slurm.jobs import Job


_LIMIT_S = 15.0
_SUBMIT_LIMIT_S = 90.0  # sbatch itself tries again while the controller is busy
_QUESTION_LIMIT_S = 3.0  # for a wrapper that must write a result
_OURS = ("timeout", "loop", "parent", "config", "dependency", "spawn")  # reasons for which only we end a run
_OVER = re.compile(r"invalid job id|already comple", re.IGNORECASE)  # there is nothing to end any more


def submit(words: Sequence[str], script: str, environment: Mapping[str, str], held: int) -> str:
    """Submit a job and return its id. `held`: a lock that stays held until sbatch has ended.

    Raise BadRequest if Slurm refuses the job, SlurmSilent if Slurm does not confirm it.
    """
    answer = _call(["sbatch", *words], environment, limit_s=_SUBMIT_LIMIT_S, text=script, held=held)
    job_id = answer.partition(";")[0].strip()
    if not job_id.isdigit():
        raise SlurmSilent(f"sbatch gave no job id, but {safe.cut(answer, LONGEST)!r}.", heard=True)
    return job_id


def queue(environment: Mapping[str, str]) -> list[Job]:
    """Return all jobs of the user that Slurm still knows. Raise SlurmSilent."""
    argv = ["squeue", "--noheader", "--states=all", f"--user={os.getuid()}", f"--Format={jobs.COLUMNS}"]
    return list(jobs.queue(_call(argv, environment)))


def ask_to_end(job_id: str, environment: Mapping[str, str]) -> None:
    """Ask a job to end: a waiting job is cancelled; in a running one, the wrapper ends the run."""
    _call_off(["--state=PENDING", job_id], environment)
    _call_off(["--state=RUNNING", "--batch", "--signal=TERM", job_id], environment)


def cancel(job_id: str, environment: Mapping[str, str]) -> None:
    """Cancel a job in any state: the last resort, for a wrapper that does not end."""
    _call_off([job_id], environment)


def _call_off(words: Sequence[str], environment: Mapping[str, str]) -> None:
    try:
        _call(["scancel", *words], environment)
    except BadRequest as refusal:
        if not _OVER.search(refusal.message):
            raise


def inside(job_id: str, *, tty: bool = False) -> list[str]:
    """Return the words before a command that make it run beside a job, on the job's node."""
    return ["srun", "--jobid", job_id, "--overlap", "--quiet", *(["--pty"] if tty else ["--unbuffered"])]


def _call(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    limit_s: float = _LIMIT_S,
    text: str = "",
    held: int | None = None,
) -> str:
    surroundings = jobs.for_slurm(environment)
    path = process.find_program(argv[0], surroundings.get("PATH", os.defpath))
    if path is None:
        hint = "load Slurm's module, or name its login host: --on slurm@HOST"
        raise SlurmSilent(f"Slurm's {argv[0]} is not in the PATH.", hint=hint)
    begun = time.monotonic()
    try:
        done = subprocess.run(
            [path, *argv[1:]],
            env=surroundings,
            input=text.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=limit_s,
            pass_fds=[] if held is None else [held],
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        passed = f"{time.monotonic() - begun:.0f} s"
        raise SlurmSilent(f"Slurm's {argv[0]} gave no answer in {passed}.", heard=True) from error
    except OSError as error:
        raise SlurmSilent(f"Slurm's {argv[0]} cannot be started ({error.strerror}).") from error
    if not done.returncode:
        return done.stdout.decode("utf-8", "replace")
    errors = done.stderr.decode("utf-8", "replace").strip()
    raise jobs.refusal(argv[0], errors)


# --- the run of a job -------------------------------------------------------------------------------------


def with_slurms_reason(verdict: Verdict, environment: Mapping[str, str]) -> Verdict:
    """Return the ending of this job's run; if Slurm caused the ending, with Slurm's reason.

    Slurm signals the child as well as the wrapper, so the child's own ending does not show that Slurm caused
    it. Slurm is asked at once, since it soon forgets a job.
    """
    if verdict.status == COMPLETED or verdict.reason in _OURS:
        return verdict
    argv = ["scontrol", "show", "job", "--oneliner", environment.get("SLURM_JOB_ID", "")]
    try:
        job = jobs.shown(_call(argv, environment, limit_s=_QUESTION_LIMIT_S))
    except (BadRequest, Unusable):
        job = None
    cause = job.called_off if job is not None else None
    if cause is None and verdict.signal == "SIGKILL" and process_table.was_short():
        cause = jobs.OUT_OF_MEMORY
    return cause.verdict(Exit(verdict.exit_code, verdict.signal)) if cause is not None else verdict


def job_of(marker: Mapping[str, Any]) -> str | None:
    """Return the id of the job that a marker names."""
    handle = marker.get("handle")
    job_id = handle.get("job") if isinstance(handle, dict) else None
    return job_id if isinstance(job_id, str) and job_id.isdigit() else None


def stop_job(run_dir: str, environment: Mapping[str, str]) -> None:
    """Ask a run's job to end, as `stop` asks a local run; conclude a run that has no job."""
    job_id = job_of(directory.read_machine(run_dir) or {})
    if job_id is not None:
        ask_to_end(job_id, environment)
        if directory.read_wrapper(run_dir) is not None:
            return  # the wrapper ends the run
        if not any(job.id == job_id and job.is_over for job in queue(environment)):
            return
    conclude(run_dir, cause=STOPPED, never_came=STOPPED.message, gone=True)


def exec_prefix(run_dir: str, *, tty: bool = False) -> list[str] | None:
    """Return the words before a command that make it run on the run's node; None if it has no job."""
    job_id = job_of(directory.read_machine(run_dir) or {})
    return None if job_id is None else inside(job_id, tty=tty)
