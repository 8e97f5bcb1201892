"""tmux in memory, for tests of commands: `tests/tmux/` runs the same on it and the real one.

`World` is the server and who sits before it; `Tmux` has the parts of `tmuxagents.tmux.Tmux`.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

from tmuxagents import tmux
from tmuxagents.errors import Unusable
from tmuxagents.tmux import script, status, windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WORK = "work"  # the session of the person


@dataclasses.dataclass
class Pane:
    """A window and its only pane."""

    window: str
    pane: str
    name: str
    run_id: str = ""
    state: str = ""
    dead: bool = False
    closes_at: float | None = None
    closes_for: str = ""
    close_after_s: int = 0

    @property
    def tty(self) -> str:
        return f"/dev/pts/{500 + int(self.pane[1:])}"


@dataclasses.dataclass
class Session:
    session: str
    name: str
    owner: str = ""
    panes: list[Pane] = dataclasses.field(default_factory=list)
    current: Pane | None = None
    ends_with_its_client: bool = False
    trail: str = ""


class World:
    """One server in all its lives, its clock, and the people who are attached to it."""

    def __init__(self, socket: str = "/nowhere/tmux") -> None:
        self.socket = socket
        self.pid = 1000
        self.clock = 0.0
        self.stopped = False
        self.alive = False
        self.views = itertools.count(1)
        self.handed_over: list[tuple[str, str, str]] = []  # client, socket, view
        self.handed_over_read_only = False
        self.status_line = ""
        self.status_later: list[tuple[float, str]] = []
        self._reset()

    def _reset(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.clients: dict[str, str] = {}  # client -> session, the last used first
        self.before: dict[str, str] = {}
        self.options: dict[str, str] = {"status-right": "the default"}
        self.numbers = {sign: itertools.count() for sign in "@%$"}

    # --- what people and programs do ------------------------------------------------------------------

    def start(self) -> None:
        """Begin a life of the server, with the session of a person."""
        self._reset()
        self.alive, self.pid = True, self.pid + 1
        self.new_session(WORK).panes.append(self.new_pane("editor"))

    def vanish(self) -> None:
        self.alive = False
        self._reset()

    def restart(self) -> None:
        self.vanish()
        self.start()

    def stranger(self, name: str) -> str:
        """Open a window of the person's own."""
        pane = self.new_pane(name)
        self.by_name(WORK).panes.append(pane)
        return pane.window

    def attach(self, session: str | None = None) -> str:
        """Sit down before a terminal; return its name."""
        name = f"/dev/pts/{len(self.clients) + 50}"
        self.clients = {name: session or self.by_name(WORK).session, **self.clients}
        return name

    def leave(self, client: str) -> None:
        del self.clients[client]
        self._tidy()

    def looks_at(self, client: str) -> str:
        return self._current(self.sessions[self.clients[client]]).window

    def end_program(self, window: str) -> None:
        for pane in self._panes(window):
            pane.dead = True

    def retag(self, window: str, run_id: str) -> None:
        for pane in self._panes(window):
            pane.run_id = run_id

    def pass_s(self, seconds: float) -> None:
        self.clock += seconds
        for _, text in (one for one in self.status_later if one[0] <= self.clock):
            self.status_line = text
        for pane in {id(pane): pane for _, pane in self.all_panes()}.values():
            if pane.closes_at is None or self.clock < pane.closes_at:
                continue
            if self.watched(pane) or not pane.dead:
                pane.closes_at = self.clock + pane.close_after_s
            elif pane.run_id == pane.closes_for:
                self.close(pane)

    def window_ids(self) -> set[str]:
        return {pane.window for _, pane in self.all_panes()}

    def pane_of(self, client: str) -> str:
        return self._current(self.sessions[self.clients[client]]).pane

    def tty_of(self, pane: str) -> str:
        return next(one.tty for _, one in self.all_panes() if one.pane == pane)

    def name_of(self, window: str) -> str:
        return self._panes(window)[0].name

    def state_of(self, window: str) -> str:
        return self._panes(window)[0].state

    def session_names(self) -> set[str]:
        return {session.name for session in self.sessions.values()}

    def close_all(self) -> None:
        """Nothing of a fake outlives its test."""

    # --- what the server does -------------------------------------------------------------------------

    def answer(self) -> None:
        """Raise what a call meets."""
        if self.stopped:
            raise tmux.Unanswered("tmux did not answer.", kind="tmux-unreachable")
        if not self.alive:
            raise tmux.NoServer("No tmux server answers.", kind="tmux-unreachable")

    def new_id(self, sign: str) -> str:
        return f"{sign}{next(self.numbers[sign])}"

    def new_pane(self, name: str) -> Pane:
        return Pane(self.new_id("@"), self.new_id("%"), name)

    def new_session(self, name: str, owner: str = "") -> Session:
        made = Session(self.new_id("$"), name, owner)
        self.sessions[made.session] = made
        return made

    def by_name(self, name: str) -> Session:
        return next(session for session in self.sessions.values() if session.name == name)

    def all_panes(self) -> list[tuple[Session, Pane]]:
        return [(session, pane) for session in self.sessions.values() for pane in session.panes]

    def _panes(self, window: str) -> list[Pane]:
        return [pane for _, pane in self.all_panes() if pane.window == window]

    def tagged(self, window: str, run_id: str, session: str | None = None) -> Pane | None:
        """Return a window if it is the run's."""
        self.answer()
        script.an_id(window, "@")
        script.a_run(run_id)
        rows = [row for row in self.all_panes() if session in (None, row[0].session)]
        return next((pane for _, pane in rows if pane.window == window and pane.run_id == run_id), None)

    @staticmethod
    def _current(session: Session) -> Pane:
        return session.current or session.panes[0]

    def watched(self, pane: Pane) -> int:
        return sum(self._current(self.sessions[session]) is pane for session in self.clients.values())

    def close(self, pane: Pane) -> None:
        for session in self.sessions.values():
            session.panes = [one for one in session.panes if one is not pane]
            session.current = None if session.current is pane else session.current
        self._tidy()

    def _tidy(self) -> None:
        """End sessions without windows, and views without a client."""
        attached = set(self.clients.values())
        self.sessions = {
            name: session
            for name, session in self.sessions.items()
            if session.panes and (name in attached or not session.ends_with_its_client)
        }
        self.clients = {name: session for name, session in self.clients.items() if session in self.sessions}
        self.alive = bool(self.sessions)

    def switch(self, client: str, session: Session, pane: Pane) -> None:
        """Let a client look at a window."""
        session_before = self.clients.pop(client)
        if session_before != session.session:
            self.before[client] = session_before
        session.current = pane
        self.clients = {client: session.session, **self.clients}
        self._tidy()

    def view_of(self, pane: Pane) -> Session:
        view = self.new_session(f"{windows.VIEW}{next(self.views)}")
        view.panes.append(pane)
        return view


class Tmux:
    """In place of `tmuxagents.tmux.Tmux`."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.socket = world.socket
        self.windows = Windows(world)
        self.clients = Clients(world)
        self.status = Status(world)
        self.options = Options(world)

    def identity(self) -> tmux.Server:
        self.world.answer()
        return server(self.world)


def server(world: World) -> tmux.Server:
    return tmux.Server(world.socket, world.pid, world.pid)


class Windows:
    def __init__(self, world: World) -> None:
        self._world = world

    def open(self, order: tmux.Order, home: tmux.Home) -> tmux.Opened:
        if self._world.stopped:
            self._world.answer()
        session = self._session(home)
        pane = self._world.new_pane(order.name)
        pane.run_id, pane.state = order.run_id, order.state
        session.panes.append(pane)
        return tmux.Opened(
            window=pane.window,
            pane=pane.pane,
            session=session.session,
            session_name=session.name,
            server=server(self._world),
            program=(self._world.pid, None),
            state=order.state,
        )

    def _session(self, home: tmux.Home) -> Session:
        world = self._world
        if home.session is not None:
            world.answer()
            if home.session not in world.sessions:
                raise Unusable("tmux has no session for the window.", kind="window")
            return world.sessions[home.session]
        if not world.alive:
            world.alive, world.pid = True, world.pid + 1
        there = {session.name: session for session in world.sessions.values()}
        ours = [there[name] for name in home.names if name in there and there[name].owner == home.owner]
        free = [name for name in home.names if name not in there]
        if not ours and not free:
            raise Unusable("tmux has no session for the window.", kind="window")
        return ours[0] if ours else world.new_session(free[0], home.owner)

    def find(self, run_id: str) -> tmux.Window | None:
        return self.all().get(script.a_run(run_id))

    def all(self) -> dict[str, tmux.Window]:
        self._world.answer()
        found: dict[str, tmux.Window] = {}
        for session, pane in self._world.all_panes():
            if pane.run_id and (not session.name.startswith(windows.VIEW) or pane.run_id not in found):
                found[pane.run_id] = tmux.Window(
                    pane.window,
                    session=session.session,
                    run_id=pane.run_id,
                    watched=self._world.watched(pane),
                    dead=pane.dead,
                )
        return found

    def set_state(self, window: str, run_id: str, state: str) -> bool:
        script.a_name(state)
        pane = self._world.tagged(window, run_id)
        if pane is not None:
            pane.state = state
        return pane is not None

    def kill(self, window: str, run_id: str) -> bool:
        pane = self._world.tagged(window, run_id)
        if pane is not None:
            self._world.close(pane)
        return pane is not None

    def close_pane(self, pane: str, run_id: str) -> bool:
        there = (one for _, one in self._world.all_panes() if one.pane == script.an_id(pane, "%"))
        return self.kill(next((one.window for one in there), "@999"), run_id)

    def end_of(self, pane: str) -> tuple[str, str] | None:
        self._world.answer()
        there = [one for _, one in self._world.all_panes() if one.pane == script.an_id(pane, "%")]
        if not there:
            raise tmux.Refused(f"tmux has no pane {pane} any more.", kind="window")
        return ("0", "") if there[0].dead else None

    def close_ended(self, window: str, run_id: str) -> bool:
        pane = self._world.tagged(window, run_id)
        if pane is None or not pane.dead or self._world.watched(pane):
            return False
        self._world.close(pane)
        return True

    def arm_close(self, window: str, run_id: str, after_s: int) -> bool:
        pane = self._world.tagged(window, run_id)
        if pane is not None and pane.closes_at is None:
            pane.close_after_s, pane.closes_for = after_s, run_id
            pane.closes_at = self._world.clock + after_s
        return pane is not None


class Clients:
    def __init__(self, world: World) -> None:
        self._world = world

    def all(self, session: str | None = None) -> list[tmux.Client]:
        self._world.answer()
        return [
            self._client(name, there)
            for name, there in self._world.clients.items()
            if session in (None, there)
        ]

    def _client(self, name: str, session: str) -> tmux.Client:
        there = self._world.sessions[session]
        pane = there.current or there.panes[0]
        client = tmux.Client(name, session=session, window=pane.window, pane=pane.pane, control=False)
        client.view = there.name.startswith(windows.VIEW)
        client.trail, client.run_id = there.trail, pane.run_id
        return client

    def session_of(self, pane: str) -> str | None:
        self._world.answer()
        rows = [session for session, one in self._world.all_panes() if one.pane == pane]
        at_home = [session for session in rows if not session.name.startswith(windows.VIEW)] or rows
        return at_home[0].session if at_home else None

    def at(self, pane: str) -> tmux.Client | None:
        shown = [session for session, one in self._world.all_panes() if pane in (one.pane, one.tty)]
        there = [client for client in self.all() if client.session in {one.session for one in shown}]
        return max(there, key=lambda client: client.pane == pane, default=None)

    def show(self, client: str, window: str, *, session: str, run_id: str, trail: str = "") -> bool:
        pane = self._world.tagged(window, run_id, session)
        if pane is None:
            return False
        view = self._world.view_of(pane)
        view.trail = trail
        self._world.switch(client, view, pane)
        view.ends_with_its_client = True
        return True

    def back(self, client: str) -> None:
        self._world.answer()
        session = self._world.sessions.get(self._world.before.get(client, ""))
        if session is None:
            raise tmux.Refused("tmux says: can't find last session.", kind="tmux-unreachable")
        self._world.switch(client, session, session.current or session.panes[0])

    def detach(self, client: str) -> None:
        self._world.answer()
        self._world.leave(client)

    def arrives(self, client: str, session: str) -> bool:
        self._world.answer()
        there = self._world.clients.get(client)
        return there is not None and session in (there, self._world.sessions[there].name)

    def end_view(self, session: str) -> None:
        self._world.answer()
        view = self._world.sessions.get(session)
        attached = session in self._world.clients.values()
        if view is not None and view.name.startswith(windows.VIEW) and not attached:
            del self._world.sessions[session]

    def attach_argv(
        self, window: str, *, session: str, run_id: str, read_only: bool = False, trail: str = ""
    ) -> list[str]:
        flags = ["-r"] if read_only else []
        return [
            "tmux",
            "-S",
            self._world.socket,
            "attach-session",
            *flags,
            "-t",
            f"{session}:{window}",
            run_id,
            trail,
        ]

    def prepare_view(self, window: str, *, session: str, run_id: str, trail: str = "") -> str | None:
        pane = self._world.tagged(window, run_id, session)
        if pane is None:
            return None
        view = self._world.view_of(pane)
        view.trail = trail
        return view.name

    def hand_over(self, client: tmux.Client, *, socket: str, session: str, read_only: bool = False) -> None:
        self._world.answer()
        self._world.handed_over_read_only = read_only
        self._world.handed_over.append((client.name, socket, session))
        self._world.leave(client.name)


class Status:
    def __init__(self, world: World) -> None:
        self._world = world

    def declare(self) -> bool:
        self._world.answer()
        fresh = "@tmuxagents_status" not in self._world.options
        self._world.options["@tmuxagents_status"] = "declared"
        return fresh

    def push(self, values: Mapping[str, str], then: Sequence[tuple[float, str]] = ()) -> None:
        self._world.answer()
        for name, text in values.items():
            if name not in status.NAMES or "#" in text or not text.isprintable():
                raise ValueError(name, text)
        self._world.status_line = values.get(status.TEXT, self._world.status_line)
        self._world.status_later = [(self._world.clock + max(1, round(s)), text) for s, text in then]

    def message(self) -> bool:
        self._world.answer()
        return not self._world.clients  # as a tmux before 3.6

    def withdraw(self) -> None:
        self._world.answer()
        self._world.options.pop("@tmuxagents_status", None)
        self._world.status_line = ""


class Options:
    def __init__(self, world: World) -> None:
        self._world = world

    def read(self, name: str) -> str | None:
        self._world.answer()
        return self._world.options.get(name)

    def width(self, name: str) -> int:
        self._world.answer()
        return len(self._world.options.get(name, ""))

    def write(self, name: str, value: str | None) -> None:
        self._world.answer()
        if value is not None:
            self._world.options[name] = value
        elif name.startswith("@"):
            self._world.options.pop(name, None)
        else:
            self._world.options[name] = "the default"
