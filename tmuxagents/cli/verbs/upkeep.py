"""The verbs that look after this machine: doctor, prune, config and integrate. Joins."""

from __future__ import annotations

import os
import sys

import click

from tmuxagents import __version__
from tmuxagents.cli import group, printing, values
from tmuxagents.errors import BadConfig, BadRequest
from tmuxagents.integrate import config as changes
from tmuxagents.integrate import parents, pi, plan, tmux, tmux_texts
from tmuxagents.integrate.config import SettingsFiles
from tmuxagents.registry import lookup
from tmuxagents.runs import words
from tmuxagents.settings import load
from tmuxagents.system import process
from tmuxagents.text import safe
from tmuxagents.text.width import fit, table
from tmuxagents.upkeep import doctor, prune, prune_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.integrate.plan import Integration


@click.command("doctor", epilog="Example: tmuxagents doctor || tmuxagents doctor --json > report.json")
@values.JSON
def doctor_verb(*, as_json: bool) -> int:
    """Check machine, agent, project and runs: a line each, with what to do. Exit with 1 if one is broken."""
    caller = lookup.here()
    case = doctor.Case(caller, caller.folder, os.environ, socket=group.socket())
    examined = doctor.examine(case)
    if as_json:
        printing.document(examined.document(__version__))
    else:
        printing.lines(printing.folded(check.line(), printing.OUT) for check in examined.checks)
    return 0 if examined.ok else 1


@click.command("prune", epilog="Example: tmuxagents prune --dry-run")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--dry-run", is_flag=True, help="Print what would be removed, and remove nothing.")
@values.JSON
def prune_verb(*, runs: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Remove each RUN; without RUN, the runs older than keepRuns, and the windows of runs that have ended."""
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
    """Show and change settings. Without a verb: list them."""
    values.alone(context, list_settings, as_json=as_json)


@config.command("list", epilog="Example: tmuxagents config list")
@values.JSON
def list_settings(*, as_json: bool) -> None:
    """List all settings in force, and where each comes from."""
    _print_settings(None, as_json=as_json)


@config.command("get", epilog="Example: tmuxagents config get timeout")
@_KEY
@values.JSON
def get_setting(*, key: str, as_json: bool) -> None:
    """Print the value of KEY that is in force."""
    changes.rule_of(key)
    _print_settings(key, as_json=as_json)


def _print_settings(key: str | None, *, as_json: bool) -> None:
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
    width = printing.columns() or _WIDE
    longest = (width - max(len(one.key) for one in wanted)) * 2 // 3  # the rest is for the sources
    cells = (fit(safe.line(changes.shown(one.value)) or words.NONE, longest) for one in wanted)
    rows = [(one.key, cell, one.where or one.source) for one, cell in zip(wanted, cells, strict=True)]
    printing.lines(table([("KEY", "VALUE", "SOURCE"), *rows], width))


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
    _print_change(f"{key} is now {changes.shown(meant)}", files.put(key, meant, source), key, source)


@config.command("unset", epilog="Example: tmuxagents config unset defaultModel")
@_KEY
@_PROJECT
def unset_setting(*, key: str, in_project: bool) -> None:
    """Take KEY out of your settings file."""
    changes.rule_of(key)
    files, source = _settings_files(in_project=in_project)
    _print_change(f"{key} is no longer set", files.take(key, source), key, source)


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


def _print_change(what: str, path: str, key: str, source: str) -> None:
    """Print what was changed, and warn if a stronger source overrides it."""
    printing.lines([safe.line(f"{what} ({path})")], printing.ERR)
    found, _ = SettingsFiles(os.environ, lookup.here().project).in_force()
    over = [one for one in found if one.key == key and one.source not in (source, "default")]
    printing.warn(f"{one.where} says otherwise, and counts here" for one in over)


# --- entries in other programs ---

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

    It changes the running servers and, for later ones, your configuration.
    """
    settings = load.load(os.environ, None)
    found = tmux.plan(os.environ, settings, wanted_tmux(keys, uninstall=uninstall), socket=group.socket())
    if not dry_run:
        tmux.carry_out(found)
    print_changes(found, dry_run=dry_run, as_json=as_json)
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
    print_changes(found, dry_run=dry_run, as_json=as_json)


def _parent_verb(target: str) -> click.Command:
    """Return the verb of a parent that is not pi."""
    name = parents.NAMES[target]

    @click.command(target, epilog=f"Example: tmuxagents integrate {target} --dry-run")
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
        print_changes(found, dry_run=dry_run, as_json=as_json)

    verb.help = f"Let {name} delegate: the tools over MCP, and a skill that teaches the command line."
    return verb


for _target in parents.NAMES:
    integrate.add_command(_parent_verb(_target))


def print_changes(found: Integration, *, dry_run: bool, as_json: bool) -> None:
    """Print the changes of an integration."""
    printing.warn(found.warnings)
    if as_json:
        printing.document(found.document(dry_run=dry_run))
        return
    changes = plan.diff(found.changes) if dry_run else map(plan.done_line, found.changes)
    lines = [*changes, *map(plan.left_line, found.left)] or ["nothing to change"]
    printing.lines(safe.text(line) for line in lines)


VERBS = {
    "config": config,
    "doctor": doctor_verb,
    "integrate": integrate,
    "prune": prune_verb,
    "rm": prune_verb,
}
