"""integrate claude and integrate codex: one declaration for each parent that is a program of others."""

from __future__ import annotations

import os

import click

from tmuxagents.cli import calling, integrated
from tmuxagents.commands import integrate_parent
from tmuxagents.core import parents

_EPILOG = "Example: tmuxagents integrate {} --dry-run"


def _verb(target: str) -> click.Command:
    name = parents.NAMES[target]

    @click.command(target, epilog=_EPILOG.format(target))
    @click.option(
        "--project", "in_project", is_flag=True, help="In the files of this project, for all in it."
    )
    @click.option("--no-tools", is_flag=True, help="Only the skill; the tools cost context in each request.")
    @click.option("--uninstall", is_flag=True, help="Take it out again, and give back what was there.")
    @click.option("--dry-run", is_flag=True, help="Print what would be changed, and change nothing.")
    @click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
    def verb(*, in_project: bool, no_tools: bool, uninstall: bool, dry_run: bool, as_json: bool) -> None:
        project = calling.caller().project if in_project else None
        where = integrate_parent.place(target, os.environ, project)
        found = integrate_parent.plan(where, uninstall=uninstall, with_tools=not no_tools)
        if not dry_run:
            integrate_parent.carry_out(found, where)
        integrated.tell(found, dry_run=dry_run, as_json=as_json)

    verb.help = f"Let {name} delegate: the tools over MCP, and a skill that teaches the command line."
    return verb


COMMANDS = [_verb(target) for target in parents.NAMES]
