"""Submit runs as jobs of Slurm, each exactly once. Joins.

This machine and the nodes share the home, so the run directory is the truth on all of them. Its machine.json
is written before the job is submitted, and gets the job's id afterwards. If a launcher dies in between,
`watcher/keep` finds the job by its name, or concludes the run.
"""

from __future__ import annotations

import os
import shlex
import sys
import time

from tmuxagents.errors import BadRequest, NotPossible, TmuxAgentsError
from tmuxagents.launch import checks, elsewhere, handover
from tmuxagents.launch.plan import parse_on
from tmuxagents.records import LIVE, SLURM, SUBMITTED, SUBMITTING
from tmuxagents.runs import directory, writing
from tmuxagents.runs.conclude import conclude
from tmuxagents.slurm import commands, jobs
from tmuxagents.slurm.commands import job_of
from tmuxagents.system import project
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.launch.elsewhere import FarArrival
    from tmuxagents.launch.launch import Launcher
    from tmuxagents.launch.prepare import Prepared

LOG = "slurm.log"
SUBMIT_LOCK = "submit.lock"  # held by the process that submits the job, until sbatch has ended
_BOOT = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/_wrap.py"


def begin(launcher: Launcher, prepared: Prepared) -> FarArrival:
    """Make a run, submit it, and open the window that shows it."""
    run_dir, warnings = submit_run(launcher, prepared)
    return elsewhere.start_following(launcher, prepared, run_dir, SLURM, warnings)


def submit_run(launcher: Launcher, prepared: Prepared) -> tuple[str, list[str]]:
    """Make a run and submit it; return its directory, and warnings.

    If Slurm refuses the job, the run ends, and the reason is raised. If Slurm has not confirmed the job,
    `watcher/keep` looks for it later.
    """
    request = prepared.request
    for word in request.sbatch:
        fault = jobs.option_fault(word)
        if fault is not None:
            message = f"The option {word.partition('=')[0]!r} for sbatch {fault}."
            raise BadRequest(message, kind="bad-argument", hint="see docs/machines.md, Slurm", field="on")
    if prepared.plan.driver == LIVE:
        message = "A live run needs a window, and a job of Slurm has none."
        raise BadRequest(message, kind="bad-argument", hint="leave out --live", field="on")
    checks.check_cwd(request.cwd)
    partition = parse_on(request.on or "").partition
    handed = handover.Handed(
        environment={**launcher.environment, **prepared.variables},
        umask=launcher.umask,
        limits={},
        queued=True,
    )
    marker = elsewhere.marker(
        SLURM, SLURM, state=SUBMITTING, partition=partition, options=list(request.sbatch)
    )
    files = {directory.HANDED: handover.encode(handed), directory.MACHINE: jsonline.encode(marker)}
    with checks.claimed_name(launcher.caller, request):
        run_dir = launcher.make(prepared, files)
    project.link(request.project, run_dir)
    warnings = [*launcher.warnings, *prepared.warnings]
    try:
        submit(run_dir, launcher.environment, anew=True)
    except BaseException as error:
        words = error.message if isinstance(error, TmuxAgentsError) else f"{type(error).__name__}."
        if not (isinstance(error, jobs.SlurmSilent) and error.heard):
            conclude(run_dir, never_came=f"The job was never handed in. {words}", gone=True)
            raise
        warnings.append(f"{words} The run waits until Slurm says whether it has the job.")
    finally:
        launcher.register(run_dir)
    return run_dir, warnings


def submit(run_dir: str, environment: Mapping[str, str], *, anew: bool = False) -> str:
    """Submit the job of a run that was made for Slurm, unless it has one; return the job's id.

    `anew`: the run was made just now, so there can be no job of it yet.
    """
    held = writing.lock(run_dir, 0.0, SUBMIT_LOCK)
    if held is None:
        raise NotPossible("The job of this run is being submitted right now.", kind="run-busy")
    try:
        marker = directory.read_machine(run_dir) or {}
        job_id = job_of(marker)
        if job_id is not None:
            return job_id
        run_id = os.path.basename(run_dir)
        found = None if anew else next((j for j in commands.queue(environment) if j.run_id == run_id), None)
        if found is not None:
            return confirm(run_dir, found.id)
        words = jobs.words(run_id, log=f"{run_dir}/{LOG}", partition=marker.get("partition"))
        wrapper = shlex.join([sys.executable, "-I", "-S", _BOOT, run_dir])
        script = jobs.script(shlex.join(marker.get("options") or ()), wrapper)
        return confirm(run_dir, commands.submit(words, script, environment, held))
    finally:
        os.close(held)


def confirm(run_dir: str, job_id: str) -> str:
    """Record which job is the run's; return the job's id."""
    record = {"state": SUBMITTED, "handle": {"job": job_id}, "at": round(time.time(), 3)}
    writing.change_machine(run_dir, record)
    return job_id
