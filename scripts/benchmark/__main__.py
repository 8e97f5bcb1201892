"""scripts/bench: measure us and the floors of this machine in one run, and print the table."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.benchmark import cli, ending, launching, table, watching, wrapping
from scripts.benchmark.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scripts.benchmark.table import Figure

# What is measured together -> the rows that come of it.
PARTS: dict[Callable[[Stage], Iterator[Figure]], set[int]] = {
    cli.looks: {1, 3},
    cli.growth: {2},
    cli.verbs: {4},
    launching.returned: {5},
    launching.seen: {6},
    launching.many: {7},
    launching.processes: {8},
    ending.waiting: {9},
    watching.shown: {10, 11},
    watching.at_rest: {12},
    watching.flooded: {13},
    wrapping.throughput: {14},
    wrapping.footprint: {15},
}


def main() -> int:
    """Measure and print; the exit status says whether all goals are met."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the repetitions")
    parser.add_argument(
        "--only", type=int, action="append", metavar="ROW", help="only this row (again for more)"
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    options = parser.parse_args()
    wanted = set(options.only or set().union(*PARTS.values()))
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for part, rows in PARTS.items():
            if rows & wanted:
                print(f"measuring: {part.__doc__}", file=sys.stderr, flush=True)
                figures += part(Stage(Path(folder), quick=options.quick))
    figures = sorted((figure for figure in figures if figure.row in wanted), key=lambda figure: figure.row)
    print(table.machine(), "", *table.markdown(figures), sep="\n")
    if options.json:
        Path(options.json).write_text(json.dumps([figure.document() for figure in figures], indent=1) + "\n")
    return 0 if all(figure.met is not False for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
