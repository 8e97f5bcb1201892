"""Layouts in words: a table of them, what one of them makes."""

from __future__ import annotations

from tmuxagents.core import display, sanitize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tmuxagents.core.layouts import Layout, Pane, Window

_HEADER = ("NAME", "SOURCE", "DESCRIPTION")
_GAP = "  "


def table(found: Sequence[Layout], width: int) -> list[str]:
    """Return the lines of the table."""
    rows = [_HEADER, *((one.name, _source(one), one.description or "-") for one in found)]
    widths = [max(display.columns(row[number]) for row in rows) for number in range(2)]
    room = max(1, width - sum(widths) - 2 * len(_GAP))
    return [
        f"{row[0]:<{widths[0]}}{_GAP}{row[1]:<{widths[1]}}{_GAP}{display.fit(row[2], room)}" for row in rows
    ]


def _source(one: Layout) -> str:
    return f"{one.source} (hidden)" if one.hidden_by else one.source


def detail(layout: Layout) -> list[str]:
    """Return what a layout makes, a line a thing."""
    lines = [f"{layout.name}: {layout.description}" if layout.description else layout.name]
    lines.append(
        f"  session {layout.session}" + (", and a window for each live run" if layout.each_run else "")
    )
    for item in layout.launch:
        who = item.get("preset") or "a child"
        lines.append(f"  launches {sanitize.line(str(who))}: {sanitize.cut(sanitize.line(item['task']), 80)}")
    for window in layout.windows:
        lines += _window(window)
    lines += ["", f"{layout.source}: {sanitize.line(layout.path)}"]
    if layout.hides:
        lines.append(f"hides {sanitize.line(layout.hides)}")
    return lines


def _window(window: Window) -> Iterator[str]:
    how = f" ({window.layout})" if window.layout else ""
    yield f"  window {window.name}{how}"
    for pane in window.panes:
        yield f"    {_pane(pane)}"
    if window.each_run:
        yield "    the transcript of each live run, as they come and go"


def _pane(pane: Pane) -> str:
    if pane.show is None:
        return f"a shell: {sanitize.line(' ; '.join(pane.commands))}" if pane.commands else "a shell"
    return pane.show if pane.run is None else f"{pane.show} of {pane.run}"


def hiding(layout: Layout) -> str | None:
    """Return what is said of a layout of a project that hides another one, None where it hides none."""
    if layout.source != "project" or layout.hides is None:
        return None
    return f"layout {layout.name}: the project's file hides {sanitize.line(layout.hides)}"
