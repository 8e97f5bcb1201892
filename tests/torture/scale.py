"""Many of everything: children at once, runs in the registry, events a second, rounds of an idle watcher.

Nothing may grow without bound: memory, files, descriptors. Figures are gathered in FIGURES.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness import REPOSITORY, Home, eventually
from tests.torture.fleet import COMMAND, Fleet
from tests.torture.memory import status_kb
from tmuxagents.runs import directory, documents, events, writing
from tmuxagents.system import process, watcher_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.matrix import Case

FIGURES: list[str] = []
MOST_KB = 64 * 1024  # of a wrapper, of a watcher, of one look at what is active
ROOMY_KB = 192 * 1024  # of a look at ten thousand runs at once
GROWTH_KB = 4 * 1024
_LOOKS = 30
WEEK = 7 * 24 * 3600 // 2  # rounds of a watcher that looks every 2 s
# Hurried: the same rounds, without the sleep between them; how many there were goes to stdout on the way.
_HURRIED = """
import sys
from tmuxagents.watcher import run
run.SWEEP_S = run.SWEEP_DEAF_S = run.ROUND_S = 0.0
counted, sweep = 0, run.Watcher._sweep
def counting(watcher):
    global counted
    counted += 1
    if counted in (1000, int(sys.argv[2])):
        with open(sys.argv[3], "a") as book:
            book.write(f"{counted}\\n")
    return sweep(watcher)
run.Watcher._sweep = counting
run.main(sys.argv[1:2])
"""


def cases(*, quick: bool) -> Iterator[Case]:
    """Yield all of them, smaller ones in a hurry."""
    from tests.torture.matrix import Case  # noqa: PLC0415  (it lists these, too)

    children, runs, calls, rounds = (20, 500, 20_000, 2000) if quick else (100, 10_000, 600_000, WEEK)
    yield Case("scale", f"{children} children at once", partial(many_children, number=children))
    yield Case("scale", f"{runs} runs in the registry", partial(many_runs, number=runs))
    yield Case("scale", f"{calls} events of one child", partial(many_events, number=calls))
    yield Case("scale", f"{rounds} rounds of an idle watcher", partial(idle_watcher, rounds=rounds))


def many_children(folder: Path, number: int) -> list[str]:
    """Let so many children live at once."""
    with Fleet(folder, number, soon_s=5.0) as fleet:
        begun = time.monotonic()
        fleet.launch()
        launched = time.monotonic() - begun
        pid, _ = fleet.watcher()
        fleet.well()
        asked = time.monotonic()
        fleet.command("poll", "-A")
        polled = time.monotonic() - asked
        rss, files = status_kb(pid, "VmHWM"), len(os.listdir(f"/proc/{pid}/fd"))
        wrappers = max(status_kb(wrapper, "VmHWM") for wrapper, _ in fleet.living().values())
        fleet.finish()
    FIGURES.append(
        f"{number} children at once: launched in {launched:.1f} s, poll {polled * 1000:.0f} ms, watcher "
        f"{rss / 1024:.0f} MB and {files} descriptors, largest wrapper {wrappers / 1024:.1f} MB"
    )
    wrong = [*fleet.wrong, *(f"left behind: {line}" for line in fleet.left)]
    if rss > MOST_KB or wrappers > MOST_KB or files > 2 * number + 60:
        wrong.append(f"too much: {FIGURES[-1]}")
    return wrong


def many_runs(folder: Path, number: int) -> list[str]:
    """Ask where so many runs have ended and one lives."""
    home = Home(folder)
    home.run("done fine")  # the state directory, and nobody to watch it
    for count in range(number):
        _ended(home, count)
    wrong = []
    for arguments, most in (
        (("poll", "-A"), ROOMY_KB),  # which reads them all, and remembers
        (("poll", "-A"), MOST_KB),
        (("statusline",), MOST_KB),
        (("poll", "-A", "-a", "--json"), ROOMY_KB),
    ):
        seconds, peak, out = _measured(home, *arguments)
        words = f"{number} runs: {' '.join(arguments)} {seconds * 1000:.0f} ms, {peak / 1024:.0f} MB"
        FIGURES.append(words)
        if peak > most:
            wrong.append(f"too much: {words}")
        if "--json" in arguments and len(json.loads(out)["runs"]) != number + 1:
            wrong.append(f"it tells of {len(json.loads(out)['runs'])} runs")
    return wrong


def _ended(home: Home, count: int) -> None:
    """Write down a run that has ended."""
    meta = home.made[0].meta | {"runId": secrets.token_hex(8), "createdAt": 1.7e9 + count}
    meta["sessionId"] = meta["runId"]
    path = writing.create(str(home.state / "runs"), documents.plan_of(meta), {directory.PROMPT: b"x"})
    result = {
        "v": 1,
        "runId": meta["runId"],
        "status": "completed",
        "reason": "done",
        "endedAt": 1.7e9 + count,
    }
    writing.write_result(path, {**result, "startedAt": 1.7e9 + count, "durationMs": 10})
    Path(path, directory.ANNOUNCED).touch()


# A process begins with the peak of whoever it was forked from: this one is small, and we may not be.
_MEASURING = """
import os, sys
child = os.fork()
if not child:
    os.execv(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w") as file:
    file.write(str(usage.ru_maxrss))
os._exit(os.waitstatus_to_exitcode(status))
"""


def _measured(home: Home, *arguments: str) -> tuple[float, int, bytes]:
    """Return how long a command took, how much memory, and what it said."""
    peak = home.folder / "peak"
    argv = [sys.executable, "-I", "-S", "-c", _MEASURING, str(peak), *COMMAND, *arguments]
    begun = time.monotonic()
    asked = subprocess.run(argv, cwd=home.project, env=home.environment, stdout=subprocess.PIPE, check=False)
    took = time.monotonic() - begun
    assert asked.returncode == 0, arguments
    return took, int(peak.read_text()), asked.stdout


def many_events(folder: Path, number: int) -> list[str]:
    """Let one child call so many tools, as fast as it can, while a watcher and a person look on."""
    home = Home(folder)
    home.be_watched()
    run = home.run(f"begin\nflood events {number}\nanswer stop fine\nsettle")
    try:
        begun = time.monotonic()
        run.start()
        assert run.wrapper is not None
        wrapper = watcher = 0
        slowest = 0.0
        while run.wrapper.poll() is None:
            wrapper = max(wrapper, status_kb(run.wrapper.pid, "VmHWM"))
            found = home.watcher()
            watcher = max(watcher, status_kb(found[0], "VmHWM") if found else 0)
            asked = time.monotonic()
            assert home.command("poll", "-A").returncode == 0
            slowest = max(slowest, time.monotonic() - asked)
        seconds = time.monotonic() - begun
        run.close()
        status = run.status()
    finally:
        home.end_all()
    FIGURES.append(
        f"{number} events: {number / seconds:.0f} a second, wrapper {wrapper / 1024:.0f} MB, watcher "
        f"{watcher / 1024:.0f} MB, slowest poll {slowest * 1000:.0f} ms"
    )
    wrong = [] if status == "completed" else [f"it ended {status}"]
    if wrapper > MOST_KB or watcher > MOST_KB:
        wrong.append(f"too much: {FIGURES[-1]}")
    return wrong


def idle_watcher(folder: Path, rounds: int) -> list[str]:
    """Let a watcher look at one quiet run as often as it does in a week; nothing of it may grow."""
    home = Home(folder)
    run = home.run("x")
    home.be_watched()
    book = folder / "rounds"
    with subprocess.Popen(["sleep", "100000"]) as quiet:
        try:
            _wrapped_by(run.folder, quiet.pid)
            with subprocess.Popen(
                [sys.executable, "-c", _HURRIED, str(home.state), str(rounds), str(book)],
                env=watcher_lock.surroundings(str(home.state), home.environment)
                | {"PYTHONPATH": str(REPOSITORY)},
            ) as watcher:
                try:
                    sizes = [_size_at(watcher, book, count) for count in (1000, rounds)]
                finally:
                    watcher.kill()
        finally:
            quiet.kill()
            home.end_all()
    (before, files_before), (after, files_after) = sizes
    FIGURES.append(
        f"{rounds} rounds of an idle watcher: {before / 1024:.1f} MB, then {after / 1024:.1f} MB; "
        f"{files_before} descriptors, then {files_after}"
    )
    grown = after - before > GROWTH_KB or files_after > files_before
    return [f"it grows: {FIGURES[-1]}"] if grown else []


def _size_at(watcher: subprocess.Popen[bytes], book: Path, count: int) -> tuple[int, int]:
    """Wait until a watcher has gone so many rounds; return its memory and its descriptors."""
    eventually(
        lambda: watcher.poll() is not None or (book.exists() and str(count) in book.read_text().split()), 400
    )
    assert watcher.poll() is None, "the watcher has left"
    # It works on: what it has open for a moment only is not there at each look.
    files = min(_descriptors(watcher.pid) for _ in range(_LOOKS))
    return status_kb(watcher.pid, "VmRSS"), files


def _descriptors(pid: int) -> int:
    time.sleep(0.002)
    return len(os.listdir(f"/proc/{pid}/fd"))


def _wrapped_by(run_dir: Path, pid: int) -> None:
    """Let a process that does nothing be the wrapper of a run."""
    me = process.myself().changed(pid=pid, start_time=process.start_time(pid) or 1)
    place: dict[str, Any] = dict.fromkeys(("socketPath", "serverPid", "serverStartTime", "window", "pane"))
    assert writing.claim(str(run_dir), documents.wrapper(me, place, time.time()))
    begun = events.run_started({"pid": 1, "pidStartTime": 1, "wrapperPid": pid})
    begun.seq, begun.at = 1, time.time()
    (run_dir / directory.EVENTS).write_bytes(events.encode(begun))
