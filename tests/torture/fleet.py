"""Many live runs in a real tmux, and an oracle: what was done to each of them, seen from outside.

The oracle never asks the product how a run stands. It knows the script of each child, what the children wrote
down themselves, and what a fault did to whom; with that it judges records, answers and announcements.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.harness import REPOSITORY, Home, TmuxServer, alive, eventually
from tests.torture import check_documents
from tmuxagents.system import process, process_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

COMMAND = [str(Path(sys.executable).with_name("tmuxagents"))]
HOOK = REPOSITORY / "tests" / "children" / "hook.py"
LAUNCHERS = 4
LEFT = "left behind: "
SOON_S = 1.0  # within this time of the machine being well again poll is right
LOST, CLOSED = ("aborted", "lost"), ("aborted", "closed")
WORKS = ("running", None)
# What a child does behind its gate, and the ending and answer that must be recorded then.
PLANS = [
    ("answer stop fine NUMBER\nsettle", ("completed", "done"), "fine NUMBER"),
    ("answer error 401: no NUMBER\nsettle", ("failed", "error"), "at work"),
    ("answer length half of NUMBER\nsettle", ("failed", "length"), "half of NUMBER"),
    ("exit 3", ("failed", "exit"), "at work"),
    ("found tool\nanswer stop fine NUMBER\nsettle", ("completed", "done"), "fine NUMBER"),
]


class NotProvoked(Exception):
    """The machine does not allow the fault: the case says so and fails."""


class Member:
    """One run of the fleet: who it is, what it was told to do, what was done to it."""

    def __init__(self, number: int, run_id: str) -> None:
        script, ending, answer = PLANS[number % len(PLANS)]
        self.number = number
        self.run_id = run_id
        self.script = script
        self.planned = ending
        self.answer = answer.replace("NUMBER", str(number))
        self.allowed: set[tuple[str, str | None]] = {ending}  # how it may end
        self.stands: set[tuple[str, str | None]] = {WORKS}  # what may be said of it now
        self.incomplete = False  # whether its logs may lack something

    def harm(self, *endings: tuple[str, str]) -> None:
        """Know that something was done to it that ends it so."""
        self.allowed = set(endings)
        self.stands = set(endings)


class Fleet:
    """A home, a tmux server with somebody else's window in it, and so many runs that wait at a gate."""

    def __init__(self, folder: Path, number: int, *, seed: int = 0, soon_s: float = SOON_S) -> None:
        self.home = Home(folder)
        self.dice = random.Random(seed)
        self.number = number
        self.members: list[Member] = []
        self.strangers: set[str] = set()  # runs that a fault has made
        self.wrong: list[str] = []
        self.left: list[str] = []
        self.told_at_most_once = False  # a watcher was killed: it may have been between claim and showing
        self.server: TmuxServer | None = TmuxServer(folder)
        self.soonest: float | None = None  # how soon after the end of the fault poll was right
        self._soon_s = soon_s
        self._opened: set[str] = set()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.home.be_watched()
        self.told = folder / "told"
        self.home.environment |= {
            "TMUXAGENTS_MAX_RUNNING": str(number + 20),
            "TMUXAGENTS_SOCKET": str(self.server.socket),
            "TMUX_TMPDIR": str(folder),
            "TMPDIR": str(self.temporary),
            "CHILD_RECORD": str(self.home.record),
        }
        hook = [sys.executable, "-I", "-S", str(HOOK), str(self.told)]
        (self.home.agent_dir / "settings.json").write_text(json.dumps({"subagents": {"onEnd": hook}}))

    def __enter__(self) -> Self:
        assert self.server is not None
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for gate in ("a", "b"):
            self.gate(gate).touch()
        for pid, started in self.living().values():
            process.send(pid, started, signal.SIGCONT, signal.SIGTERM)
        if self.server is not None:
            self.server.__exit__()
        for pid, started in self.living().values():
            if not process.wait_gone(pid, started, 10):
                process.send(pid, started, signal.SIGKILL)
        self.home.end_all()

    # --- made ---

    def gate(self, name: str) -> Path:
        return self.home.folder / f"gate-{name}"

    def script(self, number: int, gate: str, ending: str) -> str:
        steps = [f"pid started-{number}", "begin", "answer toolUse at work", f"pid ready-{number}"]
        steps += [f"gate {self.gate(gate)}", ending.replace("NUMBER", str(number))]
        return "\n".join(steps)

    def command(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the installed command as somebody in the project: too seldom to keep one warm for it."""
        return self.home.command(*arguments, cold=True, env=self.home.environment | variables, timeout=120)

    def launch(self, *, variables: dict[str, str] | None = None) -> None:
        """Launch all runs; return when each of their children waits at its gate: half of them at each."""
        with ThreadPoolExecutor(LAUNCHERS) as pool:
            self.members += pool.map(lambda number: self._launch(number, variables or {}), range(self.number))
        try:
            eventually(lambda: not self._unready(), 60)
        except AssertionError:
            late = [(member.run_id, self._result_of(member)) for member in self._unready()]
            raise AssertionError(f"launched and never at work: {late}") from None

    def _unready(self) -> list[Member]:
        recorded = self.home.recorded()
        return [member for member in self.members if f"ready-{member.number}" not in recorded]

    def _result_of(self, member: Member) -> str:
        path = self.folder(member) / "result.json"
        return path.read_text()[:300] if path.exists() else "no result"

    def _launch(self, number: int, variables: dict[str, str]) -> Member:
        plan = PLANS[number % len(PLANS)][0]
        done = self.command("launch", self.script(number, "ab"[number % 2], plan), **variables)
        assert done.returncode == 0, done.stderr
        return Member(number, done.stdout.strip())

    # --- who is where ---

    def folder(self, member: Member) -> Path:
        return self.home.state / "runs" / member.run_id

    def some(self, part: float = 0.34, among: Iterable[Member] | None = None) -> list[Member]:
        """Return some of the runs by chance, one at least."""
        chosen = list(self.members if among is None else among)
        return self.dice.sample(chosen, max(1, round(len(chosen) * part)))

    def behind(self, gate: str) -> list[Member]:
        return [member for member in self.members if "ab"[member.number % 2] == gate]

    def wrapper(self, member: Member) -> tuple[int, int]:
        """Return pid and start time of a wrapper, as its file says."""
        said = json.loads((self.folder(member) / "wrapper.json").read_text())
        return said["pid"], said["startTime"]

    def child(self, member: Member) -> int:
        return self.home.recorded()[f"started-{member.number}"]

    def living(self) -> dict[str, tuple[int, int]]:
        """Return the wrappers that live."""
        found = {}
        for folder in (self.home.state / "runs").glob("*/wrapper.json"):
            try:
                said = json.loads(folder.read_text())
                if process.start_time(said["pid"]) == said["startTime"]:
                    found[folder.parent.name] = (said["pid"], said["startTime"])
            except (OSError, ValueError, KeyError):
                continue
        return found

    def windows(self) -> dict[str, str]:
        assert self.server is not None
        lines = self.server.run("list-windows", "-a", "-F", "#{@tmuxagents_run} #{window_id}")
        pairs = (line.split(" ") for line in lines.splitlines())
        return {run_id: window for run_id, window in pairs if run_id}

    def watcher(self) -> tuple[int, int]:
        found: tuple[int, int] = eventually(self.home.watcher)
        return found

    def kill_watcher(self) -> None:
        """Kill -9 the watcher and see it go, as nobody finds its lock free before."""
        pid, started = self.watcher()
        process.send(pid, started, signal.SIGKILL)
        assert process.wait_gone(pid, started, 10)
        self.told_at_most_once = True

    # --- what is done ---

    def open(self, gate: str, *, until: Callable[[Member], bool] | None = None) -> None:
        """Let the children behind a gate go on; wait until their wrappers have gone, or what is said."""
        gone = until or self.has_gone
        self._opened.add(gate)
        self.gate(gate).touch()
        for member in self.behind(gate):
            if member.stands == {WORKS}:
                member.stands = set(member.allowed)
            eventually(lambda member=member: gone(member), 90)

    def has_gone(self, member: Member) -> bool:
        """Say whether the wrapper of a run has left."""
        return member.run_id not in self.living()

    def has_said_all(self, member: Member) -> bool:
        """Say whether the child of a run has ended, whatever its wrapper does."""
        return not alive(self.child(member))

    def well(self) -> None:
        """Say that the machine is well: from now on poll has a second to be right."""
        begun = time.monotonic()
        why = ["nobody asked"]
        while why and time.monotonic() - begun < max(20.0, self._soon_s):
            asked = time.monotonic()
            why = self.faults_of_poll()
            self.soonest = asked - begun
        if why:
            self.wrong.append(f"20 s after the fault poll is wrong: {why[:3]}")
        elif self.soonest is not None and self.soonest > self._soon_s:
            self.wrong.append(f"poll was right only {self.soonest:.1f} s after the fault")

    def faults_of_poll(self) -> list[str]:
        """Compare what poll says with what is so."""
        done = self.command("poll", "-A", "-a", "--json")
        if done.returncode != 0:
            return [f"poll ends with {done.returncode}: {done.stdout[:200]}{done.stderr[:200]}"]
        said = {run["runId"]: (run["status"], run["reason"]) for run in json.loads(done.stdout)["runs"]}
        return [
            f"{member.run_id} ({member.planned}) is told as {said.get(member.run_id)}, not {member.stands}"
            for member in self.members
            if member.stands and said.get(member.run_id) not in member.stands
        ]

    def forget(self, run_id: str) -> None:
        """Remove a run that is none of those that are counted, and what was told of it."""
        eventually(lambda: run_id not in self.living(), 30)
        shutil.rmtree(self.home.state / "runs" / run_id, ignore_errors=True)
        self.strangers.add(run_id)

    # --- what came of it ---

    def finish(self) -> None:
        """Open all gates, wait for all ends, and hold each run against what was done to it."""
        for gate in ("a", "b"):
            self.open(gate)
        for member in self.members:
            member.stands = set(member.allowed)
            self._wait_announced(member)
        self.wrong += self.faults_of_poll()
        for member in self.members:
            self.wrong += [f"{member.run_id}: {line}" for line in self._faults_of(member)]
        self._count_announcements()
        self.left += self._left_over()

    def _wait_announced(self, member: Member) -> None:
        announced = self.folder(member) / "announced"
        limit = time.monotonic() + 30
        while not announced.exists():
            if time.monotonic() > limit:
                self.wrong.append(f"{member.run_id} was never announced")
                return
            if self.home.watcher() is None:
                self.command("poll", "-A", "-a")  # what it finds, a watcher sees to
            time.sleep(0.05)

    def _faults_of(self, member: Member) -> list[str]:
        folder = self.folder(member)
        try:
            result: dict[str, Any] = json.loads((folder / "result.json").read_text())
        except (OSError, ValueError) as error:
            return [f"no result: {error}"]
        wrong = []
        ending = (result["status"], result["reason"])
        if ending not in member.allowed:
            wrong.append(f"ended {ending}, not {sorted(member.allowed)}: {result['errorMessage']}")
        if ending == member.planned and result["output"] != member.answer:
            wrong.append(f"its answer is {result['output']!r}, not {member.answer!r}")
        if not 0 <= (result["durationMs"] or 0) < 3_600_000:
            wrong.append(f"it took {result['durationMs']} ms")
        incomplete = member.incomplete or result["logsIncomplete"]
        if result["logsIncomplete"] and not member.incomplete:
            wrong.append("its logs are said to be incomplete")
        wrong += check_documents.faults(folder)
        return wrong + _faults_of_log(folder / "events.jsonl", whole=not incomplete)

    def _count_announcements(self) -> None:
        expected = len(self.members)
        if not self.told_at_most_once:
            eventually(lambda: not self.told.exists() or len(self._tellings()) >= expected, 30)
        told = Counter(line.split()[0] for line in self._tellings())
        for member in self.members:
            times = told[member.run_id]
            if times > 1 or (times == 0 and not self.told_at_most_once):
                self.wrong.append(f"{member.run_id} was told of {times} times")
        starts = Counter(line.split()[1] for line in self.home.record.read_text().splitlines())
        self.wrong += [
            f"{member.run_id}: {starts[f'started-{member.number}']} children were started"
            for member in self.members
            if starts[f"started-{member.number}"] != 1
        ]

    def _tellings(self) -> list[str]:
        """Return what was told of our runs, once a telling."""
        lines = self.told.read_text().splitlines() if self.told.exists() else []
        return [line for line in lines if line.split()[0] not in self.strangers]

    def _left_over(self) -> list[str]:
        own = {member.run_id for member in self.members}
        eventually(lambda: not self.living(), 30)
        left = [f"process {row.pid} {row.comm}" for row in process_table.table(since=0) if row.marker in own]
        left += [f"process {what} {pid}" for what, pid in self.home.recorded().items() if alive(pid)]
        left += [f"temporary file {path.name}" for path in self.temporary.iterdir()]
        for path in (self.home.state / "runs").rglob("*"):
            if path.is_fifo() or path.name.startswith(".") or ".displaced-" in path.name:
                left.append(f"{path.relative_to(self.home.state)}")
        if self.server is not None and process.start_time(self.server.pid) == self.server.started:
            windows = self.server.run("list-windows", "-t", "=work", "-F", "#{window_id}").splitlines()
            if len(windows) != 1:
                left.append(f"windows in somebody else's session: {len(windows) - 1}")
        return left


def _faults_of_log(path: Path, *, whole: bool) -> list[str]:
    """Check that a log is whole lines of JSON, numbered from 1 on; what may lack something still ascends."""
    lines = path.read_bytes().split(b"\n")
    if lines.pop() != b"" and whole:
        return ["its events end in a torn line"]
    numbers = []
    for line in filter(None, lines):
        try:
            numbers.append(json.loads(line)["seq"])
        except (ValueError, KeyError):
            if whole:
                return [f"no event: {line[:80]!r}"]
    right = numbers == list(range(1, len(numbers) + 1)) if whole else numbers == sorted(set(numbers))
    return [] if right else [f"its events are numbered {numbers[:12]}"]


def mount(folder: Path, *options: str) -> None:
    """Mount something for this process and all that it starts; it has a mount namespace of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", *options, str(folder)], capture_output=True, text=True, check=False, timeout=10
    )
    if done.returncode != 0:
        raise NotProvoked(done.stderr.strip())
