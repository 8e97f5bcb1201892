"""python -m scripts.truth: the truth matrix, two cells at a time; scripts/try-agents starts it."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from scripts import agent_homes, limits
from scripts.mcp_agent_round import loopback_up
from scripts.truth import store, table, together
from scripts.truth.cell import tried
from scripts.truth.endings import ENDINGS, REFUSED_BY_US, out_of_reach, refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.truth.cell import Cell
    from scripts.truth.endings import Ending

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "truth.md"
MOST_AGAIN = 2  # of the quick ones
CELL_S, QUICK_S, ALL_S = 420, 600, 4 * 3600


def main(words: Sequence[str]) -> int:
    """Try all that is asked for; 1 if something is wrong, 4 if something hangs."""
    options = parsed(words)
    if options.alone:
        loopback_up()
    limits.give_up_when_told("try-agents")
    with limits.within(QUICK_S if options.quick else ALL_S, "try-agents"):
        return carry_out(options)


def carry_out(options: argparse.Namespace) -> int:
    """Try all cells that are asked for, and the round of several brands; 1 if one is wrong."""
    kept = options.programs.parent / "cache" / "truth.json"
    done = {(cell.brand, cell.ending.name) for cell in store.kept(kept) if is_current(cell)}
    wanted = [
        (brand, one)
        for brand in options.brands
        for one in ENDINGS
        if brand in agent_homes.BRANDS
        and (one.quick or not options.quick)
        and (not options.only or any(part in one.name for part in options.only))
        and not out_of_reach(brand, one.name)
        and not (options.missing and (brand, one.name) in done)
    ]
    cells = try_all(wanted, options.jobs, options.programs, kept)
    if options.quick:
        cells = try_wrong_again(cells, options.programs, kept)
    print(table.counted(cells))
    wrong = len(wrong_ones(cells))
    if store.TOGETHER in options.brands:
        with limits.within(CELL_S, "try-agents: the round of several brands"):
            said = together.tried(options.programs)
        print(together.line(said), flush=True)
        store.keep(kept, [], said)
        wrong += len(said["wrong"])
    if options.doc:
        cells = store.kept(kept, list(agent_homes.BRANDS))
        PAGE.write_text(table.document(cells, store.together(kept)), encoding="utf-8")
        wrong += sum(table.verdict(cell) == table.WRONG for cell in cells)
    return 1 if wrong else 0


def try_all(wanted: Sequence[tuple[str, Ending]], jobs: int, programs: Path, kept: Path) -> list[Cell]:
    """Try cells, and keep each as soon as it is known."""
    cells: list[Cell] = []
    with ThreadPoolExecutor(jobs) as pool:
        tries = [pool.submit(bounded, brand, one, programs) for brand, one in wanted]
        try:
            for one in as_completed(tries):
                cells.append(one.result())
                print(table.line(cells[-1]), flush=True)
                store.keep(kept, cells[-1:])
        except KeyboardInterrupt:  # those under way clean up after themselves
            pool.shutdown(cancel_futures=True)
            raise
    return cells


def bounded(brand: str, ending: Ending, programs: Path) -> Cell:
    """Try one cell, unless it takes too long."""
    with limits.within(CELL_S, f"try-agents: '{ending.name}' of {brand}"):
        return tried(brand, ending, programs)


def wrong_ones(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that are wrong."""
    return [cell for cell in cells if table.verdict(cell) == table.WRONG]


def try_wrong_again(cells: list[Cell], programs: Path, kept: Path) -> list[Cell]:
    """Try what is wrong once more, alone, unless it is much; name what is right then: it is unsteady."""
    wrong = wrong_ones(cells)
    if len(wrong) > MOST_AGAIN:
        return cells
    again = try_all([(cell.brand, cell.ending) for cell in wrong], 1, programs, kept)
    for cell in again:
        if table.verdict(cell) != table.WRONG:
            print(f"unsteady: {cell.brand}, {cell.ending.name}", flush=True)
    return [cell for cell in cells if cell not in wrong] + again


def is_current(cell: Cell) -> bool:
    """Say whether a cell need not be tried again: right, and of what the agent is and can do now."""
    is_refused = refused(cell.brand, cell.ending) is not None
    return (
        table.verdict(cell) != table.WRONG
        and is_refused == (cell.ours == REFUSED_BY_US)
        and cell.version == agent_homes.version(cell.brand)
    )


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/try-agents", description=__doc__)
    brands = [*agent_homes.BRANDS, store.TOGETHER]
    parser.add_argument("brands", nargs="*", metavar="BRAND", default=brands)
    parser.add_argument("--programs", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="fewer endings, and a wrong one twice")
    parser.add_argument(
        "--only", metavar="TEXT", action="append", help="only endings with this in their names"
    )
    parser.add_argument("--missing", action="store_true", help="only what was not right before")
    parser.add_argument(
        "--doc", action="store_true", help="write docs/truth.md, too, with what was tried before"
    )
    parser.add_argument("--jobs", type=int, default=2, help="so many cells at a time")
    options = parser.parse_args(words)
    unknown = [name for name in options.brands if name not in brands]
    if unknown:
        parser.error(f"no brand is called {', '.join(unknown)}; there are: {', '.join(brands)}")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
