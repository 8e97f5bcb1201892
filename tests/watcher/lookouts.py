"""Shared by the flows of the watcher: a watched home, its watchers, their announcements and displays."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness import eventually
from tests.status.watchers import begun, told, wrapped_by
from tmuxagents.registry import database
from tmuxagents.runs import directory, writing
from tmuxagents.system import process, watcher_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness import Home, Run, TmuxServer
    from tmuxagents.registry.database import Row

HOOK = Path(__file__).parents[1] / "children" / "hook.py"


class Lookout:
    """A home with a watcher, and the log of its onEnd command."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.told = home.folder / "told"
        home.be_watched()

    # --- the watcher

    def start(self, **variables: str) -> tuple[int, int]:
        """Start a watcher if there is none; return the watcher's pid and start time."""
        watcher_lock.ensure(str(self.home.state), self.home.environment | variables)
        return self.watcher()

    def watcher(self) -> tuple[int, int]:
        found: tuple[int, int] = eventually(self.home.watcher)
        return found

    def kill(self) -> None:
        """Kill -9 the watcher, if there is one right now."""
        found = self.home.watcher()
        if found is not None:
            process.send(*found, signal.SIGKILL)
            assert process.wait_gone(*found, 5)

    def log(self) -> str:
        folder = self.home.state / "hosts" / process.host() / "logs"
        return "".join(path.read_text() for path in sorted(folder.glob("watcher.log*")))

    # --- what it has done

    def row(self, run: Run) -> Row | None:
        with database.open_file(database.path_of(str(self.home.state))) as book:
            return book.row(run.run_id)

    def has_saved(self, run: Run, **known: Any) -> bool:
        """Say whether the registry has these facts of a run."""
        row = self.row(run)
        return row is not None and {name: getattr(row, name) for name in known} == known

    def hook(self, *more: str) -> None:
        """Let onEnd write each announcement down."""
        self.settings(onEnd=[sys.executable, "-I", "-S", str(HOOK), str(self.told), *more])

    def settings(self, **values: Any) -> None:
        (self.home.agent_dir / "settings.json").write_text(json.dumps({"subagents": values}))

    def announced(self) -> list[str]:
        """Return the arguments of each call of onEnd: `runId status`."""
        return self.told.read_text().splitlines() if self.told.exists() else []


def settle(*runs: Run) -> None:
    """Wait until all these runs have been announced."""
    for run in runs:
        eventually(lambda run=run: directory.is_announced(str(run.folder)), 30)


def place_of(server: TmuxServer) -> dict[str, Any]:
    """Return the place that a wrapper in a window of this server records."""
    return {
        "socketPath": str(server.socket),
        "serverPid": server.pid,
        "serverStartTime": server.started,
    }


def shown(server: TmuxServer) -> str:
    return server.run("display-message", "-p", "#{E:@tmuxagents_status}")


@contextlib.contextmanager
def working(run: Run, server: TmuxServer | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that does nothing as the wrapper of a working run."""
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        try:
            wrapped_by(run, sleeper.pid, tmux=place_of(server) if server else None)
            told(run, begun())
            yield sleeper
        finally:
            sleeper.kill()


def end(run: Run, sleeper: subprocess.Popen[bytes], status: str = "completed", reason: str = "done") -> None:
    """Write how a run has ended, and let its wrapper go."""
    record(run, status, reason)
    sleeper.kill()
    sleeper.wait()


def record(run: Run, status: str = "completed", reason: str = "done", at: float | None = None) -> None:
    """Write how a run has ended, whatever its wrapper does."""
    result = {"v": 1, "runId": run.run_id, "status": status, "reason": reason}
    writing.write_result(str(run.folder), {**result, "endedAt": at or time.time()})
