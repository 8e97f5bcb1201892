"""A wrapper's first acts: the lock, a look, what the launcher hands over, and its name on the run.

Whoever finds that the run is not his to start leaves without a trace.
"""

from __future__ import annotations

import os
import time

from tmuxagents.core import documents
from tmuxagents.edges import handover, process, rundir
from tmuxagents.errors import NotPossible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.edges.handover import Handed

LOCK_LIMIT_S = 10.0
HANDOVER_LIMIT_S = 30.0


class Claim:
    """A run that is ours to carry out."""

    __slots__ = ("handed", "meta", "run_dir", "wrapper")

    def __init__(
        self, run_dir: str, meta: dict[str, Any], wrapper: dict[str, Any], handed: Handed | None
    ) -> None:
        self.run_dir = run_dir
        self.meta = meta
        self.wrapper = wrapper
        self.handed = handed  # None: started by hand, with our own surroundings


def claim(run_dir: str) -> Claim:
    """Claim a run and hold its lock until we leave, or raise NotPossible: another has it, or it has ended."""
    try:
        held = rundir.lock(run_dir, LOCK_LIMIT_S)
    except OSError as error:
        raise _refusal(f"There is no run directory at {run_dir}: {error.strerror}.") from error
    if held is None:
        raise _refusal("Another process holds this run; nothing was started.")
    meta = rundir.read_meta(run_dir)
    if meta is None or not os.path.exists(f"{run_dir}/{rundir.PROMPT}"):
        raise _refusal(f"There is no plan of a run in {run_dir}; nothing was started.")
    if rundir.read_result(run_dir) is not None:
        raise _refusal("This run has ended already; nothing was started.")
    handed = None
    if handover.is_expected(run_dir):
        handed = handover.receive(run_dir, HANDOVER_LIMIT_S)
        if handed is None:
            raise _refusal("The launcher of this run is gone; nothing was started.")
    wrapper = documents.wrapper(process.myself(), _tmux(handed), time.time())
    if not rundir.claim(run_dir, wrapper):
        raise _refusal("This run has a wrapper already; nothing was started.")
    return Claim(run_dir, meta, wrapper, handed)


def _refusal(message: str) -> NotPossible:
    return NotPossible(message, kind="run-busy")


def _tmux(handed: Handed | None) -> dict[str, Any]:
    """Return where in tmux we are, from our own environment: the wrapper makes no tmux call."""
    socket, pid, _session = [*os.environ.get("TMUX", "").rsplit(",", 2), "", ""][:3]
    server = int(pid) if pid.isdigit() else None
    return {
        "socketPath": socket or None,
        "serverPid": server,
        "serverStartTime": None if server is None else process.start_time(server),
        "window": handed.window if handed else None,
        "pane": os.environ.get("TMUX_PANE"),
    }
