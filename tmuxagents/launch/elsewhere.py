"""The steps that far runs and jobs of Slurm share: machine.json, a mirror, and the window here. Joins."""

from __future__ import annotations

import sys
import time

from tmuxagents import tmux
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.launch.arrival import Launched
from tmuxagents.machines import link
from tmuxagents.runs import writing
from tmuxagents.runs.inspect import inspect
from tmuxagents.tmux import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.launch.launch import Launcher
    from tmuxagents.launch.prepare import Prepared


def marker(host: str, engine: str, *, state: str, **more: Any) -> dict[str, Any]:
    """Return the marker of a run that was not handed over yet: the content of its machine.json."""
    return {
        "v": 1,
        "host": host,
        "engine": engine,
        "state": state,
        "handle": None,
        "waiting": None,
        **more,
        "at": round(time.time(), 3),
    }


def start_following(
    launcher: Launcher, prepared: Prepared, run_dir: str, host: str, warnings: Sequence[str]
) -> FarArrival:
    """Start a mirror for a run that was handed over, and try to open its window here; return the run."""
    link.ensure_mirror(launcher.caller.home, host, launcher.environment)
    request, run_id = prepared.request, prepared.plan.run_id
    name = place.safe_name(request.name or request.preset or "", run_id[:8])
    argv = [sys.executable, "-P", "-m", "tmuxagents", "_far", "window", run_dir]
    session = window = None
    try:
        state = inspect(run_dir).standing.status
        order = tmux.Order(run_id, name=name, argv=argv, state=state, folder=request.project or "/")
        server = tmux.Tmux(launcher.place.socket, umask=launcher.umask)
        opened = server.windows.open(order, launcher.home_of(request))
        found = {
            "socketPath": opened.server.socket,
            "serverPid": opened.server.pid,
            "serverStartTime": opened.server.start_time,
            "session": opened.session_name,
            "window": opened.window,
            "pane": opened.pane,
        }
        writing.change_machine(run_dir, {"tmux": found})
        session, window = opened.session_name, opened.window
    except TmuxAgentsError as why:
        warnings = [*warnings, f"It has no window here: {why.message}"]
    return FarArrival(Launched(inspect(run_dir), session, window, [*warnings]))


class FarArrival:
    """A run that works elsewhere, or will be handed over again. Like an `Arrival`, but never waits."""

    __slots__ = ("_launched", "run_dir", "warnings")

    def __init__(self, launched: Launched) -> None:
        self.run_dir = launched.run.run_dir
        self.warnings = launched.warnings
        self._launched = launched

    def wait(self) -> Launched:
        """Return what was launched."""
        return self._launched

    launched = wait

    def give_up(self, _message: str, _cause: object = None) -> bool:
        """Say that another machine has the run: only a stop can end it."""
        return True
