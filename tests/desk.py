"""A place from which to launch: a home without any tmux server, and the installed command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness import eventually
from tests.status.watchers import COMMAND
from tmuxagents.runs import directory
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import process

if TYPE_CHECKING:
    from tests.harness import Home

ID = re.compile("[0-9a-f]{16}\n")


class Desk:
    """A person's or agent's place: a home without any tmux server, and the command."""

    def __init__(self, home: Home, sockets: Path) -> None:
        self.home = home
        self.sockets = sockets / f"tmux-{os.getuid()}"
        sockets.mkdir()
        home.environment |= {"TMUX_TMPDIR": str(sockets), "CHILD_RECORD": str(home.record)}
        home.be_unwatched()

    def __call__(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        environment = self.home.environment | more.pop("variables", {})
        return self.home.command(*arguments, env=environment, **more)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        self.home.meet_agent()
        return subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.home.project,
            env=self.home.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def launch(self, *arguments: str, **more: Any) -> str:
        done = self("launch", *arguments, **more)
        assert (done.returncode, ID.fullmatch(done.stdout) is not None) == (0, True), done.stderr
        return done.stdout.strip()

    def folder(self, run_id: str) -> Path:
        return self.home.state / "runs" / run_id

    def runs(self) -> list[str]:
        folder = self.home.state / "runs"
        return sorted(os.listdir(folder)) if folder.exists() else []

    def made(self) -> list[str]:
        """Return the runs, without those that are just being written down."""
        return [run_id for run_id in self.runs() if not run_id.startswith(".")]

    def result(self, run_id: str) -> dict[str, Any]:
        """Wait for the result of a run, and until its wrapper has left: before that it has not ended."""
        folder = str(self.folder(run_id))
        found: dict[str, Any] = eventually(lambda: directory.read_result(folder), 30)
        eventually(lambda: inspect(folder).ended)
        return found

    def wait_for(self, run_id: str, word: str) -> None:
        """Wait until an event log holds a word."""
        log = self.folder(run_id) / "events.jsonl"
        eventually(lambda: log.exists() and word in log.read_text())

    def tmux(self, *arguments: str, socket: str = "tmuxagents") -> str:
        argv = ["tmux", "-u", "-S", str(self.sockets / socket), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    def windows(self, socket: str = "tmuxagents") -> dict[str, str]:
        """Return the windows of runs: run -> window."""
        lines = self.tmux("list-windows", "-a", "-F", "#{@tmuxagents_run} #{window_id}", socket=socket)
        pairs = (line.split(" ") for line in lines.splitlines())
        return {run_id: window for run_id, window in pairs if run_id}

    def watchers(self) -> list[int]:
        """Return the watchers of this home: every process that was started as one.

        What a watcher starts looks like it for a moment, and is none.
        """
        found: dict[int, int] = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):
                argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if str(self.home.state).encode() in argv and any(b"_watch.py" in word for word in argv):
                    stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
                    found[int(pid)] = int(stat.rpartition(")")[2].split()[1])
        return [pid for pid, parent in found.items() if parent not in found]

    def leave(self) -> None:
        """End everything: servers, wrappers, children."""
        for socket in self.sockets.iterdir() if self.sockets.exists() else ():
            argv = ["tmux", "-S", str(socket), "kill-server"]
            subprocess.run(argv, check=False, capture_output=True, timeout=10)
        for run_id in self.runs():
            identity = directory.identity_of(directory.read_wrapper(str(self.folder(run_id))))
            if identity is not None and not process.wait_gone(identity.pid, identity.start_time, 10):
                process.send(identity.pid, identity.start_time, signal.SIGKILL)
