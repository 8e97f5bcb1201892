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

from scripts.slurm_lab import Lab, NoSlurm
from tests.harness import alive
from tests.slurm.endings import ALONE, TOGETHER
from tests.slurm.ground import SECRET, Ground
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.launch import job
from tmuxagents.runs import directory

if TYPE_CHECKING:
    from collections.abc import Iterator


def tried(name: str, ground: Ground) -> bool:
    """Try one ending, and print it."""
    act, right = (TOGETHER | ALONE)[name]
    begun = time.monotonic()
    try:
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
    wrong += [f"{what}: pid {int(pid)}" for what, pid in ground.home.recorded().items() if alive(pid)]
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
        ground = Ground(lab, Path(folder) / "home")
        try:
            yield ground
        finally:
            for run in ground.started:
                with suppress(TmuxAgentsError, OSError, AssertionError):
                    job.stop(str(run.folder), ground.environment, hard=True)
            if ground.keeper is not None:
                ground.keeper.kill()
                ground.keeper.wait()
            ground.home.end_all()


def main() -> int:
    """Try all endings that are asked for; 1 if one is wrong, 3 if Slurm cannot be started."""
    parser = argparse.ArgumentParser(prog="scripts/try-slurm", description=__doc__)
    parser.add_argument(
        "--only", metavar="TEXT", action="append", help="only endings with this in their names"
    )
    wanted = parser.parse_args().only or [""]
    try:
        with _ground() as ground:
            names = [name for name in TOGETHER if any(text in name for text in wanted)]
            if not ground.lab.limits_memory and "out of memory" in names:
                names.remove("out of memory")
                print("--    out of memory: not tried: only root can limit memory, by cgroups of version 1")
            with ThreadPoolExecutor(len(TOGETHER)) as pool:
                good = list(pool.map(lambda name: tried(name, ground), names))
            good += [tried(name, ground) for name in ALONE if any(text in name for text in wanted)]
            wrong = left(ground)
    except NoSlurm as why:
        print(f"try-slurm: {why}", file=sys.stderr)
        return 3
    for line in wrong:
        print(f"LEFT  {line}")
    print(f"{sum(good)} of {len(good)} endings are right, {len(wrong)} things are left.")
    return 0 if all(good) and not wrong else 1


if __name__ == "__main__":
    raise SystemExit(main())
