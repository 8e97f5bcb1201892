"""Measure runs on another machine: what their mirror costs, how far it is behind, and how long poll takes.

python -m scripts.far_bench [RUNS]   (100 by default; a real sshd in a network of its own, scripted children)
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness import eventually
from tests.machines.pair import Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

LAUNCHERS = 4
TURNS, TURN_S = 60, 0.5
MEASURED_S = 15.0
WATCHED = 10  # runs whose files are looked at all the time
POLLS = 10
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, and print a line for each figure."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with Pair(TMUXAGENTS_MAX_RUNNING=str(2 * runs + 10)) as pair:
        gate, end = pair.gate(), pair.gate()
        begun = time.monotonic()
        far = _launch(pair, runs, f"{_talk(gate)}\ngate {end}\ndone fine", "--on", "box")
        print(f"{runs} far runs launched in {time.monotonic() - begun:.0f} s, {LAUNCHERS} at once")
        for run_id in far:
            pair.hears(run_id, "at work")
        ((mirror, _),) = pair.mirrors()
        print(f"connections now: {len(pair.lab.masters())}")
        print(f"mirror while all wait: {_cpu(mirror):.2f} % of a core")
        windows = [pid for pid, _ in pair.near_processes("_far window")]
        print(f"{len(windows)} windows while all wait: {_cpu(*windows):.2f} % of a core")
        _poll(pair, f"poll with {runs} far runs")
        gate.touch()
        with ThreadPoolExecutor(1) as pool:
            behind = pool.submit(_behind, pair, far[:WATCHED])
            print(
                f"mirror while all talk, {runs / TURN_S:.0f} turns a second: {_cpu(mirror):.2f} % of a core"
            )
            late = behind.result()
        print(
            f"mirror behind: median {late[len(late) // 2]:.0f} ms, p99 {late[len(late) * 99 // 100]:.0f} ms"
        )
        end.touch()
        for run_id in far:
            pair.result(run_id)
        print(f"files that differ: {sum(len(pair.differing(run_id)) for run_id in far)}")
        again = pair.gate()
        local = _launch(pair, runs, f"{_talk(again)}\ndone fine")
        for run_id in local:
            pair.hears(run_id, "at work")
        _poll(pair, f"poll with {runs} runs of this machine")


def _talk(gate: Path) -> str:
    turns = f"sleep {TURN_S}\nanswer toolUse tick\n" * TURNS
    return f"begin\nanswer toolUse at work\ngate {gate}\n{turns}".rstrip()


def _launch(pair: Pair, runs: int, script: str, *options: str) -> list[str]:
    def launch(_: int) -> str:
        return pair("launch", *options, script, timeout=300).stdout.strip()

    with ThreadPoolExecutor(LAUNCHERS) as pool:
        return list(pool.map(launch, range(runs)))


def _cpu(*pids: int) -> float:
    """Return what processes use, in percent of a core."""
    before, begun = sum(map(_ticks, pids)), time.monotonic()
    time.sleep(MEASURED_S)
    return (sum(map(_ticks, pids)) - before) / _TICKS / (time.monotonic() - begun) * 100


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return int(fields[11]) + int(fields[12])


def _behind(pair: Pair, runs: Sequence[str]) -> list[float]:
    """Return how many ms later than over there each piece of events was here, in order."""
    pairs = [(pair.far_dir(one) / "events.jsonl", pair.near_dir(one) / "events.jsonl") for one in runs]
    waiting: list[dict[int, float]] = [{} for _ in runs]
    late: list[float] = []
    deadline = time.monotonic() + MEASURED_S
    while time.monotonic() < deadline:
        for (there, here), sizes in zip(pairs, waiting, strict=True):
            sizes.setdefault(there.stat().st_size, time.monotonic())
            came = here.stat().st_size
            for size in [size for size in sizes if 0 <= size <= came]:
                late.append((time.monotonic() - sizes[size]) * 1000)
                sizes[size] = float("inf")
            for size in [size for size, at in sizes.items() if at == float("inf") and size < came]:
                del sizes[size]
        time.sleep(0.005)
    return sorted(one for one in late if one >= 0)


def _poll(pair: Pair, what: str) -> None:
    eventually(lambda: pair("poll").returncode == 0)
    times, before = [], os.times()
    for _ in range(POLLS):
        begun = time.monotonic()
        pair("poll")
        times.append((time.monotonic() - begun) * 1000)
    after = os.times()
    used = (
        after.children_user + after.children_system - before.children_user - before.children_system
    ) / POLLS
    print(f"{what}: median {statistics.median(times):.0f} ms, {used * 1000:.0f} ms of them at work")


if __name__ == "__main__":
    main()
