"""Verbs about layouts: list, show, open; and what the panes of one show that nothing else does."""

from __future__ import annotations

import os

import click

from tmuxagents import configured, jsonline
from tmuxagents.cli import attaching, calling, options, server, streams, words
from tmuxagents.commands import attach, layouts
from tmuxagents.core import layout_words, sanitize
from tmuxagents.edges import foreground
from tmuxagents.errors import BadRequest, Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from click.shell_completion import CompletionItem

    from tmuxagents.commands.prepare import Prepared
    from tmuxagents.core.layout_choice import Shelf
    from tmuxagents.core.layouts import Layout
    from tmuxagents.core.plan import LaunchRequest
    from tmuxagents.edges.tmux import Tmux
    from tmuxagents.edges.tmux.sessions import Session

_JSON = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
_CLEAR = b"\x1b[H\x1b[2J\x1b[3J"


def _names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from tmuxagents.cli import completion  # noqa: PLC0415  (for shells that ask)

    return completion.layouts(context, parameter, incomplete)


@click.group("layouts", invoke_without_command=True, epilog="Example: tmuxagents layouts open dashboard")
@_JSON
@click.pass_context
def layouts_verb(context: click.Context, *, as_json: bool) -> None:
    """Show runs in sessions of tmux that are laid out by a file. Alone: list the layouts."""
    if context.invoked_subcommand is None:
        _list(as_json=as_json)
    elif as_json:
        raise BadRequest("--json stands behind the verb.", kind="usage")


@layouts_verb.command("list", epilog="Example: tmuxagents layouts list")
@_JSON
def list_(*, as_json: bool) -> None:
    """List all layouts: those that ship with tmuxagents, yours, and the project's."""
    _list(as_json=as_json)


def _list(*, as_json: bool) -> None:
    shelf = layouts.survey(calling.caller(), os.environ)
    hiding = list(filter(None, map(layout_words.hiding, shelf.layouts)))
    words.warn([*shelf.warnings, *hiding])
    if as_json:
        found = [one.document() for one in shelf.layouts]
        streams.write(jsonline.encode({"v": 1, "layouts": found, "warnings": [*shelf.warnings, *hiding]}))
        return
    words.lines(layout_words.table(shelf.layouts, words.width()))


@layouts_verb.command("show", epilog="Example: tmuxagents layouts show global:dashboard")
@click.argument("name", shell_complete=_names)
@_JSON
def show(*, name: str, as_json: bool) -> None:
    """Show what NAME makes (also shipped:NAME, global:NAME or project:NAME), and which file says so."""
    found = _survey().choose(name)
    if as_json:
        streams.write(jsonline.encode({"v": 1} | found.document()))
        return
    words.lines(map(sanitize.text, layout_words.detail(found)))


def _survey() -> Shelf:
    return layouts.survey(calling.caller(), os.environ)


@layouts_verb.command("open", params=[server.SOCKET], epilog="Example: tmuxagents layouts open grid")
@click.argument("name", default="default", shell_complete=_names)
@click.option("-d", "--detached", is_flag=True, help="Only make the session; show it to nobody.")
@_JSON
def open_(*, name: str, detached: bool, as_json: bool) -> None:
    """Open the session of a layout (default: default), or the one that is open already, and show it here."""
    caller = calling.caller()
    settings = configured.load(os.environ, caller.project)
    found = _survey().choose(name)
    words.warn([*settings.warnings, *filter(None, [layout_words.hiding(found)])])
    where = layouts.where(os.environ, settings, server.socket())
    words.warn(filter(None, [where.warning]))
    opening = layouts.Opening(found, caller, os.environ, on=where, size=_size())
    made, launched = opening.find(), list[str]()
    is_new = made is None
    if made is None:
        launched = _launch(found)
        made = opening.build()
    if as_json:
        session = {"socket": opening.server.socket, "session": made.session, "sessionName": made.name}
        told = {"opened": found.name, "made": is_new, **session, "launched": launched}
        streams.write(jsonline.encode({"v": 1} | told))
    elif detached or not _show(opening.server, made):
        argv = opening.server.sessions.attach_argv(made)
        words.lines([f"session {made.name}; show it with: {' '.join(argv[:-1])} ={made.name}"])


def _show(server_: Tmux, made: Session) -> bool:
    """Show a session to the person who calls; say whether there is one."""
    try:
        who = attach.stand(os.environ, attaching.terminal(), hint="")
    except Unusable as error:
        if error.kind != "no-tty":
            raise
        return False
    words.warn(who.warnings)
    become = layouts.show(who, server_, made)
    if become is not None:
        foreground.become(become, attaching.outside())
    return True


def _size() -> tuple[int, int] | None:
    """Return how large the terminal is on which the session is going to be seen first."""
    try:
        size = os.get_terminal_size(streams.OUT)
    except OSError:
        return None
    return (size.columns, size.lines) if min(size) > 1 else None


def _launch(layout: Layout) -> list[str]:
    """Launch what a layout launches, all of it or nothing; return the runs."""
    if not layout.launch:
        return []
    from tmuxagents.commands import batch  # noqa: PLC0415  (few layouts launch anything)

    launcher = options.launcher()
    prepared: list[Prepared] = batch.prepare(launcher, [_request(launcher, item) for item in layout.launch])
    launched = [launcher.start(one) for one in prepared]
    words.warn(dict.fromkeys(warning for one in launched for warning in one.warnings))
    return [one.run.run_id for one in launched]


def _request(launcher: Any, item: Any) -> LaunchRequest:
    given: dict[str, Any] = {key: item.get(key) for key in ("preset", "model", "cwd", "name", "timeout")}
    rest: dict[str, Any] = {"agent": None, "after": (), "allow_outside": False, "keep_background": False}
    files = item.get("files") or ()
    return options.request(launcher, item["task"], mode="background", files=files, **given, **rest)


# --- in panes ---------------------------------------------------------------------------------------------


@click.command("_newest", hidden=True)
def newest_verb() -> None:
    """Show the transcript of the newest run, and go on to the next one."""
    from tmuxagents.commands import newest  # noqa: PLC0415

    def begin(run_id: str | None) -> None:
        streams.write(_CLEAR + (b"" if run_id else b"No run has been launched here yet.\n"))

    newest.follow(calling.caller(), begin)


VERBS = {"layouts": layouts_verb, "_newest": newest_verb}
