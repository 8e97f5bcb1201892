"""Measuring: CPU time of processes, cases interleaved in random order, medians; raw figures are kept."""

from __future__ import annotations

import os
import random
import statistics
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_dice = random.Random(9)  # noqa: S311  (an order, no secret)
_kept: list[dict[str, list[float]]] = []


def keep(raw: Mapping[str, Sequence[float]]) -> None:
    """Keep figures as they were measured, for who wants to look behind a median."""
    _kept.append({name: [round(value, 4) for value in values] for name, values in raw.items()})


def kept() -> list[dict[str, list[float]]]:
    """Return what was kept since this was last asked."""
    found, _kept[:] = _kept[:], []
    return found


class Case:
    """A command whose cost is asked for: its CPU time, from start to end, in milliseconds."""

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], *, codes: Sequence[int] = (0,)
    ) -> None:
        self.argv = list(argv)
        self.environment = dict(environment)
        self.codes = codes

    def __call__(self) -> float:
        """Run it once."""
        code, cpu_ms = spent(self.argv, self.environment)
        if code not in self.codes:
            raise RuntimeError(f"{self.argv} left with {code}")
        return cpu_ms


def spent(
    argv: Sequence[str], environment: Mapping[str, str], *, output: str = os.devnull
) -> tuple[int, float]:
    """Run a command, its output into a file; return its exit code and its CPU time in milliseconds."""
    actions = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 2)]
    actions.append((os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    child = os.posix_spawn(argv[0], list(argv), dict(environment), file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), (usage.ru_utime + usage.ru_stime) * 1000


def interleaved(cases: Mapping[str, Callable[[], float]], times: int) -> dict[str, float]:
    """Return the median of each case. Each round runs all of them once, in an order of its own."""
    raw = samples(cases, times)
    return {name: statistics.median(values) for name, values in raw.items()}


def samples(cases: Mapping[str, Callable[[], float]], times: int) -> dict[str, list[float]]:
    """Return all figures of each case; the first round only warms up."""
    raw: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(times + 1):
        names = list(cases)
        _dice.shuffle(names)
        for name in names:
            value = cases[name]()
            if turn:
                raw[name].append(value)
    keep(raw)
    return raw


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which so much of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def cpu_s(pid: int) -> float:
    """Return the CPU time that a living process has used, all its threads together, in seconds.

    By the clock that the kernel keeps of each process: the figures in /proc count whole ticks.
    """
    return time.clock_gettime((~pid << 3) | 2)


def busy(pids: Sequence[int], seconds: float) -> list[float]:
    """Return how much of a core each of these processes uses for so long, in percent."""
    begun, before = time.perf_counter(), [cpu_s(pid) for pid in pids]
    time.sleep(seconds)
    took = time.perf_counter() - begun
    return [100 * (cpu_s(pid) - then) / took for pid, then in zip(pids, before, strict=True)]


def timed(act: Callable[[], object]) -> float:
    """Return how many milliseconds something takes."""
    begun = time.perf_counter()
    act()
    return (time.perf_counter() - begun) * 1000


def until(check: Callable[[], object], limit_s: float = 60.0, pause_s: float = 0.0002) -> None:
    """Look again and again, as closely as that does not disturb, until something is so."""
    deadline = time.perf_counter() + limit_s
    while not check():
        if time.perf_counter() > deadline:
            raise TimeoutError("it never came true")
        time.sleep(pause_s)
