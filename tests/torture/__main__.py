"""scripts/torture: provoke every ending, many times and side by side, and print what came out as a table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness import ModelServer
from tests.torture import matrix, memory, scripted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.matrix import Case, Outcome


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__)
    parser.add_argument("--times", type=int, default=100, help="how often each ending (default 100)")
    parser.add_argument("--heavy", type=int, default=20, help="how often the floods among them (default 20)")
    parser.add_argument(
        "--pi", type=int, default=10, help="how often each ending of the real pi (default 10)"
    )
    parser.add_argument("--races", type=int, default=10, help="how many races of 200 runs (default 10)")
    parser.add_argument("--jobs", type=int, default=12, help="how many side by side (default 12)")
    parser.add_argument("--only", default="", help="only cases whose name holds this")
    return parser.parse_args()


def chosen(options: argparse.Namespace, server: ModelServer) -> Iterator[Case]:
    """Yield the cases that were asked for."""
    for turn in range(options.times):
        for case in matrix.scripted_cases():
            if turn < options.heavy or case.name not in scripted.HEAVY:
                yield case
    for _ in range(options.pi):
        yield from matrix.real_cases(server)


def main() -> int:
    """Provoke it all and print the table; return the exit status."""
    options = parse_options()
    with tempfile.TemporaryDirectory(prefix="torture-") as folder, ModelServer(Path(folder)) as server:
        cases = [case for case in chosen(options, server) if options.only in case.name]
        with ThreadPoolExecutor(options.jobs) as pool:
            outcomes = list(pool.map(carry_out, cases))
    outcomes += [
        carry_out(matrix.race(seed)) for seed in range(options.races)
    ]  # a race wants the machine alone
    failed = report(outcomes)
    print(*memory.figures(), sep="\n")
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


def carry_out(case: Case) -> Outcome:
    """Carry out one case; say at once what was wrong."""
    outcome = case.carry_out()
    for line in outcome.wrong:
        print(f"WRONG {case.kind}: {case.name}: {line}", file=sys.stderr, flush=True)
    return outcome


def report(outcomes: list[Outcome]) -> int:
    """Print the table; return how many went wrong."""
    rows: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        rows[outcome.case.kind, outcome.case.name].append(outcome)
    width = max((len(name) for _, name in rows), default=0)
    for (kind, name), of_row in rows.items():
        right = sum(not outcome.wrong for outcome in of_row)
        slowest = max(outcome.seconds for outcome in of_row)
        print(f"{kind:<15} {name:<{width}} {right:>4} of {len(of_row):<4} right   slowest {slowest:5.1f} s")
    return sum(bool(outcome.wrong) for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
