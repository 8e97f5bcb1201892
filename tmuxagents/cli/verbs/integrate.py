"""The verb integrate, for tmux, pi, claude and codex. It prints the changes that it makes or plans. Joins."""

from __future__ import annotations

import os
import sys

import click

from tmuxagents.cli import group, printing, values
from tmuxagents.integrate import parents, pi, plan, tmux, tmux_texts
from tmuxagents.registry import lookup
from tmuxagents.settings import load
from tmuxagents.system import process
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.integrate.plan import Integration

_EPILOG = "Example: tmuxagents integrate {} --dry-run"
_UNINSTALL = click.option(
    "--uninstall", is_flag=True, help="Take it out again, and give back what was there."
)
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Print what would be changed, and change nothing.")


@click.group(epilog="Example: tmuxagents integrate tmux --dry-run")
def integrate() -> None:
    """Show the runs where you work, and let parents delegate; --uninstall takes each of them out again."""


@integrate.command("tmux", params=[group.SOCKET], epilog="Example: tmuxagents integrate tmux")
@click.option(
    "--keys",
    is_flag=False,
    flag_value=tmux_texts.DEFAULT,
    metavar="[KEY]",
    help=f"Also bind keys: KEY (default: {tmux_texts.DEFAULT}) behind your prefix leads to them.",
)
@_UNINSTALL
@_DRY_RUN
@values.JSON
def tmux_verb(*, keys: str | None, uninstall: bool, dry_run: bool, as_json: bool) -> None:
    """Show the runs in tmux: counts in its status line, and the status of each window's run.

    In servers that run, and by your configuration in those to come.
    """
    settings = load.load(os.environ, None)
    found = tmux.plan(os.environ, settings, wanted_tmux(keys, uninstall=uninstall), socket=group.socket())
    if not dry_run:
        tmux.carry_out(found)
    tell(found, dry_run=dry_run, as_json=as_json)
    if keys is not None and not uninstall and not as_json:
        printing.lines([tmux_texts.summary(keys)])


def wanted_tmux(keys: str | None, *, uninstall: bool) -> tmux.WantedTmux:
    """Return the options of an integration with tmux. Its keys call this very command, by its path."""
    path = os.path.abspath(sys.argv[0])
    is_path = os.path.basename(path) == "tmuxagents" and os.access(path, os.X_OK)
    return tmux.WantedTmux(uninstall=uninstall, key=keys, program=path if is_path else "tmuxagents")


@integrate.command("pi", epilog="Example: tmuxagents integrate pi --dry-run")
@click.option(
    "--no-tools",
    is_flag=True,
    help="Footer, notices, commands and skill only; the tools cost context in each request.",
)
@_UNINSTALL
@_DRY_RUN
@values.JSON
def pi_verb(*, no_tools: bool, uninstall: bool, dry_run: bool, as_json: bool) -> None:
    """Let pi delegate: the tools, a footer, notices, /agents, /profile, and a skill."""
    found = pi.plan(os.environ, uninstall=uninstall, with_tools=not no_tools)
    if not dry_run:
        pi.carry_out(found)
    tell(found, dry_run=dry_run, as_json=as_json)


def _parent_verb(target: str) -> click.Command:
    """Return the verb of a parent that is not pi."""
    name = parents.NAMES[target]

    @click.command(target, epilog=_EPILOG.format(target))
    @click.option(
        "--project", "in_project", is_flag=True, help="In the files of this project, for all in it."
    )
    @click.option("--no-tools", is_flag=True, help="Only the skill; the tools cost context in each request.")
    @_UNINSTALL
    @_DRY_RUN
    @values.JSON
    def verb(*, in_project: bool, no_tools: bool, uninstall: bool, dry_run: bool, as_json: bool) -> None:
        project = lookup.here().project if in_project else None
        where = parents.place(target, os.environ, project)
        found = parents.plan(where, uninstall=uninstall, with_tools=not no_tools)
        if not dry_run:
            parents.carry_out(found, where)
        is_there = process.find_program(target, os.environ.get("PATH", "")) is not None
        if not (uninstall or found.warnings or is_there):  # the entries count once it is installed
            missing = f"{name} is not installed: there is no {target} on PATH; this counts once it is"
            found.warnings.append(missing)
        tell(found, dry_run=dry_run, as_json=as_json)

    verb.help = f"Let {name} delegate: the tools over MCP, and a skill that teaches the command line."
    return verb


for _target in parents.NAMES:
    integrate.add_command(_parent_verb(_target))


def tell(found: Integration, *, dry_run: bool, as_json: bool) -> None:
    """Print the changes of an integration."""
    printing.warn(found.warnings)
    if as_json:
        printing.document(found.document(dry_run=dry_run))
        return
    told = plan.diff(found.changes) if dry_run else map(plan.said, found.changes)
    lines = [*told, *map(plan.left, found.left)] or ["nothing to change"]
    printing.lines(safe.text(line) for line in lines)


VERBS = {"integrate": integrate}
