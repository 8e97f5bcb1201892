"""One real Slurm, a home with runs in it, and the keeper of these."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness import Home, eventually
from tmuxagents.launch import job
from tmuxagents.launch.launch import Launcher
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.machines import link
from tmuxagents.registry.lookup import Caller
from tmuxagents.runs import directory
from tmuxagents.slurm import commands
from tmuxagents.system import process_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.slurm_lab import Lab

SECRET = "no-file-of-slurm-may-hold-this"
PATIENCE_S = 60.0
KEEP = "import os; from tmuxagents.watcher import keep; keep.keep(os.environ['TMUXAGENTS_HOME'], os.environ)"


class Ground:
    """One Slurm, one home, and the keeper of the home's runs."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.home = Home(folder)
        self.home.be_unwatched()
        (self.home.state / "runs").mkdir()
        self.environment = {
            **self.home.environment,
            **{name: value for name, value in lab.variables.items() if name != "PATH"},
            "PATH": f"{lab.variables['PATH'].split(':')[0]}:{self.home.environment['PATH']}",
            "CHILD_RECORD": str(self.home.record),
            "A_SECRET": SECRET,
        }
        self.keeper: subprocess.Popen[bytes] | None = None
        self.started: list[Run] = []

    def keep(self) -> None:
        """See that there is a keeper: it leaves when there is nothing to keep."""
        if self.keeper is None or self.keeper.poll() is not None:
            self.keeper = subprocess.Popen([sys.executable, "-P", "-c", KEEP], env=self.environment)

    def leave_alone(self) -> None:
        """End the keeper."""
        if self.keeper is not None:
            self.keeper.kill()
            self.keeper.wait()

    def launch(self, script: str, *options: str, partition: str | None = None) -> Run:
        """Hand in a run."""
        where = f"slurm:{partition}" if partition else "slurm"
        return self.run(submit(self.environment, str(self.home.project), script, on=where, sbatch=options))

    def run(self, run_dir: str) -> Run:
        run = Run(self, Path(run_dir))
        self.started.append(run)
        return run

    def state(self) -> dict[str, Any]:
        """Return what the keeper says of Slurm."""
        with suppress(OSError, ValueError):
            found: dict[str, Any] = json.loads((self.home.state / "machines" / "slurm.json").read_text())
            return found
        return {}


def submit(
    environment: Mapping[str, str],
    project: str,
    script: str,
    *,
    on: str = "slurm",
    sbatch: tuple[str, ...] = (),
) -> str:
    """Hand in a run, and return its folder."""
    launcher = Launcher(Caller(environment, project), environment, umask=0o027)
    request = LaunchRequest(
        *(script, project, project), model="mock/mock-text", timeout=600, on=on, sbatch=sbatch
    )
    return job.submit_run(launcher, launcher.prepare(request))[0]


def quiet(home: Home) -> None:
    """End the watcher of a home, and wait until no keeper and no mirror is at work in it."""
    home.end_all()
    for lock in (home.state / "machines").glob("*.lock"):
        held = link.take(str(home.state), lock.stem, PATIENCE_S)
        assert held is not None, f"{lock} is held"
        os.close(held)


class Run:
    """One run in Slurm."""

    def __init__(self, ground: Ground, folder: Path) -> None:
        self.ground = ground
        self.folder = folder
        self.run_id = folder.name

    @property
    def job(self) -> str:
        job_id = commands.job_of(directory.read_machine(str(self.folder)) or {})
        assert job_id is not None, "Slurm has not confirmed it"
        return job_id

    def wait_for(self, word: str) -> None:
        """Wait until the events hold a word."""
        log = self.folder / "events.jsonl"
        eventually(lambda: log.exists() and f'"type":"{word}"' in log.read_text(), PATIENCE_S)

    def at_work(self) -> Run:
        """Wait until the child has founded what it is to found."""
        self.wait_for("run_started")
        eventually(lambda: any(self.children()), PATIENCE_S)
        time.sleep(0.3)
        return self

    def children(self) -> list[int]:
        return [row.pid for row in process_table.table(since=0) if row.marker == self.run_id]

    def wrapper(self) -> int:
        identity = directory.identity_of(directory.read_wrapper(str(self.folder)))
        assert identity is not None
        return identity.pid

    def step(self) -> int:
        """Return the pid of the slurmstepd of its job."""
        for pid in self.ground.lab.steps():
            if f"[{self.job}.batch]".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        raise AssertionError("its job has no slurmstepd")

    def ended(self, limit_s: float = PATIENCE_S) -> tuple[str, str]:
        """Wait for the result; return its status and reason."""

        def read() -> dict[str, Any] | None:
            self.ground.keep()
            return directory.read_result(str(self.folder))

        result: dict[str, Any] = eventually(read, limit_s)
        return str(result["status"]), str(result["reason"])

    def result(self) -> dict[str, Any]:
        return directory.read_result(str(self.folder)) or {}

    def starts(self) -> int:
        """Return how often a child was started."""
        log = self.folder / "events.jsonl"
        return log.read_text().count('"type":"run_started"') if log.exists() else 0
