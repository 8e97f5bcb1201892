"""One case in a process of its own, so that it can have namespaces and limits: prints what came of it."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness import REPOSITORY
from tests.torture import elsewhere, faults, hooks
from tests.torture.fleet import Fleet, NotProvoked

if TYPE_CHECKING:
    from tests.torture.faults import Fault

LIMIT_S = 420


def all_faults() -> dict[str, Fault]:
    """Return all cases by name and provoker."""
    every = [*faults.FAULTS, *elsewhere.FAULTS, *hooks.FAULTS]
    return {f"{fault.name} ({fault.provoker})": fault for fault in every}


def carry_out(fault: Fault, folder: Path, *, number: int, seed: int, soon_s: float) -> dict[str, Any]:
    """Let a fault befall a fleet; return what was wrong, what was left and how soon poll was right."""
    with tempfile.TemporaryDirectory(prefix="torture-", dir=folder, ignore_cleanup_errors=True) as made:
        fleet = Fleet(Path(made), number, seed=seed, soon_s=soon_s)
        try:
            if fault.before is not None:
                fault.before(fleet)
            with fleet:
                if fault.wrappers:
                    hooks.become_faulty(fleet, fault.wrappers)
                fleet.launch()
                fault.act(fleet)
                fleet.finish()
        except NotProvoked as why:
            return {"unprovoked": str(why)}
        except (AssertionError, OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
            fleet.wrong.append(f"{type(error).__name__}: {error}")
        return {"wrong": fleet.wrong, "left": fleet.left, "soonest": fleet.soonest}


def start(name: str, folder: Path, *, number: int, seed: int, soon_s: float) -> dict[str, Any]:
    """Carry a case out in a process of its own, in the namespaces that it needs."""
    argv = [sys.executable, "-m", "tests.torture.alone", name, str(folder)]
    options = [f"--number={number}", f"--seed={seed}", f"--soon={soon_s}"]
    try:
        done = subprocess.run(
            [*all_faults()[name].prefix, *argv, *options],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return {"wrong": [f"it hangs: no end in {LIMIT_S} s"]}
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        answer: dict[str, Any] = json.loads(lines[-1])
        return answer
    why = (done.stderr or done.stdout).strip().splitlines()[-3:]
    if not lines and any(line.startswith("unshare:") for line in why):
        return {"unprovoked": " ".join(why)}
    return {"wrong": [f"it ended with {done.returncode}: {' '.join(why)}"]}


def main() -> None:
    """Carry out the case that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--number", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--soon", type=float, default=1.0)
    options = parser.parse_args()
    print(
        json.dumps(
            carry_out(
                all_faults()[options.name],
                options.folder,
                number=options.number,
                seed=options.seed,
                soon_s=options.soon,
            )
        )
    )


if __name__ == "__main__":
    main()
