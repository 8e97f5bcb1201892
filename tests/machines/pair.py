"""Two machines: a home here, one in the lab, and a model server in the far network.

A scripted child over there waits at gates, files that both machines see: the lab has a network and processes
of its own, and this machine's disk.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.desk import ID, Desk
from tests.harness import MODEL_SERVER, REPOSITORY, SCRIPTED, Home, eventually
from tests.machines.lab import NAME, Lab
from tests.status.watchers import COMMAND
from tests.terminal import Terminal
from tmuxagents.machines import build, hosts, link
from tmuxagents.machines.follow import APPENDED, WHOLE
from tmuxagents.runs import directory
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Iterator

HOOK = REPOSITORY / "tests" / "children" / "hook.py"
LONG_S = 45.0  # the machine may be slow; nothing here waits for time to pass
COPIED = (*APPENDED, *WHOLE, directory.RESULT)


class Pair:
    """A person's place here, and the machine over there that they send children to."""

    def __init__(self, *, real: str | None = None, spaces: bool | None = None, **variables: str) -> None:
        """`real`: the real pi, for children that are no scripted ones. `variables`: of both sides."""
        self.lab = Lab(spaces=spaces)
        self._real = real
        self._variables = variables
        self._models: subprocess.Popen[bytes] | None = None
        self._gates = itertools.count()
        self.people: list[Terminal] = []
        self.record = self.lab.folder / "record"  # of the children over there
        self.breaks = self.lab.folder / "breaks"  # is it there, the next hand-over breaks once it is done
        self.told = self.lab.folder / "told"  # each ending that was announced here

    def __enter__(self) -> Self:
        self.lab.__enter__()
        try:
            self._furnish_there()
            self._furnish_here()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for person in self.people:
            person.close()
        self.lab.mend()
        self.end_near()
        if self._models is not None:
            self._models.terminate()
            self._models.wait()
        self.lab.__exit__()

    # --- furniture

    def _furnish_there(self) -> None:
        lab = self.lab
        agent_dir = lab.home / ".pi/agent"
        agent_dir.mkdir(parents=True)
        (lab.home / "work").mkdir()
        self.record.touch()
        if self._real is not None:
            argv = [
                sys.executable,
                str(MODEL_SERVER),
                f"--agent-dir={agent_dir}",
                f"--log={lab.folder}/asked",
            ]
            port = lab.folder / "port"
            self._models = lab.far_popen([*argv, f"--port-file={port}"], stdout=subprocess.DEVNULL)
            eventually(lambda: port.exists() and port.read_text().strip(), LONG_S)
            lab.have("node", str(Path(self._real).parent / "node"))
        lab.have("pi", self._real or SCRIPTED)
        lab.export(
            {
                "TMUXAGENTS_DEFAULT_MODEL": "mock/mock-text",
                "PI_CODING_AGENT_DIR": str(agent_dir),
                "CHILD_RECORD": str(self.record),
                **self._variables,
            }
        )
        # A hand-over that breaks: the far machine has made the run, and its answer gets nowhere.
        lab.program(
            "tmuxagents-there",
            f'if [ "$2" = launch ] && rm {self.breaks} 2>/dev/null; then\n'
            f'  {shlex.quote(COMMAND[0])} "$@" | head -n 1; touch {self.breaks}.done; sleep 600\nfi\n'
            f'exec {shlex.quote(COMMAND[0])} "$@"',
        )

    def _furnish_here(self) -> None:
        self.home = Home(self.lab.folder / "n")
        self.home.environment |= {**self.lab.near, **self._variables}
        self.home.be_watched()
        self.desk = Desk(self.home, self.lab.folder / "t")
        program = self.lab.bin / "tmuxagents-there"
        self.host = hosts.Host(
            NAME, "ssh", NAME, (str(program),), str(self.lab.state), build.version(), cwd="~/work"
        )
        hosts.write_host(self.host, self.home.environment)
        hook = [sys.executable, "-I", "-S", str(HOOK), str(self.told)]
        (self.home.agent_dir / "settings.json").write_text(json.dumps({"subagents": {"onEnd": hook}}))

    # --- what a person here does

    def __call__(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Call the command here."""
        return self.desk(*arguments, **more)

    def far(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call the command over there, past everything that is tested."""
        return self.lab.ssh(shlex.join([*COMMAND, *arguments]))

    def launch(self, *arguments: str, **more: Any) -> str:
        """Launch a run over there; return its id."""
        done = self("launch", "--on", NAME, *arguments, **more)
        assert (done.returncode, ID.fullmatch(done.stdout) is not None) == (0, True), done.stderr
        return done.stdout.strip()

    def gate(self) -> Path:
        """Return a file that children can wait for."""
        return self.lab.folder / f"gate-{next(self._gates)}"

    def at_gate(self, *arguments: str, answer: str = "fine") -> tuple[str, Path]:
        """Launch a run whose child is at work and waits at a gate; return it when that is known here."""
        gate = self.gate()
        run_id = self.launch(*arguments, waiting(gate, answer))
        self.hears(run_id, "at work")
        return run_id, gate

    def run(self, run_id: str) -> dict[str, Any]:
        """Return a run as poll tells it here."""
        done = self("poll", "-a", "--json", run_id)
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)["runs"][0]
        return found

    def hears(self, run_id: str, word: str) -> None:
        """Wait until a word is in the events here."""
        log = self.near_dir(run_id) / directory.EVENTS
        eventually(lambda: log.exists() and word in log.read_text(), LONG_S)

    def result(self, run_id: str) -> dict[str, Any]:
        """Wait for the result of a run here."""
        run_dir = str(self.near_dir(run_id))
        found: dict[str, Any] = eventually(lambda: directory.read_result(run_dir), LONG_S)
        return found

    def how(self, run_id: str) -> tuple[str, str]:
        """Wait for the end of a run; return status and reason."""
        result = self.result(run_id)
        return result["status"], result["reason"]

    def person(self, *argv: str) -> Terminal:
        """Let a person start a program at a terminal here."""
        made = Terminal([*argv], self.home.environment, self.home.project)
        self.people.append(made)
        return made

    def screen(self, run_id: str) -> str:
        """Return what the window of a run shows here."""
        window = self.desk.windows()[run_id]
        return self.desk.tmux("capture-pane", "-p", "-S", "-", "-t", window)

    def far_tmux(self, *arguments: str) -> str:
        """Carry out a command on the tmux server over there."""
        socket = self.lab.folder / "tmux" / f"tmux-{os.getuid()}" / "tmuxagents"
        argv = ["tmux", "-u", "-S", str(socket), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    # --- what there is

    def near_dir(self, run_id: str) -> Path:
        return self.home.state / "runs" / run_id

    def far_dir(self, run_id: str) -> Path:
        return self.lab.state / "runs" / run_id

    def far_runs(self) -> set[str]:
        folder = self.lab.state / "runs"
        return set(os.listdir(folder)) if folder.exists() else set()

    def differing(self, run_id: str) -> list[str]:
        """Return the files of an ended run that are not the same on both sides."""
        return [
            name
            for name in COPIED
            if _text(self.near_dir(run_id) / name) != _text(self.far_dir(run_id) / name)
        ]

    def tellings(self, run_id: str) -> int:
        """Return how often the end of a run was announced here."""
        lines = self.told.read_text().splitlines() if self.told.exists() else []
        return sum(line.startswith(run_id) for line in lines)

    def since(self) -> float | None:
        """Return since when the far machine is said to be unreachable."""
        return link.unreachable_since(str(self.home.state), NAME)

    # --- who is here

    def near_processes(self, word: str = "") -> list[tuple[int, int]]:
        """Return pid and start time of what runs for this home, with a word in its command line."""
        mark, found = b"HOME=" + bytes(self.home.folder), []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                argv = (
                    Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
                if word in argv and mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    started = process.start_time(int(name))
                    found += [(int(name), started)] if started is not None else []
        return found

    def mirrors(self) -> list[tuple[int, int]]:
        """Return the mirrors here; what one starts looks like it for a moment."""
        return self.near_processes(f"_far mirror {NAME}")

    def ssh(self) -> list[tuple[int, int]]:
        """Return the clients of ssh here, and the masters of their connections, which hide what they are."""
        sockets = [str(path) for path in self.lab.masters()]
        found = self.near_processes("ControlPersist")
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                said = Path(f"/proc/{name}/cmdline").read_text(errors="replace")
                started = process.start_time(int(name)) if said.startswith("ssh: ") else None
                if started is not None and any(one in said for one in sockets):
                    found.append((int(name), started))
        return found

    def watcher(self) -> tuple[int, int]:
        """Return the watcher here."""
        found: tuple[int, int] = eventually(self.home.watcher, LONG_S)
        return found

    def kill(self, processes: list[tuple[int, int]]) -> None:
        """End processes as kill -9 does."""
        for pid, started in processes:
            process.send(pid, started, signal.SIGKILL)
            assert process.wait_gone(pid, started, 10)

    @contextlib.contextmanager
    def cut(self) -> Iterator[float]:
        """Cut the link for a while."""
        self.lab.cut()
        try:
            yield time.time()
        finally:
            self.lab.mend()

    def end_near(self) -> None:
        """End all that runs here."""
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            self.desk.tmux("kill-server")
        deadline = time.monotonic() + 20
        while (left := self.near_processes()) and time.monotonic() < deadline:
            for pid, started in left:
                process.send(pid, started, signal.SIGCONT, signal.SIGKILL)
            time.sleep(0.05)


def waiting(gate: Path, answer: str = "fine") -> str:
    """Return the script of a child that is at work, waits at a gate, and answers."""
    return f"pid started\nbegin\nanswer toolUse at work\ngate {gate}\nanswer stop {answer}\nsettle"


def _text(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
