"""Sessions of layouts: build and find them; add and remove the windows and panes that come with runs.

Calls go through libtmux's objects, except for two that pass their commands by stdin. One makes a session: a
server that it starts shows its command line to all users. The other sets a person's options: a value may be
too long for a command line. A pane is known by our tag alone.

Touches: tmux.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from tmuxagents.tmux import runner, script, servers, style, windows
from tmuxagents.tmux.runner import TmuxRefused
from tmuxagents.tmux.windows import LAYOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tmuxagents.tmux.library import BoundedServer, Target
    from tmuxagents.tmux.runner import Command
    from tmuxagents.tmux.windows import RunWindow

OF = "@tmuxagents_layout_of"  # of a session: whose layout
EACH = "@tmuxagents_each"  # set on a window, each active run gets a pane there; on a session, a window
BUILT = "@tmuxagents_built"  # of a session: everything in its file has been made
SHOWS = "@tmuxagents_shows"  # of a pane: the run that it came for
TITLE = f"#{{?#{{{SHOWS}}}, #{{pane_title}} ,}}"  # of a pane, as `Tiles.title` sets it
ROOM = "tiled"  # the arrangement that leaves room for another pane
_LIMIT_S = 8.0
_PAUSE_S = 0.02


@dataclass(slots=True, kw_only=True)
class PaneOrder:
    """A pane: the program in it, or a shell (no program) in which lines are typed. It begins in `folder`."""

    folder: str
    argv: Sequence[str] = ()
    lines: Sequence[str] = ()
    focus: bool = False
    stays: bool = False  # the output can still be read when the program has ended


@dataclass(slots=True, kw_only=True)
class WindowOrder:
    """A window and its panes. `layout` must be a valid one: some versions of tmux end at any other."""

    name: str
    panes: Sequence[PaneOrder]
    layout: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    each: bool = False
    focus: bool = False


@dataclass(slots=True, kw_only=True)
class SessionOrder:
    """A session under the first of `names` that is free. All its panes get `variables`, too."""

    layout: str
    owner: str
    names: Sequence[str]
    windows: Sequence[WindowOrder]
    options: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    each: bool = False
    own: bool = False  # the server is for tmuxagents alone
    size: tuple[int, int] = (200, 50)  # until a client shows it


class LayoutSession(NamedTuple):
    """A session of a layout."""

    session: str
    name: str


class Sessions:
    """The sessions of layouts on one server. Each call raises NoServer, Unanswered or TmuxRefused."""

    __slots__ = ("_runner", "_server")

    def __init__(self, of: BoundedServer) -> None:
        self._server = of
        self._runner = of.runner

    def find(self, layout: str, owner: str) -> LayoutSession | None:
        """Return an owner's session of a layout, None if there is none."""
        is_it = script.both(
            script.equal(f"#{{{LAYOUT}}}", script.a_name(layout)),
            script.equal(f"#{{{OF}}}", script.a_run(owner)),
        )
        row = "#{session_id} #{session_name}"
        rows = self._server.cmd("list-sessions", "-f", is_it, "-F", row).stdout
        return LayoutSession(*rows[0].split(" ", 1)) if rows else None

    def build(self, order: SessionOrder) -> LayoutSession:
        """Build a whole session or none, without moving any view."""
        made, first = self._begin(order)
        try:
            self._set(["-t", made.session], order.options)
            chosen = first[0]
            for number, window in enumerate(order.windows):
                window_id, pane_id = first
                if number:
                    session = self._server.calling_from(window.panes[0].folder).session(made.session)
                    opening = ["new-window", "-d", "-n", script.a_name(window.name)]
                    argv = window.panes[0].argv
                    window_id, pane_id = _made(session, opening, argv, target=f"{made.session}:")
                self._fill(window, window_id, pane_id)
                chosen = window_id if window.focus else chosen
            self._server.window(chosen).cmd("select-window")
            self._server.session(made.session).set_option(BUILT, "1")
        except BaseException:
            self.end(made)
            raise
        return made

    def end(self, made: LayoutSession) -> None:
        """End a session of a layout; windows that are linked into it live on in their own sessions."""
        is_it = script.both(script.equal("#{session_id}", made.session), f"#{{{LAYOUT}}}")
        session = self._server.session(made.session)
        kill = ["kill-session", "-t", made.session]
        self._server.holds(session, is_it, kill, target=f"{made.session}:")

    def attach_argv(self, made: LayoutSession) -> list[str]:
        """Return the program that shows a session on its own terminal, outside tmux."""
        tmux = ["tmux", "-u", "-S", self._runner.socket]
        return [*tmux, "attach-session", "-t", script.an_id(made.session, "$")]

    # --- built --------------------------------------------------------------------------------------------

    def _begin(self, order: SessionOrder) -> tuple[LayoutSession, tuple[str, str]]:
        """Make the session under the first free name; return the session, and its first window and pane."""
        runner.client_version()  # before a tmux that is too old starts a server
        servers.make_folder(self._runner.socket)
        names = [script.a_name(name) for name in order.names]
        deadline = time.monotonic() + _LIMIT_S
        while True:
            try:
                answer = self._try(order, names[0])
            except runner.NoServer:  # one that is just ending
                if time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE_S)
                continue
            if "duplicate session" not in answer.error or len(names) == 1:
                break
            names.pop(0)
        if answer.code != 0 or not answer.lines:
            raise runner.refusal(answer, "window")
        session, window, pane = answer.lines[0].split(" ")
        return LayoutSession(session, names[0]), (window, pane)

    def _try(self, order: SessionOrder, name: str) -> runner.TmuxAnswer:
        """Make the session, by stdin: a server that this starts shows its command line to all users."""
        window = order.windows[0]
        pane = window.panes[0]
        size = ["-x", str(order.size[0]), "-y", str(order.size[1])]
        row = "#{session_id} #{window_id} #{pane_id}"
        opening = ["new-session", "-d", "-s", name, *size, "-n", script.a_name(window.name), "-P", "-F", row]
        setting = ["set-option", "-t", f"={name}:"]
        commands: list[Command] = [
            [*opening, *(f"-e{key}={value}" for key, value in order.variables.items()), *pane.argv],
            [*setting, LAYOUT, script.a_name(order.layout)],
            [*setting, OF, script.a_run(order.owner)],
            [*setting, "destroy-unattached", "off"],  # no client shows it yet
            *style.of_session(name),
        ]
        if order.each:
            commands.append([*setting, EACH, "window"])
        if order.own:
            commands.append(["set-option", "-s", "exit-unattached", "off"])
        text = f"{script.script(*commands)}\n".encode()
        return self._runner.run(["start-server"], ["source-file", "-"], text=text, folder=pane.folder)

    def _fill(self, window: WindowOrder, window_id: str, pane_id: str) -> None:
        shell_window = self._server.window(window_id)
        shell_window.set_option("remain-on-exit", "off")
        if window.each:
            shell_window.set_option(EACH, "pane")
            shell_window.set_option("pane-border-status", "top")
            shell_window.set_option("pane-border-format", TITLE)
        self._set(["-w", "-t", window_id], window.options)
        panes = [self._server.pane(pane_id)]
        for pane in window.panes[1:]:
            shell_window.select_layout(ROOM)
            beside = self._server.calling_from(pane.folder).pane(pane_id)
            _, pane_id = _made(beside, ["split-window", "-d"], pane.argv)
            panes.append(self._server.pane(pane_id))
        if window.layout is not None:
            shell_window.select_layout(window.layout)
        for pane, pane_there in zip(window.panes, panes, strict=True):
            if pane.stays:
                pane_there.set_option("remain-on-exit", "on")
            for line in pane.lines:
                with contextlib.suppress(TmuxRefused):  # the shell may have ended at once
                    pane_there.send_keys(line, literal=True)
            if pane.focus:
                pane_there.cmd("select-pane")

    def _set(self, where: Sequence[str], options: Mapping[str, str]) -> None:
        """Set options of a person's file, by stdin: a value could be too long for tmux's command line."""
        if options:
            lines = [script.script(["set-option", *where, name, value]) for name, value in options.items()]
            self._runner.ask(["source-file", "-"], text="".join(f"{line}\n" for line in lines).encode())

    def tiles(self, session: str) -> Tiles:
        """Return the access to the windows and panes that come and go in a session."""
        return Tiles(self._server, session)


def _made(at: Target, making: Command, argv: Command, *, target: str | None = None) -> tuple[str, str]:
    """Carry out a command that makes a pane in an object, or beside it; return its window and the pane."""
    try:
        row = at.cmd(*making, "-P", "-F", "#{window_id} #{pane_id}", *argv, target=target).stdout
    except TmuxRefused as why:
        raise TmuxRefused(why.message, kind="window") from why
    window, pane = row[0].split(" ")
    return window, pane


_NO_ROOM = "no space for"


class Tiles:
    """The session of one layout. Each call raises NoServer, Unanswered or TmuxRefused."""

    __slots__ = ("_server", "_session")

    def __init__(self, of: BoundedServer, session: str) -> None:
        self._server = of
        self._session = self._server.session(session)

    def _option(self, name: str) -> list[str]:
        return self._session.cmd("show-options", "-qv", name, target=f"{self._session.session_id}:").stdout

    def is_built(self) -> bool:
        """Say whether the session is complete. Until then nothing may be added to it."""
        return self._option(BUILT) == ["1"]

    def wants_windows(self) -> bool:
        """Say whether a window is to come for each active run."""
        return self._option(EACH) == ["window"]

    def link(self, wanted: Iterable[RunWindow]) -> None:
        """Link windows into the session, except those that it has, and those that are not their runs'."""
        has = set(self._session.cmd("list-windows", "-F", "#{window_id}").stdout)
        for one in wanted:
            if one.window not in has:
                act = ["link-window", "-d", "-s", one.window, "-t", f"{self._session.session_id}:"]
                is_it = windows.tagged(one.window, one.run_id)
                self._server.holds(self._server.window(one.window), is_it, act)

    def panes(self) -> tuple[str | None, dict[str, str]]:
        """Return the window where a pane is to come for each active run, and the panes by their runs.

        None: there is no such window now, or a person has zoomed into it and must not be disturbed.
        """
        wanted = script.both(script.equal(f"#{{{EACH}}}", "pane"), "#{?window_zoomed_flag,0,1}")
        rows = self._session.cmd("list-windows", "-f", wanted, "-F", "#{window_id}").stdout
        row = f"#{{pane_id}} #{{{SHOWS}}}"
        panes = self._session.cmd("list-panes", "-s", "-f", f"#{{{SHOWS}}}", "-F", row).stdout
        shown = {run_id: pane for pane, _, run_id in (line.partition(" ") for line in panes)}
        return (rows[0] if rows else None), shown

    def wants_panes(self) -> bool:
        """Say whether a pane is to come for each active run."""
        wanted = script.equal(f"#{{{EACH}}}", "pane")
        return bool(self._session.cmd("list-windows", "-f", wanted, "-F", "#{window_id}").stdout)

    def add(self, window: str, run_id: str, argv: Sequence[str], folder: str) -> bool:
        """Add a pane for a run; say whether there was room for it."""
        target = self._server.calling_from(folder).window(window)
        target.select_layout(ROOM)
        try:
            row = target.cmd("split-window", "-d", "-P", "-F", "#{pane_id}", *argv).stdout
        except TmuxRefused as why:
            if _NO_ROOM in why.message:
                return False
            raise
        self._server.pane(row[0]).set_option(SHOWS, script.a_run(run_id))
        target.select_layout(ROOM)
        return True

    def title(self, titles: Mapping[str, tuple[str, str]]) -> None:
        """Give panes their titles. `titles`: pane -> the run that it came for, and the words."""
        commands = [
            script.when(
                pane, self._is_for(pane, run_id), [["select-pane", "-t", pane, "-T", script.shown(words)]]
            )
            for pane, (run_id, words) in titles.items()
        ]
        if commands:
            self._server.ask(*commands)

    @staticmethod
    def _is_for(pane: str, run_id: str) -> str:
        is_it = script.equal("#{pane_id}", script.an_id(pane, "%"))
        return script.both(is_it, script.equal(f"#{{{SHOWS}}}", script.a_run(run_id)))

    def remove(self, pane: str, run_id: str) -> None:
        """Close the pane that came for a run, if it is still the run's."""
        is_it = self._is_for(pane, run_id)
        self._server.holds(self._server.pane(pane), is_it, ["kill-pane", "-t", pane])

    def arrange(self, window: str) -> None:
        """Give the panes of a window the same room, now that some have gone."""
        self._server.window(window).select_layout(ROOM)
