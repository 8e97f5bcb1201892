"""Growth: what a look and a watcher cost with ever more live children, and with ever more runs known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.benchmark.measure import Case, busy, interleaved, spent
from scripts.benchmark.table import Figure, number
from tests.torture.memory import status_kb

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scripts.benchmark.stage import Stage, Stand

CHILDREN, KNOWN = (1, 10, 100, 500), (1, 100, 10_000, 100_000)
BY_CHILDREN, BY_KNOWN = 18, 19  # their rows
_QUICK_CHILDREN, _QUICK_KNOWN = 100, 100  # more takes longer to make than --quick may take
_SMALLEST = ["-I", "-S", "-c", "pass"]


def by_children(stage: Stage) -> Iterator[Figure]:
    """Growth over 1 to 500 live children."""
    looks: dict[str, list[tuple[int, float]]] = {}
    rest: dict[str, list[tuple[int, float]]] = {}
    for count in CHILDREN:
        if stage.quick and count > _QUICK_CHILDREN:
            continue
        with stage.home(known=count, live=count) as stand:
            stand.settle()
            stand.call("poll")
            verbs = {"poll": ["poll"], "poll --json": ["poll", "--json"], "statusline": ["statusline"]}
            _add(looks, count, _in_f(stage, stand, verbs))
            stand.home.be_watched()
            pid = stand.watch()
            stand.settle()
            (percent,) = busy([pid], 2 if stage.quick else 10)
            _add(rest, count, {"CPU": percent, "RSS": status_kb(pid, "VmRSS") / 1024})
    for verb, points in looks.items():
        yield _figure(BY_CHILDREN, f"`{verb}` by live children", points, "F")
    for what, unit in (("CPU", "% of a core"), ("RSS", "MB")):
        yield _figure(BY_CHILDREN, f"watcher at rest by live children: {what}", rest[what], unit)


def by_known(stage: Stage) -> Iterator[Figure]:
    """Growth over 1 to 100,000 known runs, one of them live."""
    looks: dict[str, list[tuple[int, float]]] = {}
    first: list[tuple[int, float]] = []
    for count in KNOWN:
        if stage.quick and count > _QUICK_KNOWN:
            continue
        with stage.home(known=count, live=1) as stand:
            argv = [stage.entry, "poll"]
            code, cpu_ms = spent(argv, stand.home.environment)
            if code != 0:
                raise RuntimeError(f"{argv} left with {code}")
            first.append((count, cpu_ms))
            stand.settle()
            stand.call("poll")
            verbs = {"poll": ["poll"], "poll RUN": ["poll", stand.live[0]], "poll @last": ["poll", "@last"]}
            _add(looks, count, _in_f(stage, stand, verbs))
    for verb, points in looks.items():
        yield _figure(BY_KNOWN, f"`{verb}` by runs known", points, "F")
    yield _figure(BY_KNOWN, "the first `poll` without a registry, by runs found", first, "ms")


def _in_f(stage: Stage, stand: Stand, verbs: Mapping[str, list[str]]) -> dict[str, float]:
    """Return what these verbs cost, as multiples of the smallest Python process."""
    environment = stand.home.environment
    cases = {name: Case([stage.entry, *arguments], environment) for name, arguments in verbs.items()}
    cases["F"] = Case([stage.python, *_SMALLEST], environment)
    found = interleaved(cases, stage.times(30))
    return {name: found[name] / found["F"] for name in verbs}


def _add(curves: dict[str, list[tuple[int, float]]], count: int, found: Mapping[str, float]) -> None:
    for name, value in found.items():
        curves.setdefault(name, []).append((count, value))


def _figure(row: int, what: str, points: list[tuple[int, float]], unit: str) -> Figure:
    words = ", ".join(f"{count:,}: {number(value)}" for count, value in points)
    first, last = points[0][1], points[-1][1]
    return Figure(row, what, "", f"{words} {unit}", last / first if first else 0.0, points=tuple(points))
