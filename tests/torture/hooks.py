"""The same faults by the hook in the edges (TMUXAGENTS_FAULT): one call of one operation fails, or kills.

For each operation the n-th call fails, for each n: of the wrapper of one run, of all wrappers and the watcher
of a fleet, and of commands. This needs neither root nor namespaces.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

from tests.apart import running
from tests.harness import Home, alive, eventually
from tests.torture import check_documents
from tests.torture.faults import Fault
from tests.torture.fleet import NotProvoked
from tmuxagents.runs import directory
from tmuxagents.runs.conclude import NEVER_OPENED, conclude
from tmuxagents.system import fault_injection, watcher_lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.harness import Run
    from tests.torture.fleet import Fleet

SCRIPTS = {
    "done": (
        "pid started\nbegin\nanswer toolUse x\nfound tool\nanswer stop fine\nsettle",
        ("completed", "done"),
    ),
    "error": ("pid started\nbegin\nanswer error no\nsettle", ("failed", "error")),
    "stopped": ("pid started\nbegin\nanswer toolUse x\nsleep 60", ("aborted", "stopped")),
}
# operation -> how it fails. What never works again is not among them: nothing can be told, or ended, then.
ERRORS = {
    "open": "EMFILE",
    "read": "EIO",
    "write": "ENOSPC",
    "rename": "EROFS",
    "link": "ENOSPC",
    "unlink": "EROFS",
    "stat": "EIO",
    "fstat": "EIO",
    "listdir": "EMFILE",
    "flock": "ENOLCK",
    "pidfd_open": "EMFILE",
    "posix_spawn": "EAGAIN",
    "pipe2": "EMFILE",
    "posix_fallocate": "ENOSPC",
    "chdir": "EACCES",
    "waitpid": "EINTR",
}
# Some for a hurry: rare calls at once, busy ones later (low figures wait for what never comes again).
QUICK = (1, 2)
QUICK_BUSY = dict.fromkeys(("open", "read", "write", "stat", "fstat", "listdir", "unlink", "flock"), (3, 9))
# What a launch needs to tell of what it did, and to look at a folder: not its to do without.
_TOLD_BY = ("write", "stat")
_DEADLY = ("open", "rename", "read", "mkfifo")
FIRST = {"write": 2, "rename": 2, "pidfd_open": 2}
NUMBERS = (*range(1, 13), 17, 25, 40, 60, 90)
LIMIT_S = 30.0
LOST, NEVER, NOT_SPAWNED = ("aborted", "lost"), ("failed", "window"), ("failed", "spawn")


def sweep(folder: Path, operation: str, effect: str, numbers: tuple[int, ...] = NUMBERS) -> list[str]:
    """Let every n-th call of an operation of a wrapper fail, for each n; return what was wrong."""
    wrong = []
    came = 0
    for number in (number for number in numbers if number >= FIRST.get(operation, 1)):
        for name in SCRIPTS:
            spec = f"{operation}:{number}:{effect}"
            home = Home(folder / f"{number}-{name}")
            log = folder / f"{number}-{name}.log"
            try:
                faults_of = _one(home.run(SCRIPTS[name][0]), name, spec, str(log))
            finally:
                home.end_all()
            came += log.exists()
            wrong += [f"{name}, {spec}: {line}" for line in faults_of]
    if not came:
        raise NotProvoked(f"no wrapper calls {operation} so often")
    return wrong


def _one(run: Run, name: str, spec: str, log: str) -> list[str]:
    """Carry out one run under a fault; hold what it left against what its child has done."""
    run.start({fault_injection.VARIABLE: spec, fault_injection.LOG: log})
    assert run.wrapper is not None
    planned = SCRIPTS[name][1]
    if name == "stopped":
        with contextlib.suppress(AssertionError):
            run.wait_for("assistant_text", 3)
        run.signal(signal.SIGTERM)
    try:
        run.wrapper.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        return [f"the wrapper hangs: no end in {LIMIT_S:g} s"]
    run.close()
    begun = "started" in run.home.recorded()
    result = run.result() or conclude(str(run.folder), never_came=NEVER_OPENED)
    if result is None:
        return ["nobody may conclude it"]
    ending = (result["status"], result["reason"])
    wrong = []
    killed = spec.endswith(fault_injection.KILL)
    # A child that ran to its end is recorded so, unless its wrapper was killed or could not go on.
    allowed = {planned, LOST, ("failed", "unfinished")} if begun else {NEVER, NOT_SPAWNED}
    if killed:
        allowed.add(LOST)
    if name == "stopped" and not begun:
        allowed.add(("aborted", "stopped"))
    if killed and begun:
        allowed.add(("completed", "done")) if planned == ("completed", "done") else None
    if ending not in allowed or (result["status"] == "completed" and not begun):
        wrong.append(
            f"ended {ending} ({result['errorMessage']}); its child was {'' if begun else 'not '}started"
        )
    wrong += check_documents.faults(run.folder)
    if run.home.record.exists() and run.home.record.read_text().count(" started\n") > 1:
        wrong.append("two children were started")
    left = [what for what, pid in run.home.recorded().items() if alive(pid)]
    if left or run.left_over():
        wrong.append(f"left over: {left} {run.left_over()}")
    return wrong


# --- a whole fleet ---


def watcher_with(*specs: str) -> Callable[[Fleet], None]:
    """Return an act: the fleet's watcher is one whose calls fail now and then."""

    def act(fleet: Fleet) -> None:
        log = fleet.home.folder / "faults.log"
        fleet.kill_watcher()
        state = str(fleet.home.state)
        environment = watcher_lock.surroundings(state, fleet.home.environment)
        variables = {fault_injection.VARIABLE: ",".join(specs), fault_injection.LOG: str(log)}
        with running(watcher_lock.argv(state), env=environment | variables) as watcher:
            eventually(lambda: watcher.poll() is not None or fleet.home.watcher() is not None)
            fleet.open("a")
            fleet.well()
            came = log.exists()
        if not came:
            raise NotProvoked("the watcher has made no such call")

    return act


def wrappers_with(fleet: Fleet) -> None:
    """Let half of the runs end; all wrappers were started with faults."""
    for member in fleet.members:
        member.incomplete = True
    fleet.open("a")
    fleet.well()
    if not (fleet.home.folder / "faults.log").exists():
        raise NotProvoked("no wrapper has made such a call")


def commands_with(fleet: Fleet) -> None:
    """Let commands fail at each of their calls: they answer right, or say in one sentence what is wrong."""
    came = 0
    for operation, effect in ERRORS.items():
        for number in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89):
            log = fleet.home.folder / f"{operation}-{number}.log"
            variables = {
                fault_injection.VARIABLE: f"{operation}:{number}:{effect}",
                fault_injection.LOG: str(log),
            }
            for arguments in (("poll", "-A", "-a", "--json"), ("output", fleet.members[0].run_id)):
                done = fleet.command(*arguments, **variables)
                came += log.exists()
                if "Traceback" in done.stderr or done.returncode not in (0, 3, 4):
                    words = (done.stdout + done.stderr)[-200:]
                    fault = variables[fault_injection.VARIABLE]
                    fleet.wrong.append(f"{arguments[0]} with {fault}: {done.returncode} {words}")
    if not came:
        raise NotProvoked("no command has made such a call")
    fleet.well()


def clocks_with(fleet: Fleet) -> None:
    """Ask with a clock that jumps, while wrappers and watcher have one, too."""
    for shift in ("-86400", "86400", "-1700000000"):
        done = fleet.command(
            "poll", "-A", "-a", "--json", **{fault_injection.VARIABLE: f"{fault_injection.CLOCK}:1:{shift}"}
        )
        if done.returncode != 0:
            fleet.wrong.append(f"poll with a clock that is {shift} s off: {done.returncode} {done.stderr}")
            continue
        told = {run["runId"]: (run["status"], run["reason"]) for run in json.loads(done.stdout)["runs"]}
        if any(told[member.run_id] not in member.stands for member in fleet.members):
            fleet.wrong.append(f"poll with a clock that is {shift} s off: {told}")
    watcher_with(f"{fault_injection.CLOCK}:9:-86400")(fleet)


def launches_with(fleet: Fleet) -> None:
    """Let a launch fail at each of its calls: it says that it launched and did, or it has started nothing."""
    came = number_of = 0
    errors = {name: effect for name, effect in ERRORS.items() if name not in _TOLD_BY}
    for operation, effect in [*errors.items(), *((name, fault_injection.KILL) for name in _DEADLY)]:
        for number in (2, 5, 11, 23):
            number_of += 1
            log = fleet.home.folder / f"launch-{number_of}.log"
            variables = {
                fault_injection.VARIABLE: f"{operation}:{number}:{effect}",
                fault_injection.LOG: str(log),
            }
            before = set(os.listdir(fleet.home.state / "runs"))
            done = fleet.command("launch", f"pid extra-{number_of}\ndone fine", **variables)
            came += log.exists()
            made = {name for name in os.listdir(fleet.home.state / "runs") if name[0] != "."} - before
            words = _fault_of_launch(fleet, done, made, killed=effect == fault_injection.KILL)
            if words:
                fleet.wrong.append(f"launch with {variables[fault_injection.VARIABLE]}: {words}")
            for run_id in made:
                fleet.command("stop", run_id)
                fleet.forget(run_id)
    if not came:
        raise NotProvoked("no launch has made such a call")
    _prune_half_made(fleet)
    starts = fleet.home.record.read_text().split()
    fleet.wrong += [
        f"launch {n} has started two children" for n in range(number_of) if starts.count(f"extra-{n}") > 1
    ]
    fleet.well()


def _prune_half_made(fleet: Fleet) -> None:
    """Let what launches that were killed had half made grow old: then `prune` removes it."""
    for path in (fleet.home.state / "runs").glob(".new-*"):
        os.utime(path, (0, 0))
    done = fleet.command("prune")
    if done.returncode != 0:
        fleet.wrong.append(f"prune ends with {done.returncode}: {done.stderr}")


def _fault_of_launch(
    fleet: Fleet, done: subprocess.CompletedProcess[str], made: set[str], *, killed: bool
) -> str | None:
    """Say what is wrong with a launch that met a fault."""
    if killed and done.returncode == -signal.SIGKILL:
        return None if len(made) <= 1 else f"it made {made}"
    if "Traceback" in done.stderr or done.returncode not in (0, 2, 3):
        return f"{done.returncode} {done.stderr[-200:]}"
    if done.returncode == 0:
        return None if made == {done.stdout.strip()} else f"it tells of {done.stdout!r} and made {made}"
    # Its own conclusion may have met the fault, too: then others conclude it. But nobody may be at work.
    with contextlib.suppress(AssertionError):
        eventually(lambda: not made & set(fleet.living()))
    results = [directory.read_result(str(fleet.home.state / "runs" / run_id)) for run_id in made]
    ended = [result is None or result["reason"] == "window" for result in results]
    if all(ended) and not made & set(fleet.living()):
        return None
    return f"it failed ({done.stderr[-100:]!r}) and left {results}"


def become_faulty(fleet: Fleet, spec: str) -> None:
    """Have all wrappers of the fleet's server start with a fault."""
    assert fleet.server is not None
    fleet.server.run("set-environment", "-g", fault_injection.VARIABLE, spec)
    fleet.server.run("set-environment", "-g", fault_injection.LOG, str(fleet.home.folder / "faults.log"))


FAULTS = [
    Fault("disk full", wrappers_with, wrappers="write:7:ENOSPC"),
    Fault("disk read-only", wrappers_with, wrappers="rename:3:EROFS,unlink:3:EROFS"),
    Fault("too many open files", wrappers_with, wrappers="open:997:EMFILE,pidfd_open:2:EMFILE"),
    Fault("a disk that fails", wrappers_with, wrappers="fstat:7:EIO,stat:499:EIO"),
    Fault("clock set back and forth", clocks_with, wrappers="clock:5:-86400"),
    Fault("watcher: disk full", watcher_with("ftruncate:1:ENOSPC", "pwrite:1:ENOSPC"), provoker="hook"),
    Fault(
        "watcher: too many open files", watcher_with("open:29:EMFILE", "listdir:5:EMFILE"), provoker="hook"
    ),
    Fault("watcher: a disk that fails", watcher_with("read:23:EIO", "fstat:31:EIO"), provoker="hook"),
    Fault("watcher: dies at any call", watcher_with("open:60:KILL"), provoker="hook"),
    Fault("commands: each call fails", commands_with, provoker="hook"),
    Fault("launches: each call fails, or kills", launches_with, provoker="hook"),
]
