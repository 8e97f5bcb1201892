"""Where it is measured: a private environment, private homes with known and live runs. Nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sysconfig
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.benchmark.measure import until
from tests import plans
from tests.harness import REPOSITORY, Home
from tests.status.watchers import begun, told, wrapped_by
from tmuxagents.launch import plan
from tmuxagents.runs import directory, events, writing
from tmuxagents.system import watcher_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

# What pip writes since 25.2, and uv; before, the script imported `re` for the sake of Windows.
_ENTRY = """#!{python}
import sys
from tmuxagents.__main__ import main
if __name__ == '__main__':
    sys.argv[0] = sys.argv[0].removesuffix('.exe')
    sys.exit(main())
"""


class Stage:
    """One run of the benchmark: its folder, how thorough it is."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self.python = str(_installed(folder / "installed"))
        self.entry = str(Path(self.python).with_name("tmuxagents"))

    def times(self, count: int) -> int:
        """Return how often something is measured."""
        return max(5, count // 4) if self.quick else count

    @contextlib.contextmanager
    def home(self, *, known: int = 0, live: int = 0) -> Iterator[Stand]:
        """Lend a home with so many runs; of these so many live. Stand in its project."""
        made = Stand(Home(self.folder / secrets.token_hex(4)))
        before = os.getcwd()
        try:
            made.fill(known - live, live)
            os.chdir(made.home.project)
            yield made
        finally:
            os.chdir(before)
            made.leave()


class CountedTmux:
    """A `tmux` that writes down how it is called, and is tmux then."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "tmux.log"
        self._shims = folder / "bin"
        self._shims.mkdir()
        self.forget()
        shim = self._shims / "tmux"
        shim.write_text(f'#!/bin/sh\necho "$*" >>{self._log}\nexec {shutil.which("tmux")} "$@"\n')
        shim.chmod(0o755)

    def path(self, path: str) -> str:
        """Return a PATH on which it comes first."""
        return f"{self._shims}:{path}"

    def forget(self) -> None:
        """Begin to count."""
        self._log.write_text("")

    def made(self, word: str = "") -> int:
        """Return how many calls were made; of those with a word in them."""
        return sum(word in line for line in self._log.read_text().splitlines())


def _installed(folder: Path) -> Path:
    """Make an environment as that of a person is; ours has hooks of tools that only its developers need."""
    if not folder.exists():
        venv.create(folder, symlinks=True)
        (site,) = folder.glob("lib/python*/site-packages")
        (site / "bench.pth").write_text(f"{REPOSITORY}\n{sysconfig.get_path('purelib')}\n")
        entry = folder / "bin" / "tmuxagents"
        entry.write_text(_ENTRY.format(python=folder / "bin" / "python"))
        entry.chmod(0o755)
    return folder / "bin" / "python"


class Stand:
    """A home with runs, and the processes that stand for their wrappers."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.live: list[str] = []
        self.ended: list[str] = []
        self._sleepers: dict[str, subprocess.Popen[bytes]] = {}

    def fill(self, ended: int, live: int) -> None:
        """Make runs: their directories are whole, and nobody has looked at them yet."""
        for number in range(ended):
            self.ended.append(self._make(f"Look at part {number} of the tree and report.", ended=True))
        for number in range(live):
            self.add_live(f"Read part {number} of the tree and report.")
        past = time.time() - 10  # a folder that has just changed is read again by everybody
        runs = self.home.state / "runs"
        if runs.exists():
            os.utime(runs, (past, past))

    def add_live(self, task: str, *, tmux: dict[str, Any] | None = None, **plan: Any) -> str:
        """Make a run that works: its wrapper is a process that sleeps. `tmux`: where its window would be."""
        run = self.home.run(task, createdAt=round(time.time(), 3), **plan)
        sleeper = subprocess.Popen(["sleep", "1000"])
        self._sleepers[run.run_id] = sleeper
        wrapped_by(run, sleeper.pid, tmux=tmux)
        calls = [events.tool_call(f"call_{n}", "read", {"path": f"src/part{n}.py"}) for n in range(8)]
        told(run, begun(), *calls, events.assistant_text("I have seen the first part; now the rest of it."))
        self.live.append(run.run_id)
        return run.run_id

    def conclude(self, run_id: str) -> None:
        """Write how a run has ended, as its wrapper does before it goes."""
        writing.write_result(f"{self.home.state}/runs/{run_id}", _result(run_id))

    def let_go(self, run_id: str) -> None:
        """End the process that stands for a wrapper."""
        self._sleepers[run_id].kill()

    def forget(self, run_id: str) -> None:
        """Reap it."""
        self._sleepers.pop(run_id).wait()
        self.live.remove(run_id)

    def _make(self, task: str, *, ended: bool) -> str:
        run_id = secrets.token_hex(8)
        project = str(self.home.project)
        request = plan.LaunchRequest(
            task=task, cwd=project, project=project, model="mock/mock-text", timeout=60
        )
        meta = plans.document(request, run_id=run_id, now=time.time())
        folder = self.home.state / "runs" / run_id
        folder.mkdir(parents=True)
        (folder / directory.META).write_text(json.dumps(meta))
        if ended:
            (folder / directory.RESULT).write_text(json.dumps(_result(run_id)))
        return run_id

    def settle(self) -> None:
        """Wait until no directory counts as just changed."""
        time.sleep(2.2)

    def watch(self) -> int:
        """Have a watcher; return its pid."""
        watcher_lock.ensure(str(self.home.state), self.home.environment)
        until(self.home.watcher)
        found = self.home.watcher()
        if found is None:
            raise RuntimeError("the watcher has left")
        return found[0]

    def call(self, *arguments: str) -> str:
        """Call the command; return what it prints."""
        done = self.home.command(*arguments)
        if done.returncode != 0:
            raise RuntimeError(f"{arguments} left with {done.returncode}: {done.stderr}")
        return done.stdout

    def leave(self) -> None:
        """End whatever was started here."""
        for sleeper in self._sleepers.values():
            sleeper.kill()
            sleeper.wait()
        self.home.end_all()


def _result(run_id: str) -> dict[str, Any]:
    now = round(time.time(), 3)
    return {
        "v": 1,
        "runId": run_id,
        "sessionId": run_id,
        "status": "completed",
        "reason": "done",
        "output": "All of it was read.",
        "startedAt": now - 60,
        "endedAt": now,
        "durationMs": 60000,
    }
