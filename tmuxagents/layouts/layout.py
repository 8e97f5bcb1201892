"""Layout files: the text of one becomes a checked Layout, or a list of all that is wrong with it, by line.

The shape is that of tmuxp, as far as `docs/layouts.md` says; our own keys are under `x-tmuxagents`.

Pure.
"""

from __future__ import annotations

from tmuxagents.errors import BadConfig, Fault
from tmuxagents.layouts.checks import Checks
from tmuxagents.text import safe, yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

SHIPPED, GLOBAL, PROJECT = "shipped", "global", "project"
SOURCES = (SHIPPED, GLOBAL, PROJECT)  # the later ones come first
TOP, TRANSCRIPT = "top", "transcript"
NEWEST = "newest"
PANE, WINDOW = "pane", "window"  # what there is one of for each live run
BAD = "bad-layout"
_DEEPEST = 6  # a list of commands, in a pane, in a list, in a window, in a list, in the whole
_LONGEST_LINE = 160


class Pane:
    """One pane: one of our views (`show`, of `run`), or a shell in which `commands` are typed."""

    __slots__ = ("commands", "focus", "folder", "run", "show")

    def __init__(
        self, *, show: str | None, run: str | None, commands: Sequence[str], folder: str | None
    ) -> None:
        self.show = show
        self.run = run
        self.commands = () if show else tuple(commands)  # beside a view they are for tmuxp
        self.folder = folder
        self.focus = False

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "show": self.show,
            "run": self.run,
            "commands": [*self.commands],
            "startDirectory": self.folder,
            "focus": self.focus,
        }


class Window:
    """One window: its panes, and whether one more comes for each live run."""

    __slots__ = ("each_run", "focus", "folder", "layout", "name", "options", "panes")

    def __init__(self, name: str, panes: Sequence[Pane]) -> None:
        self.name = name
        self.panes = tuple(panes)
        self.layout: str | None = None
        self.each_run = False
        self.focus = False
        self.folder: str | None = None
        self.options: Mapping[str, str] = {}

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "name": self.name,
            "layout": self.layout,
            "eachRun": PANE if self.each_run else None,
            "focus": self.focus,
            "startDirectory": self.folder,
            "options": {**self.options},
            "panes": [pane.document() for pane in self.panes],
        }


class Layout:
    """A session: its windows, whether a window comes for each live run, and what is launched with it."""

    __slots__ = (
        *("description", "each_run", "folder", "hidden_by", "hides", "launch", "name", "options", "path"),
        *("session", "source", "windows"),
    )

    def __init__(self, name: str, *, source: str, path: str) -> None:
        self.name = name
        self.source = source
        self.path = path
        self.description = ""
        self.session = name
        self.folder: str | None = None
        self.options: Mapping[str, str] = {}
        self.windows: tuple[Window, ...] = ()
        self.each_run = False
        self.launch: tuple[Mapping[str, Any], ...] = ()
        self.hides: str | None = None  # the file of the same name that this one hides
        self.hidden_by: str | None = None

    @property
    def follows(self) -> bool:
        """Say whether windows or panes must be added for each active run."""
        return self.each_run or any(window.each_run for window in self.windows)

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "name": self.name,
            "source": self.source,
            "path": self.path,
            "description": self.description,
            "hides": self.hides,
            "hiddenBy": self.hidden_by,
            "sessionName": self.session,
            "startDirectory": self.folder,
            "options": {**self.options},
            "eachRun": WINDOW if self.each_run else None,
            "launch": [{**item} for item in self.launch],
            "windows": [window.document() for window in self.windows],
        }


def parse(text: str, *, name: str, source: str, path: str) -> Layout:
    """Return the layout in a file's text; raise BadConfig with all that is wrong."""
    layout = Layout(name, source=source, path=path)
    try:
        loaded = yaml.load(text, deepest=_DEEPEST)
    except yaml.Malformed as error:
        where = f", line {error.line}" if error.line else ""
        raise bad(path, [Fault(BAD, f"{path}{where}: {error.reason}.", field=error.field)]) from error
    checks = Checks(loaded, path, is_trusted=source != PROJECT)
    _read(layout, checks)
    if checks.faults:
        raise bad(path, checks.faults)
    return layout


def bad(path: str, faults: Sequence[Fault]) -> BadConfig:
    """Return the error for a bad file: the first fault speaks, with the others behind it."""
    more = f" ({len(faults) - 1} more below)" if len(faults) > 1 else ""
    lines = [safe.cut(fault.message.removeprefix(f"{path}, "), _LONGEST_LINE) for fault in faults[1:]]
    message = "\n".join([faults[0].message + more, *lines])
    hint = "docs/layouts.md lists the possible values"
    return BadConfig(message, kind=BAD, faults=faults, hint=hint)


def _read(layout: Layout, checks: Checks) -> None:
    whole = checks.mapping(())
    checks.keys((), ("session_name", "start_directory", "options", "windows", "x-tmuxagents"))
    layout.session = checks.name(("session_name",), whole.get("session_name"), otherwise=layout.name)
    layout.folder = checks.folder(("start_directory",), whole.get("start_directory"))
    layout.options = checks.options(("options",))
    ours = checks.ours((), ("version", "description", "each_run", "launch"))
    place = ("x-tmuxagents",)
    checks.version((*place, "version"), ours.get("version"))
    layout.description = checks.text((*place, "description"), ours.get("description")) or ""
    layout.each_run = checks.word((*place, "each_run"), ours.get("each_run"), (WINDOW,)) is not None
    layout.launch = tuple(checks.launch((*place, "launch")))
    windows = checks.listed(("windows",))
    layout.windows = tuple(_window(checks, ("windows", number)) for number in range(len(windows)))
    shown = [pane.show for window in layout.windows for pane in window.panes]
    if layout.follows and TOP not in shown:
        checks.fault(place, "each_run needs a pane with `show: top`: that one lets panes and windows come")


def _window(checks: Checks, place: tuple[str | int, ...]) -> Window:
    fields = checks.mapping(place)
    known = ("window_name", "layout", "focus", "start_directory", "options", "panes", "x-tmuxagents")
    checks.keys(place, known)
    name = checks.name((*place, "window_name"), fields.get("window_name"), otherwise="window")
    panes = checks.listed((*place, "panes"))
    window = Window(name, [_pane(checks, (*place, "panes", number)) for number in range(len(panes))])
    window.focus = checks.flag((*place, "focus"), fields.get("focus"))
    window.folder = checks.folder((*place, "start_directory"), fields.get("start_directory"))
    window.options = checks.options((*place, "options"))
    ours = checks.ours(place, ("each_run",))
    each = checks.word((*place, "x-tmuxagents", "each_run"), ours.get("each_run"), (PANE,))
    window.each_run = each is not None
    count = None if window.each_run else len(window.panes)
    window.layout = checks.arrangement((*place, "layout"), panes=count)
    return window


def _pane(checks: Checks, place: tuple[str | int, ...]) -> Pane:
    commands, ours, fields = checks.pane(place)
    inside = (*place, "x-tmuxagents")
    show = checks.word((*inside, "show"), ours.get("show"), (TOP, TRANSCRIPT))
    run = checks.reference((*inside, "run"), ours.get("run"))
    if run is not None and show != TRANSCRIPT:
        checks.fault((*inside, "run"), "run goes with `show: transcript`")
    if show == TRANSCRIPT and run is None:
        run = NEWEST
    folder = checks.folder((*place, "start_directory"), fields.get("start_directory"))
    pane = Pane(show=show, run=run, commands=commands, folder=folder)
    pane.focus = checks.flag((*place, "focus"), fields.get("focus"))
    return pane
