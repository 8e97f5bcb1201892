"""Find layout files, open one as a session of tmux, and keep that session up to date. Joins.

Files are read only if no other user could have written them. A layout is checked completely before tmux gets
it, since a bad one crashes some versions of tmux. Only the `top` in the session opens and closes a window or
pane for each active run.
"""

from __future__ import annotations

import os
import sys
import time

from tmuxagents import records, tmux
from tmuxagents.errors import BadConfig, Fault, Unusable
from tmuxagents.layouts import layout
from tmuxagents.layouts.layout import NEWEST, TOP, Bad, Shelf
from tmuxagents.presets import disk
from tmuxagents.presets.disk import RefusedFile
from tmuxagents.records import is_name
from tmuxagents.registry import lookup
from tmuxagents.runs import words
from tmuxagents.status import poll
from tmuxagents.system import foreground, places, project, shipped
from tmuxagents.tmux import place, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

    from tmuxagents.layouts.layout import Layout, Pane, Window
    from tmuxagents.registry.database import Registry, Row
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.tmux.place import ChosenServer


_SELF = (sys.executable, "-P", "-m", "tmuxagents")
# These variables and ours locate the runs and settings and name the owner. All panes of a session get them.
# The panes inherit nothing from a run that opens the layout, nor from its parent.
_PASSED = ("HOME", "PI_AGENT_DIR", "PI_CODING_AGENT_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "NO_COLOR")
_OURS = "TMUXAGENTS_"
_NOT_PASSED = ("RUN", "CHILD", "ROLE", "NESTING", "ROOT", "SOCKET", "OWNER")
MOST_FILES = 256  # of one folder
_FOLDER = "layouts"
_SUFFIXES = (".yaml", ".yml")
MOST_TILES = 24  # with more panes, none is large enough to read
_TRIES = 20  # rounds: the window of a run on another server never appears here
TITLE_S = 5.0  # between two updates of the titles: each redraws the borders
_WAITING = "waiting"
_SIGNS = {"queued": "…", "running": "▶", "waiting": "?", **records.SIGNS}
ROUND_S = 1.0  # between two looks for a newer run


def survey(caller: Caller, environment: Mapping[str, str]) -> Shelf:
    """Read all layouts that can be named here."""
    own = f"{caller.project}/.pi/{_FOLDER}"
    users = f"{places.agent_dir(environment)}/{_FOLDER}"
    folders = {layout.SHIPPED: str(shipped.layouts()), layout.GLOBAL: users}
    if project.is_really_inside(own, caller.project):
        folders[layout.PROJECT] = own
    found: list[Layout | Bad] = []
    for source, folder in folders.items():
        try:
            files = disk.names(folder, _SUFFIXES)[:MOST_FILES]
        except OSError:
            continue  # a folder that cannot be read has no layouts
        for file in files:
            name, path = os.path.splitext(file)[0], f"{folder}/{file}"
            try:
                found.append(_parsed(source, path, name))
            except BadConfig as error:
                found.append(Bad(name, source=source, path=path, error=error))
    return Shelf(found)


def _parsed(source: str, path: str, name: str) -> Layout:
    if not is_name(name):
        why = "the name of a layout has up to 32 of the letters a-z, 0-9, - and _"
        raise layout.bad(path, [Fault(layout.BAD, f"{path}: {why}.")])
    try:
        if source == layout.SHIPPED:  # as trustworthy as the program
            with open(path, encoding="utf-8") as file:
                text = file.read()
        else:
            text = disk.read_file(path, _FOLDER, source).text
    except RefusedFile as error:
        raise layout.bad(path, [Fault(layout.BAD, f"{path}: {error.why}.")]) from error
    return layout.parse(text, name=name, source=source, path=path)


# --- opening -----------------------------------------------------------------------------------------------


class Opening:
    """A layout that a caller opens on one tmux server."""

    def __init__(
        self,
        layout: Layout,
        caller: Caller,
        environment: Mapping[str, str],
        *,
        on: ChosenServer,
        size: tuple[int, int] | None = None,
    ) -> None:
        self.server = tmux.Tmux(on.socket, umask=0o022)
        self._layout = layout
        self._caller = caller
        self._environment = environment
        self._own = on.own
        self._size = size
        self._owner = place.owner(f"{caller.project}\0{caller.owner or ''}")

    def find(self) -> sessions.LayoutSession | None:
        """Return the session that this caller opened from this layout, None if there is none now."""
        try:
            return self.server.sessions.find(self._layout.name, self._owner)
        except tmux.NoServer:
            return None

    def build(self) -> sessions.LayoutSession:
        """Make the session."""
        windows = [
            sessions.WindowOrder(
                name=window.name,
                panes=[self._pane(pane, window) for pane in window.panes],
                layout=window.layout,
                options=window.options,
                each=window.each_run,
                focus=window.focus,
            )
            for window in self._layout.windows
        ]
        order = sessions.SessionOrder(
            layout=self._layout.name,
            owner=self._owner,
            names=place.numbered(self._layout.session, self._owner),
            windows=windows,
            options=self._layout.options,
            variables=variables(self._environment, self._caller, self.server.socket),
            each=self._layout.each_run,
            own=self._own,
        )
        order.size = self._size or order.size
        return self.server.sessions.build(order)

    def _pane(self, pane: Pane, window: Window) -> sessions.PaneOrder:
        argv: Sequence[str] = ()
        if pane.show == TOP:
            argv = (*_SELF, "top", *(["--keep"] if self._layout.follows else []))
        elif pane.run is not None:
            argv = (*_SELF, "_newest") if pane.run == NEWEST else transcript_argv(pane.run)
        # Our views show the caller's runs, so the folder of their pane does not count.
        folder = self._caller.folder if argv else self._folder(pane, window)
        stays = bool(argv) and pane.show != TOP
        return sessions.PaneOrder(
            argv=argv, folder=folder, lines=pane.commands, focus=pane.focus, stays=stays
        )

    def _folder(self, pane: Pane, window: Window) -> str:
        """Return the folder of a shell: each level's folder is relative to the one around it."""
        folder = self._caller.project
        for step in filter(None, (self._layout.folder, window.folder, pane.folder)):
            in_home = step == "~" or step.startswith("~/")
            inner = places.user_home(self._environment) + step[1:] if in_home else step
            folder = os.path.normpath(os.path.join(folder, inner))
        stays = project.is_really_inside(folder, self._caller.project)
        if self._layout.source == layout.PROJECT and not stays:
            raise self._no_folder(folder, "it leads out of the project")
        if not os.path.isdir(folder):
            raise self._no_folder(folder, "there is no such directory")
        return folder

    def _no_folder(self, folder: str, why: str) -> BadConfig:
        path = self._layout.path
        fault = Fault(layout.BAD, f"{path}: start_directory {folder}: {why}.", field="start_directory")
        return layout.bad(path, [fault])


def transcript_argv(run: str) -> tuple[str, ...]:
    """Return the command that shows the transcript of a run as it grows."""
    return (*_SELF, "transcript", "-f", run)


def variables(environment: Mapping[str, str], caller: Caller, socket: str) -> dict[str, str]:
    """Return the variables that the panes of a layout get besides the tmux server's."""
    ours = {
        name: value
        for name, value in environment.items()
        if name.startswith(_OURS) and name.removeprefix(_OURS) not in _NOT_PASSED
    }
    found = ours | {name: environment[name] for name in _PASSED if name in environment}
    found |= {"TMUXAGENTS_HOME": caller.home, "TMUXAGENTS_SOCKET": socket}
    if caller.owner:
        found["TMUXAGENTS_OWNER"] = caller.owner
    return {name: value for name, value in sorted(found.items()) if value.isprintable()}


# --- kept up to date --------------------------------------------------------------------------------------


def title(row: Row, now: float) -> str:
    """Return the title of a run's tile."""
    status = _WAITING if row.needs_input else row.status
    seconds = row.elapsed_s if row.elapsed_s is not None else max(0.0, now - (row.started_at or now))
    minutes, rest = divmod(int(seconds), 60)
    lasted = f"{minutes}m {rest:02}s" if minutes else f"{rest}s"
    name = row.name or words.short_id(row.run_id)
    return f"{_SIGNS[status]} {name} · {status} · {lasted}"


class RunTiles:
    """The panes and windows of runs in the layout session to which this program belongs."""

    __slots__ = ("_caller", "_folder", "_live", "_server", "_tiles", "_titled", "_tries", "_windows")

    def __init__(self, server: tmux.Tmux, session: str, folder: str) -> None:
        self._server = server
        self._caller = lookup.here()
        self._titled = 0.0  # when the tiles got their titles
        self._tiles = server.sessions.tiles(session)
        self._folder = folder
        self._live: list[str] = []  # the runs of the last call
        self._tries = 0  # the rounds left to give them their panes and windows
        self._windows: bool | None = None  # whether each run gets one; None: the session is being built

    def keep(self, live: Sequence[str]) -> None:
        """Give each of these runs, the oldest first, its pane or window. Failed steps are tried again."""
        if self._live != [*live]:
            self._live, self._tries = [*live], _TRIES
        try:
            if self._live and time.monotonic() - self._titled >= TITLE_S:
                self._titled = time.monotonic()
                self._title()
            if not self._tries:
                return
            if self._windows is None and not self._tiles.is_built():
                return
            self._tries -= 1
            self._windows = self._tiles.wants_windows()
            done = self._tile(live[:MOST_TILES])
            if self._windows:
                found = self._server.windows.all()
                there = [found[run_id] for run_id in live if run_id in found]
                self._tiles.link(there)
                done = done and len(there) == len(live)
        except Unusable:
            return
        self._tries = 0 if done else self._tries

    def _tile(self, live: Sequence[str]) -> bool:
        """Give each run a pane, while there is room, and remove other panes; say whether that is done."""
        window, panes = self._tiles.panes()
        if window is None:
            is_zoomed = self._tiles.wants_panes()
            self._tries += is_zoomed  # no try is used up while a pane is zoomed
            return not is_zoomed
        for run_id, pane in panes.items():
            if run_id not in live:
                self._tiles.remove(pane, run_id)
        missing = [run_id for run_id in live if run_id not in panes]
        for run_id in missing:
            if not self._tiles.add(window, run_id, transcript_argv(run_id), self._folder):
                break  # there is no room for the others either, until something changes
        self._tiles.arrange(window)
        self._titled = 0.0
        return True

    def _title(self) -> None:
        """Give each tile the name, the status and the time of its run."""
        _, panes = self._tiles.panes()

        def ask(book: Registry) -> dict[str, str]:
            rows = {run_id: book.row(run_id) for run_id in panes}
            return {run_id: title(row, time.time()) for run_id, row in rows.items() if row is not None}

        titles = lookup.with_registry(self._caller, ask)[0] if panes else {}
        self._tiles.title({panes[run_id]: (run_id, text) for run_id, text in titles.items()})


def run_tiles(environment: Mapping[str, str], folder: str) -> RunTiles | None:
    """Return the run tiles of this program's session; None if no layout made that session."""
    inside = tmux.caller(environment)
    if inside is None or not inside.lives or inside.pane is None:
        return None
    server = tmux.Tmux(inside.server.socket)
    session = server.windows.session_of(inside.pane, with_layout=True)
    return None if session is None else RunTiles(server, session, folder)


# --- the newest run ---------------------------------------------------------------------------------------


def newest(caller: Caller) -> str | None:
    """Return the newest run of the caller's scope, None if there is none."""
    scope = poll.query_of(caller).scope

    def ask(book: Registry) -> str | None:
        return next((row.run_id for row in book.rows(scope, limit=1)), None)

    return lookup.with_registry(caller, ask)[0]


def follow(caller: Caller, begin: Callable[[str | None], None]) -> NoReturn:
    """Show the transcript of the newest run on our terminal, for ever. `begin` gets each run first."""
    shown: str | None = None
    beside: foreground.Beside | None = None
    begin(None)
    try:
        while True:
            found = newest(caller)
            if found is not None and found != shown:
                shown = found
                if beside is not None:
                    beside.end()
                begin(found)
                beside = foreground.Beside(transcript_argv(found))
            time.sleep(ROUND_S)
    finally:
        if beside is not None:
            beside.end()
