"""Verbs that say how runs stand: poll, wait, statusline."""

from __future__ import annotations

import math
import os
import time

import click

from tmuxagents import jsonline
from tmuxagents.cli import calling, streams, words
from tmuxagents.commands import known, poll
from tmuxagents.commands.look import Asked, look
from tmuxagents.commands.wait import wait as wait_for
from tmuxagents.core import display
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from tmuxagents.commands.look import Look
    from tmuxagents.core.display import Shown

TIMED_OUT = 124


def _print(found: Look, caller: known.Caller, *, as_json: bool, timed_out: bool = False) -> None:
    """Print the poll document, or the status text and the table."""
    words.warn(found.warnings)
    if as_json:
        streams.write(jsonline.encode(poll.document(found, caller, timed_out=timed_out)))
        return
    status = display.status_line(found.counts, found.waiting)
    words.lines((status, *display.table(found.shown, words.width())))
    if found.elsewhere:  # for people: on stdout nothing comes after the table
        words.lines([f"{found.elsewhere} more elsewhere (-A)"], streams.ERR)


def _figure(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("that is no number of seconds")
    return value


_TIMEOUT = click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    callback=_figure,
    metavar="S",
    help="Give up after so long (exit code 124).",
)
_ANY = click.option("--any", "any_of_them", is_flag=True, help="Wait for one of them only.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")


@click.command("poll", epilog="Example: tmuxagents poll --wait --timeout 60 01a1ee15")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("-a", "--all", "ended", is_flag=True, help="Show runs that have ended, too.")
@click.option("-A", "--all-projects", "everywhere", is_flag=True, help="Of all projects and parents.")
@click.option("--wait", "waits", is_flag=True, help="Wait until they have ended.")
@_ANY
@_TIMEOUT
@click.option("-f", "--follow", "follows", is_flag=True, help="Print each change until they have ended.")
@click.option("--since", metavar="CURSOR", help="Print what has changed since then (0: what is active).")
@_JSON
def poll_verb(*, runs: tuple[str, ...], ended: bool, everywhere: bool, since: str | None, **how: Any) -> int:
    """Show how runs stand: counts, and a row for each RUN, or for those of this parent or project."""
    _check(since, **how)
    caller = calling.caller()
    asked = poll.asked_by(caller, runs, everywhere=everywhere, ended=ended)
    if since is not None:
        return _changes(caller, asked, since, as_json=how["as_json"])
    if how["follows"]:
        return _follow(caller, asked, **how)
    if how["waits"]:
        return _wait(caller, asked, **how)
    _print(look(caller, asked), caller, as_json=how["as_json"])
    return 0


def _check(since: str | None, *, waits: bool, follows: bool, **how: Any) -> None:
    if since is not None and (waits or follows):
        raise BadRequest("--since looks once: it goes without --wait and --follow.", kind="usage")
    if not (waits or follows) and (how["any_of_them"] or how["timeout"] is not None):
        raise BadRequest("--any and --timeout say how to wait.", kind="usage", hint="add --wait")


@click.command("wait", epilog="Example: tmuxagents wait 01a1ee15 && tmuxagents output 01a1ee15")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@_ANY
@_TIMEOUT
@_JSON
def wait_verb(*, runs: tuple[str, ...], **how: Any) -> int:
    """Wait until each RUN has ended; exit with 0 if all completed, else with 1."""
    caller = calling.caller()
    asked = poll.asked_by(caller, runs)
    return _wait(caller, asked, **how)


def _wait(caller: known.Caller, asked: Asked, *, any_of_them: bool, timeout: float | None, **how: Any) -> int:
    first = look(caller, asked)
    ids = (*first.asked.ids, *first.active) if first.asked.active else first.asked.ids
    folders = [f"{caller.runs}/{run_id}" for run_id in ids]
    in_time = wait_for(folders, any_of_them=any_of_them, limit_s=timeout)
    found = look(caller, Asked(first.asked.scope, ids=ids, active=False, ended=asked.ended))
    found.warnings = list(dict.fromkeys((*first.warnings, *found.warnings)))
    _print(found, caller, as_json=how["as_json"], timed_out=not in_time)
    return _outcome(found, ids) if in_time else TIMED_OUT


def _outcome(found: Look, ids: Container[str]) -> int:
    return 0 if poll.went_well(found, ids) else 1


def _follow(  # noqa: PLR0913  (the verb's options)
    caller: known.Caller,
    asked: Asked,
    *,
    any_of_them: bool,
    timeout: float | None,
    as_json: bool,
    waits: bool,
    **_: Any,
) -> int:
    deadline = None if timeout is None else time.monotonic() + timeout
    late = False

    def over(found: Look) -> bool:
        nonlocal late
        done = poll.is_over(found, any_of_them=any_of_them)
        late = not done and deadline is not None and time.monotonic() >= deadline
        return done or late

    def tell(shown: Shown) -> None:
        if as_json:
            streams.write(jsonline.encode({"v": 1, "type": "run", "run": shown.run}))
        else:
            words.lines([display.follow_line(shown, words.width())])

    found = poll.follow(caller, asked, tell, over)
    _print(found, caller, as_json=as_json, timed_out=late)
    if late:
        return TIMED_OUT
    return _outcome(found, found.runs) if waits else 0


def _changes(caller: known.Caller, asked: Asked, cursor: str, *, as_json: bool) -> int:
    found, reset = poll.changes(caller, asked, cursor)
    words.warn(found.warnings)
    if as_json:
        streams.write(jsonline.encode(poll.changes_document(found, reset=reset)))
    else:
        words.lines(display.changes(found.shown, found.cursor, reset=reset))
    return 0


@click.command("statusline", epilog="Example: set -g status-right '#(tmuxagents statusline)'")
@click.option("-A", "--all-projects", "everywhere", is_flag=True, help="Count the runs of everybody.")
@_JSON
def statusline(*, everywhere: bool, as_json: bool) -> None:
    """Print the status text: of this tmux server's runs, outside tmux of this parent's or project's."""
    caller = calling.caller()
    scope = None if everywhere else poll.server_scope(os.environ)
    asked = poll.asked_by(caller, (), everywhere=everywhere)
    found = look(caller, Asked(scope or asked.scope, active=False))
    words.warn(found.warnings)
    if as_json:
        streams.write(jsonline.encode(poll.document(found, caller)))
    else:
        words.lines([poll.status_text(found)])


VERBS = {
    "poll": poll_verb,
    "status": poll_verb,
    "ps": poll_verb,
    "ls": poll_verb,
    "wait": wait_verb,
    "statusline": statusline,
}
