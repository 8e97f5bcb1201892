"""End what still runs of the quickstart's demo: its model server, its watcher, wrappers and children.

    python scripts/demo_end.py DEMO_DIR SOCKETS_DIR

A process is the demo's if its environment names the demo's state or sockets, or its command line says so.
First TERM, so that each can end what is its own; KILL for what is left.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import time
from pathlib import Path

# Started as a program, Python looks for modules beside this file only.
sys.path.insert(0, str(Path(__file__).parents[1]))

from tmuxagents.system import process

PATIENCE_S = {signal.SIGCONT: 0.0, signal.SIGTERM: 20.0, signal.SIGKILL: 5.0}


def main() -> int:
    """End them; say whether all have gone."""
    demo, sockets = sys.argv[1:]
    for number, patience_s in PATIENCE_S.items():
        found = processes(demo, sockets)
        for pid, started in found:
            process.send(pid, started, number)
        deadline = time.monotonic() + patience_s
        for pid, started in found:
            process.wait_gone(pid, started, max(0.0, deadline - time.monotonic()))
    return 1 if processes(demo, sockets) else 0


def processes(demo: str, sockets: str) -> list[tuple[int, int]]:
    """Return pid and start time of every living process of the demo, but for whoever called us."""
    spared = ancestry(os.getpid())
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in spared]
    found = [(pid, process.start_time(pid)) for pid in pids if is_of(demo, sockets, pid)]
    return [(pid, started) for pid, started in found if started is not None]


def ancestry(pid: int) -> set[int]:
    """Return a process and all above it."""
    found = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        fields = "".join(read(pid, "stat")).rpartition(")")[2].split()
        pid = int(fields[1]) if fields else 0
    return found


def is_of(demo: str, sockets: str, pid: int) -> bool:
    """Say whether a process belongs to the demo."""
    if {f"TMUXAGENTS_HOME={demo}/state", f"TMUX_TMPDIR={sockets}"} & set(read(pid, "environ")):
        return True
    words = read(pid, "cmdline")
    return any(
        (word.endswith("/_wrap.py") and after.startswith(f"{demo}/state/runs/"))
        or (word == "--port-file" and after == f"{demo}/model/port")
        for word, after in itertools.pairwise(words)
    )


def read(pid: int, name: str) -> list[str]:
    """Return what /proc says of a process, as words; none of one that is gone or not ours."""
    with contextlib.suppress(OSError):
        return os.fsdecode(Path(f"/proc/{pid}/{name}").read_bytes()).split("\0")
    return []


if __name__ == "__main__":
    sys.exit(main())
