"""python -m scripts.truth: the truth matrix, two cells at a time; scripts/try-agents starts it."""

from __future__ import annotations

import argparse
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from scripts import agent_homes
from scripts.mcp_agent_round import loopback_up
from scripts.truth import store, table
from scripts.truth.cell import tried
from scripts.truth.endings import ENDINGS, FULL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.agent_homes import Brand
    from scripts.truth.endings import Ending

REPOSITORY = Path(__file__).parents[2]


def has(brand: Brand, ending: Ending) -> bool:
    """Say whether a brand has what an ending needs."""
    return (ending.permission == FULL or brand.levels) and (not ending.limit or bool(brand.limit))


def main(words: Sequence[str]) -> int:
    """Try all cells that are asked for; 1 if one is wrong."""
    parser = argparse.ArgumentParser(prog="scripts/try-agents", description=__doc__)
    parser.add_argument("brands", nargs="*", metavar="BRAND", default=list(agent_homes.BRANDS))
    parser.add_argument("--programs", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="fewer endings")
    parser.add_argument(
        "--only", metavar="TEXT", action="append", help="only endings with this in their names"
    )
    parser.add_argument(
        "--doc", action="store_true", help="write docs/truth.md, too, with what was tried before"
    )
    parser.add_argument("--jobs", type=int, default=2, help="so many cells at a time")
    options = parser.parse_args(words)
    if options.alone:
        loopback_up()
    endings = [
        one
        for one in ENDINGS
        if (one.quick or not options.quick)
        and (not options.only or any(part in one.name for part in options.only))
    ]
    cells = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ThreadPoolExecutor(options.jobs) as pool:
        tries = [
            pool.submit(tried, brand, one, options.programs)
            for brand in options.brands
            for one in endings
            if has(agent_homes.BRANDS[brand], one)
        ]
        try:
            for one in tries:
                cells.append(one.result())
                print(table.line(cells[-1]), flush=True)
        except KeyboardInterrupt:  # those under way clean up after themselves
            pool.shutdown(cancel_futures=True)
            raise
    print(table.counted(cells))
    kept = options.programs.parent / "cache" / "truth.json"
    store.keep(kept, cells)
    if options.doc:
        page = REPOSITORY / "docs" / "truth.md"
        page.write_text(table.document(store.kept(kept)), encoding="utf-8")
    return 1 if any(table.verdict(cell) == table.WRONG for cell in cells) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
