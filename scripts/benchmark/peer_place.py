"""Where a peer lives while it is measured: a private folder and home. All that is started there is ended."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.benchmark.measure import until
from tests.harness import PATH
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Mapping

_PATIENCE_S = 180
_MARK = "BENCH_PEER"


class Missing(Exception):
    """A peer cannot be had here, or does not work; why."""


class Place:
    """A peer's private home: whatever is started there carries its mark, and is ended by it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = secrets.token_hex(8)
        self.made = folder / "made"
        self.home = folder / "home"
        self.sockets = folder / "t"  # the path of a socket is short, or none
        for each in (self.made, self.home, self.sockets):
            each.mkdir(parents=True)
        paths = [
            str(self.made / "bin"),
            str(self.made / "node_modules" / ".bin"),
            str(self.made / "usr" / "bin"),
        ]
        self.environment = {
            "PATH": ":".join([*paths, os.path.dirname(shutil.which("node") or "/bin/node"), PATH]),
            "HOME": str(self.home),
            "TMUX_TMPDIR": str(self.sockets),
            "TMPDIR": str(self.sockets),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            _MARK: self.mark,
        }

    def run(self, *argv: str, environment: Mapping[str, str] | None = None) -> str:
        """Carry out a command; return what it prints, or raise Missing."""
        try:
            done = subprocess.run(
                argv,
                cwd=self.home,
                env={**(self.environment if environment is None else environment), _MARK: self.mark},
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PATIENCE_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Missing(f"{os.path.basename(argv[0])}: {type(error).__name__}") from error
        if done.returncode != 0:
            print(done.stdout, done.stderr, file=sys.stderr)  # for whoever looks on: it may name this machine
            raise Missing(f"{os.path.basename(argv[0])} left with {done.returncode}")
        return done.stdout

    def find(self, program: str) -> str:
        """Return the path of a program of the peer."""
        found = shutil.which(program, path=self.environment["PATH"])
        if found is None:
            raise Missing(f"there is no {program}")
        return found

    def pip(self, *packages: str) -> None:
        """Install from the index of Python packages. The installer sees the machine's own settings."""
        own = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        self.run(sys.executable, "-m", "venv", "--clear", str(self.made), environment=own)
        self.run(str(self.made / "bin" / "python"), "-m", "pip", "install", "-q", *packages, environment=own)

    def npm(self, package: str) -> None:
        """Install from npm."""
        options = ["--prefix", str(self.made), "--no-audit", "--no-fund", "--no-update-notifier"]
        self.run(shutil.which("npm") or "npm", "install", *options, package, environment=dict(os.environ))

    def debian(self, package: str) -> None:
        """Unpack a Debian package, without installing it."""
        self.run(
            "sh", "-c", f'cd "{self.made}" && apt-get -q download {package}', environment=dict(os.environ)
        )
        (file,) = self.made.glob("*.deb")
        self.run("dpkg", "-x", str(file), str(self.made))

    def processes(self) -> dict[int, str]:
        """Return whatever lives and was started here: pid -> its program's name."""
        found = {}
        needle = f"{_MARK}={self.mark}".encode()
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            with contextlib.suppress(OSError):
                if needle in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found[pid] = Path(f"/proc/{pid}/comm").read_text().strip()
        return found

    def leave(self) -> None:
        """End whatever was started here, and remove it."""
        until(self._is_empty)
        shutil.rmtree(self.folder)

    def _is_empty(self) -> bool:
        there = self.processes()
        for pid in there:
            started = process.start_time(pid)
            if started is not None:
                process.send(pid, started, signal.SIGKILL)
        return not there
