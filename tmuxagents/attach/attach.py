"""Show a run to a person: which run, on which client, and the one tmux command that shows it. Joins.

Other clients stay put, no terminal gets one tmux inside another, and every step checks the run's tag
itself.
"""

from __future__ import annotations

import re

from tmuxagents import tmux
from tmuxagents.attach import rules, where
from tmuxagents.attach.rules import OUT, Trail
from tmuxagents.errors import BadRequest, NoSuchRun, NotPossible, Unusable
from tmuxagents.records import is_run_id
from tmuxagents.registry import lookup
from tmuxagents.runs import output
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import poll
from tmuxagents.status.snapshot import take
from tmuxagents.text import safe
from tmuxagents.tmux import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tmuxagents.attach.where import Spot
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.status.snapshot import Snapshot

_PANE = re.compile("%[0-9]+")


class Seat:
    """A client of a tmux server, in one life of that."""

    __slots__ = ("client", "life", "tmux")

    def __init__(self, server: tmux.Tmux, life: tmux.ServerLife, client: tmux.Client) -> None:
        self.tmux = server
        self.life = life
        self.client = client

    @property
    def run_id(self) -> str | None:
        """Return the run that it shows."""
        return self.client.run_id if is_run_id(self.client.run_id) else None

    @property
    def trail(self) -> Trail:
        """Return its way back."""
        return rules.parse_trail(self.client.trail, self.client.name)


class Stand:
    """The viewer of a run: a tmux client, or our own terminal outside tmux."""

    __slots__ = ("seat", "terminal", "warnings")

    def __init__(self, terminal: str, seat: Seat | None = None, *, warnings: list[str] | None = None) -> None:
        self.terminal = terminal
        self.seat = seat
        self.warnings = warnings or []


# --- the viewer --------------------------------------------------------------------------------------------


def stand(environment: Mapping[str, str], terminal: str | None, *, hint: str) -> Stand:
    """Return the viewer of a run; raise if there is none."""
    inside = tmux.caller(environment)
    if inside is not None and inside.lives:
        server = tmux.Tmux(inside.server.socket)
        client = _looking(server, environment)
        if client is None:
            message = "No terminal shows the tmux session that this was called in."
            raise Unusable(message, kind="no-tty", hint=hint)
        return Stand(client.name, Seat(server, inside.server, client))
    if terminal is None:
        raise Unusable("There is no terminal here.", kind="no-tty", hint=hint)
    gone = place.choose({}, folder="", caller=inside.server.socket).warning if inside else None
    return Stand(terminal, warnings=[gone] if gone else [])


def _looking(server: tmux.Tmux, environment: Mapping[str, str]) -> tmux.Client | None:
    """Return the client of who calls: by its pane, or, called by a key or in a popup, by its session."""
    pane = environment.get("TMUX_PANE", "")
    if _PANE.fullmatch(pane):
        return server.clients.at(pane)
    session = f"${environment['TMUX'].rpartition(',')[2]}"
    return next((one for one in server.clients.all() if one.session == session and not one.control), None)


def _seat_around(spot: Spot, terminal: str) -> Seat | None:
    """Return the client that shows the pane which a terminal is, if it is one of the run's own server."""
    client = spot.tmux.clients.at(terminal) if terminal.startswith("/") else None
    return Seat(spot.tmux, spot.life, client) if client else None


# --- which run --------------------------------------------------------------------------------------------


def live_runs(caller: Caller) -> Snapshot:
    """Return the live runs of the caller's scope; raise where there is none."""
    found = take(poll.query_of(caller, ()), caller)
    if found.rows:
        return found
    if found.elsewhere:
        message = f"No run is live here, but {found.elsewhere} elsewhere."
        raise NoSuchRun(message, kind="unknown-run", hint="name one: tmuxagents poll -A lists them")
    hint = "launch one, or name one that has ended: tmuxagents poll -a lists them"
    raise NoSuchRun("No run is live here.", kind="unknown-run", hint=hint)


def ambiguous(found: Snapshot) -> NoSuchRun:
    """Return the error for who does not say which of several runs is meant, and cannot be asked."""
    ids = [str(shown.run["runId"]) for shown in found.rows]
    hint = f"name one: tmuxagents attach {found.rows[0].short}"
    return NoSuchRun(f"{len(ids)} runs are live here.", kind="ambiguous-run", hint=hint, candidates=ids)


# --- shown ------------------------------------------------------------------------------------------------


def show(who: Stand, spot: Spot, *, read_only: bool = False) -> list[str] | None:
    """Show a run; return the program to become where that takes the terminal that we are on."""
    seat = who.seat
    if seat is None or seat.life != spot.life:
        # Our terminal, or that of our client, may be a pane of the run's server: it would be nested there.
        seat = _seat_around(spot, who.terminal) or seat
    if seat is None:
        trail = str(Trail(who.terminal, OUT))
        return spot.tmux.clients.attach_argv(**_window(spot), read_only=read_only, trail=trail)
    if seat.life != spot.life or (read_only and not seat.client.read_only):
        _hop(seat, spot, read_only=read_only)
    elif seat.client.window != spot.window.window:
        before = f"{seat.client.session}:{seat.client.window}"
        trail = str(rules.onward(seat.trail, place=before, run_id=seat.run_id))
        _switch(seat, spot, trail)
    return None


def _window(spot: Spot) -> dict[str, str]:
    return {"window": spot.window.window, "session": spot.window.session, "run_id": spot.window.run_id}


def _switch(seat: Seat, spot: Spot, trail: str) -> None:
    """Show a run at a client of its own server."""
    client = seat.client
    refuse_to_end(client, session=spot.window.session)
    if not spot.tmux.clients.show(client.name, **_window(spot), trail=trail):
        raise _gone(spot)
    if client.view:
        seat.tmux.clients.end_view(client.session)


def _hop(seat: Seat, spot: Spot, *, read_only: bool) -> None:
    """Show a run of another server at a client's terminal, or, read-only, of its own: as another client."""
    client = seat.client
    refuse_to_end(client, session=None)
    home = seat.trail.home
    if client.view and home not in (None, OUT):
        client.session = home.partition(":")[0]  # the view ends when it is left, and cannot be come back to
    view = spot.tmux.clients.prepare_view(**_window(spot), trail=str(Trail(client.name, OUT)))
    if view is None:
        raise _gone(spot)
    # Who may only look here may only look there.
    looks = read_only or client.read_only
    seat.tmux.clients.hand_over(client, socket=spot.tmux.socket, view=view, read_only=looks)


def _gone(spot: Spot) -> NotPossible:
    hint = f"tmuxagents attach {spot.window.run_id} shows what there is now"
    return NotPossible("The window has just gone.", kind="no-window", hint=hint)


def refuse_to_end(client: tmux.Client, *, session: str | None) -> None:
    """Refuse to take a client to a session (None: of another server) if what it leaves would end."""
    if client.holds_session and client.session != session:
        raise _would_end("session", "destroy-unattached")
    if client.holds_server and session is None:
        raise _would_end("server", "exit-unattached")


def _would_end(what: str, option: str) -> NotPossible:
    message = f"Your tmux {what} would end when your terminal leaves it: {option} is on."
    return NotPossible(message, kind="no-window", hint="attach from another terminal, outside of tmux")


def go_back(caller: Caller, who: Stand) -> None:
    """Show at a client what it showed before the last attach."""
    seat = who.seat
    if seat is None:
        raise BadRequest("--back is for terminals inside tmux.", kind="usage")
    trail = seat.trail
    for length in reversed(range(len(trail.runs))):
        spot = _spot_again(caller, trail.runs[length])
        if spot is not None and spot.life == seat.life:
            _switch(seat, spot, str(Trail(trail.client, trail.home, trail.runs[:length])))
            return
    _leave(seat, trail.home)
    if seat.client.view:
        seat.tmux.clients.end_view(seat.client.session)


def _spot_again(caller: Caller, run_id: str) -> Spot | None:
    """Return where the window of a run is that was shown before; None if it cannot be had any more."""
    try:
        return where.find_window(inspect(f"{caller.runs}/{run_id}"))[0]
    except tmux.Unanswered:
        raise
    except (NotPossible, Unusable):
        return None


def _leave(seat: Seat, home: str | None) -> None:
    """Show at a client where it was before it showed runs."""
    clients, client = seat.tmux.clients, seat.client
    if home == OUT:
        clients.detach(client.name)
        return
    session, _, window = (home or "").partition(":")
    if home and clients.return_to(client, window, session=session):
        return
    try:
        clients.back(client.name)
    except tmux.TmuxRefused as why:
        message = "This terminal showed nothing else before."
        raise NotPossible(message, kind="no-window", hint="leave with your prefix key and d") from why


# --- read -------------------------------------------------------------------------------------------------


def transcript(run_dir: str, caller: Caller) -> Iterator[bytes]:
    """Yield the lines of the transcript of a run's session, as they may be printed."""
    for line in output.session_lines(lookup.session(run_dir, caller), follow=False):
        yield safe.text(line.decode("utf-8", "replace")).encode("utf-8", "replace") + b"\n"
