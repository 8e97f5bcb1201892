"""A real Slurm of one node, for tests and for trying: `scripts/slurm_lab.py FOLDER [COMMAND...]`.

It runs Debian's own slurmctld, slurmd and munged from packages that are unpacked into .dev/slurm. Nothing
is installed, and no service of the machine is started or changed. Configuration, key, sockets, spool and
logs are private to FOLDER, and the ports are free ones of the loopback device. The daemons run as the user
who calls, and end with COMMAND.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "munge")
DAEMONS = ("munged", "slurmctld", "slurmd")
SLOTS, MEMORY_MB = 8, 4096  # of the node, whatever the machine has: the children of tests only wait
KILL_WAIT_S = 10  # between TERM and KILL; Slurm's own default is 30
_UP_S, _DOWN_S = 30.0, 10.0

SLURM_CONF = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdLogFile={folder}/log/slurmd.log
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin={task_plugin}
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=512
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_min_interval=1000,batch_sched_delay=0
MessageTimeout=10
SlurmdTimeout=10
KillWait={kill_wait}
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 CPUs={slots} RealMemory={memory} State=UNKNOWN
PartitionName=main Nodes={node} Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes={node} MaxTime=INFINITE State=UP PriorityTier=9
"""
CGROUP_CONF = """\
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainRAMSpace=yes
"""
_MEMORY = Path("/sys/fs/cgroup/memory")  # of the first version of cgroups; in the second, Slurm wants systemd


class NoSlurm(Exception):
    """Why Slurm cannot be started here, in a sentence."""


def unpacked(folder: Path) -> Path:
    """Return the folder with the programs; get and unpack Debian's packages once."""
    whole = folder / "root"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not whole.is_dir():
            making = folder / "root.new"
            for package in _downloaded(folder):
                _called(
                    ["dpkg-deb", "-x", str(package), str(making)], "A package of Slurm cannot be unpacked"
                )
            for name in ("slurmctld", "slurmd", "slurmstepd"):  # each asks by its name what it is
                (making / "usr/sbin" / name).symlink_to(f"{name}-wlm")
            making.rename(whole)
    return whole


def _downloaded(folder: Path) -> list[Path]:
    """Get the packages, and those that they need and this machine lacks; apt checks what it gets."""
    why = "Debian's packages of Slurm cannot be had"
    asked = ["apt-get", "install", "--simulate", "--no-install-recommends", *PACKAGES]
    plan = _called(asked, why)
    lacking = {line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")}
    _called(["apt-get", "download", *sorted(lacking | set(PACKAGES))], why, cwd=folder)
    return sorted(folder.glob("*.deb"))


def _called(argv: list[str], why: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoSlurm(f"{why}: {error}.") from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise NoSlurm(f"{why} ({' '.join(argv[:2])}: {said[-1] if said else done.returncode}).")
    return done.stdout


class Lab:
    """One Slurm: its daemons are our children, and nobody else's."""

    def __init__(self, folder: Path, *, kill_wait_s: int = KILL_WAIT_S) -> None:
        self.folder = folder.resolve()
        self._root = unpacked(ROOT / ".dev" / "slurm")
        self._kill_wait_s = kill_wait_s
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.node = f"lab{secrets.token_hex(3)}"  # in the names of its cgroups, too
        self.limits_memory = os.geteuid() == 0 and (_MEMORY / "memory.limit_in_bytes").exists()
        self._plugins = next((self._root / "usr/lib").glob("*/slurm-wlm"))
        self.variables = {
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "LD_LIBRARY_PATH": f"{self._plugins}:{self._plugins.parent}",
            "PATH": f"{self._root / 'usr/bin'}:{os.environ.get('PATH', os.defpath)}",
        }

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def up(self) -> None:
        """Start all daemons and wait until the node takes jobs."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in ("state", "spool", "log"):
            (self.folder / name).mkdir(exist_ok=True)
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
        (self.folder / "slurm.conf").write_text(self._configuration(), "utf-8")
        if self.limits_memory:
            (self.folder / "cgroup.conf").write_text(CGROUP_CONF, "utf-8")
        try:
            for name in DAEMONS:
                self.start(name)
            self._wait_for_node()
        except BaseException:
            self.down()
            raise

    def _configuration(self) -> str:
        with _free_ports(2) as ports:
            return SLURM_CONF.format(
                host=socket.gethostname().split(".")[0],
                user=pwd.getpwuid(os.getuid()).pw_name,
                ctld_port=ports[0],
                slurmd_port=ports[1],
                folder=self.folder,
                node=self.node,
                task_plugin="task/cgroup" if self.limits_memory else "task/none",
                plugins=self._plugins,
                kill_wait=self._kill_wait_s,
                slots=SLOTS,
                memory=MEMORY_MB,
            )

    def start(self, name: str) -> None:
        """Start one daemon."""
        programs, folder = self._root / "usr/sbin", self.folder
        argv = {
            "munged": [
                *(f"{programs}/munged", "--foreground", "--force", f"--key-file={folder}/munge.key"),
                *(f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid"),
                *(f"--seed-file={folder}/munge.seed", f"--log-file={folder}/log/munge"),
            ],
            "slurmctld": [f"{programs}/slurmctld", "-D"],
            "slurmd": [f"{programs}/slurmd", "-D", "-N", self.node, "-d", f"{programs}/slurmstepd"],
        }[name]
        environment = {**self.variables, "HOME": str(folder), "LANG": "C.UTF-8"}
        with (folder / "log" / f"{name}.out").open("ab") as log:
            self._running[name] = subprocess.Popen(
                argv,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if name == "munged":
            self._eventually((folder / "munge.socket").is_socket, "munged")

    def end(self, name: str, number: int = signal.SIGTERM) -> None:
        """End one daemon, and wait until it has."""
        daemon = self._running.pop(name, None)
        if daemon is None:
            return
        daemon.send_signal(number)
        try:
            daemon.wait(_DOWN_S)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def down(self) -> None:
        """Cancel what is left, end the daemons, and what they started."""
        if "slurmctld" in self._running and "slurmd" in self._running:
            with contextlib.suppress(subprocess.SubprocessError, OSError):
                self.call("scancel", "--user", pwd.getpwuid(os.getuid()).pw_name, limit_s=5)
                deadline = time.monotonic() + _DOWN_S
                while self.call("squeue", "--noheader", limit_s=5).strip() and time.monotonic() < deadline:
                    time.sleep(0.2)
        for name in reversed(DAEMONS):
            self.end(name)
        for pid in self.steps():  # of a slurmd that was killed
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        group = _MEMORY / f"slurm_{self.node}"
        deadline = time.monotonic() + _DOWN_S
        while group.exists() and time.monotonic() < deadline:  # what is in it may still be ending
            for folder, _, _ in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
            time.sleep(0.05)

    def steps(self) -> list[int]:
        """Return the pids of the slurmstepd of this Slurm."""
        ours, found = f"SLURM_CONF={self.folder}/slurm.conf".encode(), []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                is_step = folder.joinpath("comm").read_text().startswith("slurmstepd")
                if is_step and ours in folder.joinpath("environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def call(self, *argv: str, limit_s: float = 30.0) -> str:
        """Call one of Slurm's commands and return what it prints; raise if it fails."""
        done = subprocess.run(
            argv,
            env={**os.environ, **self.variables},
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
        if done.returncode:
            raise subprocess.SubprocessError(f"{' '.join(argv)}: {done.stderr.strip()}")
        return done.stdout

    def _wait_for_node(self) -> None:
        def takes_jobs() -> bool:
            try:
                said = self.call("sinfo", "--noheader", "--format=%T", "--partition=main", limit_s=10)
            except subprocess.SubprocessError:
                return False
            return said.strip() == "idle"

        self._eventually(takes_jobs, "slurmctld and slurmd")

    def _eventually(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _UP_S
        while not holds():
            ended = next((name for name, one in self._running.items() if one.poll() is not None), None)
            if ended is not None or time.monotonic() > deadline:
                raise NoSlurm(self._last_words(ended, what))
            time.sleep(0.1)

    def _last_words(self, ended: str | None, what: str) -> str:
        if ended is None:
            silence = f"{what} gave no sign within {_UP_S:g} s; see {self.folder}/log"
            return f"Slurm cannot be started here: {silence}."
        log = (self.folder / "log" / f"{ended}.out").read_text("utf-8", "replace").strip().splitlines()
        errors = [line for line in log if "error" in line.lower() or "fatal" in line] or log[-1:]
        said = errors[-1] if errors else "it said nothing"
        return f"Slurm cannot be started here: {ended} ended at once ({said})."


@contextlib.contextmanager
def _free_ports(count: int) -> Iterator[list[int]]:
    """Yield ports of the loopback device that nobody listens at, all different.

    A connection must not get one while its daemon is down, so they lie below those that connections get.
    """
    least = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    with contextlib.ExitStack() as stack:
        found: list[int] = []
        while len(found) < count:
            one = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", 1024 + secrets.randbelow(least - 1024)))
                found.append(one.getsockname()[1])
        yield found


def main() -> int:
    """Start Slurm, run a command (a shell, unless one is named) beside it, and end it."""
    folder, *command = sys.argv[1:] or ["--help"]
    if folder.startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    command = command or [os.environ.get("SHELL", "/bin/sh")]
    try:
        with Lab(Path(folder)) as lab:
            return subprocess.run(command, env={**os.environ, **lab.variables}, check=False).returncode
    except NoSlurm as why:
        print(f"slurm_lab: {why}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    raise SystemExit(main())
