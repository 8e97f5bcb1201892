"""The verbs that look after the machine: doctor, prune and config. Joins."""

from __future__ import annotations

import os

import click

from tmuxagents import __version__
from tmuxagents.cli import group, printing, values
from tmuxagents.errors import BadConfig, BadRequest
from tmuxagents.integrate import config as changes
from tmuxagents.integrate.config import SettingsFiles
from tmuxagents.registry import lookup
from tmuxagents.runs import words
from tmuxagents.settings import load
from tmuxagents.text import safe
from tmuxagents.text.width import table
from tmuxagents.upkeep import doctor, prune, prune_rules


@click.command("doctor", epilog="Example: tmuxagents doctor || tmuxagents doctor --json > report.json")
@values.JSON
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
@values.JSON
def prune_verb(*, runs: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Remove each RUN, or else what is older than keepRuns says, and the windows of runs that have ended."""
    caller = lookup.here()
    if not runs and click.get_current_context().info_name == "rm":
        hint = "tmuxagents prune removes what is old"
        raise BadRequest("Name a run to remove.", kind="usage", hint=hint)
    if runs:
        pruned = prune.prune_named(runs, caller, dry_run=dry_run)
    else:
        pruned = prune.prune_old(caller, load.load(os.environ, None), windows=True, dry_run=dry_run)
    printing.warn(pruned.warnings)
    if as_json:
        printing.document(pruned.document())
        return
    lines = [prune_rules.line(one, pruned.at, dry_run=dry_run) for one in pruned.removed]
    printing.lines(map(safe.line, [*lines, prune_rules.total(pruned.removed, dry_run=dry_run)]))


# --- settings ---

_WIDE = 10_000  # columns: paths are cut only on a terminal
_PROJECT = click.option(
    "--project", "in_project", is_flag=True, help="In the settings of this project, not in your own."
)
_KEY = click.argument("key", metavar="KEY")


@click.group("config", invoke_without_command=True, epilog="Example: tmuxagents config set timeout 900")
@values.JSON
@click.pass_context
def config(context: click.Context, *, as_json: bool) -> None:
    """Show and change settings. Alone: list them."""
    values.alone(context, list_settings, as_json=as_json)


@config.command("list", epilog="Example: tmuxagents config list")
@values.JSON
def list_settings(*, as_json: bool) -> None:
    """List all settings in force, and where each comes from."""
    _tell_settings(None, as_json=as_json)


@config.command("get", epilog="Example: tmuxagents config get timeout")
@_KEY
@values.JSON
def get_setting(*, key: str, as_json: bool) -> None:
    """Print the value of KEY that is in force."""
    changes.rule_of(key)
    _tell_settings(key, as_json=as_json)


def _tell_settings(key: str | None, *, as_json: bool) -> None:
    found, warnings = SettingsFiles(os.environ, lookup.here().project).in_force()
    wanted = [one for one in found if key in (None, one.key)]
    if as_json:
        shapes = [{"key": one.key, "value": one.value, "source": one.source} for one in wanted]
        printing.document({"v": 1, "settings": shapes, "warnings": warnings})
        return
    printing.warn(warnings)
    if key is not None:
        printing.lines(safe.line(changes.shown(one.value)) for one in wanted if one.value is not None)
        return
    cells = (safe.line(changes.shown(one.value)) or words.NONE for one in wanted)
    rows = [(one.key, cell, one.where or one.source) for one, cell in zip(wanted, cells, strict=True)]
    printing.lines(table([("KEY", "VALUE", "SOURCE"), *rows], printing.columns() or _WIDE))


@config.command("set", epilog="Example: tmuxagents config set timeout 900")
@_KEY
@click.argument("value", nargs=-1, required=True, metavar="VALUE...")
@_PROJECT
def set_setting(*, key: str, value: tuple[str, ...], in_project: bool) -> None:
    """Write KEY into your settings file."""
    meant = changes.value_of(key, value)
    if in_project:
        changes.refuse_in_project(key)
    files, source = _settings_files(in_project=in_project)
    _tell_change(f"{key} is now {changes.shown(meant)}", files.put(key, meant, source), key, source)


@config.command("unset", epilog="Example: tmuxagents config unset defaultModel")
@_KEY
@_PROJECT
def unset_setting(*, key: str, in_project: bool) -> None:
    """Take KEY out of your settings file."""
    changes.rule_of(key)
    files, source = _settings_files(in_project=in_project)
    _tell_change(f"{key} is no longer set", files.take(key, source), key, source)


@config.command("edit", epilog="Example: tmuxagents config edit")
@_PROJECT
def edit_settings(*, in_project: bool) -> None:
    """Open your settings file in $EDITOR, and check it when you return."""
    if not printing.has_person():
        hint = "tmuxagents config set KEY VALUE needs none"
        raise BadRequest("config edit needs a terminal.", kind="usage", hint=hint)
    files, source = _settings_files(in_project=in_project)
    text = files.text(source)
    while True:
        saved = values.edited(text, suffix=".json")
        if saved is None or saved == text:
            printing.lines(["nothing was changed"], printing.ERR)
            return
        try:
            path = files.replace(source, saved)
        except BadConfig as fault:
            printing.lines([safe.line(fault.message)], printing.ERR)
            if not click.confirm("Edit it again?", default=True, err=True):
                raise
            text = saved
            continue
        printing.warn(files.in_force()[1])
        printing.lines([f"saved {path}"], printing.ERR)
        return


def _settings_files(*, in_project: bool) -> tuple[SettingsFiles, str]:
    project = lookup.here().project
    return SettingsFiles(os.environ, project), "project" if in_project else "global"


def _tell_change(what: str, path: str, key: str, source: str) -> None:
    """Print what was changed, and warn if a stronger source overrides it."""
    printing.lines([safe.line(f"{what} ({path})")], printing.ERR)
    found, _ = SettingsFiles(os.environ, lookup.here().project).in_force()
    over = [one for one in found if one.key == key and one.source not in (source, "default")]
    printing.warn(f"{one.where} says otherwise, and counts here" for one in over)


VERBS = {
    "config": config,
    "doctor": doctor_verb,
    "prune": prune_verb,
    "rm": prune_verb,
}
