"""scripts/torture: provoke every ending, many times and side by side, and print what came out as a table."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness import Home, ModelServer, TmuxServer, real_pi
from tests.torture import endings, memory, readers, real, windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Case = tuple[str, str, Callable[[Path], list[str]]]


def scripted(folder: Path, ending: endings.Ending) -> list[str]:
    """Carry out one row with a scripted child."""
    return endings.carry_out(ending, Home(folder).run(ending.script, **ending.changes)).wrong


def with_pi(folder: Path, ending: real.RealEnding, server: ModelServer) -> list[str]:
    """Carry out one row with the real pi."""
    home = Home(folder)
    home.environment |= {"TMUXAGENTS_PI": real_pi(), "PI_CODING_AGENT_DIR": str(server.agent_dir)}
    task = f"{ending.script} in {folder.name}"
    wrong = endings.carry_out(ending, home.run(task, **ending.changes)).wrong
    asked = len(server.requests(task)) if ending.asked else 0
    return wrong if asked == ending.asked else [*wrong, f"pi asked {asked} times, not {ending.asked}"]


def in_window(folder: Path, ending: windows.WindowEnding) -> list[str]:
    """Carry out one row in a real tmux."""
    with TmuxServer(folder) as server:
        return windows.carry_out(ending, Home(folder).run(ending.script), server)


def cases(options: argparse.Namespace, server: ModelServer | None) -> Iterator[Case]:
    """Yield what is to be done: kind, name, and how."""
    for time_ in range(options.times):
        for row in endings.ENDINGS:
            if time_ < options.heavy or row.name not in endings.HEAVY:
                yield "scripted child", row.name, lambda folder, row=row: scripted(folder, row)  # type: ignore[misc]
        for window in windows.WINDOW_ENDINGS:
            yield "tmux", window.name, lambda folder, row=window: in_window(folder, row)  # type: ignore[misc]
    if server is not None:
        for _ in range(options.pi):
            for asked in real.REAL_ENDINGS:
                yield "real pi", asked.name, lambda folder, row=asked: with_pi(folder, row, server)  # type: ignore[misc]
    for seed in range(options.races):
        yield "race", f"hostile readers {seed}", lambda folder, seed=seed: readers.race(  # type: ignore[misc]
            folder, starts=200, readers=4, seed=seed
        )


def carry_out(case: Case) -> tuple[str, str, list[str], float]:
    """Do one case in a folder of its own, which must be empty of processes and sockets afterwards."""
    kind, name, act = case
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as folder:
        try:
            wrong = act(Path(folder))
        except Exception as error:  # noqa: BLE001  (a row must not end the table)
            wrong = [f"{type(error).__name__}: {error}"]
    return kind, name, wrong, time.monotonic() - begun


def main() -> int:
    """Run the matrix."""
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__)
    parser.add_argument("--times", type=int, default=100, help="how often each ending (default 100)")
    parser.add_argument("--heavy", type=int, default=10, help="how often the floods among them (default 10)")
    parser.add_argument("--pi", type=int, default=5, help="how often each ending of the real pi (default 5)")
    parser.add_argument("--races", type=int, default=3, help="how many races of 200 runs (default 3)")
    parser.add_argument("--jobs", type=int, default=12, help="how many side by side (default 12)")
    parser.add_argument("--only", default="", help="only cases whose name holds this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        if options.pi:
            with ModelServer(Path(folder)) as server:
                return report(options, server)
        return report(options, None)


def report(options: argparse.Namespace, server: ModelServer | None) -> int:
    """Do all cases and print the table."""
    chosen = [case for case in cases(options, server) if options.only in case[1]]
    done: Counter[tuple[str, str]] = Counter()
    bad: Counter[tuple[str, str]] = Counter()
    slowest: dict[tuple[str, str], float] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        for kind, name, wrong, seconds in pool.map(carry_out, chosen):
            done[kind, name] += 1
            bad[kind, name] += bool(wrong)
            slowest[kind, name] = max(seconds, slowest.get((kind, name), 0.0))
            for line in wrong:
                print(f"WRONG {kind}: {name}: {line}", file=sys.stderr, flush=True)
    width = max(len(name) for _, name in done)
    for (kind, name), count in done.items():
        right = count - bad[kind, name]
        print(f"{kind:<15} {name:<{width}} {right:>5} of {count:<5} right   slowest {slowest[kind, name]:5.1f} s")
    figures = memory.figures()
    print(*figures, sep="\n")
    failed = sum(bad.values())
    print(f"{sum(done.values()) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
