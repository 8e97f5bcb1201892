"""scripts/bench: measure us, the floors of this machine and peers in one run, and print the tables."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts import limits
from scripts.benchmark import (
    cli,
    curves,
    ending,
    fleet,
    launching,
    measure,
    peers,
    report,
    talking,
    watching,
    wrapping,
)
from scripts.benchmark.stage import Stage
from scripts.benchmark.table import Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What is measured together -> the rows that come of it.
PARTS: dict[Callable[[Stage], Iterator[Figure]], set[int]] = {
    cli.looks: {1, 3},
    talking.looks: {1},
    cli.growth: {2},
    cli.verbs: {4},
    launching.returned: {5},
    launching.seen: {6},
    launching.many: {7},
    launching.processes: {8},
    watching.changes: {8},
    ending.waiting: {9},
    watching.shown: {10, 11},
    watching.at_rest: {12},
    watching.flooded: {13},
    wrapping.throughput: {14},
    wrapping.footprint: {15},
    fleet.talking: {16},
    fleet.following: {17},
    curves.by_children: {curves.BY_CHILDREN},
    curves.by_known: {curves.BY_KNOWN},
    peers.asked: {peers.ROW},
}
_NOT_QUICK = {peers.ROW}  # to install them takes longer than all the rest
PART_S = 3600


def main() -> int:
    """Measure and print; the exit status says whether all goals are met."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # else what was started here would be left
    document = _read(options.take) if options.take else _measured(options.only, quick=options.quick)
    figures = [Figure.of(one) for one in document["figures"]]
    print(document["machine"], *report.tables(figures), sep="\n\n")
    if options.json:
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    if options.doc:
        report.write(document["machine"], figures)
    return 0 if all(figure.met is not False for figure in figures) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the repetitions, and no peers")
    only = "only this row (again for more); 18 and 19 are growth, 20 is peers"
    parser.add_argument("--only", type=int, action="append", metavar="ROW", help=only)
    parser.add_argument("--json", metavar="FILE", help="write figures and raw data there as well")
    parser.add_argument("--doc", action="store_true", help="write docs/performance.md and its chart")
    taken = "measure nothing: take what an earlier --json wrote"
    parser.add_argument("--from", dest="take", metavar="FILE", help=taken)
    options = parser.parse_args()
    if options.doc and (options.only or options.quick):
        parser.error("the document tells of a whole run: --doc goes without --only and --quick")
    return options


def _read(path: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Path(path).read_text())
    return document


def _measured(only: list[int] | None, *, quick: bool) -> dict[str, Any]:
    """Measure; return the document: the machine, the figures, and all that was measured for them."""
    rows = set(only or set().union(*PARTS.values()) - (_NOT_QUICK if quick else set()))
    figures: list[Figure] = []
    raw: dict[str, list[dict[str, list[float]]]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        limits.homes.add(Path(folder))
        for part, of_part in PARTS.items():
            if not of_part & rows:
                continue
            said = (part.__doc__ or "").strip()
            print(f"measuring: {said}", file=sys.stderr, end=" ", flush=True)
            begun = time.monotonic()
            with limits.within(PART_S, f"bench: {said}"):
                figures += part(Stage(Path(folder), quick=quick))
            raw[said] = measure.kept()
            print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    figures = sorted((figure for figure in figures if figure.row in rows), key=lambda figure: figure.row)
    return {"machine": report.machine(), "figures": [figure.document() for figure in figures], "raw": raw}


if __name__ == "__main__":
    sys.exit(main())
