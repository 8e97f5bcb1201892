"""Which layout file of a name counts (project, then user, then shipped), and layouts as a table. Pure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from tmuxagents.errors import BadConfig, BadRequest
from tmuxagents.layouts import layout
from tmuxagents.layouts.layout import Layout
from tmuxagents.text import safe, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tmuxagents.layouts.layout import Pane


@dataclass(slots=True)
class Bad:
    """A file that is no layout, and why."""

    name: str
    source: str
    path: str
    error: BadConfig


class Shelf:
    """All layouts that can be named somewhere, good and bad, by name; of one name the first one counts."""

    def __init__(self, found: Iterable[Layout | Bad]) -> None:
        self._files = sorted(found, key=lambda one: (one.name, -layout.SOURCES.index(one.source)))
        first: dict[str, Layout | Bad] = {}
        for one in self._files:
            before = first.setdefault(one.name, one)
            if isinstance(one, Layout) and before is not one:
                one.hidden_by = before.path
            if isinstance(before, Layout) and before is not one and before.hides is None:
                before.hides = one.path

    @property
    def layouts(self) -> list[Layout]:
        """Return all that can be used, also those that another one hides."""
        return [one for one in self._files if isinstance(one, Layout)]

    @property
    def warnings(self) -> list[str]:
        """Return what is wrong with the others, a line a file."""
        return [one.error.message.partition("\n")[0] for one in self._files if isinstance(one, Bad)]

    @property
    def names(self) -> list[str]:
        """Return the names that mean something."""
        return list(dict.fromkeys(one.name for one in self._files))

    def choose(self, name: str) -> Layout:
        """Return the layout of a name, or of one source: `global:NAME`. Raises unknown-layout, bad-layout."""
        source, _, bare = name.rpartition(":")
        for one in self._files:
            if one.name == bare and source in ("", one.source):
                if isinstance(one, Bad):
                    raise one.error
                return one
        near: Sequence[str] = difflib.get_close_matches(name, self.names, n=1)
        shown = safe.cut(safe.line(name), 40)
        message = f'Unknown layout: "{shown}". Available layouts: {", ".join(self.names) or "(none)"}'
        hint = f"Did you mean {near[0]}?" if near else "tmuxagents layouts list says where they lie"
        raise BadRequest(message, kind="unknown-layout", hint=hint, candidates=near)


_HEADER = ("NAME", "SOURCE", "DESCRIPTION")


def table(found: Sequence[Layout], columns: int) -> list[str]:
    """Return the lines of the table."""
    rows = (
        (one.name, f"{one.source} (hidden)" if one.hidden_by else one.source, one.description or "-")
        for one in found
    )
    return width.table([_HEADER, *rows], columns)


def detail(layout: Layout) -> list[str]:
    """Return what a layout makes, a line a thing."""
    lines = [f"{layout.name}: {layout.description}" if layout.description else layout.name]
    lines.append(
        f"  session {layout.session}" + (", and a window for each active run" if layout.each_run else "")
    )
    for item in layout.launch:
        who = item.get("preset") or "a child"
        lines.append(f"  launches {safe.line(str(who))}: {safe.cut(safe.line(item['task']), 80)}")
    for window in layout.windows:
        lines.append(f"  window {window.name}" + (f" ({window.layout})" if window.layout else ""))
        lines += [f"    {_pane(pane)}" for pane in window.panes]
        if window.each_run:
            lines.append("    the transcript of each active run, as they come and go")
    lines += ["", f"{layout.source}: {safe.line(layout.path)}"]
    if layout.hides:
        lines.append(f"hides {safe.line(layout.hides)}")
    return lines


def _pane(pane: Pane) -> str:
    if pane.show is None:
        return f"a shell: {safe.line(' ; '.join(pane.commands))}" if pane.commands else "a shell"
    return pane.show if pane.run is None else f"{pane.show} of {pane.run}"


def hiding(layout: Layout) -> str | None:
    """Return what is said of a layout of a project that hides another one, None where it hides none."""
    if layout.source != "project" or layout.hides is None:
        return None
    return f"layout {layout.name}: the project's file hides {safe.line(layout.hides)}"
