"""Runs in Slurm where there is no Slurm: what is refused, left, recorded, and not concluded.

What a real Slurm does with them, scripts/try-slurm tries.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import REPOSITORY, eventually
from tmuxagents.errors import BadRequest, NotPossible, TmuxAgentsError, Unusable
from tmuxagents.launch import handover, job, resume
from tmuxagents.launch.launch import Launcher
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.registry.lookup import Caller
from tmuxagents.runs import directory, logs, writing
from tmuxagents.runs.conclude import conclude
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import stop as stopping
from tmuxagents.status.send import Sending
from tmuxagents.text import jsonline
from tmuxagents.upkeep import prune

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness import Home, Run

KEEP = "import os; from tmuxagents.watcher import keep; keep.keep(os.environ['TMUXAGENTS_HOME'], os.environ)"


def queued(home: Home, script: str, *, plan: dict[str, Any] | None = None, **marker: Any) -> Run:
    """Make a run as one that is in Slurm."""
    run = home.run(script, **(plan or {}))
    environment = {**home.environment, "CHILD_RECORD": str(home.record), "A_KEY": "k"}
    handed = handover.Handed(environment=environment, umask=0o027, limits={}, queued=True)
    writing.replace(str(run.folder), directory.HANDED, handover.encode(handed))
    told = {
        "v": 1,
        "engine": "slurm",
        "host": "slurm",
        "state": "submitted",
        "handle": {"job": "7"},
        **marker,
    }
    writing.replace(str(run.folder), directory.MACHINE, jsonline.encode(told))
    writing.take_plan(str(run.folder), (run.folder / directory.META).read_bytes())  # its seal says so, too
    return run


def how(result: dict[str, Any] | None) -> tuple[str, str] | None:
    return None if result is None else (result["status"], result["reason"])


def test_a_wrapper_in_a_job_takes_the_environment_that_was_left_for_it(home: Home) -> None:
    home.environment["TMUXAGENTS_PI"] = str(REPOSITORY / "tests" / "children" / "echo.py")
    run = queued(home, "x")
    home.be_watched()
    run.start({"SLURM_JOB_ID": "7", "A_KEY": "of the job"}).wait()
    seen = json.loads(Path(f"{home.record}.echo").read_text())["environment"]
    assert (seen["A_KEY"], seen["SLURM_JOB_ID"]) == ("of the job", "7")
    assert not (run.folder / directory.HANDED).exists()
    assert home.watcher() is None, "a watcher in a job outlives it"
    assert inspect(str(run.folder)).ended


def test_a_run_in_slurm_is_not_judged_by_the_processes_here(home: Home) -> None:
    run = queued(home, "begin\nsleep 60")
    run.start()
    run.wait_for("run_started")
    assert run.wrapper is not None
    run.signal(signal.SIGKILL)
    run.wrapper.wait()
    assert conclude(str(run.folder)) is None
    assert inspect(str(run.folder)).standing.status == "running"
    assert how(conclude(str(run.folder), gone=True)) == ("aborted", "lost")
    assert run.left_over() == []


def test_a_living_wrapper_is_not_concluded_whatever_slurm_says(home: Home) -> None:
    run = queued(home, f"begin\ngate {home.folder}/gate\ndone well")
    run.start()
    run.wait_for("run_started")
    assert conclude(str(run.folder), gone=True) is None
    (home.folder / "gate").touch()
    assert how(run.wait()) == ("completed", "done")


def test_a_run_whose_job_never_began_leaves_no_secret(home: Home) -> None:
    run = queued(home, "x", waiting="waits in Slurm's queue (Resources)")
    view = inspect(str(run.folder))
    assert (view.standing.status, view.doing) == ("queued", "waits in Slurm's queue (Resources)")
    assert not view.is_due(view.plan.created_at or 0 + 1e6)
    assert conclude(str(run.folder), never_came="The window was never opened.") is None
    assert how(conclude(str(run.folder), never_came="No.", gone=True)) == ("failed", "window")
    assert not (run.folder / directory.HANDED).exists()


def test_a_slurm_that_does_not_answer_costs_no_run(home: Home) -> None:
    run = queued(home, "x")
    keeper = subprocess.Popen([sys.executable, "-P", "-c", KEEP], env=home.environment)
    try:
        state = home.state / "machines" / "slurm.json"
        said = eventually(lambda: state.exists() and json.loads(state.read_text()))
        assert said["unreachableSince"] is not None
        assert "squeue is not in the PATH" in said["why"]
        assert inspect(str(run.folder)).standing.status == "queued"
        conclude(str(run.folder), never_came="No.", gone=True)
        assert keeper.wait(20) == 0, "it has nothing to keep any more"
    finally:
        keeper.kill()
        keeper.wait()


def caller(home: Home, folder: Path | None = None) -> Caller:
    return Caller(home.environment, str(folder or home.project))


def newest(home: Home) -> Path:
    runs = [path for path in (home.state / "runs").iterdir() if not path.name.startswith(".")]
    return max(runs, key=lambda path: inspect(str(path)).plan.created_at or 0)


def again(launcher: Launcher, run: Run) -> None:
    resume.retry(launcher, str(run.folder), resume.WantedRun(""))


def onward(launcher: Launcher, run: Run) -> None:
    resume.resume(launcher, run.run_id, resume.WantedRun("done two"))


@pytest.mark.parametrize("go_on", [again, onward])
def test_a_run_in_slurm_goes_on_there_as_any_run_does_here(
    home: Home, go_on: Callable[[Launcher, Run], None]
) -> None:
    run = queued(home, "done one", partition="gpu", options=["--time=5"], plan={"keepBackground": True})
    home.be_watched()
    run.start().wait()
    elsewhere = home.folder / "elsewhere"
    elsewhere.mkdir()
    launcher = Launcher(caller(home, elsewhere), home.environment, umask=0o077)
    with pytest.raises(Unusable, match="sbatch is not in the PATH"):
        go_on(launcher, run)
    found, before = inspect(str(newest(home))), inspect(str(run.folder))
    assert found.run_id != run.run_id
    assert (found.plan.cwd, found.plan.keep_background) == (str(home.project), True)
    assert found.machine is not None
    assert (found.machine["partition"], found.machine["options"]) == ("gpu", ["--time=5"])
    assert (found.plan.session_id == before.plan.session_id) == (go_on is onward)
    assert found.plan.resumes == (run.run_id if go_on is onward else None)


@pytest.mark.parametrize(
    ("marker", "is_far"),
    [({}, False), ({"engine": "ssh", "host": "box"}, True), ({"engine": "ssh", "host": None}, True)],
)
def test_another_machine_has_a_run_unless_it_is_in_our_slurm(
    home: Home, marker: dict[str, Any], *, is_far: bool
) -> None:
    assert inspect(str(queued(home, "x", **marker).folder)).is_far == is_far
    assert not inspect(str(home.run("x").folder)).is_far


def test_a_message_to_a_run_in_slurm_goes_into_its_inbox(home: Home) -> None:
    run = queued(home, "x", plan={"driver": "live"})
    said: list[str] = []

    def say() -> None:
        try:
            Sending(str(run.folder)).send("go on", "steer")
        except NotPossible as why:
            said.append(why.kind)

    saying = threading.Thread(target=say)
    saying.start()
    eventually(lambda: said or (run.folder / logs.INBOX).exists())
    conclude(str(run.folder), never_came="No.", gone=True)
    saying.join()
    assert said == ["run-ended"]
    assert "go on" in (run.folder / logs.INBOX).read_text()


def test_a_machine_that_cannot_be_asked_keeps_no_other_run_alive(home: Home) -> None:
    away, waits = queued(home, "x", engine="ssh", host="nowhere"), queued(home, "x", state="waiting")
    with pytest.raises(TmuxAgentsError, match="nowhere"):
        stopping.stop([str(away.folder), str(waits.folder)])
    assert how(waits.result()) == ("aborted", "stopped")
    assert away.result() is None


def test_a_run_in_slurm_is_removed_without_another_machine(home: Home) -> None:
    run = queued(home, "x")
    conclude(str(run.folder), never_came="No.", gone=True)
    pruned = prune.prune_named([run.run_id], caller(home))
    assert (pruned.warnings, run.folder.exists()) == ([], False)


def submit(home: Home, **more: Any) -> None:
    launcher = Launcher(caller(home), home.environment, umask=0o077)
    project = str(home.project)
    request = LaunchRequest("done x", project, project, model="mock/mock-text", on="slurm", **more)
    job.submit_run(launcher, launcher.prepare(request))


def test_without_slurm_the_run_ends_and_the_reason_is_said(home: Home) -> None:
    home.be_unwatched()
    with pytest.raises(Unusable, match="sbatch is not in the PATH") as refusal:
        submit(home)
    assert (refusal.value.exit_code, refusal.value.kind) == (3, "unreachable")
    (folder,) = [path for path in (home.state / "runs").iterdir() if not path.name.startswith(".")]
    assert how(directory.read_result(str(folder))) == ("failed", "window")
    assert not (folder / directory.HANDED).exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"sbatch": ["--array=1-3"]}, "a run is one job"),
        ({"driver": "live"}, "needs a window"),
    ],
)
def test_what_cannot_be_a_job_is_refused_before_anything_is_made(
    home: Home, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadRequest, match=said):
        submit(home, **more)
    assert not (home.state / "runs").exists()


def test_a_job_is_handed_in_by_one_process_and_once(home: Home) -> None:
    run = queued(home, "x")
    assert job.submit(str(run.folder), home.environment) == "7"
    held = writing.lock(str(run.folder), 0.0, job.SUBMIT_LOCK)
    assert held is not None
    with pytest.raises(NotPossible):
        job.submit(str(run.folder), home.environment)
    os.close(held)
