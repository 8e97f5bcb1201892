"""What is done to a run while a tool of its child runs."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from tests.harness import eventually
from tmuxagents.runs import directory
from tmuxagents.system import process_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.desk import Desk

    Act = Callable[[Desk, str], object]


def wait_for_tool(run_id: str) -> None:
    """Wait until the shell command of the script runs in this run."""

    def sleeps() -> bool:
        rows = [row for row in process_table.table(since=0) if row.marker == run_id]
        return any(command_of(row.pid)[:2] == ["tail", "-f"] for row in rows)

    eventually(sleeps, 40)


def command_of(pid: int) -> list[str]:
    """Return the command line of a process; nothing if it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")]
    except OSError:
        return []


def child_of(folder: Path) -> int:
    """Return the child of a run."""
    lines, _ = directory.read_lines(f"{folder}/{directory.EVENTS}", 0)
    import json  # noqa: PLC0415

    started = next(event for event in map(json.loads, filter(None, lines)) if event["type"] == "run_started")
    return int(started["pid"])


def signal_group(number: int) -> Act:
    """Return what sends a signal to the child and its group, as a person's Ctrl-C or a system's end does."""
    return lambda desk, run_id: os.killpg(child_of(desk.folder(run_id)), number)


def kill_wrapper(desk: Desk, run_id: str) -> None:
    """Kill the process in the window at once."""
    identity = directory.identity_of(directory.read_wrapper(str(desk.folder(run_id))))
    assert identity is not None
    os.kill(identity.pid, signal.SIGKILL)


def close(desk: Desk, run_id: str) -> None:
    """Close the window."""
    desk.tmux("kill-window", "-t", desk.windows()[run_id])


ACTS: dict[str, Act] = {
    "term": signal_group(signal.SIGTERM),
    "int": signal_group(signal.SIGINT),
    "kill": signal_group(signal.SIGKILL),
    "stop": lambda desk, run_id: desk("stop", run_id),
    "close": close,
    "kill_wrapper": kill_wrapper,
}
LINGER = "linger"  # the program itself stays after its end
