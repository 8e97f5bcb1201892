"""Row 9: from the end of a run to the end of whoever waits for it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from scripts.benchmark.measure import percentile, samples, timed, until
from scripts.benchmark.table import Figure, number, ratio

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scripts.benchmark.stage import Stage, Stand

_MEDIAN, _WORST_MS = 3.0, 10.0
_BLOCKED = "import os; os.read(0, 1); os._exit(0)"


def waiting(stage: Stage) -> Iterator[Figure]:
    """Row 9: a parent that waits hears of the end."""
    with stage.home(known=200, live=1) as stand:
        stand.call("poll")
        cases = {"bare": lambda: _bare(stage, stand), "ours": lambda: _ours(stage, stand)}
        found = samples(cases, stage.times(100))
    bare, ours = (sorted(found[name]) for name in ("bare", "ours"))
    median = ratio(
        9, "end of a run → `wait` has left, p50", percentile(bare, 0.5), percentile(ours, 0.5), goal=_MEDIAN
    )
    yield median
    worst = percentile(ours, 0.99)
    floor = f"{number(percentile(bare, 0.99))} ms"
    yield Figure(
        9, "end of a run → `wait` has left, p99", floor, f"{number(worst)} ms", worst, _WORST_MS, "ms"
    )


def _bare(stage: Stage, stand: Stand) -> float:
    """Wake a Python that is blocked on a pipe."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    child = _started([stage.python, "-I", "-S", "-c", _BLOCKED], stand, stdin=reading)
    os.close(reading)
    _asleep(child)
    took = timed(lambda: (os.write(writing, b"x"), os.waitpid(child, 0)))
    os.close(writing)
    return took


def _ours(stage: Stage, stand: Stand) -> float:
    """End a run that somebody waits for."""
    run_id = stand.add_live("Read it all.")
    child = _started([stage.entry, "wait", run_id], stand, stdin=None)
    until(lambda: "anon_inode:[pidfd]" in _files(child))
    _asleep(child)
    stand.conclude(run_id)

    def act() -> None:
        stand.let_go(run_id)
        os.waitpid(child, 0)

    took = timed(act)
    stand.forget(run_id)
    return took


def _started(argv: Sequence[str], stand: Stand, *, stdin: int | None) -> int:
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)
    ]
    if stdin is not None:
        actions.append((os.POSIX_SPAWN_DUP2, stdin, 0))
    return os.posix_spawn(argv[0], list(argv), stand.home.environment, file_actions=actions)


def _asleep(child: int) -> None:
    """Wait until a process does nothing any more."""
    until(lambda: _state(child) == "S")
    time.sleep(0.02)
    until(lambda: _state(child) == "S")


def _state(child: int) -> str:
    with open(f"/proc/{child}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


def _files(child: int) -> list[str]:
    found = []
    for name in os.listdir(f"/proc/{child}/fd"):
        try:
            found.append(os.readlink(f"/proc/{child}/fd/{name}"))
        except OSError:
            continue
    return found
