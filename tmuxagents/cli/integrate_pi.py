"""integrate pi: our extension inside pi, with the tools or without."""

from __future__ import annotations

import os

import click

from tmuxagents.cli import integrated
from tmuxagents.commands import integrate_pi


@click.command("pi", epilog="Example: tmuxagents integrate pi --dry-run")
@click.option(
    "--no-tools",
    is_flag=True,
    help="Footer, notices, commands and skill only; the tools cost context in each request.",
)
@click.option("--uninstall", is_flag=True, help="Take it out again, and give back what was there.")
@click.option("--dry-run", is_flag=True, help="Print what would be changed, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def pi_verb(*, no_tools: bool, uninstall: bool, dry_run: bool, as_json: bool) -> None:
    """Let pi delegate: the tools, a footer, notices, /agents, /profile, and a skill."""
    found = integrate_pi.plan(os.environ, uninstall=uninstall, with_tools=not no_tools)
    if not dry_run:
        integrate_pi.carry_out(found)
    integrated.tell(found, dry_run=dry_run, as_json=as_json)
