"""How runs in Slurm end: each function provokes one ending and returns it."""

from __future__ import annotations

import os
import shlex
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scripts import limits
from tests.desk import Desk
from tests.harness import Home, eventually
from tests.machines.lab import Lab as Box
from tests.slurm.ground import PATIENCE_S, SECRET, quiet
from tmuxagents.errors import BadRequest
from tmuxagents.machines.hosts import write_host
from tmuxagents.runs import directory
from tmuxagents.runs.inspect import inspect
from tmuxagents.slurm import commands

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.slurm.ground import Ground

    Ending = Callable[[Ground], tuple[str, str]]

SUBMIT = "import os, sys; from tests.slurm import ground; ground.submit(os.environ, *sys.argv[1:])"
STAYS = "begin\nfound double-fork\nsleep 300"


def done(ground: Ground) -> tuple[str, str]:
    """A child that works: it has the launch's environment and umask, and the job's variables."""
    run = ground.launch(
        'shell echo "$A_SECRET $SLURM_JOB_ID"; umask; touch made', "--comment", "it's two words"
    )
    ended = run.ended()
    said = run.result()["output"].split()
    assert said == ["0", SECRET, run.job, "0027"], said
    assert "it's two words" in ground.lab.call("scontrol", "show", "job", run.job)
    return ended


def exits(ground: Ground) -> tuple[str, str]:
    return ground.launch("begin\nexit 3").ended()


def cancelled(ground: Ground) -> tuple[str, str]:
    run = ground.launch(STAYS).at_work()
    ground.lab.call("scancel", run.job)
    return run.ended()


def stopped(ground: Ground) -> tuple[str, str]:
    run = ground.launch(STAYS).at_work()
    commands.stop_job(str(run.folder), ground.environment)
    return run.ended()


def cancelled_in_queue(ground: Ground) -> tuple[str, str]:
    run = ground.launch("done never", "--begin=now+1hour")
    ground.keep()

    def waits() -> bool:
        view = inspect(str(run.folder))
        return (view.standing.status, view.doing) == ("queued", "waits in Slurm's queue (BeginTime)")

    eventually(waits, PATIENCE_S)
    handed = run.folder / directory.HANDED
    assert stat.S_IMODE(handed.stat().st_mode) == 0o600
    commands.stop_job(str(run.folder), ground.environment)
    return run.ended()


def time_limit(ground: Ground) -> tuple[str, str]:
    return ground.launch(STAYS, "--time=1", partition="urgent").ended(150)


def out_of_memory(ground: Ground) -> tuple[str, str]:
    return ground.launch("begin\neat 400", "--mem=120M").ended()


def wrapper_killed(ground: Ground) -> tuple[str, str]:
    run = ground.launch(STAYS).at_work()
    os.kill(run.wrapper(), signal.SIGKILL)
    return run.ended()


def wrapper_killed_after_answer(ground: Ground) -> tuple[str, str]:
    run = ground.launch("done well\nsleep 300")
    run.wait_for("settled")
    with suppress(ProcessLookupError):
        os.kill(run.wrapper(), signal.SIGKILL)
    return run.ended()


def step_killed(ground: Ground) -> tuple[str, str]:
    gate = ground.home.folder / "gate-step"
    run = ground.launch(f"begin\ngate {gate}\ndone well")
    run.wait_for("run_started")
    os.kill(run.step(), signal.SIGKILL)
    time.sleep(1)
    gate.touch()
    return run.ended()


def step_and_wrapper_killed(ground: Ground) -> tuple[str, str]:
    """Slurm does not notice, and would show the job as running for ever."""
    run = ground.launch(STAYS).at_work()
    step, wrapper = run.step(), run.wrapper()
    for pid in (step, wrapper):
        os.kill(pid, signal.SIGKILL)
    ended = run.ended()
    eventually(lambda: run.job not in ground.lab.call("squeue", "-h", "-o", "%A").split(), PATIENCE_S)
    return ended


def requeued(ground: Ground) -> tuple[str, str]:
    """An operator overrides --no-requeue: the job runs again, and finds that the run has a wrapper."""
    run = ground.launch(STAYS).at_work()
    ground.lab.call("scontrol", "update", f"jobid={run.job}", "requeue=1")
    ground.lab.call("scontrol", "requeue", run.job)
    return run.ended()


def requeued_and_killed(ground: Ground) -> tuple[str, str]:
    """The same, and the wrapper cannot write its result."""
    run = ground.launch(STAYS).at_work()
    wrapper = run.wrapper()
    os.kill(wrapper, signal.SIGSTOP)
    ground.lab.call("scontrol", "update", f"jobid={run.job}", "requeue=1")
    ground.lab.call("scontrol", "requeue", run.job)
    with suppress(ProcessLookupError):
        os.kill(wrapper, signal.SIGKILL)
    return run.ended()


def launcher_killed(ground: Ground) -> tuple[str, str]:
    """The launcher dies when sbatch has handed in the job, before that is written down."""
    before = {run.run_id for run in ground.started}
    folder = ground.home.folder / "deadly"
    folder.mkdir()
    sbatch = folder / "sbatch"
    real = ground.lab.call("sh", "-c", "command -v sbatch").strip()
    sbatch.write_text(f'#!/bin/sh\n{real} "$@" >/dev/null\nkill -9 $PPID\n')
    sbatch.chmod(0o755)
    task = "done deadly-launch"
    # A program of its own: a fork of this process, which has threads, may wait for one of their locks.
    launching = subprocess.run(
        [sys.executable, "-c", SUBMIT, str(ground.home.project), task],
        cwd=Path(__file__).parents[2],
        env={**ground.environment, "PATH": f"{folder}:{ground.environment['PATH']}"},
        timeout=PATIENCE_S,
        check=False,
    )
    assert launching.returncode == -signal.SIGKILL
    runs = [path for path in (ground.home.state / "runs").glob("[0-9a-f]*") if path.name not in before]
    orphans = [path for path in runs if task in (path / "prompt.txt").read_text()]
    assert len(orphans) == 1
    return ground.run(str(orphans[0])).ended()


def refused(ground: Ground) -> tuple[str, str]:
    """Slurm refuses the job: a sentence, and a run that has ended."""
    before = set((ground.home.state / "runs").glob("[0-9a-f]*"))
    with pytest.raises(BadRequest, match="partition"):
        ground.launch("done never", partition="nowhere")
    for path in set((ground.home.state / "runs").glob("[0-9a-f]*")) - before:
        if "nowhere" in (path / directory.MACHINE).read_text():
            return ground.run(str(path)).ended()
    raise AssertionError("it left no run")


def entered(ground: Ground) -> tuple[str, str]:
    """Attach and its like reach the job: a command runs beside the child."""
    gate = ground.home.folder / "gate-enter"
    run = ground.launch(f"begin\ngate {gate}\ndone well")
    run.wait_for("run_started")
    for tty in (False, True):
        argv = [
            *(commands.exec_prefix(str(run.folder), tty=tty) or []),
            "sh",
            "-c",
            "echo in-$SLURM_JOB_ID; tty; true",
        ]
        said = ground.lab.call("script", "-qec", shlex.join(argv), "/dev/null", limit_s=20)
        assert (f"in-{run.job}" in said, "not a tty" in said) == (True, not tty), said
    gate.touch()
    return run.ended()


TOGETHER: dict[str, tuple[Ending, tuple[str, str]]] = {
    "the time limit": (time_limit, ("failed", "timeout")),
    "done": (done, ("completed", "done")),
    "exits with 3": (exits, ("failed", "exit")),
    "scancel": (cancelled, ("aborted", "stopped")),
    "stop": (stopped, ("aborted", "stopped")),
    "stop in the queue": (cancelled_in_queue, ("aborted", "stopped")),
    "out of memory": (out_of_memory, ("failed", "oom")),
    "wrapper killed": (wrapper_killed, ("aborted", "lost")),
    "wrapper killed after the answer": (wrapper_killed_after_answer, ("completed", "done")),
    "slurmstepd killed": (step_killed, ("completed", "done")),
    "slurmstepd and wrapper killed": (step_and_wrapper_killed, ("aborted", "lost")),
    "requeued by force": (requeued, ("aborted", "preempted")),
    "requeued, wrapper killed": (requeued_and_killed, ("aborted", "preempted")),
    "launcher killed": (launcher_killed, ("completed", "done")),
    "refused": (refused, ("failed", "window")),
    "a command beside the child": (entered, ("completed", "done")),
}


# --- alone: what disturbs the others ----------------------------------------------------------------------


def controller_killed(ground: Ground) -> tuple[str, str]:
    """Slurm gives no answer for a while: a run ends by itself, another works on, one waits; none is lost."""
    gate, later = ground.home.folder / "gate-ctld", ground.home.folder / "gate-ctld-2"
    ends = ground.launch(f"begin\ngate {gate}\ndone meanwhile")
    works = ground.launch(f"begin\ngate {later}\ndone later")
    waits = ground.launch("done never", "--begin=now+1hour")
    for run in (ends, works):
        run.wait_for("run_started")
    ground.keep()
    saved = ground.lab.folder / "state" / "job_state"  # what Slurm has not saved, it forgets
    names = [run.run_id.encode() for run in (ends, works, waits)]
    eventually(lambda: saved.exists() and all(map(saved.read_bytes().__contains__, names)), PATIENCE_S)
    ground.lab.end("slurmctld", signal.SIGKILL)
    eventually(lambda: ground.state().get("unreachableSince"), PATIENCE_S)
    gate.touch()
    assert ends.ended() == ("completed", "done")
    assert [inspect(str(run.folder)).standing.status for run in (works, waits)] == ["running", "queued"]
    ground.lab.start("slurmctld")
    eventually(lambda: ground.state().get("unreachableSince", 0) is None, PATIENCE_S)
    later.touch()
    commands.stop_job(str(waits.folder), ground.environment)
    assert waits.ended() == ("aborted", "stopped")
    return works.ended()


def node_killed(ground: Ground) -> tuple[str, str]:
    """The daemon of the node is killed and comes back."""
    gate = ground.home.folder / "gate-slurmd"
    run = ground.launch(f"begin\ngate {gate}\ndone well")
    run.wait_for("run_started")
    ground.lab.end("slurmd", signal.SIGKILL)
    time.sleep(1)
    ground.lab.start("slurmd")
    gate.touch()
    return run.ended()


def preempted(ground: Ground) -> tuple[str, str]:
    """A job of a partition that goes first needs the whole node."""
    run = ground.launch(STAYS).at_work()
    other = ground.lab.call(
        *(
            "sbatch",
            "--parsable",
            "--partition=urgent",
            "--exclusive",
            "--output=/dev/null",
            "--wrap=sleep 1",
        )
    ).strip()
    ended = run.ended()
    ground.lab.call("scancel", other)
    return ended


def node_lost(ground: Ground) -> tuple[str, str]:
    """All that the node has of the job dies at once, as with its power. The keeper comes when Slurm knows."""
    run = ground.launch(STAYS).at_work()
    step, wrapper = run.step(), run.wrapper()
    ground.leave_alone()
    ground.lab.end("slurmd", signal.SIGKILL)
    for pid in (step, wrapper):
        os.kill(pid, signal.SIGKILL)
    state = ("squeue", "-ht", "all", "-j", run.job, "-O", "state")
    eventually(lambda: ground.lab.call(*state).strip() == "NODE_FAIL", 2 * PATIENCE_S)
    ground.lab.start("slurmd")
    ended = run.ended()
    assert run.result()["errorMessage"] == "Slurm lost the node of the job."
    return ended


def by_command(ground: Ground) -> tuple[str, str]:
    """What a person types: launch, poll, stop, attach's window, and a keeper that nobody had to start."""
    desk = Desk(ground.home, ground.home.folder / "tmux")
    ground.home.environment |= ground.environment
    ground.home.be_watched()
    try:
        quick = desk.launch("--on", "slurm", "--name", "quick", "done well")
        waits = desk.launch("--on", "slurm:main", "--sbatch=--begin=now+1hour", "done never")
        works = desk.launch("--on", "slurm", "begin\nsleep 300")
        assert desk.result(quick)["output"] == "well"
        eventually(lambda: "waits in Slurm's queue (BeginTime)" in desk("poll").stdout, PATIENCE_S)
        assert set(desk.windows()) == {quick, waits, works}
        eventually(lambda: directory.is_announced(str(desk.folder(quick))), PATIENCE_S)
        for run_id in (waits, works):
            assert desk("stop", run_id).stdout == f"{run_id[:8]} aborted (stopped)\n"
        refused = desk("launch", "--on", "slurm", "--sbatch=--array=1-3", "x")
        assert (refused.returncode, "a run is one job" in refused.stderr) == (2, True), refused.stderr
        again = desk("retry", quick)
        assert again.returncode == 0, again.stderr
        return ground.run(str(desk.folder(again.stdout.strip()))).ended()
    finally:
        desk.leave()
        ground.home.be_unwatched()


def by_ssh(ground: Ground) -> tuple[str, str]:
    """The Slurm of another machine, by ssh: what waits says why here, what ends ends here."""
    near = Home(ground.home.folder / "near")
    near.be_watched()
    names = ("SLURM_CONF", "LD_LIBRARY_PATH", "TMUXAGENTS_PI", "TMUXAGENTS_DEFAULT_MODEL", "CHILD_RECORD")
    with Box(spaces=False) as box:
        limits.homes.add(box.folder)
        slurm_bin = ground.environment["PATH"].partition(":")[0]
        path = f"{slurm_bin}:{box.far_environment['PATH']}"
        box.export({"PATH": path, **{name: ground.environment[name] for name in names}})
        near.environment |= box.near
        desk = Desk(near, near.folder / "tmux")
        program = str(Path(sys.executable).with_name("tmuxagents"))
        write_host(box.host(program), near.environment)
        there = ("--on", f"slurm@{box.name}", "--cwd", "~")
        try:
            waits = desk.launch(*there, "--sbatch=--begin=now+1hour", "done never")
            ends = desk.launch(*there, "done well")
            assert desk.result(ends)["output"] == "well"
            eventually(lambda: "waits in Slurm's queue (BeginTime)" in desk("poll").stdout, PATIENCE_S)
            assert desk("stop", waits).stdout == f"{waits[:8]} aborted (stopped)\n"
            result = desk.result(ends)
            return str(result["status"]), str(result["reason"])
        finally:
            desk.leave()
            quiet(near)


ALONE: dict[str, tuple[Ending, tuple[str, str]]] = {
    "slurmctld killed": (controller_killed, ("completed", "done")),
    "slurmd killed": (node_killed, ("completed", "done")),
    "preempted": (preempted, ("aborted", "preempted")),
    "the node is lost": (node_lost, ("aborted", "lost")),
    "by command": (by_command, ("completed", "done")),
    "by ssh": (by_ssh, ("completed", "done")),
}
