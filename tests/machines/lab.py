"""Another machine for tests: a real sshd with a home of its own, behind a link that can be cut and slowed.

With the rights for it, the far machine has namespaces of its own (network, pids, mounts, host name, boot id):
a reboot ends its first process, and the kernel ends the others. Without them it is this machine by loopback,
and the link is a relay of ours (tests/machines/relay.py).

The real ~/.ssh is neither read nor written: `near` leads tmuxagents to a configuration of the lab.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.harness import eventually
from tests.machines.relay import Relay
from tmuxagents.machines import build
from tmuxagents.machines.hosts import Host
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SSHD = "/usr/sbin/sshd"  # by its whole path: it starts itself again for each connection
NAME = "box"
_SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin")
_OWN = ("python", "tmux", "pi", "claude", "codex", "opencode", "gemini", "qwen", "copilot", "node", "pip")
_WITH_US = ("setpriv", "--pdeathsig", "KILL")  # it ends if the tests are killed
_ENTER = "ip netns exec {space} {with_us} unshare --mount --uts --pid --fork --kill-child --mount-proc"


@functools.cache
def has_rights() -> bool:
    """Say whether we may make network namespaces here."""
    if os.geteuid() != 0 or not (shutil.which("ip") and shutil.which("tc")):
        return False
    name = f"tatry{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], check=False, capture_output=True).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "del", name], check=False)
    return made


class Lab:
    """A far machine, and what leads to it. `folder` needs a short path: sockets lie in it."""

    def __init__(self, *, spaces: bool | None = None, name: str = NAME) -> None:
        self.spaces = has_rights() if spaces is None else spaces
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix="tl-"))
        self.home = self.folder / "far"  # the far user's home
        self.state = self.home / ".local/state/tmuxagents"
        self.bin = self.home / "bin"  # first on the far PATH: what is there besides the system
        self.log = self.folder / "sshd.log"
        self._tag = secrets.token_hex(3)
        self._first: subprocess.Popen[bytes] | None = None  # of the far machine: sshd, or what started it
        self._relay: Relay | None = None
        self._is_laid = False
        self.address, self.port = "127.0.0.1", 22
        self.far_environment = {
            "PATH": f"{self.bin}:{self.folder}/system",
            "HOME": str(self.home),
            "USER": getpass.getuser(),
            "LOGNAME": getpass.getuser(),
            "SHELL": str(self.folder / "shell"),
            "LANG": "C.UTF-8",
            "TMUX_TMPDIR": str(self.folder / "tmux"),
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
        }

    # --- its life

    def __enter__(self) -> Self:
        try:
            self._furnish()
            if self.spaces:
                self._lay_link()
            else:
                self.port = _free_port()
                self._relay = Relay(self.port)
                self._relay.start()
            self._configure()
            self.boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.mend()
        self.disconnect()
        self.shut_down()
        if self._relay is not None:
            self._relay.stop()
        if self.spaces:
            subprocess.run(["ip", "netns", "del", self._space], check=False, capture_output=True)
            subprocess.run(["ip", "link", "del", self._link], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def boot(self) -> None:
        """Start the far machine, and wait until its sshd listens."""
        (self.folder / "boot_id").write_text(f"{_uuid()}\n")
        sshd = [*_WITH_US, SSHD, "-D", "-f", str(self.folder / "sshd_config"), "-E", str(self.log)]
        if self.spaces:
            start = self.folder / "start.sh"
            start.write_text(
                f"hostname far-{self._tag}\nip link set lo up\n"
                f"mount --bind {self.folder}/boot_id /proc/sys/kernel/random/boot_id\n"
                f"{' '.join(sshd)} & \nwait $!\n"
            )
            sshd = _ENTER.format(space=self._space, with_us=" ".join(_WITH_US)).split()
            sshd += ["/bin/sh", str(start)]
        self._first = subprocess.Popen(
            sshd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath + ":/usr/sbin:/sbin"},
            start_new_session=True,
        )
        eventually(self._listens)

    def _listens(self) -> bool:
        assert self._first is not None
        assert self._first.poll() is None, self.log.read_text()
        to = (self.address, self.port)
        with contextlib.suppress(OSError), socket.create_connection(to, timeout=1) as made:
            return made.recv(4) == b"SSH-"
        return False

    def shut_down(self) -> None:
        """End every process of the far machine at once, as a power cut does; its files stay."""
        if self._first is None:
            return
        if self.spaces:
            self._first.kill()  # unshare; its child, the first of the far pids, goes with it, and all others
        else:
            for pid, started in self.far_processes():
                process.send(pid, started, signal.SIGKILL)
            self._first.kill()
            eventually(lambda: not self.far_processes())
        self._first.wait()
        self._first = None

    def reboot(self) -> None:
        """Shut the far machine down and boot it again."""
        self.shut_down()
        self.boot()

    @property
    def is_down(self) -> bool:
        """Say whether it was shut down."""
        return self._first is None

    def far_processes(self) -> list[tuple[int, int]]:
        """Return pid and start time of what runs there, as this machine counts: by its HOME, or by sshd."""
        mark = b"HOME=" + bytes(self.home)
        assert self._first is not None
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError):
                    ours = mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
                    if ours or process_parent(int(name)) == self._first.pid:
                        started = process.start_time(int(name))
                        found += [(int(name), started)] if started is not None else []
        return found

    # --- the link

    def cut(self) -> None:
        """Let nothing through any more, in either direction; neither end notices at once."""
        if self._relay is not None:
            self._relay.hold()
        else:
            _do("ip", "-n", self._space, "link", "set", f"{self._link}f", "down")

    def slow(self, delay_ms: int = 200, rate: str = "400kbit") -> None:
        """Make the link slow: later where the kernel can (netem), else narrow (tbf), in both directions."""
        if self._relay is not None:
            self._relay.delay(delay_ms / 1000)
            return
        for where, link in self._ends():
            shape = (*where, "tc", "qdisc", "replace", "dev", link, "root")
            late = [*shape, "netem", "delay", f"{delay_ms}ms", "rate", rate]
            if subprocess.run(late, check=False, capture_output=True).returncode != 0:
                _do(*shape, "tbf", "rate", rate, "burst", "8kb", "latency", "2s")

    def mend(self) -> None:
        """Have the link as at first."""
        if self._relay is not None:
            self._relay.mend()
        elif self._is_laid:
            _do("ip", "-n", self._space, "link", "set", f"{self._link}f", "up")
            for where, link in self._ends():
                words = [*where, "tc", "qdisc", "del", "dev", link, "root"]
                subprocess.run(words, check=False, capture_output=True)

    def _ends(self) -> list[tuple[list[str], str]]:
        return [([], self._link), (["ip", "netns", "exec", self._space], f"{self._link}f")]

    # --- the near side

    def host(self, command: str) -> Host:
        """Return this machine as a host, with a program there that is this very tmuxagents."""
        return Host(self.name, "ssh", self.name, (command,), str(self.state), build.version())

    @property
    def near(self) -> dict[str, str]:
        """Return the variables that lead the ssh of tmuxagents to this machine."""
        return {
            "TMUXAGENTS_SSH_CONFIG": str(self.folder / "ssh_config"),
            "XDG_RUNTIME_DIR": str(self.folder / "near"),
        }

    def connections(self) -> int:
        """Return how many connections have been let in so far."""
        return self.log.read_text().count("Accepted publickey")

    def masters(self) -> list[Path]:
        """Return the sockets of open connections."""
        return sorted((self.folder / "near").glob("tmuxagents-*/*"))

    def disconnect(self) -> None:
        """Close each connection that is kept open."""
        for path in self.masters():
            words = ["ssh", "-F", str(self.folder / "ssh_config"), "-S", str(path), "-O", "exit", self.name]
            subprocess.run(words, check=False, capture_output=True, timeout=10)

    def ssh(self, line: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Let the far shell run a line, by a connection of its own."""
        words = ["ssh", "-F", str(self.folder / "ssh_config"), "-o", "BatchMode=yes", self.name, line]
        return subprocess.run(words, check=False, capture_output=True, text=True, timeout=60, **options)

    def far_popen(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a program in the far network (a model server), but of this machine otherwise."""
        where = ["ip", "netns", "exec", self._space] if self.spaces else []
        return subprocess.Popen([*where, *argv], **options)

    # --- its furniture

    @property
    def _space(self) -> str:
        return f"ta-{self._tag}"

    @property
    def _link(self) -> str:
        return f"ta{self._tag}"

    def _furnish(self) -> None:
        for folder in (
            self.home,
            self.bin,
            self.folder / "tmux",
            self.folder / "near",
            self.folder / "system",
        ):
            folder.mkdir(mode=0o700, parents=True)
        for there in reversed(_SYSTEM):
            for found in Path(there).iterdir():
                link = self.folder / "system" / found.name
                if not found.name.startswith(_OWN) and not link.is_symlink():
                    link.symlink_to(found)
        for program in ("python3", "tmux"):
            self.have(program)

    def have(self, program: str, target: str | os.PathLike[str] | None = None) -> None:
        """Install a program over there: the system's of this name, or another."""
        found = target or shutil.which(program, path=":".join(_SYSTEM))
        assert found, f"there is no {program} here"
        self.lack(program)
        (self.bin / program).symlink_to(found)

    def program(self, name: str, script: str) -> None:
        """Install a program of one script over there."""
        self.lack(name)
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)

    def lack(self, program: str) -> None:
        """Have a program not installed over there."""
        (self.bin / program).unlink(missing_ok=True)

    def _lay_link(self) -> None:
        """Join two networks by a link with addresses that no other lab has."""
        _do("ip", "netns", "add", self._space)
        _do(
            "ip",
            "link",
            "add",
            self._link,
            "type",
            "veth",
            "peer",
            "name",
            f"{self._link}f",
            "netns",
            self._space,
        )
        number = int(self._tag, 16)
        net = f"10.{200 + (number >> 16) % 50}.{(number >> 8) % 256}"
        low = number % 64 * 4
        self.address = f"{net}.{low + 2}"
        _do("ip", "addr", "add", f"{net}.{low + 1}/30", "dev", self._link)
        _do("ip", "link", "set", self._link, "up")
        there = ("ip", "-n", self._space)
        _do(*there, "addr", "add", f"{self.address}/30", "dev", f"{self._link}f")
        _do(*there, "link", "set", f"{self._link}f", "up")
        self._is_laid = True

    def _configure(self) -> None:
        """Write keys and configurations."""
        assert os.access(SSHD, os.X_OK), f"there is no {SSHD}; scripts/test installs openssh-server"
        for key in ("host_key", "key"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / key)]
            subprocess.run(words, check=True, capture_output=True)
        shutil.copy(self.folder / "key.pub", self.folder / "authorized_keys")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd wants it, and Debian makes it at boot
        variables = "".join(f"export {name}='{value}'\n" for name, value in self.far_environment.items())
        (self.folder / "enter.sh").write_text(
            f"#!/bin/sh\n{variables}[ -f '{self.folder}/more.sh' ] && . '{self.folder}/more.sh'\n"
            'cd "$HOME" || exit 1\n'
            'if [ -n "${SSH_ORIGINAL_COMMAND-}" ]; then exec "$SHELL" -c "$SSH_ORIGINAL_COMMAND"; fi\n'
            'exec "$SHELL"\n'
        )
        (self.folder / "enter.sh").chmod(0o755)
        # A login shell that reads the user's own file alone: the system's leads to the system's programs.
        shell = self.folder / "shell"
        profile = '[ ! -f "$HOME/.profile" ] || . "$HOME/.profile"'
        shell.write_text(
            f'#!/bin/sh\nif [ "$1" = -lc ]; then {profile}; shift; set -- -c "$@"; fi\nexec /bin/sh "$@"\n'
        )
        shell.chmod(0o755)
        self.configure_sshd()
        self.trust()

    def export(self, variables: Mapping[str, str]) -> None:
        """Have further variables in every session over there."""
        text = "".join(f"export {name}='{value}'\n" for name, value in variables.items())
        (self.folder / "more.sh").write_text(text)

    def configure_sshd(self, **changes: str) -> None:
        """Write sshd's configuration; it counts from the next boot on."""
        lines = {
            "ListenAddress": self.address,
            "Port": str(self._relay.target if self._relay is not None else self.port),
            "HostKey": str(self.folder / "host_key"),
            "AuthorizedKeysFile": str(self.folder / "authorized_keys"),
            "PidFile": "none",
            "StrictModes": "no",
            "UsePAM": "no",
            "PermitRootLogin": "yes",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "PrintMotd": "no",
            "MaxStartups": "200",
            "LogLevel": "INFO",
            "SetEnv": f"HOME={self.home}",  # login shells read their files there
            "ForceCommand": str(self.folder / "enter.sh"),
        }
        text = "".join(f"{name} {value}\n" for name, value in (lines | changes).items())
        (self.folder / "sshd_config").write_text(text)

    def trust(self, key: Path | None = None) -> None:
        """Have ssh know the far machine's host key, or another one."""
        public = (key or self.folder / "host_key").with_suffix(".pub").read_text()
        (self.folder / "known_hosts").write_text(f"{self.name} {public}")
        (self.folder / "ssh_config").write_text(
            f"Host {self.name}\n  HostName {self.address}\n  Port {self.port}\n  HostKeyAlias {self.name}\n"
            f"Host *\n  User {getpass.getuser()}\n  IdentityFile {self.folder}/key\n  IdentitiesOnly yes\n"
            f"  IdentityAgent none\n  GlobalKnownHostsFile none\n"
            f"  UserKnownHostsFile {self.folder}/known_hosts\n"
        )


def process_parent(pid: int) -> int:
    """Return the parent of a process."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return int(fields[1])


def _do(*words: str) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"


def _uuid() -> str:
    return Path("/proc/sys/kernel/random/uuid").read_text().strip()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
