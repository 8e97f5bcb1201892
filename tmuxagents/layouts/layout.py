"""Layouts: parse a file into a checked record, choose between files of one name, and show layouts to people.

The files have the shape of tmuxp's, as far as `docs/layouts.md` says; our own keys are under `x-tmuxagents`.
Of files with one name, a project's wins over the user's, and the user's over one that we ship. Pure.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from tmuxagents.errors import BadConfig, BadRequest, Fault
from tmuxagents.layouts.checks import OURS, Checks
from tmuxagents.text import safe, width, yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any


SHIPPED, GLOBAL, PROJECT = "shipped", "global", "project"
SOURCES = (SHIPPED, GLOBAL, PROJECT)  # a later source wins
TOP, TRANSCRIPT = "top", "transcript"
NEWEST = "newest"
PANE, WINDOW = "pane", "window"  # what each active run can get
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
        """Return the JSON form."""
        return {
            "show": self.show,
            "run": self.run,
            "commands": [*self.commands],
            "startDirectory": self.folder,
            "focus": self.focus,
        }


@dataclass(slots=True, kw_only=True)
class Window:
    """One window: its panes, and whether each active run gets one more."""

    name: str
    panes: Sequence[Pane]
    layout: str | None
    each_run: bool
    focus: bool
    folder: str | None
    options: Mapping[str, str]

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
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
    """A session: its windows, whether each active run gets a window, and the tasks launched with it."""

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
        """Say whether each active run gets a window or pane."""
        return self.each_run or any(window.each_run for window in self.windows)

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
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


# --- one file ---------------------------------------------------------------------------------------------


def parse(text: str, *, name: str, source: str, path: str) -> Layout:
    """Return the layout in a file's text; raise BadConfig with all its faults."""
    try:
        loaded = yaml.load(text, deepest=_DEEPEST)
    except yaml.Malformed as error:
        where = f", line {error.line}" if error.line else ""
        raise bad(path, [Fault(BAD, f"{path}{where}: {error.reason}.", field=error.field)]) from error
    checks = Checks(loaded, path, is_trusted=source != PROJECT)
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
        problem = "each_run needs a pane with `show: top`: top opens and closes the panes and windows of runs"
        checks.fault((OURS,), problem)
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
        commands=() if show else tuple(commands),  # beside a view the commands are for tmuxp
        folder=checks.folder((*place, "start_directory")),
        focus=checks.flag((*place, "focus")),
    )


# --- all of them ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Bad:
    """A file that is no layout, and why."""

    name: str
    source: str
    path: str
    error: BadConfig


class Shelf:
    """All layouts that can be named in a folder, good and bad, by name. The first of each name counts."""

    def __init__(self, found: Iterable[Layout | Bad]) -> None:
        self._files = sorted(found, key=lambda one: (one.name, -SOURCES.index(one.source)))
        first: dict[str, Layout | Bad] = {}
        for one in self._files:
            before = first.setdefault(one.name, one)
            if isinstance(one, Layout) and before is not one:
                one.hidden_by = before.path
            if isinstance(before, Layout) and before is not one and before.hides is None:
                before.hides = one.path

    @property
    def layouts(self) -> list[Layout]:
        """Return all usable layouts, including hidden ones."""
        return [one for one in self._files if isinstance(one, Layout)]

    @property
    def warnings(self) -> list[str]:
        """Return one line on each bad file."""
        return [one.error.message.partition("\n")[0] for one in self._files if isinstance(one, Bad)]

    @property
    def names(self) -> list[str]:
        """Return all names, each once."""
        return list(dict.fromkeys(one.name for one in self._files))

    def choose(self, name: str) -> Layout:
        """Return the layout of `NAME`, or of `SOURCE:NAME`. Raises unknown-layout, bad-layout."""
        source, _, bare = name.rpartition(":")
        for one in self._files:
            if one.name == bare and source in ("", one.source):
                if isinstance(one, Bad):
                    raise one.error
                return one
        near: Sequence[str] = difflib.get_close_matches(name, self.names, n=1)
        shown = safe.cut(safe.line(name), 40)
        message = f'Unknown layout: "{shown}". Available layouts: {", ".join(self.names) or "(none)"}'
        hint = f"Did you mean {near[0]}?" if near else "tmuxagents layouts list shows where they are"
        raise BadRequest(message, kind="unknown-layout", hint=hint, candidates=near)


# --- for people -------------------------------------------------------------------------------------------

_HEADER = ("NAME", "SOURCE", "DESCRIPTION")


def table(found: Sequence[Layout], columns: int) -> list[str]:
    """Return the lines of the table."""
    rows = (
        (one.name, f"{one.source} (hidden)" if one.hidden_by else one.source, one.description or "-")
        for one in found
    )
    return width.table([_HEADER, *rows], columns)


def detail(layout: Layout) -> list[str]:
    """Return what a layout makes, one line for each thing."""
    lines = [f"{layout.name}: {layout.description}" if layout.description else layout.name]
    lines.append(
        f"  session {layout.session}" + (", and a window for each active run" if layout.each_run else "")
    )
    for item in layout.launch:
        child = item.get("preset") or "a child"
        lines.append(f"  launches {safe.line(str(child))}: {safe.cut(safe.line(item['task']), 80)}")
    for window in layout.windows:
        lines.append(f"  window {window.name}" + (f" ({window.layout})" if window.layout else ""))
        for pane in window.panes:
            commands = safe.line(" ; ".join(pane.commands))
            shell = f"a shell: {commands}" if pane.commands else "a shell"
            view = f"{pane.show} of {pane.run}" if pane.run else pane.show
            lines.append(f"    {view or shell}")
        if window.each_run:
            lines.append("    the transcript of each active run, as they come and go")
    lines += ["", f"{layout.source}: {safe.line(layout.path)}"]
    if layout.hides:
        lines.append(f"hides {safe.line(layout.hides)}")
    return lines


def hiding(layout: Layout) -> str | None:
    """Return a warning if a project's layout hides another one, None otherwise."""
    if layout.source != "project" or layout.hides is None:
        return None
    return f"layout {layout.name}: the project's file hides {safe.line(layout.hides)}"
