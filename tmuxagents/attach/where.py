"""Where a run's window is: the one with its tag, on exactly the tmux server that its wrapper named. Joins.

Socket, pid and start time must agree. What cannot be asked is not "gone", and is never said to be.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents import tmux
from tmuxagents.errors import NotPossible, TmuxAgentsError, Unusable
from tmuxagents.runs import words
from tmuxagents.runs.inspect import inspect
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.tmux import RunWindow, ServerLife, Tmux


class RunTarget(NamedTuple):
    """A run's window, and the server where it is, in this life of it."""

    tmux: Tmux
    life: ServerLife
    window: RunWindow


def find_window(run: RunView) -> tuple[RunTarget | None, list[str]]:
    """Return where a run's window is, None where it has gone with its run, and warnings for people.

    A live run whose window cannot be reached is an error.
    """
    try:
        return _find(run), []
    except TmuxAgentsError as why:
        if not inspect(run.run_dir).ended:
            raise
        return None, [why.message] if isinstance(why, tmux.Unanswered) else []


def _find(run: RunView) -> RunTarget:
    life, recorded = _recorded(run)
    server = tmux.Tmux(life.socket)
    try:
        answers = server.identity()
        window = server.windows.find(run.run_id) if answers == life else None
    except tmux.NoServer as why:
        raise _out_of_reach(run, life) from why
    if answers != life:
        raise _out_of_reach(run, life, taken=True)
    if window is None or window.window != recorded:
        raise _closed(run, "it was closed, or taken apart")
    return RunTarget(server, life, window)


def _recorded(run: RunView) -> tuple[tmux.ServerLife, str]:
    """Return the server and the window that the run's wrapper wrote down."""
    command = f"tmuxagents attach {_short(run)}"
    if run.standing.foreign and run.machine is None:
        host = safe.line(str((run.wrapper or {}).get("host")))
        message = f"Run {_short(run)} lives on another host ({host})."
        raise NotPossible(message, kind="no-window", hint=f"attach to it there: {command}")
    if run.wrapper is None and run.machine is None:
        message = f"Run {_short(run)} is being launched: its window is not there yet."
        raise NotPossible(message, kind="no-window", hint=f"once more in a moment: {command}")
    place = run.place or {}
    socket, pid, started = (place.get(key) for key in ("socketPath", "serverPid", "serverStartTime"))
    window = place.get("window")
    if not (
        isinstance(socket, str) and type(pid) is int and type(started) is int and isinstance(window, str)
    ):
        raise _closed(run, "it was not opened in tmux by tmuxagents")
    return tmux.ServerLife(tmux.Tmux(socket).socket, pid, started), window


def _closed(run: RunView, why: str) -> NotPossible:
    hint = f"tmuxagents transcript -f {_short(run)} shows what it does"
    return NotPossible(f"{_out(run)}: {why}.", kind="no-window", hint=hint)


def _out_of_reach(run: RunView, life: tmux.ServerLife, *, taken: bool = False) -> TmuxAgentsError:
    """Return the error for a server that is not at its socket: it has ended, or only the socket has gone."""
    if not life.lives:
        return _closed(run, "its tmux server has ended")
    if taken:
        why = f"another tmux server has taken {life.socket} from its own, which lives (pid {life.pid})"
        hint = f"kill -USR1 {life.pid} gives the path back, and takes it from the other"
    else:
        why = f"the socket {life.socket} was removed, its tmux server lives (pid {life.pid})"
        hint = f"kill -USR1 {life.pid} makes the socket again"
    return Unusable(f"{_out(run)}: {why}.", kind="tmux-unreachable", hint=hint)


def _out(run: RunView) -> str:
    return f"Run {_short(run)} is {run.standing.status}, its window cannot be reached"


def _short(run: RunView) -> str:
    return words.short_id(run.run_id, ())
