"""Let a person inside tmux choose one of several runs in tmux's own tree of windows."""

from __future__ import annotations

import time

from tmuxagents.commands import attach
from tmuxagents.errors import TmuxAgentsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.commands.look import Look
    from tmuxagents.edges.tmux.choosing import Choosing

_PAUSE_S = 0.15
_SLOW_AFTER_S = 60.0  # somebody who has left it open costs next to nothing
_SLOW_PAUSE_S = 1.0


def asked(found: Look, environment: Mapping[str, str], terminal: str | None) -> Choosing | None:
    """Ask in the pane that this is called in; None where that cannot be, or a run has no window there."""
    pane = environment.get("TMUX_PANE")
    try:
        seat = attach.stand(environment, terminal, hint="").seat
        if seat is None or pane is None or seat.client.pane != pane:
            return None
        there = seat.tmux.windows.all()
        windows = [there[run_id].window for run_id in found.active if run_id in there]
        if len(windows) < len(found.active):
            return None
        choosing = seat.tmux.choosing
        choosing.ask(pane, windows)
    except TmuxAgentsError:
        return None  # a list on the terminal asks as well
    return choosing


def wait(choosing: Choosing) -> str | None:
    """Return the run that is chosen, None if the person left without choosing any."""
    begun = time.monotonic()
    while True:
        is_over, run_id = choosing.answer()
        if is_over:
            return run_id
        time.sleep(_PAUSE_S if time.monotonic() - begun < _SLOW_AFTER_S else _SLOW_PAUSE_S)
