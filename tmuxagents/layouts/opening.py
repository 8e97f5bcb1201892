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
    return Shelf(_parsed(file) for file in read_all(caller.project, environment))


def _parsed(file: File) -> Layout | Bad:
    try:
        if not is_name(file.name):
            why = "a layout is called by up to 32 of the letters a-z, 0-9, - and _"
            raise layout.bad(file.path, [Fault(layout.BAD, f"{file.path}: {why}.")])
        if file.refused is not None:
            raise layout.bad(file.path, [Fault(layout.BAD, f"{file.path}: {file.refused}.")])
        return layout.parse(file.text, name=file.name, source=file.source, path=file.path)
    except BadConfig as error:
        return Bad(file.name, source=file.source, path=file.path, error=error)


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
        order = self._order()
        return self.server.sessions.build(order)

    # --- what it comes to ---------------------------------------------------------------------------------

    def _order(self) -> sessions.SessionOrder:
        layout = self._layout
        order = sessions.SessionOrder(
            layout.name,
            owner=self._owner,
            names=place.numbered(layout.session, self._owner),
            windows=[self._window(window) for window in layout.windows],
        )
        order.options = layout.options
        order.variables = variables(self._environment, self._caller, self.server.socket)
        order.each = layout.each_run
        order.own = self._own
        order.size = self._size or order.size
        return order

    def _window(self, window: Window) -> sessions.WindowOrder:
        panes = [self._pane(pane, window) for pane in window.panes]
        order = sessions.WindowOrder(window.name, panes, layout=window.layout)
        order.options = window.options
        order.each = window.each_run
        order.focus = window.focus
        return order

    def _pane(self, pane: Pane, window: Window) -> sessions.PaneOrder:
        argv: Sequence[str] = ()
        if pane.show == TOP:
            argv = (*_SELF, "top", *(["--keep"] if self._layout.follows else []))
        elif pane.run is not None:
            argv = (*_SELF, "_newest") if pane.run == NEWEST else transcript_argv(pane.run)
        # Our views show the caller's runs, whatever their pane's folder.
        folder = self._caller.folder if argv else self._folder(pane, window)
        order = sessions.PaneOrder(argv, folder=folder, lines=pane.commands)
        order.focus = pane.focus
        order.stays = bool(argv) and pane.show != TOP
        return order

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


class File:
    """A layout file: what it is called, whose it is, and its text, or why that is not read."""

    __slots__ = ("name", "path", "refused", "source", "text")

    def __init__(self, source: str, path: str, text: str = "", *, refused: str | None = None) -> None:
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.source = source
        self.path = path
        self.text = text
        self.refused = refused


def global_folder(environment: Mapping[str, str]) -> str:
    """Return where a user's layouts lie."""
    return f"{places.agent_dir(environment)}/{_FOLDER}"


def project_folder(project: str) -> str:
    """Return where a project's layouts lie."""
    return f"{project}/.pi/{_FOLDER}"


def read_all(project: str, environment: Mapping[str, str]) -> list[File]:
    """Read all layout files: those that ship with us, the user's, the project's."""
    ours = str(shipped.layouts())
    found = [*_shipped(ours), *_folder("global", global_folder(environment), inside=None)]
    return [*found, *_folder("project", project_folder(project), inside=project)]


def _shipped(folder: str) -> Iterator[File]:
    """Yield what came with the program: it is as much to be trusted as that."""
    for name in _names(folder):
        with open(f"{folder}/{name}", encoding="utf-8") as file:
            yield File("shipped", f"{folder}/{name}", file.read())


def _folder(source: str, folder: str, *, inside: str | None) -> Iterator[File]:
    """Yield the files of a folder; `inside`: it must really lie there, whatever links a clone holds."""
    real = os.path.realpath(folder)
    if inside is not None and not f"{real}/".startswith(f"{os.path.realpath(inside).rstrip('/')}/"):
        return
    for name in _names(folder):
        path = f"{folder}/{name}"
        try:
            yield File(source, path, disk.read_file(path, _FOLDER, source).text)
        except RefusedFile as error:
            yield File(source, path, refused=error.why)


def _names(folder: str) -> list[str]:
    """Return the names of the files in a folder, in order; one that cannot be read has none."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(_SUFFIXES))[:MOST_FILES]
