"""The verb layouts (list, show, open), and a hidden verb for the panes of a layout. Joins."""

from __future__ import annotations

import contextlib
import os

import click

from tmuxagents import tmux
from tmuxagents.attach import attach
from tmuxagents.cli import group, options, printing, values
from tmuxagents.cli.verbs import attaching
from tmuxagents.errors import Unusable
from tmuxagents.layouts import layout as catalogue
from tmuxagents.layouts import opening as layouts_opening
from tmuxagents.registry import lookup
from tmuxagents.settings import load
from tmuxagents.system import foreground
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.layouts.layout import Layout, Shelf
    from tmuxagents.tmux.sessions import LayoutSession

_CLEAR = b"\x1b[H\x1b[2J\x1b[3J"


@click.group("layouts", invoke_without_command=True, epilog="Example: tmuxagents layouts open dashboard")
@values.JSON
@click.pass_context
def layouts_verb(context: click.Context, *, as_json: bool) -> None:
    """Show runs in tmux sessions that a file describes. Without a verb: list the layouts."""
    values.alone(context, list_, as_json=as_json)


@layouts_verb.command("list", epilog="Example: tmuxagents layouts list")
@values.FORMAT
@values.JSON
def list_(*, as_json: bool, template: str | None) -> None:
    """List all layouts: those that ship with tmuxagents, yours, and the project's."""
    shelf = _survey()
    hiding = list(filter(None, map(catalogue.hiding, shelf.layouts)))
    printing.warn([*shelf.warnings, *hiding])
    found = [one.document() for one in shelf.layouts]
    if template is not None:
        printing.formatted(template, found)
    elif as_json:
        printing.document({"v": 1, "layouts": found, "warnings": [*shelf.warnings, *hiding]})
    else:
        printing.lines(catalogue.table(shelf.layouts, printing.width()))


@layouts_verb.command("show", epilog="Example: tmuxagents layouts show global:dashboard")
@click.argument("name")
@values.JSON
def show(*, name: str, as_json: bool) -> None:
    """Show what NAME makes (also shipped:NAME, global:NAME or project:NAME), and which file defines it."""
    found = _survey().choose(name)
    if as_json:
        printing.document({"v": 1} | found.document())
        return
    printing.lines(map(safe.text, catalogue.detail(found)))


def _survey() -> Shelf:
    return layouts_opening.survey(lookup.here(), os.environ)


@layouts_verb.command("open", params=[group.SOCKET], epilog="Example: tmuxagents layouts open grid")
@click.argument("name", default="default")
@click.option("-d", "--detached", is_flag=True, help="Only make the session; do not show it.")
@values.JSON
def open_(*, name: str, detached: bool, as_json: bool) -> None:
    """Open the session of a layout (default: default), or the one that is open already, and show it here."""
    caller = lookup.here()
    settings = load.load(os.environ, caller.project)
    found = _survey().choose(name)
    printing.warn([*settings.warnings, *filter(None, [catalogue.hiding(found)])])
    where, _ = tmux.choose_place(os.environ, flag=group.socket(), setting=settings.tmux_socket)
    printing.warn(filter(None, [where.warning]))
    size = None  # of the terminal that shows the session first
    with contextlib.suppress(OSError):
        size = os.get_terminal_size(printing.OUT)
    size = size if size is not None and min(size) > 1 else None
    opening = layouts_opening.Opening(found, caller, os.environ, on=where, size=size)
    made, launched = opening.find(), list[str]()
    is_new = made is None
    if made is None:
        launched = _launch(found)
        made = opening.build()
    if as_json:
        session = {"socket": opening.server.socket, "session": made.session, "sessionName": made.name}
        document = {"opened": found.name, "made": is_new, **session, "launched": launched}
        printing.document({"v": 1} | document)
    elif detached or not _show(opening.server, made):
        argv = opening.server.sessions.attach_argv(made)
        printing.lines([f"session {made.name}; show it with: {' '.join(argv[:-1])} ={made.name}"])


def _show(server: tmux.Tmux, made: LayoutSession) -> bool:
    """Show a session to the person at the terminal; say whether there is one."""
    try:
        viewer = attach.find_viewer(os.environ, attaching.terminal(), hint="")
    except Unusable as error:
        if error.kind != "no-tty":
            raise
        return False
    printing.warn(viewer.warnings)
    become = attach.show_session(viewer, server, made)
    if become is not None:
        foreground.become(become, attaching.outside())
    return True


def _launch(layout: Layout) -> list[str]:
    """Launch the runs of a layout, and return their ids. If one is bad, none is launched."""
    if not layout.launch:
        return []
    from tmuxagents.launch import prepare  # noqa: PLC0415  (few layouts launch anything)

    launcher = options.launcher()
    requests = []
    for item in layout.launch:
        given = {key: item.get(key) for key in ("preset", "model", "cwd", "name", "timeout")}
        given |= {"files": item.get("files") or (), "agent": None, "after": ()}
        given |= {"allow_outside": False, "keep_background": False}
        requests.append(options.request(launcher, item["task"], mode="background", **given))
    prepared = prepare.prepare(launcher, requests)
    launched = [launcher.start(one) for one in prepared]
    printing.warn(dict.fromkeys(warning for one in launched for warning in one.warnings))
    return [one.run.run_id for one in launched]


# --- in panes ---


@click.command("_newest", hidden=True)
def newest_verb() -> None:
    """Show the transcript of the newest run, and go on to the next one."""

    def begin(run_id: str | None) -> None:
        printing.write(_CLEAR + (b"" if run_id else b"No run has been launched here yet.\n"))

    layouts_opening.follow(lookup.here(), begin)


VERBS = {"layouts": layouts_verb, "_newest": newest_verb}
