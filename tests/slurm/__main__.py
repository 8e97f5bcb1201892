"""Every ending of a run in a real Slurm, provoked; `scripts/try-slurm` starts it.

One Slurm of its own (scripts/slurm_lab), children that really run, and what must never happen is looked for
afterwards: a second child, a process that is left on the node, a secret in a file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scripts import limits
from scripts.slurm_lab import Lab, NoSlurm
from tests.harness import Founded, alive
from tests.slurm.endings import ALONE, TOGETHER
from tests.slurm.ground import SECRET, Ground, quiet
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.launch import job
from tmuxagents.runs import directory
from tmuxagents.slurm import commands

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDING_S, ALL_S = 240, 600  # all take two minutes, and longer where apt has to get the packages


def tried(name: str, ground: Ground) -> bool:
    """Try one ending, and print it."""
    act, right = (TOGETHER | ALONE)[name]
    begun = time.monotonic()
    try:
        with limits.within(ENDING_S, f"try-slurm: '{name}'"):
            said = "/".join(act(ground))
    except (AssertionError, TmuxAgentsError, subprocess.SubprocessError, OSError) as error:
        said = f"{type(error).__name__}: {error}"
    wanted = "/".join(right)
    good = said == wanted
    mark, more = ("ok   ", "") if good else ("WRONG", f", not {wanted}")
    print(f"{mark} {name:33} {said}{more}  {time.monotonic() - begun:.0f} s", flush=True)
    return good


def left(ground: Ground) -> list[str]:
    """Return all that must not be there at the end."""
    wrong = [f"run {run.run_id}: {run.starts()} children" for run in ground.started if run.starts() > 1]
    wrong += [f"run {run.run_id}: pids {run.children()}" for run in ground.started if run.children()]
    record = ground.home.record.read_text().splitlines() if ground.home.record.exists() else []
    founded = [Founded(line.split(" ")[0]) for line in record]
    wrong += [f"a process that a child founded: {int(pid)}" for pid in founded if alive(pid)]
    runs = ground.home.state / "runs"
    wrong += [str(path) for path in runs.glob(f"*/{directory.HANDED}")]
    for path in [*ground.lab.folder.rglob("*"), *ground.home.state.rglob("*")]:
        with suppress(OSError):
            if path.is_file() and SECRET.encode() in path.read_bytes() and not _is_output(path):
                wrong.append(f"the secret is in {path}")
    return wrong


def _is_output(path: Path) -> bool:
    """Say whether a file has what the child itself has printed."""
    return path.parent.parent.name == "runs" and path.name not in (
        directory.HANDED,
        directory.MACHINE,
        job.LOG,
    )


@contextmanager
def _ground() -> Iterator[Ground]:
    with tempfile.TemporaryDirectory(prefix="ta-slurm-") as folder, Lab(Path(folder) / "slurm") as lab:
        limits.homes.add(Path(folder))
        ground = Ground(lab, Path(folder) / "home")
        try:
            yield ground
        finally:
            for run in ground.started:
                with suppress(TmuxAgentsError, OSError, AssertionError):
                    commands.cancel(run.job, ground.environment)
            ground.leave_alone()
            quiet(ground.home)


def tried_all(names: list[str], at_once: int) -> tuple[list[bool], list[str]]:
    """Try some endings in a Slurm of their own; return which were right, and all that must not be there."""
    if not names:
        return [], []
    with _ground() as ground:
        if not ground.lab.limits_memory and "out of memory" in names:
            names.remove("out of memory")
            print("--    out of memory: not tried: only root can limit memory, by cgroups of version 1")
        with ThreadPoolExecutor(at_once) as pool:
            good = list(pool.map(lambda name: tried(name, ground), names))
        return good, left(ground)


def main() -> int:
    """Try all endings that are asked for; 1 if one is wrong, 3 if Slurm cannot be started, 4 if one hangs."""
    parser = argparse.ArgumentParser(prog="scripts/try-slurm", description=__doc__)
    parser.add_argument(
        "--only", metavar="TEXT", action="append", help="only endings with this in their names"
    )
    wanted = parser.parse_args().only or [""]
    together, alone = (
        [name for name in part if any(text in name for text in wanted)] for part in (TOGETHER, ALONE)
    )
    limits.give_up_when_told("try-slurm")
    try:
        with limits.within(ALL_S, "try-slurm"), ThreadPoolExecutor(2) as pool:
            rounds = [pool.submit(tried_all, together, len(TOGETHER)), pool.submit(tried_all, alone, 1)]
            found = [one.result() for one in rounds]
    except NoSlurm as why:
        print(f"try-slurm: {why}", file=sys.stderr)
        return 3
    good, wrong = found[0][0] + found[1][0], found[0][1] + found[1][1]
    for line in wrong:
        print(f"LEFT  {line}")
    print(f"{sum(good)} of {len(good)} endings are right, {len(wrong)} things are left.")
    return 0 if all(good) and not wrong else 1


if __name__ == "__main__":
    raise SystemExit(main())
