"""Verbs that look after the machine: doctor, prune. Joins."""

from __future__ import annotations

import os

import click

from tmuxagents import __version__
from tmuxagents.cli import group, printing
from tmuxagents.errors import BadRequest
from tmuxagents.registry import lookup
from tmuxagents.settings import load
from tmuxagents.text import safe
from tmuxagents.upkeep import doctor, prune, prune_rules


@click.command("doctor", epilog="Example: tmuxagents doctor || tmuxagents doctor --json > report.json")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def doctor_verb(*, as_json: bool) -> int:
    """Check machine, agent, project and runs: a line each, with what to do. Exit with 1 if one is broken."""
    folder = lookup.folder() or "/"
    case = doctor.Case(lookup.here(), folder, os.environ, socket=group.socket())
    examined = doctor.examine(case)
    if as_json:
        printing.document(examined.document(__version__))
    else:
        printing.lines(check.line() for check in examined.checks)
    return 0 if examined.ok else 1


@click.command("prune", epilog="Example: tmuxagents prune --dry-run")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--dry-run", is_flag=True, help="Print what would be removed, and remove nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def prune_verb(*, runs: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Remove each RUN, or else what is older than keepRuns says, and the windows of runs that have ended."""
    caller = lookup.here()
    if not runs and click.get_current_context().info_name == "rm":
        hint = "tmuxagents prune removes what is old"
        raise BadRequest("Which RUN is to be removed?", kind="usage", hint=hint)
    if runs:
        pruned = prune.prune_named(runs, caller, dry_run=dry_run)
    else:
        pruned = prune.prune_all(caller, load.load(os.environ, None), dry_run=dry_run)
    printing.warn(pruned.warnings)
    if as_json:
        printing.document(pruned.document())
        return
    lines = [prune_rules.line(one, pruned.at, dry_run=dry_run) for one in pruned.removed]
    printing.lines(map(safe.line, [*lines, prune_rules.total(pruned.removed, dry_run=dry_run)]))


VERBS = {"doctor": doctor_verb, "prune": prune_verb, "rm": prune_verb}
