"""Verbs that put something of ours where a person works: integrate tmux, later the parents."""

from __future__ import annotations

import os

import click

from tmuxagents import configured, jsonline
from tmuxagents.cli import server, streams, words
from tmuxagents.commands import integrate_tmux
from tmuxagents.core import integration, sanitize


@click.group(epilog="Example: tmuxagents integrate tmux --dry-run")
def integrate() -> None:
    """Show the runs where you work; each integration takes itself out again with --uninstall."""


@integrate.command("tmux", params=[server.SOCKET], epilog="Example: tmuxagents integrate tmux")
@click.option("--uninstall", is_flag=True, help="Take it out again, and give back what was there.")
@click.option("--dry-run", is_flag=True, help="Print what would be changed, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def tmux_verb(*, uninstall: bool, dry_run: bool, as_json: bool) -> None:
    """Show how many runs there are in tmux's status line: now, and in servers to come."""
    settings = configured.load(os.environ, None)
    found = integrate_tmux.plan(os.environ, settings, socket=server.socket(), uninstall=uninstall)
    if not dry_run:
        integrate_tmux.carry_out(found)
    words.warn(found.warnings)
    if as_json:
        streams.write(jsonline.encode(found.document(dry_run=dry_run)))
        return
    told = integration.diff(found.changes) if dry_run else map(integration.said, found.changes)
    lines = [*told, *map(integration.left, found.left)] or ["nothing to change"]
    words.lines(sanitize.text(line) for line in lines)


VERBS = {"integrate": integrate}
