"""Show a person a run's window or a tmux session: choose the terminal, and the tmux step that shows it.

No other client is moved, and no terminal gets one tmux inside another. Each step checks the run's tag itself.
A client's terminal can be lent: the client is detached, and a program attaches the terminal to the run. When
the person leaves the run, the program attaches the terminal to its former pane. So prefix-d leads back, also
from another server.

A run's window is the one with its tag, on exactly the tmux server that its wrapper named: socket, pid and
start time must agree. A window is reported as gone only if its server has answered.

Joins.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from dataclasses import dataclass, field
from typing import NamedTuple

from tmuxagents import tmux
from tmuxagents.attach.rules import OUT, STAY, SWITCH, Shown, Trail, choose_step, parse_trail
from tmuxagents.errors import BadRequest, NoSuchRun, NotPossible, TmuxAgentsError, Unusable
from tmuxagents.records import BATCH, is_run_id
from tmuxagents.registry import lookup
from tmuxagents.runs import output, words
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import poll
from tmuxagents.status.snapshot import take
from tmuxagents.text import safe
from tmuxagents.text.width import columns
from tmuxagents.tmux import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.status.snapshot import Snapshot
    from tmuxagents.tmux import RunWindow, ServerLife, Tmux
    from tmuxagents.tmux.clients import Client
    from tmuxagents.tmux.sessions import LayoutSession

_PANE = re.compile("%[0-9]+")


# --- the window ---


class RunTarget(NamedTuple):
    """A run's window, and its tmux server in this life of the server."""

    tmux: Tmux
    life: ServerLife
    window: RunWindow


def find_window(run: RunView) -> tuple[RunTarget | None, list[str]]:
    """Return a run's window, or None if it has gone with its ended run; and warnings for people.

    If the run is active and its window cannot be reached, raise.
    """
    try:
        return _find(run), []
    except TmuxAgentsError as why:
        if not inspect(run.run_dir).ended:
            raise
        return None, [why.message] if isinstance(why, tmux.Unanswered) else []


def _find(run: RunView) -> RunTarget:
    command = f"tmuxagents attach {_short(run)}"
    if run.standing.foreign and run.machine is None:
        host = safe.line(str((run.wrapper or {}).get("host")))
        message = f"Run {_short(run)} lives on another host ({host})."
        raise NotPossible(message, kind="no-window", hint=f"attach to it there: {command}")
    if run.wrapper is None and run.machine is None:
        message = f"Run {_short(run)} is being launched: its window is not there yet."
        raise NotPossible(message, kind="no-window", hint=f"try again in a moment: {command}")
    # The server and the window that the run's wrapper recorded.
    recorded = run.place or {}
    keys = ("socketPath", "serverPid", "serverStartTime", "window")
    socket, pid, started, window = (recorded.get(key) for key in keys)
    if not (
        isinstance(socket, str) and type(pid) is int and type(started) is int and isinstance(window, str)
    ):
        raise _closed(run, "it was not opened in tmux by tmuxagents")
    server = tmux.Tmux(socket)
    life = tmux.ServerLife(server.socket, pid, started)
    # The server that answers now, and its window of this run.
    try:
        answers = server.identity()
        found = server.windows.find(run.run_id) if answers == life else None
    except tmux.NoServer as why:
        raise _out_of_reach(run, life) from why
    if answers != life:
        raise _out_of_reach(run, life, taken=True)
    if found is None or found.window != window:
        raise _closed(run, "it was closed, or taken apart")
    return RunTarget(server, life, found)


def _closed(run: RunView, why: str) -> NotPossible:
    hint = f"tmuxagents transcript -f {_short(run)} shows what it does"
    return NotPossible(f"{_out(run)}: {why}.", kind="no-window", hint=hint)


def _out_of_reach(run: RunView, life: tmux.ServerLife, *, taken: bool = False) -> TmuxAgentsError:
    """Return the error for a server that is not at its socket: it has ended, or lives without the socket."""
    if not life.lives:
        return _closed(run, "its tmux server has ended")
    if taken:
        why = f"another tmux server has taken {life.socket} from the run's own server (pid {life.pid})"
        hint = f"kill -USR1 {life.pid} gives the socket back to that server"
    else:
        why = f"the socket {life.socket} was removed, but its tmux server lives (pid {life.pid})"
        hint = f"kill -USR1 {life.pid} makes the socket anew"
    return Unusable(f"{_out(run)}: {why}.", kind="tmux-unreachable", hint=hint)


def _out(run: RunView) -> str:
    return f"Run {_short(run)} is {run.standing.status}, but its window cannot be reached"


def _short(run: RunView) -> str:
    return words.short_id(run.run_id)


# --- the viewer ---


class Seat(NamedTuple):
    """A client of a tmux server, in one life of that server."""

    tmux: Tmux
    life: ServerLife
    client: Client

    @property
    def trail(self) -> Trail:
        """Return the client's way back."""
        return parse_trail(self.client.trail, self.client.name)

    @property
    def shown(self) -> Shown:
        """Return what the client shows."""
        client = self.client
        run_id = client.run_id if is_run_id(client.run_id) else None
        return Shown(client.session, client.window, run_id, client.view, client.read_only, self.trail)


@dataclass(slots=True)
class Viewer:
    """A person's terminal: a client of tmux (`seat`), or outside tmux if that is None."""

    terminal: str
    seat: Seat | None = None
    warnings: list[str] = field(default_factory=list)

    def seat_at(self, server: Tmux, life: ServerLife) -> Seat | None:
        """Return the client on which this server can show something.

        If the person's terminal is a pane of that server, this is the client around the pane. Otherwise one
        tmux would be inside another.
        """
        if (self.seat and self.seat.life == life) or not self.terminal.startswith("/"):
            return self.seat
        around = server.clients.at(self.terminal)
        return Seat(server, life, around) if around else self.seat


def find_viewer(environment: Mapping[str, str], terminal: str | None, *, hint: str) -> Viewer:
    """Return the terminal that is to show a run; raise if there is none."""
    inside = tmux.caller(environment)
    if inside is not None and inside.lives:
        server = tmux.Tmux(inside.server.socket)
        pane = environment.get("TMUX_PANE", "")
        if _PANE.fullmatch(pane):
            client = server.clients.at(pane)
        else:  # a key or a popup
            session = f"${environment['TMUX'].rpartition(',')[2]}"
            clients = (one for one in server.clients.all() if one.session == session and not one.control)
            client = next(clients, None)
        if client is None:
            message = "No terminal shows the tmux session of this command."
            raise Unusable(message, kind="no-tty", hint=hint)
        return Viewer(client.name, Seat(server, inside.server, client))
    if terminal is None:
        raise Unusable("A window needs a terminal to be shown on.", kind="no-tty", hint=hint)
    gone = place.choose({}, folder="", caller=inside.server.socket).warning if inside else None
    return Viewer(terminal, warnings=[gone] if gone else [])


# --- which run ---


def live_runs(caller: Caller) -> Snapshot:
    """Return the active runs of the caller's scope; raise if there is none."""
    found = take(poll.query_of(caller), caller)
    if found.rows:
        return found
    if found.elsewhere:
        message = f"No run is active here, but {found.elsewhere} elsewhere."
        raise NoSuchRun(message, kind="unknown-run", hint="name one: tmuxagents poll -A lists them")
    hint = "launch one, or name one that has ended: tmuxagents poll -a lists them"
    raise NoSuchRun("No run is active here.", kind="unknown-run", hint=hint)


def ambiguous(found: Snapshot) -> NoSuchRun:
    """Return the error for a caller that names none of several runs, and cannot be asked which."""
    ids = [str(shown.run["runId"]) for shown in found.rows]
    hint = f"name one: tmuxagents attach {found.rows[0].short}"
    return NoSuchRun(f"{len(ids)} runs are active here.", kind="ambiguous-run", hint=hint, candidates=ids)


# --- show it ---


def show(viewer: Viewer, target: RunTarget, *, read_only: bool = False) -> list[str] | None:
    """Show a run; if that takes our own terminal, return the program that we must become."""
    window = {name: getattr(target.window, name) for name in ("window", "session", "run_id")}
    seat = viewer.seat_at(target.tmux, target.life)
    is_here = seat is not None and seat.life == target.life
    shown = seat.shown if seat else None
    step = choose_step(viewer.terminal, shown, target.window.window, is_here=is_here, read_only=read_only)
    if seat is None:
        return target.tmux.clients.attach_argv(**window, read_only=step.read_only, trail=str(step.trail))
    if step.kind == SWITCH:
        _switch(seat, target, step.trail)
    elif step.kind != STAY:
        _refuse_to_end(seat.client, leaves_server=True)
        view = target.tmux.clients.prepare_view(**window, trail=str(step.trail))
        if view is None:
            raise _gone(target)
        _lend(seat, target.tmux, view, read_only=step.read_only)
    return None


def repaint(run: RunView, target: RunTarget, viewer: Viewer, *, width: int | None) -> None:
    """Paint the window of an ended run again if a line in it is wider than the viewer's terminal.

    `width`: that of our own terminal. A window that has more than the story of its run stays as it is; so
    does that of a run on another machine, which has notes of its own.
    """
    seat = viewer.seat_at(target.tmux, target.life)
    width = seat.client.width if seat else width
    if not (width and run.ended and run.plan.driver == BATCH and run.machine is None):
        return
    clients, window = target.tmux.clients, target.window.window
    with contextlib.suppress(tmux.TmuxRefused):  # the window has just gone
        lines = [line for line in clients.lines(window) if line.strip()]
        if all(columns(line.rstrip()) <= width for line in lines):
            return
        from tmuxagents.render.reading import StoryReader  # noqa: PLC0415  (most windows fit)

        reader = StoryReader(run.run_dir, home=os.path.expanduser("~"))
        reader.look()
        # A plain line of the child, or a fault of the wrapper, is only there. The last line is tmux's own.
        if reader.has_words(lines[:-1]):
            argv = [sys.executable, "-P", "-m", "tmuxagents", "_story", run.run_dir, str(width)]
            clients.repaint(window, run.run_id, target.life, argv)


def show_session(viewer: Viewer, server: tmux.Tmux, session: LayoutSession) -> list[str] | None:
    """Show a session; if that takes our own terminal, return the program that we must become."""
    life = server.identity()
    seat = viewer.seat_at(server, life)
    if seat is None:
        return server.sessions.attach_argv(session)
    if seat.life != life or seat.client.session != session.session:
        _refuse_to_end(seat.client, leaves_server=True)
        _lend(seat, server, session.name)
    return None


def _switch(seat: Seat, target: RunTarget, trail: Trail) -> None:
    """Show another run on a client that shows one already."""
    _refuse_to_end(seat.client, leaves_server=False)
    window = target.window
    shown = {"session": window.session, "run_id": window.run_id, "trail": str(trail)}
    if not target.tmux.clients.show(seat.client.name, window.window, **shown):
        raise _gone(target)
    if seat.client.view:
        seat.tmux.clients.end_view(seat.client.session)


def _lend(seat: Seat, server: tmux.Tmux, session: str, *, read_only: bool = False) -> None:
    """Lend a client's terminal to a session of this server or another, and wait until the client is there."""
    seat.tmux.clients.hand_over(seat.client, socket=server.socket, session=session, read_only=read_only)
    server.clients.arrives(seat.client.name, session)


def _gone(target: RunTarget) -> NotPossible:
    hint = f"tmuxagents attach {target.window.run_id} shows what there is now"
    return NotPossible("The window has just gone.", kind="no-window", hint=hint)


def _refuse_to_end(client: Client, *, leaves_server: bool) -> None:
    """Refuse to take a client away if its session or its server would end without it."""
    if client.holds_session or (client.holds_server and leaves_server):
        what = "session" if client.holds_session else "server"
        option = "destroy-unattached" if client.holds_session else "exit-unattached"
        message = f"Your tmux {what} would end when your terminal leaves it: {option} is on."
        raise NotPossible(message, kind="no-window", hint="attach from another terminal, outside of tmux")


def go_back(caller: Caller, viewer: Viewer) -> None:
    """Let a client show again what it showed before the last attach."""
    seat = viewer.seat
    if seat is None:
        raise BadRequest("--back is for terminals inside tmux.", kind="usage")
    trail = seat.trail
    for length in reversed(range(len(trail.runs))):
        try:
            target, _ = find_window(inspect(f"{caller.runs}/{trail.runs[length]}"))
        except tmux.Unanswered:
            raise
        except (NotPossible, Unusable):  # it cannot be reached any more
            continue
        if target is not None and target.life == seat.life:
            _switch(seat, target, Trail(trail.client, trail.home, trail.runs[:length]))
            return
    clients, name = seat.tmux.clients, seat.client.name
    if trail.home is not None:  # the program to which the terminal was lent attaches it there
        clients.detach(name)
        if trail.home != OUT:
            clients.arrives(name, trail.home.partition(":")[0])
    else:
        try:
            clients.back(name)
        except tmux.TmuxRefused as why:
            message = "This terminal showed nothing else before."
            raise NotPossible(message, kind="no-window", hint="leave with your prefix key and d") from why
    if seat.client.view:
        clients.end_view(seat.client.session)


# --- read its transcript ---


def transcript(run_dir: str, caller: Caller) -> Iterator[bytes]:
    """Yield the transcript of a run's session, line by line, safe to print."""
    for line in output.session_lines(lookup.session(run_dir, caller), follow=False):
        yield safe.text(line.decode("utf-8", "replace")).encode("utf-8", "replace") + b"\n"
