"""scripts/torture: provoke every ending and every fault, and print what came out as a table."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from scripts import limits
from tests.harness import ModelServer
from tests.torture import attaches, far, fuzz, matrix, memory, scale, scripted, walls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.torture.matrix import Case, Outcome

CASE_S = 1800  # all of them take 20 minutes
PARTS = ("endings", "faults", "calls", "races", "storms", "attaches", "scale", "walls", "machines", "figures")


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="all of it, a little of each: two minutes")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part (again for more)")
    parser.add_argument("--only", default="", help="only cases whose name holds this")
    parser.add_argument("--times", type=int, default=100, help="how often each ending (default 100)")
    parser.add_argument("--heavy", type=int, default=10, help="how often the floods among them (default 10)")
    parser.add_argument("--pi", type=int, default=5, help="how often each ending of the real pi (default 5)")
    parser.add_argument("--faults", type=int, default=1, help="how often each fault (default 1)")
    parser.add_argument("--runs", type=int, default=50, help="over how many live runs (default 50)")
    parser.add_argument("--races", type=int, default=5, help="how many races of 200 runs (default 5)")
    parser.add_argument("--storms", type=int, default=3, help="how many storms on the queue (default 3)")
    parser.add_argument("--far", type=int, default=200, help="how many far runs (default 200)")
    parser.add_argument("--jobs", type=int, default=12, help="how many endings side by side (default 12)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of chance; told in the table")
    parser.add_argument("--fuzz", type=float, metavar="MINUTES", help="only hostile input, for so long")
    options = parser.parse_args()
    if options.quick:
        options.times = options.heavy = options.faults = options.races = options.storms = 1
        options.pi, options.runs = 0, 6
    return options


def endings(options: argparse.Namespace, server: ModelServer) -> Iterator[Case]:
    """Yield each ending as often as wished."""
    for turn in range(options.times):
        for case in matrix.scripted_cases():
            if turn < options.heavy or case.name not in scripted.HEAVY:
                yield case
    for _ in range(options.pi):
        yield from matrix.real_cases(server)


def faults(options: argparse.Namespace, _: ModelServer) -> Iterator[Case]:
    """Yield each fault as often as wished, each time by another chance."""
    for turn in range(options.faults):
        yield from matrix.faults(options.runs, seed=options.seed + turn, soon_s=5.0 if options.quick else 1.0)


def calls(options: argparse.Namespace, _: ModelServer) -> Iterator[Case]:
    """Yield the calls of a wrapper that fail."""
    yield from matrix.sweeps(quick=options.quick)


def races(options: argparse.Namespace, _: ModelServer) -> Iterator[Case]:
    """Yield races against hostile readers."""
    yield from (matrix.race(seed, starts=60 if options.quick else 200) for seed in range(options.races))


def storms(options: argparse.Namespace, server: ModelServer) -> Iterator[Case]:
    """Yield storms on the queue, the last of them of real pi's."""
    runs = 24 if options.quick else 200
    yield from (matrix.queue_storm(seed, runs=runs) for seed in range(options.storms))
    if options.pi:
        yield matrix.queue_storm(0, runs=40, models=server)


def looks(options: argparse.Namespace, _: ModelServer) -> Iterator[Case]:
    """Yield random attaches by three terminals at once."""
    few = {"runs": 8, "times": 60} if options.quick else {}
    yield matrix.random_attaches(options.seed, **few)


def sizes(options: argparse.Namespace, _: ModelServer) -> Iterator[Case]:
    """Yield what is done a thousand times over."""
    return scale.cases(quick=options.quick)


def attacks(_: argparse.Namespace, __: ModelServer) -> Iterator[Case]:
    """Yield the attacks on the walls."""
    return walls.cases()


def machines(options: argparse.Namespace, _: ModelServer) -> Iterator[Case]:
    """Yield runs on another machine to which everything happens."""
    yield from far.cases(min(options.far, 12) if options.quick else options.far, options.seed)


# part -> what yields its cases, and how many of them are carried out side by side
CASES: dict[str, tuple[Callable[[argparse.Namespace, ModelServer], Iterator[Case]], int]] = {
    "endings": (endings, 0),  # as --jobs says
    "faults": (faults, 1),  # poll is to be right within a second: each wants the machine alone
    "calls": (calls, 12),
    "races": (races, 1),
    "storms": (storms, 1),
    "attaches": (looks, 1),
    "scale": (sizes, 1),
    "walls": (attacks, 4),
    "machines": (machines, 1),
}


def main() -> int:
    """Provoke it all and print the table; return the exit status."""
    options = parse_options()
    if options.fuzz is not None:
        return fuzz.main(options.fuzz)
    begun = time.monotonic()
    wanted = options.part or PARTS
    with tempfile.TemporaryDirectory(prefix="torture-") as folder, ModelServer(Path(folder)) as server:
        outcomes = [
            outcome
            for part, (cases, jobs) in CASES.items()
            if part in wanted
            for outcome in carry_all_out(
                (case for case in cases(options, server) if options.only in case.name),
                side_by_side(part, options, jobs),
            )
        ]
    failed = report(outcomes)
    print(*attaches.FIGURES, *scale.FIGURES, *far.FIGURES, sep="\n")
    if "figures" in wanted and not options.quick:
        print(*memory.figures(), sep="\n")
    minutes = (time.monotonic() - begun) / 60
    print(f"{len(outcomes) - failed} passed, {failed} failed; seed {options.seed}, {minutes:.1f} minutes")
    return 1 if failed or not outcomes else 0


def side_by_side(part: str, options: argparse.Namespace, jobs: int) -> int:
    """Return how many cases of a part are carried out at once."""
    return 2 if part == "faults" and options.quick else jobs or options.jobs


def carry_all_out(cases: Iterable[Case], jobs: int) -> Iterator[Outcome]:
    """Carry cases out, so many side by side."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(carry_out, cases)


def carry_out(case: Case) -> Outcome:
    """Carry out one case; say at once what was wrong."""
    with limits.within(CASE_S, f"torture: {case.kind}: {case.name}"):
        outcome = case.carry_out()
    for line in outcome.wrong:
        print(f"WRONG {case.kind}: {case.name}: {line}", file=sys.stderr, flush=True)
    return outcome


def report(outcomes: list[Outcome]) -> int:
    """Print the table; return how many went wrong."""
    rows: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        rows[outcome.case.kind, outcome.case.name, outcome.case.provoker].append(outcome)
    width = max((len(name) for _, name, _ in rows), default=0)
    print(
        f"{'':<15} {'case':<{width}} {'by':<4} "
        f"{'times':>5} {'right':>5} {'wrong':>5} {'left':>5} {'slowest':>8}"
    )
    for (kind, name, provoker), of_row in rows.items():
        wrong = sum(bool(outcome.wrong) for outcome in of_row)
        left = sum(len(outcome.left) for outcome in of_row)
        slowest = max(outcome.seconds for outcome in of_row)
        why = next((outcome.unprovoked for outcome in of_row if outcome.unprovoked), None)
        end = f"  NOT PROVOKED: {why}" if why else ""
        untried = next((outcome.untried for outcome in of_row if outcome.untried), None)
        end = f"  NOT TRIED: {untried}" if untried else end
        figures = f"{len(of_row):>5} {len(of_row) - wrong:>5} {wrong:>5} {left:>5} {slowest:>6.1f} s"
        print(f"{kind:<15} {name:<{width}} {provoker:<4} {figures}{end}")
    return sum(bool(outcome.wrong) for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
