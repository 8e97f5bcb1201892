"""A storm on the queue: many short children, few slots, some wait for others, wrappers are killed at random.

Never one more than there are slots, each child started at most once, every run accounted for.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness import Home, TmuxServer, real_pi
from tests.torture import check_documents
from tmuxagents.runs import directory
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.harness import ModelServer

COMMAND = [str(Path(sys.executable).with_name("tmuxagents"))]
SLOTS = 4
LAUNCHERS = 4
AFTER, KILLED = 0.2, 0.15  # parts of all runs
LATEST_KILL_S, LONGEST_WORK_S = 1.5, 1.0  # after the launch; together they make a queue, and hit it
LIMIT_S = 300.0
LARGE = 100  # so many that some are hit
DONE, LOST, DEPENDENCY = ("completed", "done"), ("aborted", "lost"), ("failed", "dependency")


class Drop:
    """One run of the storm."""

    def __init__(self, number: int, dice: random.Random) -> None:
        self.number = number
        self.run_id = ""
        self.after: list[Drop] = []
        self.comes_after = dice.random() < AFTER
        self.works_s = dice.uniform(0.05, LONGEST_WORK_S)
        self.kill_after = dice.uniform(0.0, LATEST_KILL_S) if dice.random() < KILLED else None
        self.killed_at: float | None = None  # its wrapper lived then, and does not any more
        self.result: dict[str, Any] = {}

    @property
    def ending(self) -> tuple[str, str]:
        return self.result.get("status", "none"), self.result.get("reason", "none")

    def allowed(self) -> set[tuple[str, str]]:
        """Return how it may have ended, by what became of those that it waited for."""
        waited_in_vain = any(one.ending != DONE for one in self.after)
        planned = DEPENDENCY if waited_in_vain else DONE
        return {planned} if self.killed_at is None else {planned, LOST}


class Storm:
    """All of it. With `models` the children are the real pi."""

    def __init__(self, folder: Path, *, runs: int, seed: int, models: ModelServer | None = None) -> None:
        self._dice = random.Random(seed)
        self._drops = [Drop(number, self._dice) for number in range(runs)]
        self._models = models
        self._server = TmuxServer(folder)
        self._launched: list[Drop] = []
        self._lock = threading.Lock()
        self.home = Home(folder)
        self.home.be_watched()
        self.home.environment |= {
            "TMUXAGENTS_MAX_RUNNING": str(SLOTS),
            "TMUXAGENTS_SOCKET": str(self._server.socket),
            "CHILD_RECORD": str(self.home.record),
        }
        if models is not None:
            own = {"TMUXAGENTS_PI": real_pi(), "PI_CODING_AGENT_DIR": str(models.agent_dir)}
            self.home.environment |= own

    def carry_out(self) -> list[str]:
        """Let it rage; return what was wrong."""
        try:
            with self._server, ThreadPoolExecutor(LAUNCHERS) as pool:
                wrong = [line for said in pool.map(self._launch, self._drops) for line in said]
                wrong += self._wait()
                return wrong + self._judge()
        finally:
            self.home.end_all()

    # --- what is done ---

    def _task(self, drop: Drop) -> str:
        if self._models is not None:
            return f"#say:fine {drop.number}\nstorm {self.home.folder.name} {drop.number}"
        work = f"sleep {drop.works_s:.2f}\nanswer stop fine {drop.number}\nsettle"
        return f"pid started-{drop.number}\nbegin\n{work}"

    def _launch(self, drop: Drop) -> list[str]:
        with self._lock:
            if drop.comes_after and self._launched:
                drop.after = self._dice.sample(self._launched, min(2, len(self._launched)))
        after = [word for one in drop.after for word in ("--after", one.run_id)]
        done = self._command("launch", *after, self._task(drop))
        if done.returncode != 0:
            return [f"launch {drop.number}: {done.stderr}"]
        drop.run_id = done.stdout.strip()
        with self._lock:
            self._launched.append(drop)
        if drop.kill_after is not None:
            threading.Timer(drop.kill_after, self._kill, [drop]).start()
        return []

    def _kill(self, drop: Drop) -> None:
        """Kill a wrapper -9, if it still lives, and see it go."""
        identity = directory.identity_of(directory.read_wrapper(self._folder(drop)))
        if identity is None:
            return
        now = time.time()
        if process.send(identity.pid, identity.start_time, signal.SIGKILL):
            drop.killed_at = now

    def _wait(self) -> Iterable[str]:
        """Wait until each run is accounted for."""
        limit = time.monotonic() + LIMIT_S
        for drop in self._launched:
            while not drop.result:
                drop.result = directory.read_result(self._folder(drop)) or {}
                if time.monotonic() > limit:
                    return [f"{drop.run_id} ({drop.number}) has no ending"]
                time.sleep(0.02)
        return []

    def _command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.home.project,
            env=self.home.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def _folder(self, drop: Drop) -> str:
        return str(self.home.state / "runs" / drop.run_id)

    # --- what came of it ---

    def _judge(self) -> list[str]:
        wrong = [line for drop in self._launched for line in self._faults_of(drop)]
        most = max((self._at_work(drop) for drop in self._launched), default=0)
        if most > SLOTS:
            wrong.append(f"{most} runs were at work at once, with {SLOTS} slots")
        is_large = len(self._drops) >= LARGE
        if most < 2 or (is_large and not any(drop.killed_at for drop in self._launched)):
            wrong.append(f"it was no storm: at most {most} at once, or none killed")
        told = json.loads(self._command("poll", "-A", "-a", "--json").stdout)
        said = {run["runId"]: (run["status"], run["reason"]) for run in told["runs"]}
        wrong += [
            f"{drop.run_id}: poll says {said.get(drop.run_id)}, its result {drop.ending}"
            for drop in self._launched
            if said.get(drop.run_id) != drop.ending
        ]
        return wrong

    def _faults_of(self, drop: Drop) -> list[str]:
        wrong = []
        if drop.ending not in drop.allowed():
            wrong.append(f"ended {drop.ending}, not {sorted(drop.allowed())}")
        starts = self._starts(drop)
        if starts > 1 or (drop.ending == DONE and starts == 0) or (drop.ending == DEPENDENCY and starts):
            wrong.append(f"{starts} children were started, and it ended {drop.ending}")
        began = drop.result["startedAt"]
        early = [one.number for one in drop.after if began is not None and one.result["endedAt"] > began]
        if early:
            wrong.append(f"it began before {early} had ended")
        wrong += check_documents.faults(Path(self._folder(drop)))
        return [f"{drop.run_id} ({drop.number}): {line}" for line in wrong]

    def _starts(self, drop: Drop) -> int:
        if self._models is not None:
            return len(self._models.requests(self._task(drop)))  # each child asks once
        recorded = self.home.record.read_text().split("\n") if self.home.record.exists() else []
        return sum(line.endswith(f" started-{drop.number}") for line in recorded)

    def _at_work(self, drop: Drop) -> int:
        """Return how many runs surely held a slot when this one began."""
        began = drop.result["startedAt"]
        return 0 if began is None else sum(self._holds(one, began) for one in self._launched)

    def _holds(self, one: Drop, at: float) -> bool:
        started, ended = one.result["startedAt"], one.result["endedAt"]
        if started is None:
            return False
        return bool(started <= at < min(ended, one.killed_at or ended))


def rage(folder: Path, *, runs: int, seed: int, models: ModelServer | None = None) -> list[str]:
    """Carry out one storm; return what was wrong."""
    return Storm(folder, runs=runs, seed=seed, models=models).carry_out()
