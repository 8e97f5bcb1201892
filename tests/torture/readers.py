"""Hostile readers: several look at every run as fast as they can.

Meanwhile runs start, end, are killed, started twice and started too late. No reader may ever see a state that
is not so, and no state may go back.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tests.harness import BOOT, REPOSITORY, Home
from tmuxagents.errors import NoSuchRun
from tmuxagents.records import ABORTED, COMPLETED, FAILED, QUEUED, RUNNING
from tmuxagents.runs.conclude import NEVER_OPENED, conclude
from tmuxagents.runs.inspect import inspect

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness import Run

ORDER = {QUEUED: 0, RUNNING: 1, COMPLETED: 2, FAILED: 2, ABORTED: 2}
# What the child does, and the ending it then must have if nobody interferes.
SCRIPTS = {
    "pid started\ndone fine": ("completed", "done"),
    "pid started\nforge\nbegin\nanswer error no\nsettle": ("failed", "error"),
    "pid started\nbegin\nanswer length half\nsettle": ("failed", "length"),
    "pid started\nbegin\nanswer toolUse x\nsleep 0.05\nexit 3": ("failed", "exit"),
}
LOST = ("aborted", "lost")
NEVER = ("failed", "window")


def read(runs: Path, book: Path, stop: Path) -> None:
    """Be one reader: write down each change of each run that is seen, in order."""
    seen: dict[str, tuple[str, str | None]] = {}
    with book.open("w", encoding="utf-8") as lines:
        while not stop.exists():
            for name in os.listdir(runs):
                if name.startswith("."):
                    continue
                try:
                    standing = inspect(f"{runs}/{name}").standing
                except NoSuchRun:
                    continue
                now = (standing.status, standing.verdict.reason if standing.verdict else None)
                if seen.get(name) != now:
                    seen[name] = now
                    lines.write(json.dumps([name, *now]) + "\n")
                    lines.flush()


class Trial:
    """One run in the race, and what may become of it."""

    def __init__(self, run: Run, expected: tuple[str, str], dice: random.Random) -> None:
        self.run = run
        self.expected = expected
        self.late = dice.random() < 0.1
        self.twice = dice.random() < 0.2
        # A forged result under a wrapper that is killed -9 is beyond us (docs/run-directory.md), so not both.
        killed = dice.random() < 0.2 and "forge" not in run.meta["task"]
        self.kill_after = dice.uniform(0.0, 0.12) if killed else None
        self.started = run.folder / "started"

    def start(self) -> subprocess.Popen[bytes]:
        environment = {**self.run.environment(), "CHILD_RECORD": str(self.started)}
        argv = [sys.executable, "-I", "-S", str(BOOT), str(self.run.folder)]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            argv, stdin=quiet, stdout=quiet, stderr=quiet, env=environment, start_new_session=True
        )

    def carry_out(self) -> None:
        if self.late:
            conclude(str(self.run.folder), never_came=NEVER_OPENED)
        wrappers = [self.start() for _ in range(2 if self.twice else 1)]
        if self.kill_after is not None:
            time.sleep(self.kill_after)
            for wrapper in wrappers:
                wrapper.send_signal(signal.SIGKILL)
        for wrapper in wrappers:
            wrapper.wait(60)
        if self.run.result() is None:
            conclude(str(self.run.folder), never_came=NEVER_OPENED)

    def check(self, seen: list[tuple[str, str | None]]) -> list[str]:
        """Return what was wrong with what readers saw and what is recorded."""
        result: dict[str, Any] = self.run.result() or {}
        final = (result.get("status"), result.get("reason"))
        allowed = {NEVER} if self.late else {self.expected}
        if self.kill_after is not None and not self.late:
            allowed |= {LOST, NEVER}
        wrong = [] if final in allowed else [f"ended {final}, not {allowed}"]
        for before, after in itertools.pairwise(seen):
            if ORDER[after[0]] < ORDER[before[0]] or before[1] is not None:
                wrong.append(f"went from {before} to {after}")
        wrong += [f"was seen as {state}" for state in seen if state[1] is not None and state != final]
        children = self.started.read_text().count("started") if self.started.exists() else 0
        if children > (0 if self.late else 1):
            wrong.append(f"{children} children were started")
        return [f"{self.run.run_id}: {line}" for line in wrong]


def race(folder: Path, *, starts: int, readers: int, seed: int) -> list[str]:
    """Run the race; return what was wrong."""
    dice = random.Random(seed)
    home = Home(folder)
    trials = []
    for _ in range(starts):
        script, expected = dice.choice(list(SCRIPTS.items()))
        trials.append(Trial(home.run(script), expected, dice))
    stop = folder / "stop"
    runs = home.state / "runs"
    books = [folder / f"reader-{number}" for number in range(readers)]
    line = (
        "import sys, pathlib as p; from tests.torture.readers import read; read(*map(p.Path, sys.argv[1:]))"
    )
    watching = [
        subprocess.Popen([sys.executable, "-c", line, str(runs), str(book), str(stop)], cwd=REPOSITORY)
        for book in books
    ]
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(Trial.carry_out, trials))
        time.sleep(1.0)  # the readers look once more at the end
    finally:
        stop.touch()
        codes = [reader.wait(30) for reader in watching]
    wrong = [f"a reader ended with {code}" for code in codes if code]
    for book in books:
        seen: dict[str, list[tuple[str, str | None]]] = {}
        for entry in book.read_text().splitlines():
            name, status, reason = json.loads(entry)
            seen.setdefault(name, []).append((status, reason))
        for trial in trials:
            wrong += trial.check(seen.get(trial.run.run_id, []))
        if not any(len(states) > 1 for states in seen.values()):
            wrong.append("a reader saw no change at all")
    return wrong
