"""The verb export: runs as one page of HTML, for who has no terminal at hand. Joins."""

from __future__ import annotations

import contextlib
import os
import time

import click

from tmuxagents.cli import printing
from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.registry import lookup, sessions
from tmuxagents.render import calls, html
from tmuxagents.render.reading import StoryReader
from tmuxagents.text import safe


@click.command(epilog="Example: tmuxagents export finder --html finder.html")
@click.argument("runs", nargs=-1, default=[lookup.LAST])
@click.option("--html", "path", metavar="FILE", help="Write the page to FILE, not to stdout.")
def export(*, runs: tuple[str, ...], path: str | None) -> None:
    """Write all that the sessions of RUNS have said and done as one page of HTML.

    The page needs nothing else and asks nothing of the network. Calls fold; a search opens them.
    """
    if path is None and printing.is_terminal():
        message = "A page of HTML is not for a terminal."
        raise BadRequest(message, kind="usage", hint="--html FILE writes it to a file")
    caller = lookup.here()
    folders = dict.fromkeys(folder for run in runs for folder in sessions.find(run, caller))
    made = time.strftime("%Y-%m-%d %H:%M %Z")
    page = html.page([_read(folder) for folder in folders], made).encode("utf-8", "replace")
    if path is None:
        printing.write(page)
        return
    try:
        _write(os.path.realpath(path), page)
    except OSError as error:
        raise Unusable(f"{safe.line(path)} cannot be written: {error.strerror}.", kind="file") from error


def _write(path: str, page: bytes) -> None:
    """Write a file whole or not at all; only its owner may read it."""
    making = f"{path}.{os.urandom(6).hex()}"
    try:
        with open(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(page)
        os.replace(making, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(making)
        raise


def _read(folder: str) -> html.RunPage:
    reader = StoryReader(folder, calls.WHOLE, home=os.path.expanduser("~"))
    run = reader.look()
    name = run.plan.name or run.run_id[:8]
    blocks = [*reader.story.blocks, *reader.story.open]
    return html.RunPage(run.run_id, safe.line(name), run.standing.status, blocks)


VERBS = {"export": export}
