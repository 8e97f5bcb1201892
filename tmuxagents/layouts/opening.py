"""Find layout files, and open one as a session of tmux. Joins.

Files are read only if no other user could have written them. A layout is checked whole before tmux hears of
it: to some versions of tmux a bad one is the end.
"""

from __future__ import annotations

import os
import sys

from tmuxagents import tmux
from tmuxagents.errors import BadConfig, Fault
from tmuxagents.layouts import layout
from tmuxagents.layouts.catalogue import Bad, Shelf
from tmuxagents.layouts.layout import NEWEST, TOP
from tmuxagents.presets import disk
from tmuxagents.presets.disk import RefusedFile
from tmuxagents.records import is_name
from tmuxagents.system import places, shipped
from tmuxagents.tmux import place, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tmuxagents.layouts.layout import Layout, Pane, Window
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.tmux.place import ChosenServer

_SELF = (sys.executable, "-P", "-m", "tmuxagents")
# What the panes of a session are to know besides: where runs and settings lie, and whose runs are meant. Of a
# run that this is called in, or of its parent, they know nothing.
_PASSED = ("HOME", "PI_AGENT_DIR", "PI_CODING_AGENT_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "NO_COLOR")
_OURS = "TMUXAGENTS_"
_NOT_PASSED = ("RUN", "CHILD", "ROLE", "NESTING", "ROOT", "SOCKET", "OWNER")


def survey(caller: Caller, environment: Mapping[str, str]) -> Shelf:
    """Read all layouts that can be named here."""
    found: list[Layout | Bad] = []
    for source, path in _files(caller.project, environment):
        name = os.path.splitext(os.path.basename(path))[0]
        try:
            found.append(_parsed(source, path, name))
        except BadConfig as error:
            found.append(Bad(name, source=source, path=path, error=error))
    return Shelf(found)


def _parsed(source: str, path: str, name: str) -> Layout:
    if not is_name(name):
        why = "a layout is called by up to 32 of the letters a-z, 0-9, - and _"
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


class Opening:
    """A layout as it is opened: where, and by whom."""

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
        """Return the session that was made by this layout for this caller, None if there is none now."""
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
        # Our views show the caller's runs, whatever their pane's folder.
        folder = self._caller.folder if argv else self._folder(pane, window)
        stays = bool(argv) and pane.show != TOP
        return sessions.PaneOrder(
            argv=argv, folder=folder, lines=pane.commands, focus=pane.focus, stays=stays
        )

    def _folder(self, pane: Pane, window: Window) -> str:
        """Return the folder of a shell: each level's folder is relative to the one around it."""
        folder = self._caller.project
        for step in (self._layout.folder, window.folder, pane.folder):
            if step is not None:
                home = places.user_home(self._environment)
                step = home + step[1:] if step == "~" or step.startswith("~/") else step  # noqa: PLW2901
                folder = os.path.normpath(os.path.join(folder, step))
        inside = os.path.realpath(folder), os.path.realpath(self._caller.project)
        if self._layout.source == layout.PROJECT and os.path.commonpath(inside) != inside[1]:
            raise self._no_folder(folder, "it leads out of the project")
        if not os.path.isdir(folder):
            raise self._no_folder(folder, "there is no such directory")
        return folder

    def _no_folder(self, folder: str, why: str) -> BadConfig:
        path = self._layout.path
        fault = Fault(layout.BAD, f"{path}: start_directory {folder}: {why}.", field="start_directory")
        return layout.bad(path, [fault])


def transcript_argv(run: str) -> tuple[str, ...]:
    """Return the program that shows the transcript of a run as it grows."""
    return (*_SELF, "transcript", "-f", run)


def variables(environment: Mapping[str, str], caller: Caller, socket: str) -> dict[str, str]:
    """Return what the panes of a layout have in their environment besides the server's own."""
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


MOST_FILES = 256  # of one folder
_FOLDER = "layouts"
_SUFFIXES = (".yaml", ".yml")


def _files(project: str, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield source and path of all layout files: those that ship with us, the user's, the project's."""
    own = f"{project}/.pi/{_FOLDER}"
    users = f"{places.agent_dir(environment)}/{_FOLDER}"
    folders = {layout.SHIPPED: str(shipped.layouts()), layout.GLOBAL: users}
    # A project's must really lie there, whatever links a clone holds.
    if f"{os.path.realpath(own)}/".startswith(f"{os.path.realpath(project).rstrip('/')}/"):
        folders[layout.PROJECT] = own
    for source, folder in folders.items():
        yield from ((source, f"{folder}/{name}") for name in _names(folder))


def _names(folder: str) -> list[str]:
    """Return the names of the files in a folder, in order; one that cannot be read has none."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(_SUFFIXES))[:MOST_FILES]
