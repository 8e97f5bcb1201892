"""Runs on another machine: links are cut and slowed, it is rebooted, and what is here is killed or stopped.

The judge is the far disk: what the wrappers over there have written, and how often each child was started.
"""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.desk import ID
from tests.machines.lab import NAME
from tests.machines.pair import Pair
from tests.torture.fleet import LOST
from tests.torture.matrix import Case
from tmuxagents.runs import directory
from tmuxagents.system import process

if TYPE_CHECKING:
    from pathlib import Path

FIGURES: list[str] = []
LAUNCHERS = 4
PATIENCE_S = 240.0
NEVER_CAME = ("failed", "window")  # the power went while it was launched
LIFE_S = (0.0, 12.0)
PARTING_S = (0.5, 4.0)  # between two faults
SHORT_S, LONG_S = (0.5, 5.0), (13.0, 20.0)  # a cut that nobody needs to notice, and one that shows
_PLANS = [
    ("answer stop fine NUMBER\nsettle", ("completed", "done")),
    ("answer error 401: no NUMBER\nsettle", ("failed", "error")),
    ("flood both 300\nanswer stop fine NUMBER\nsettle", ("completed", "done")),
    ("exit 3", ("failed", "exit")),
]
_LINK = ("cut", "slow", "long cut", "reboot")  # one at a time: each mends the link
_HERE = ("mirror", "watcher", "ssh", "all stopped")


def cases(runs: int, seed: int) -> list[Case]:
    """Return the one case of this part."""
    name = f"{runs} far runs, links, reboots and kills, seed {seed}"
    return [Case("machines", name, partial(_rage, runs=runs, seed=seed))]


def _rage(_: Path, *, runs: int, seed: int) -> list[str]:
    with Pair(TMUXAGENTS_MAX_RUNNING=str(runs + 20)) as pair:
        return Storm(pair, runs, seed).rage()


class Storm:
    """A pair of machines, runs on the other one, and all that befalls them."""

    def __init__(self, pair: Pair, runs: int, seed: int) -> None:
        self._pair = pair
        self._runs = runs
        self._dice = random.Random(seed)
        self._over = threading.Event()
        self._made: dict[int, str] = {}  # number -> run
        self._began: dict[int, float] = {}
        self._reboots: list[float] = []
        self._done: Counter[str] = Counter()
        self._refused = self._polls = 0
        self._wrong: list[str] = []

    def rage(self) -> list[str]:
        """Do it all; return what was wrong."""
        begun = time.monotonic()
        seeds = [self._dice.random() for _ in range(2)]
        with ThreadPoolExecutor(LAUNCHERS) as pool, ThreadPoolExecutor(2) as others:
            here = others.submit(self._befall, random.Random(seeds[1]), _HERE)
            looks = others.submit(self._look)
            launches = [pool.submit(self._launch, *one) for one in enumerate(self._lives())]
            launches[-1].add_done_callback(lambda _: self._over.set())
            # In this thread: what a thread has booted goes with it.
            self._befall(random.Random(seeds[0]), _LINK)
            for one in (*launches, here, looks):
                one.result()
        self._pair.lab.mend()
        storm_s = time.monotonic() - begun
        self._wait()
        judged = self._judge()
        told = ", ".join(f"{number} x {what}" for what, number in sorted(self._done.items()))
        FIGURES.append(
            f"machines: {self._runs} runs, {judged}; {told}; {self._refused} launches refused and repeated, "
            f"{self._polls} looks; {storm_s:.0f} s of it, then {time.monotonic() - begun - storm_s:.0f} s"
        )
        return self._wrong

    def _lives(self) -> list[float]:
        return [self._dice.uniform(*LIFE_S) for _ in range(self._runs)]

    def _launch(self, number: int, life_s: float) -> None:
        """Launch a run, as often as it takes: what is refused leaves nothing."""
        plan = _PLANS[number % len(_PLANS)][0].replace("NUMBER", str(number))
        script = f"pid started-{number}\nbegin\nanswer toolUse at work\nsleep {life_s:.2f}\n{plan}"
        limit = time.monotonic() + PATIENCE_S
        self._began[number] = time.monotonic()
        while True:
            done = self._pair("launch", "--on", NAME, script, timeout=PATIENCE_S)
            if done.returncode == 0 and ID.fullmatch(done.stdout):
                self._made[number] = done.stdout.strip()
                return
            self._refused += 1
            if done.returncode != 3 or "unreachable" not in done.stderr:
                self._wrong.append(
                    f"launch {number} ends with {done.returncode}: {done.stderr.strip()[-200:]}"
                )
            if time.monotonic() > limit:
                self._wrong.append(f"run {number} was never launched: {done.stderr.strip()[-200:]}")
                return
            time.sleep(1.0)

    # --- what befalls them

    def _befall(self, dice: random.Random, faults: tuple[str, ...]) -> None:
        """Let one fault after the other happen, each kind once before any comes again."""
        coming: list[str] = []
        while not self._over.wait(dice.uniform(*PARTING_S)):
            if not coming:
                coming = dice.sample(faults, len(faults))
            fault = coming.pop()
            try:
                self._happen(fault, dice)
            except Exception as error:  # noqa: BLE001  (the storm goes on, and is no good)
                self._wrong.append(f"{fault}: {type(error).__name__}: {error}")
            self._done[fault] += 1

    def _happen(self, fault: str, dice: random.Random) -> None:
        pair, lab = self._pair, self._pair.lab
        if fault in ("cut", "long cut"):
            lab.cut()
            self._over.wait(dice.uniform(*(SHORT_S if fault == "cut" else LONG_S)))
            lab.mend()
        elif fault == "slow":
            lab.slow(dice.randrange(50, 400))
            self._over.wait(dice.uniform(2.0, 8.0))
            lab.mend()
        elif fault == "reboot":
            lab.shut_down()
            self._over.wait(dice.uniform(*SHORT_S))
            lab.boot()
            self._reboots.append(time.monotonic())
        elif fault == "mirror":
            pair.kill(pair.mirrors())
        elif fault == "watcher":
            found = pair.home.watcher()
            pair.kill([found] if found else [])
        elif fault == "ssh":
            pair.kill(dice.sample(clients := pair.ssh(), dice.randint(0, len(clients))))
        else:  # the lid is closed for a while
            stopped = pair.near_processes("tmuxagents")
            for pid, started in stopped:
                process.send(pid, started, signal.SIGSTOP)
            self._over.wait(dice.uniform(1.0, 15.0))
            for pid, started in stopped:
                process.send(pid, started, signal.SIGCONT)

    def _look(self) -> None:
        """Ask how the runs stand, again and again: an end is told only if it is one over there."""
        while not self._over.wait(1.0):
            done = self._pair("poll", "-A", "-a", "--json", timeout=PATIENCE_S)
            self._polls += 1
            if done.returncode != 0:
                self._wrong.append(
                    f"poll ends with {done.returncode}: {done.stdout[-200:]}{done.stderr[-200:]}"
                )
                continue
            for run in json.loads(done.stdout)["runs"]:
                ended = run["status"] in ("completed", "failed", "aborted")
                if ended and not (self._pair.far_dir(run["runId"]) / directory.RESULT).exists():
                    self._wrong.append(
                        f"{run['runId']} is told as {run['status']}/{run['reason']}, and goes on"
                    )

    # --- what came of it

    def _wait(self) -> None:
        """Wait until each run has a result here that was announced."""
        limit = time.monotonic() + PATIENCE_S

        def is_over(run_id: str) -> bool:
            folder = self._pair.near_dir(run_id)
            return (folder / directory.RESULT).exists() and (folder / directory.ANNOUNCED).exists()

        while left := [run_id for run_id in self._made.values() if not is_over(run_id)]:
            if time.monotonic() > limit:
                self._wrong += [f"{run_id} has not ended here, or was not announced" for run_id in left]
                return
            self._pair("poll", timeout=PATIENCE_S)
            time.sleep(1.0)

    def _judge(self) -> str:
        """Hold each run against what is over there; return the figures."""
        pair = self._pair
        told = Counter(line.split()[0] for line in _text(pair.told).splitlines())
        starts = Counter(line.split()[1] for line in _text(pair.record).splitlines())
        how: Counter[str] = Counter()
        for number, run_id in self._made.items():
            how[self._judge_one(number, run_id, starts[f"started-{number}"])] += 1
            if told[run_id] > 1 or (told[run_id] == 0 and not self._done["watcher"]):
                self._wrong.append(f"{run_id} was announced {told[run_id]} times")
        made = set(self._made.values())
        for where, runs in (("here", set(pair.desk.made())), ("there", pair.far_runs())):
            strangers = [name for name in runs - made if not name.startswith(".")]
            self._wrong += [f"{name} is left {where} of a launch that was refused" for name in strangers]
        twice = sum(number > 1 for number in starts.values())
        untold = sum(told[run_id] == 0 for run_id in made)
        ends = ", ".join(f"{number} {what}" for what, number in sorted(how.items()))
        return f"{ends}, {twice} started twice, {untold} of a killed watcher not shown"

    def _judge_one(self, number: int, run_id: str, starts: int) -> str:
        pair = self._pair
        result: dict[str, Any] | None = directory.read_result(str(pair.near_dir(run_id)))
        if result is None:
            return "without an end"
        ending, planned = (result["status"], result["reason"]), _PLANS[number % len(_PLANS)][1]
        was_rebooted = any(at > self._began[number] for at in self._reboots)
        if ending != planned and not (was_rebooted and ending in (LOST, NEVER_CAME)):
            self._wrong.append(f"{run_id} ended {ending}, not {planned}: {result['errorMessage']}")
        if starts != 1 and (ending != NEVER_CAME or starts):
            lost_early = ending == LOST and starts == 0
            self._wrong += [] if lost_early else [f"{run_id}: {starts} children were started"]
        self._wrong += [f"{run_id}: {name} is not the same" for name in pair.differing(run_id)]
        return "/".join(ending)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
