"""Verbs that put something of ours where a person works: integrate tmux, and the parents."""

from __future__ import annotations

import os
import sys

import click

from tmuxagents import configured
from tmuxagents.cli import integrate_parents, integrate_pi, integrated, server
from tmuxagents.commands import integrate_tmux
from tmuxagents.core import keytable


@click.group(epilog="Example: tmuxagents integrate tmux --dry-run")
def integrate() -> None:
    """Show the runs where you work, and let parents delegate; --uninstall takes each of them out again."""


@integrate.command("tmux", params=[server.SOCKET], epilog="Example: tmuxagents integrate tmux")
@click.option(
    "--keys",
    is_flag=False,
    flag_value=keytable.DEFAULT,
    metavar="[KEY]",
    help=f"Also bind keys: KEY (default: {keytable.DEFAULT}) behind your prefix leads to them.",
)
@click.option("--uninstall", is_flag=True, help="Take it out again, and give back what was there.")
@click.option("--dry-run", is_flag=True, help="Print what would be changed, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def tmux_verb(*, keys: str | None, uninstall: bool, dry_run: bool, as_json: bool) -> None:
    """Show the runs in tmux: how many, in its status line, and how each window's run stands.

    In servers that run, and by your configuration in those to come.
    """
    settings = configured.load(os.environ, None)
    wanted = integrate_tmux.Wanted(uninstall=uninstall, key=keys, program=_program())
    found = integrate_tmux.plan(os.environ, settings, wanted, socket=server.socket())
    if not dry_run:
        integrate_tmux.carry_out(found)
    integrated.tell(found, dry_run=dry_run, as_json=as_json)


def _program() -> str:
    """Return the path of this command, as keys of tmux are to call it."""
    path = os.path.abspath(sys.argv[0])
    return path if os.path.basename(path) == "tmuxagents" and os.access(path, os.X_OK) else "tmuxagents"


for parent in (integrate_pi.pi_verb, *integrate_parents.COMMANDS):
    integrate.add_command(parent)


VERBS = {"integrate": integrate}
