"""One state directory, two machines: runs of another host or pid namespace are not ours to judge.

The other machine is a namespace: another boot id and host name for one, other pids for both.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness import eventually
from tests.torture.faults import Fault
from tests.torture.fleet import COMMAND, LOST, WORKS, NotProvoked

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.torture.fleet import Fleet

_PIDS = ("unshare", "-p", "-m", "--fork", "--mount-proc", "--kill-child")
_HOST = (*_PIDS, "-u")
OTHERS = 3
# Run there: launch, kill one wrapper when told, stay until told to leave. It prints what it has launched.
_THERE = """
import os, signal, subprocess, sys, json, time, pathlib
command, folder, runs, scripts = json.loads(sys.argv[1])
tell = lambda word: print(json.dumps(word), flush=True)
run = lambda *words: subprocess.run([*command, *words], capture_output=True, text=True)
launched = [run("launch", "-L", folder + "/there", script) for script in scripts]
tell([done.stdout.strip() or done.stderr for done in launched])
for line in sys.stdin:
    word, _, run_id = line.strip().partition(" ")
    if word == "kill":
        os.kill(json.loads(pathlib.Path(runs, run_id, "wrapper.json").read_text())["pid"], signal.SIGKILL)
        tell("killed")
    else:
        tell(json.loads(run(*line.split()).stdout))
"""


def on_another_host(fleet: Fleet) -> None:
    boot = fleet.home.folder / "boot_id"
    boot.write_text("00000000-1111-2222-3333-444444444444\n")
    known = "/proc/sys/kernel/random/boot_id"
    before = f"mount --bind {shlex.quote(str(boot))} {known} && hostname elsewhere && "
    _among_two(fleet, (*_HOST, "sh", "-c", f'{before}exec "$@"', "sh"))
    hosts = sorted(path.name for path in (fleet.home.state / "hosts").iterdir())
    if len(hosts) != 2:
        fleet.wrong.append(f"two hosts have {hosts}")


def in_another_namespace(fleet: Fleet) -> None:
    """One host, one watcher: it leaves the runs of the other namespace alone until it goes itself."""
    _among_two(fleet, _PIDS, one_watcher=True)


def _among_two(fleet: Fleet, prefix: tuple[str, ...], *, one_watcher: bool = False) -> None:
    scripts = [
        fleet.script(1000 + number, "b", "answer stop fine NUMBER\nsettle") for number in range(OTHERS)
    ]
    order = json.dumps([COMMAND, str(fleet.home.folder), str(fleet.home.state / "runs"), scripts])
    with subprocess.Popen(
        [*prefix, sys.executable, "-c", _THERE, order],
        cwd=fleet.home.project,
        env=fleet.home.environment | {"CHILD_RECORD": str(_record(fleet))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as other:
        try:
            ask: Callable[..., Any] = partial(_ask, other)
            runs = ask(None)
            if any(len(run_id) != 16 for run_id in runs):
                raise NotProvoked(f"launched there: {runs}")
            _judge(fleet, runs, ask)
            if one_watcher:
                fleet.kill_watcher()
            _see_them_end(fleet, runs, ask)
        finally:
            other.kill()


def _ask(other: subprocess.Popen[str], words: str | None) -> Any:
    assert other.stdin is not None
    assert other.stdout is not None
    assert other.stderr is not None
    if words is not None:
        other.stdin.write(words + "\n")
        other.stdin.flush()
    line = other.stdout.readline()
    if not line:
        raise NotProvoked(other.stderr.read().strip()[-200:])
    return json.loads(line)


def _judge(fleet: Fleet, runs: list[str], ask: Callable[..., Any]) -> None:
    """Kill one of the wrappers there: only there may it be known that it is gone."""
    eventually(lambda: _record(fleet).read_text().count(" ready-") == OTHERS)
    ask(f"kill {runs[0]}")
    for look in range(3):  # whatever our watcher and our commands do, it is not ours to say
        told = _told(json.loads(fleet.command("poll", "-A", "-a", "--json").stdout))
        ended = (
            fleet.home.state / "runs" / runs[0] / "result.json"
        ).exists()  # the watcher there has seen to it
        if told[runs[0]] not in ((WORKS, LOST) if ended else (WORKS,)) or any(
            told[run_id] != WORKS for run_id in runs[1:]
        ):
            fleet.wrong.append(f"look {look}: runs from elsewhere are told as {[told[i] for i in runs]}")
        fleet.command("stop", runs[1])
    there = _told(ask("poll -A -a --json"))
    if there[runs[0]] != LOST or there[runs[1]] != WORKS:
        fleet.wrong.append(f"there they are told as {[there[run_id] for run_id in runs]}")
    ours = [there[member.run_id] for member in fleet.members if WORKS in member.stands]
    if set(ours) - {WORKS}:
        fleet.wrong.append(f"there ours are told as {ours}")
    fleet.open("a")
    fleet.well()
    fleet.open("b")


def _see_them_end(fleet: Fleet, runs: list[str], ask: Callable[..., Any]) -> None:
    ask("poll -A --json")  # whoever finds what is to be concluded or told starts a watcher
    eventually(lambda: all(_ended(fleet, run_id) for run_id in runs), 60)
    for run_id in runs[1:]:
        result = json.loads((fleet.home.state / "runs" / run_id / "result.json").read_text())
        if (result["status"], result["reason"]) != ("completed", "done"):
            fleet.wrong.append(f"{run_id} from elsewhere ended {result['status']}/{result['reason']}")
    eventually(lambda: all(run_id in fleet.told.read_text() for run_id in runs))
    told = [line.split()[0] for line in fleet.told.read_text().splitlines()]
    fleet.wrong += [
        f"{run_id} from elsewhere was told of more than once" for run_id in runs if told.count(run_id) > 1
    ]
    fleet.strangers |= set(runs)


def _record(fleet: Fleet) -> Path:
    """Return where children there write themselves down: their numbers mean nothing here."""
    return fleet.home.folder / "record-there"


def _told(document: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    return {run["runId"]: (run["status"], run["reason"]) for run in document["runs"]}


def _ended(fleet: Fleet, run_id: str) -> bool:
    folder = Path(fleet.home.state / "runs" / run_id)
    return (folder / "result.json").exists() and (folder / "announced").exists()


FAULTS = [
    Fault("another pid namespace", in_another_namespace),
    Fault("another host", on_another_host),
]
