"""Layout files: the text of one becomes a checked Layout, or a list of all that is wrong with it, by line.

The shape is that of tmuxp, as far as `docs/layouts.md` says; our own keys are under `x-tmuxagents`.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from tmuxagents.errors import BadConfig, Fault
from tmuxagents.layouts.checks import OURS, Checks
from tmuxagents.text import safe, yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

SHIPPED, GLOBAL, PROJECT = "shipped", "global", "project"
SOURCES = (SHIPPED, GLOBAL, PROJECT)  # the later ones come first
TOP, TRANSCRIPT = "top", "transcript"
NEWEST = "newest"
PANE, WINDOW = "pane", "window"  # what there is one of for each active run
BAD = "bad-layout"
_DEEPEST = 6  # a list of commands, in a pane, in a list, in a window, in a list, in the whole
_LONGEST_LINE = 160


@dataclass(slots=True, kw_only=True)
class Pane:
    """One pane: one of our views (`show`, of `run`), or a shell in which `commands` are typed."""

    show: str | None
    run: str | None
    commands: Sequence[str]
    folder: str | None
    focus: bool

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "show": self.show,
            "run": self.run,
            "commands": [*self.commands],
            "startDirectory": self.folder,
            "focus": self.focus,
        }


@dataclass(slots=True, kw_only=True)
class Window:
    """One window: its panes, and whether one more comes for each active run."""

    name: str
    panes: Sequence[Pane]
    layout: str | None
    each_run: bool
    focus: bool
    folder: str | None
    options: Mapping[str, str]

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


@dataclass(slots=True, kw_only=True)
class Layout:
    """A session: its windows, whether a window comes for each active run, and what is launched with it."""

    name: str
    source: str
    path: str
    description: str
    session: str
    folder: str | None
    options: Mapping[str, str]
    windows: Sequence[Window]
    each_run: bool
    launch: Sequence[Mapping[str, Any]]
    hides: str | None = None  # the file of the same name that this one hides
    hidden_by: str | None = None

    @property
    def follows(self) -> bool:
        """Say whether something comes for each active run."""
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
    try:
        loaded = yaml.load(text, deepest=_DEEPEST)
    except yaml.Malformed as error:
        where = f", line {error.line}" if error.line else ""
        raise bad(path, [Fault(BAD, f"{path}{where}: {error.reason}.", field=error.field)]) from error
    checks = Checks(loaded, path, is_trusted=source != PROJECT)
    layout = _layout(checks, name, source, path)
    if checks.faults:
        raise bad(path, checks.faults)
    return layout


def bad(path: str, faults: Sequence[Fault]) -> BadConfig:
    """Return the error for a bad file: the first fault, then the others."""
    more = f" ({len(faults) - 1} more below)" if len(faults) > 1 else ""
    lines = [safe.cut(fault.message.removeprefix(f"{path}, "), _LONGEST_LINE) for fault in faults[1:]]
    message = "\n".join([faults[0].message + more, *lines])
    hint = "docs/layouts.md lists what a layout may contain"
    return BadConfig(message, kind=BAD, faults=faults, hint=hint)


def _layout(checks: Checks, name: str, source: str, path: str) -> Layout:
    checks.keys((), ("session_name", "start_directory", "options", "windows", OURS))
    checks.ours((), ("version", "description", "each_run", "launch"))
    checks.version((OURS, "version"))
    layout = Layout(
        name=name,
        source=source,
        path=path,
        session=checks.name(("session_name",), otherwise=name),
        folder=checks.folder(("start_directory",)),
        options=checks.options(("options",)),
        description=checks.text((OURS, "description")),
        each_run=checks.word((OURS, "each_run"), (WINDOW,)) is not None,
        launch=tuple(checks.launch((OURS, "launch"))),
        windows=[_window(checks, place) for place in checks.listed(("windows",))],
    )
    shown = [pane.show for window in layout.windows for pane in window.panes]
    if layout.follows and TOP not in shown:
        checks.fault((OURS,), "each_run needs a pane with `show: top`: that one lets panes and windows come")
    return layout


def _window(checks: Checks, place: tuple[str | int, ...]) -> Window:
    checks.keys(place, ("window_name", "layout", "focus", "start_directory", "options", "panes", OURS))
    checks.ours(place, ("each_run",))
    each_run = checks.word((*place, OURS, "each_run"), (PANE,)) is not None
    name = checks.name((*place, "window_name"), otherwise="window")
    panes = [_pane(checks, inside) for inside in checks.listed((*place, "panes"))]
    return Window(
        name=name,
        panes=panes,
        layout=checks.arrangement((*place, "layout"), panes=None if each_run else len(panes)),
        each_run=each_run,
        focus=checks.flag((*place, "focus")),
        folder=checks.folder((*place, "start_directory")),
        options=checks.options((*place, "options")),
    )


def _pane(checks: Checks, place: tuple[str | int, ...]) -> Pane:
    commands = checks.pane(place)
    show = checks.word((*place, OURS, "show"), (TOP, TRANSCRIPT))
    run = checks.reference((*place, OURS, "run"))
    if run is not None and show != TRANSCRIPT:
        checks.fault((*place, OURS, "run"), "run goes with `show: transcript`")
    return Pane(
        show=show,
        run=run or (NEWEST if show == TRANSCRIPT else None),
        commands=() if show else tuple(commands),  # beside a view they are for tmuxp
        folder=checks.folder((*place, "start_directory")),
        focus=checks.flag((*place, "focus")),
    )
