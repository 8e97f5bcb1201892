"""A run as a job of Slurm: its script, the states and errors that Slurm reports, and what each means.

Slurm's report counts last: after a result that the wrapper wrote, and after a finished answer among the
events. It counts only once the job is no longer COMPLETING, since the job's processes may live until then.

Pure.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.records import ABORTED, FAILED
from tmuxagents.runs.endings import Cause
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREFIX = "ta-"  # of a job's name; the rest is the run's id
_WIDTHS = {"jobid": 20, "name": 40, "state": 24, "reason": 64, "exit_code": 12}
COLUMNS = ",".join(f"{name}:{width}" for name, width in _WIDTHS.items())  # for squeue --Format

_QUEUED = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
_OVER = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "RECONFIG_FAIL", "REVOKED", "TIMEOUT"),
}
TIME_LIMIT = Cause(FAILED, "timeout", "Slurm ended the job at its time limit.")
OUT_OF_MEMORY = Cause(FAILED, "oom", "The job needed more memory than Slurm gave it.")
PREEMPTED = Cause(ABORTED, "preempted", "Slurm took the job off its node.")
CANCELLED = Cause(ABORTED, "stopped", "The job was cancelled in Slurm.")
_CAUSES = {
    "TIMEOUT": TIME_LIMIT,
    "DEADLINE": TIME_LIMIT,
    "OUT_OF_MEMORY": OUT_OF_MEMORY,
    "PREEMPTED": PREEMPTED,
    "REVOKED": CANCELLED,
    "CANCELLED": CANCELLED,
    "NODE_FAIL": Cause(ABORTED, "lost", "Slurm lost the node of the job."),
    "BOOT_FAIL": Cause(ABORTED, "lost", "Slurm could not boot the node of the job."),
}
_TIME_UP = "TimeLimit"
_FIELD = re.compile(r"(?:^|\s)([A-Za-z:/]+)=(\S*)")
_NO_TIME = ("", "None", "N/A", "Unknown")


class Job(NamedTuple):
    """One job, as Slurm reports it."""

    id: str
    name: str
    state: str
    reason: str  # why it waits, or why it ended
    status: int = 0  # as wait() returns it
    preempted: bool = False
    requeue: bool = False  # which we forbid, but an operator may allow

    @property
    def run_id(self) -> str | None:
        """Return the id of the job's run; None if the job belongs to no run."""
        return self.name.removeprefix(PREFIX) if self.name.startswith(PREFIX) else None

    @property
    def is_queued(self) -> bool:
        """Say whether the job has no node yet."""
        return self.state in _QUEUED

    @property
    def is_running(self) -> bool:
        """Say whether the job runs, as far as Slurm knows, and Slurm is not ending it."""
        return self.state == "RUNNING"

    @property
    def is_over(self) -> bool:
        """Say whether nothing of the job runs any more, as far as Slurm knows."""
        return self.state in _OVER

    @property
    def cause(self) -> Cause | None:
        """Return why Slurm ended the job; None if it did not."""
        return _CAUSES.get(self.state)

    @property
    def called_off(self) -> Cause | None:
        """Return why Slurm is ending the job right now; None if it is not.

        While processes of the job still live, its state is only COMPLETING; other fields have the reason.
        """
        if self.preempted:
            return PREEMPTED
        if self.reason == _TIME_UP:
            return TIME_LIMIT
        if self.is_queued:  # it ran, and was put back
            return PREEMPTED
        completing = PREEMPTED if self.requeue else CANCELLED
        return self.cause or (completing if self.state == "COMPLETING" else None)

    @property
    def never_came(self) -> str:
        """Return the message of a run whose job is over, and whose wrapper never came."""
        signal, code = self.status & 0x7F, self.status >> 8
        how = f"signal {signal}" if signal else f"exit code {code}"
        return f"Slurm's job {self.id} ended without a wrapper ({self.state}, {self.reason}, {how})."


def queue(text: str) -> Iterator[Job]:
    """Yield the jobs of a table that squeue made with COLUMNS."""
    for line in text.splitlines():
        cells, start = [], 0
        for width in _WIDTHS.values():
            cells.append(line[start : start + width].strip())
            start += width
        if cells[0].isdecimal():
            status = int(cells[4]) if cells[4].isdecimal() else 0
            yield Job(cells[0], cells[1], cells[2], cells[3], status)


def shown(text: str) -> Job | None:
    """Return the job that `scontrol show job --oneliner` shows."""
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields.setdefault(name, value)
    if not fields.get("JobId", "").isdigit():
        return None
    preempted = fields.get("PreemptTime", "") not in _NO_TIME
    return Job(
        fields["JobId"],
        fields.get("JobName", ""),
        fields.get("JobState", ""),
        fields.get("Reason", ""),
        preempted=preempted,
        requeue=fields.get("Requeue") == "1",
    )


def waiting_words(reason: str) -> str:
    """Return the words for a run in Slurm's queue, and why it waits."""
    return f"waits in Slurm's queue ({reason})" if reason not in _NO_TIME else "waits in Slurm's queue"


# --- what Slurm's commands say when they fail -----------------------------------------------------------

LONGEST = 300  # letters of their words in a message
# Messages about Slurm itself, not about the requested job.
_SILENT = re.compile(
    r"unable to contact|timed out|connection refused|zero bytes|authentication|munge|"
    r"no such file or directory|could not establish a configuration|transport",
    re.IGNORECASE,
)


class SlurmSilent(Unusable):
    """Slurm gives no answer, which proves nothing about any job. `heard`: Slurm may have got the request."""

    def __init__(self, message: str, *, hint: str | None = None, heard: bool = False) -> None:
        super().__init__(message, kind="unreachable", hint=hint)
        self.heard = heard


def refusal(program: str, errors: str) -> BadRequest | SlurmSilent:
    """Return the error that the words of a failed command mean."""
    lines = [safe.line(line.partition("error: ")[2] or line) for line in errors.splitlines()]
    last = safe.cut(lines[-1] if lines else "it says nothing", LONGEST).removesuffix(".")
    if _SILENT.search(errors) or not lines:
        may_have_arrived = "timed out" in errors
        return SlurmSilent(f"Slurm cannot be reached: {last}.", hint="try sinfo", heard=may_have_arrived)
    return BadRequest(
        f"Slurm's {program} refuses: {last}.", kind="bad-argument", hint="see sinfo and man sbatch"
    )


# --- the environment ------------------------------------------------------------------------------------

# The variables that Slurm's commands need, and that a job may have. None may be secret: sbatch passes all its
# variables on, through the files of Slurm's controller.
_PASSED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH")
_PASSED_FAMILIES = ("LC_", "SLURM_", "SBATCH_")
_NOT_PASSED = ("SBATCH_ARRAY_INX", "SBATCH_WAIT", "SBATCH_EXPORT", "SLURM_EXPORT_ENV", "SBATCH_CLUSTERS")
_OF_SHELLS = ("_", "PWD", "OLDPWD", "SHLVL")


def for_slurm(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for Slurm's commands, and so for a job."""
    return {
        name: value
        for name, value in environment.items()
        if (name in _PASSED or name.startswith(_PASSED_FAMILIES)) and name not in _NOT_PASSED
    }


def in_job(launcher: Mapping[str, str], job: Mapping[str, str]) -> dict[str, str]:
    """Return the launcher's environment for a child in a job, with the variables that Slurm has set there."""
    given = for_slurm(launcher)
    kept = {name: value for name, value in launcher.items() if not name.startswith("SLURM")}
    own = {
        name: value
        for name, value in job.items()
        if (given.get(name) != value or name.startswith("SLURM")) and name not in _OF_SHELLS
    }
    return {**kept, **own}


# --- the job of a run -------------------------------------------------------------------------------------

# Options that a person may not give. With them a run might start twice or not at all, or lose its job.
_OURS = {
    "array": "a run is one job",
    "chdir": "the run's --cwd says where the child works",
    "clusters": "its job must be in the queue that is asked",
    "error": "the run directory has what the job prints",
    "export": "the child gets the environment of the launch",
    "export-file": "the child gets the environment of the launch",
    "help": "it starts nothing",
    "job-name": "the name leads back to the run",
    "input": "the child's prompt is its input",
    "output": "the run directory has what the job prints",
    "parsable": "it is always given",
    "requeue": "a run starts once",
    "test-only": "it starts nothing",
    "usage": "it starts nothing",
    "version": "it starts nothing",
    "wait": "`tmuxagents wait` does that",
    "wrap": "the job is the run",
}
_LETTERS = "a=array D=chdir M=clusters e=error h=help J=job-name i=input o=output V=version W=wait"
_SHORT = dict(short.split("=") for short in _LETTERS.split())
_FLAGS = "HOQsuv"  # short options without a value: others may follow in the same word


def option_fault(word: str) -> str | None:
    """Return what is wrong with a word of the person's options for sbatch."""
    if not word.isprintable():
        return "has a control character"
    name = word[2:].partition("=")[0] if word.startswith("--") else ""
    if name:  # sbatch accepts every unambiguous abbreviation
        ours = next((full for full in _OURS if full.startswith(name)), None)
    else:
        ours = _SHORT.get(word[1:].lstrip(_FLAGS)[:1]) if word.startswith("-") else None
    return None if ours is None else f"cannot be set: {_OURS[ours]}"


def words(run_id: str, *, log: str, partition: str | None) -> list[str]:
    """Return the arguments of sbatch that we always set. `log`: the file for Slurm's own messages."""
    return [
        *("--parsable", "--no-requeue", "--job-name", f"{PREFIX}{run_id}", "--chdir", "/"),
        *("--output", "/dev/null" if "%" in log or "\\" in log else log, "--open-mode", "append"),
        *(("--partition", partition) if partition else ()),
    ]


def script(options: str, command: str) -> str:
    """Return the job's script: the options as one line for sbatch, and the wrapper in the shell's place.

    A signal that asks a batch job to end reaches only its first process, so that must be the wrapper.
    """
    line = f"#SBATCH {options}\n" if options else ""
    return f"#!/bin/sh\n{line}exec {command}\n"
