"""What flows and torture share: a private home, wrappers on a pty or in tmux, and what is left of them.

Nothing here knows what the right answer is.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import pty
import re
import secrets
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scripts import model_turns
from tests import acquainted, plans, warm
from tmuxagents.launch import plan
from tmuxagents.runs import directory, documents, writing
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import process, process_table, watcher_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

REPOSITORY = Path(__file__).resolve().parent.parent
BOOT = REPOSITORY / "tmuxagents" / "_wrap.py"
MODEL_SERVER = REPOSITORY / "scripts" / "model_server.py"
SCRIPTED = REPOSITORY / "tests" / "children" / "scripted.py"
ECHO = REPOSITORY / "tests" / "children" / "echo.py"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def eventually(check: Callable[..., Any], timeout: float = 20.0) -> Any:
    """Return the first truthy answer; fail if there is none in time.

    A slow check is asked less often: most checks start a tmux, and several tests wait at once. In a loop, a
    lambda binds the variables of the loop as defaults of its own, hence `...`.
    """
    begun = time.monotonic()
    deadline = begun + timeout
    while True:
        late = time.monotonic() > deadline  # a machine that stood still leaves one more look
        answer = check()
        if answer:
            return answer
        if late:
            raise AssertionError(f"did not come true in {timeout} s: {check}")
        time.sleep(min(0.05, 0.01 + (time.monotonic() - begun) / 20))


def stop(pid: int) -> None:
    """Stop a process, and wait until it is: on a busy machine it works on for a while after the signal."""
    os.kill(pid, signal.SIGSTOP)
    stats = Path(f"/proc/{pid}/task").glob("*/stat")  # of each thread
    for stat in stats:
        eventually(lambda stat=stat: stat.read_text().rpartition(")")[2].split()[0] in "TtXZ")


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def unread(handle: int) -> int:
    """Return how many bytes wait in a pipe."""
    return int(struct.unpack("i", fcntl.ioctl(handle, termios.FIONREAD, bytes(4)))[0])


class Home:
    """A private state directory with its own project, agent folder and environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.project = folder / "project"
        self.record = folder / "record"
        self.agent_dir = folder / "agent"
        self.made: list[Run] = []
        self._lookout: int | None = None  # the watcher's lock, kept from watchers
        self._watched = False
        for made in (self.project, self.agent_dir):
            made.mkdir(parents=True, exist_ok=True)
        self.environment = {
            "PATH": PATH,
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "TMUXAGENTS_HOME": str(self.state),
            "TMUXAGENTS_PI": str(SCRIPTED),
            "TMUXAGENTS_DEFAULT_MODEL": "mock/mock-text",
            "PI_CODING_AGENT_DIR": str(self.agent_dir),
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
        }

    def run(self, script: str, /, *, model: str | None = "mock/mock-text", **changes: Any) -> Run:
        """Make a run directory."""
        request = plan.LaunchRequest(
            task=script, cwd=str(self.project), project=str(self.project), model=model, timeout=60
        )
        meta = plans.document(request, run_id=secrets.token_hex(8), now=time.time()) | changes
        made = writing.create(
            str(self.state / "runs"), documents.plan_of(meta), {directory.PROMPT: plan.prompt_bytes(script)}
        )
        run = Run(self, Path(made), meta)
        self.made.append(run)
        self.be_unwatched()
        return run

    def be_unwatched(self) -> None:
        """Take the watcher's place, unless this home is to be watched: then nobody does its work."""
        if not self._watched and self._lookout is None:
            for folder in (self.state, self.state / "hosts"):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lookout = watcher_lock.take(str(self.state))

    def be_watched(self) -> None:
        """Let wrappers and readers start a watcher; else the test has its place, and nobody does its work."""
        self._watched = True
        if self._lookout is not None:
            os.close(self._lookout)
            self._lookout = None

    def end_all(self) -> None:
        """End whatever the runs of this home left, for the end of a test."""
        self.end_runs()
        for founded in self.recorded().values():
            process.send(founded, founded.start_time, signal.SIGKILL)
        self.end_watcher()

    def end_runs(self) -> None:
        """End whatever of our runs still lives: all of them by one look at the processes of the machine."""
        for run in self.made:
            run.end_wrapper()
        ours = {run.run_id for run in self.made}
        if ours:
            _kill(row.pid for row in process_table.table(since=0) if row.marker in ours)

    def watcher(self) -> tuple[int, int] | None:
        """Return pid and start time of the watcher of this home, if there is one."""
        return watcher_lock.holder(str(self.state))

    def end_watcher(self) -> None:
        """End the watcher, also one that is just starting."""
        self.be_watched()
        if (self.state / "hosts").exists():
            eventually(self._end_watcher)

    def _end_watcher(self) -> bool:
        held = watcher_lock.take(str(self.state))
        if held is not None:
            os.close(held)
            return True
        found = self.watcher()
        if found is not None:
            process.send(*found, signal.SIGKILL)
            process.wait_gone(*found, 5)
        return False

    def command(self, *arguments: str, cold: bool = False, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run the installed command in the project's folder; cold: as a program that is started for it."""
        options: dict[str, Any] = {"cwd": self.project, "env": self.environment, "timeout": 90} | more
        if arguments[:1] and arguments[0] in acquainted.LAUNCHES:
            self.meet_agent(options["env"])
        if warm.takes(options) and not cold:
            return warm.run(*arguments, **options)
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        argv = [warm.COMMAND, *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=False, **options)

    def meet_agent(self, environment: Mapping[str, str] | None = None) -> None:
        """Spare a launch the questions to its agent, if that is one that always answers the same."""
        environment = self.environment if environment is None else environment
        constant = (str(SCRIPTED), str(ECHO), os.environ.get("TMUXAGENTS_TEST_PI"))
        if environment.get("TMUXAGENTS_PI") in constant:
            acquainted.introduce(environment)

    def recorded(self) -> dict[str, Founded]:
        """Return the processes that scripted children founded: what -> pid."""
        if not self.record.exists():
            return {}
        pairs = (line.split(" ", 1) for line in self.record.read_text().splitlines())
        return {what: Founded(who) for who, what in pairs}


class Run:
    """One run directory, and whoever wraps it."""

    def __init__(self, home: Home, folder: Path, meta: dict[str, Any]) -> None:
        self.home = home
        self.folder = folder
        self.meta = meta
        self.run_id = str(meta["runId"])
        self.wrapper: subprocess.Popen[bytes] | None = None
        self.screen = bytearray()
        self.master: int | None = None
        self.window = ""
        self._reader: threading.Thread | None = None

    def environment(self) -> dict[str, str]:
        return {**self.home.environment, "CHILD_RECORD": str(self.home.record)}

    def start(
        self, extra: Mapping[str, str] | None = None, *, read: bool = True, prefix: Sequence[str] = ()
    ) -> Run:
        """Start the wrapper on a terminal of its own, which nobody reads if so wished."""
        self.master, slave = pty.openpty()
        self.wrapper = subprocess.Popen(
            [*prefix, "setsid", "-c", sys.executable, "-I", "-S", str(BOOT), str(self.folder)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**self.environment(), **(extra or {})},
        )
        os.close(slave)
        if read:
            self._reader = threading.Thread(target=self._read, args=(self.master,), daemon=True)
            self._reader.start()
        return self

    def start_in(self, server: TmuxServer) -> Run:
        """Start the wrapper in a window of a tmux server."""
        environment = [f"-e{name}={value}" for name, value in self.environment().items() if name != "TERM"]
        command = [sys.executable, "-I", "-S", str(BOOT), str(self.folder)]
        self.window = server.run(
            "new-window", "-d", "-P", "-F", "#{window_id}", "-t", "work:", *environment, *command
        )
        return self

    def wait_gone(self, timeout: float = 60.0) -> dict[str, Any]:
        """Wait for a wrapper in a window; return the result."""
        identity = eventually(lambda: directory.identity_of(directory.read_wrapper(str(self.folder))))
        assert process.wait_gone(identity.pid, identity.start_time, timeout)
        result = self.result()
        assert result is not None, f"no result in {self.folder}"
        return result

    def _read(self, master: int) -> None:
        with contextlib.suppress(OSError):
            while piece := os.read(master, 65536):
                self.screen += piece

    def hang_up(self) -> None:
        """Close the terminal, as a closed window does."""
        self.signal(signal.SIGHUP)
        self.signal(signal.SIGCONT)

    def type(self, keys: bytes) -> None:
        assert self.master is not None
        os.write(self.master, keys)

    def signal(self, number: int) -> None:
        assert self.wrapper is not None
        with contextlib.suppress(ProcessLookupError):
            self.wrapper.send_signal(number)

    def wait(self, timeout: float = 60.0) -> dict[str, Any]:
        """Wait for the wrapper to leave; return the result."""
        assert self.wrapper is not None
        self.wrapper.wait(timeout)
        self.close()
        result = self.result()
        assert result is not None, f"no result in {self.folder}: {bytes(self.screen)[-2000:]!r}"
        return result

    def close(self) -> None:
        if self._reader is not None:
            self._reader.join(5)
            self._reader = None
        if self.master is not None:
            os.close(self.master)
            self.master = None

    def kill(self) -> None:
        """End whatever of this run still lives."""
        self.end_wrapper()
        _kill(self.left_over())

    def end_wrapper(self) -> None:
        if self.wrapper is not None and self.wrapper.poll() is None:
            self.wrapper.kill()
            self.wrapper.wait()
        self.close()

    def result(self) -> dict[str, Any] | None:
        return directory.read_result(str(self.folder))

    def events(self) -> list[dict[str, Any]]:
        lines, _ = directory.read_lines(f"{self.folder}/{directory.EVENTS}", 0)
        return [json.loads(line) for line in lines if line]

    def event(self, kind: str) -> dict[str, Any] | None:
        return next((event for event in self.events() if event["type"] == kind), None)

    def wait_for(self, kind: str, timeout: float = 20.0) -> dict[str, Any]:
        """Wait for an event."""
        found: dict[str, Any] = eventually(lambda: self.event(kind), timeout)
        return found

    @property
    def child(self) -> int:
        return int(self.wait_for("run_started")["pid"])

    def status(self) -> str:
        return inspect(str(self.folder)).standing.status

    def left_over(self) -> list[int]:
        """Return the living processes that carry this run's marker, the spared ones' windows included."""
        return [row.pid for row in process_table.table(since=0) if row.marker == self.run_id]


class TmuxServer:
    """A private tmux server with one session, `work`, and a window of somebody else in it."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "tmux"

    def __enter__(self) -> Self:
        self.run("-f", "/dev/null", "new-session", "-d", "-s", "work", "-x", "120", "-y", "40", "sleep 600")
        self.pid = int(self.run("display-message", "-p", "#{pid}"))
        started = process.start_time(self.pid)
        assert started is not None
        self.started = started
        return self

    def __exit__(self, *_: object) -> None:
        process.send(self.pid, self.started, signal.SIGCONT)
        if alive(self.pid):
            subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True, timeout=10)
        if not process.wait_gone(self.pid, self.started, 5):
            process.send(self.pid, self.started, signal.SIGKILL)
        self.socket.unlink(missing_ok=True)

    @property
    def _tmux(self) -> list[str]:
        return ["tmux", "-u", "-S", str(self.socket)]

    def run(self, *arguments: str) -> str:
        """Carry out a tmux command; return what it prints."""
        done = subprocess.run(
            [*self._tmux, *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=10,
            env={"PATH": PATH},
        )
        return printed(done.stdout).strip()


class ModelServer:
    """The project's own model server, running."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._options = options
        self.agent_dir = folder / "agent"
        self.log = folder / "requests.jsonl"
        self.port_file = folder / "port"
        self.url = ""

    def __enter__(self) -> Self:
        options = [f"--log={self.log}", f"--agent-dir={self.agent_dir}", f"--port-file={self.port_file}"]
        argv = [sys.executable, str(MODEL_SERVER), *options, *self._options]
        self._process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        self.url = self._process.stdout.readline().strip()
        assert self.url == f"http://127.0.0.1:{int(self.port_file.read_text())}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        assert self._process.stdout
        self._process.stdout.close()
        assert self._process.wait(10) == 0

    def requests(self, task: str) -> list[dict[str, Any]]:
        """Return the requests about a task: what the real pi really asked."""
        records = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [record for record in records if task in map(model_turns.text_of, record["messages"])]


@functools.cache
def tmux_version() -> tuple[int, int]:
    """Return the version of the tmux here; what has no number is newer than any that has."""
    said = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"([0-9]+)\.([0-9]+)", said)
    return (int(found[1]), int(found[2])) if found else (99, 0)


def shows_messages() -> bool:
    """Say whether the tmux here goes on with its screens while it shows a message: since 3.6."""
    return tmux_version() >= (3, 6)


def printed(text: str) -> str:
    """Return what tmux means by what it has printed: 3.4 puts a backslash before each `$` of a name."""
    return re.sub(r"\\(\$[A-Za-z_{])", r"\1", text) if tmux_version() == (3, 4) else text


def real_pi() -> str:
    """Return the path of the real pi. Without it the tests fail: skipping is not passing."""
    path = os.environ.get("TMUXAGENTS_TEST_PI", "")
    if not os.access(path, os.X_OK):
        raise AssertionError(f"TMUXAGENTS_TEST_PI must name the real pi; scripts/test does: {path!r}")
    return path


def links_of(pid: int) -> list[str]:
    """Return what a process has open; what it closes meanwhile is left out."""
    links = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return links


def waits_for(pid: int) -> int:
    """Return for how many wrappers a process sleeps; 0 while it is still on its way there."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        sleeps = file.read().rpartition(")")[2].split()[0] == "S"
    return links_of(pid).count("anon_inode:[pidfd]") if sleeps else 0


class Founded(int):
    """The pid of a process that a scripted child has written down, and when it started."""

    start_time: int

    def __new__(cls, word: str) -> Self:
        pid, started = word.split(":")
        self = super().__new__(cls, pid)
        self.start_time = int(started)
        return self


def alive(pid: int) -> bool:
    """Say whether a process lives; a zombie does not, nor does another one that has its number by now."""
    started = process.start_time(pid)
    return started is not None and started == getattr(pid, "start_time", started)
