"""Verbs about presets and profiles: list, show, check; new, edit, rm by flags, in an editor or by questions.

Joins.
"""

from __future__ import annotations

import difflib
import os

import click

from tmuxagents.cli import printing
from tmuxagents.cli.verbs import preset_wizard, tasks
from tmuxagents.errors import BadRequest
from tmuxagents.presets import catalogue, change, describe, editing
from tmuxagents.presets import survey as reading
from tmuxagents.presets.fields import BODY, DESCRIPTION, GLOBAL, PRESET, PROFILE, PROJECT
from tmuxagents.registry import lookup
from tmuxagents.settings import load
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tmuxagents.presets.change import Checked, Shelf
    from tmuxagents.presets.preset import Preset
    from tmuxagents.presets.survey import Survey
    from tmuxagents.settings.keys import Settings


def names(_context: click.Context, _argument: click.Parameter, beginning: str) -> list[str]:
    """Return the names that begin so, for a shell that completes."""
    folder = lookup.folder() or "/"
    settings = load.load(os.environ, lookup.here().project)
    known = reading.survey(folder, os.environ, settings).catalogue.names()
    return editing.completions(beginning, known, verbs=()) or []


_NAME = click.argument("name", required=False, shell_complete=names)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
_FIELDS = (
    click.option("-d", "--description", metavar="TEXT", help="What it is for."),
    click.option("-m", "--model", metavar="MODEL", help="The child's model."),
    click.option("-t", "--tools", metavar="A,B", help="The tools that the child is given."),
    click.option("--prompt", metavar="TEXT", help="The text below the header (- reads stdin)."),
    click.option(
        "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Set any field; empty: none."
    ),
)


def _with_fields(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_FIELDS):
        command = option(command)
    return command


def _shelf() -> Shelf:
    folder = lookup.folder() or "/"
    settings = load.load(os.environ, lookup.here().project)
    shelf = change.Shelf(folder, os.environ, settings)
    printing.warn([*settings.warnings, *shelf.survey.warnings])
    return shelf


def _given(kind: str, how: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that flags set; empty if there are none."""
    if how["description"] is not None and kind == PROFILE:
        raise BadRequest("A profile has no description.", kind="usage", hint="leave -d out")
    shorthands = ((DESCRIPTION, "description"), ("model", "model"), ("tools", "tools"))
    given = [f"{key}={how[name]}" for key, name in shorthands if how[name] is not None]
    fields = editing.assigned([*given, *how["assignments"]], kind)
    if how["prompt"] is not None:
        fields[BODY] = tasks.content(tasks.STDIN) if how["prompt"] == tasks.STDIN else how["prompt"]
    return fields


def _required(name: str | None, verb: str) -> str:
    if name is None:
        called = {"create": "new", "delete": "rm"}.get(verb, verb)
        hint = f"tmuxagents presets {called} NAME; see tmuxagents presets {called} --help"
        raise BadRequest(editing.USAGE[verb], kind="usage", hint=hint)
    return name


def _tell(made: Preset, *, as_json: bool, lost: Sequence[str] = ()) -> None:
    printing.warn([*made.warnings, *(f"lost: {one}" for one in lost)])
    if as_json:
        printing.write(jsonline.encode({"v": 1} | describe.document(made)))
    else:
        printing.lines([editing.saved(made), safe.line(made.path)])


# --- new --------------------------------------------------------------------------------------------------


@click.command(epilog='Example: tmuxagents presets new writer -d "Writes docs" -t read,edit,write')
@_NAME
@click.option("--profile", "is_profile", is_flag=True, help="A profile instead of a preset.")
@click.option("--project", "in_project", is_flag=True, help="For this project only.")
@click.option("--editor", "in_editor", is_flag=True, help="Write it in $EDITOR.")
@_with_fields
@_JSON
def new(*, name: str | None, is_profile: bool, in_project: bool, in_editor: bool, **how: Any) -> None:
    """Make the preset NAME: by flags, in an editor, or by questions on a terminal."""
    kind = PROFILE if is_profile else PRESET
    source = PROJECT if in_project else GLOBAL
    shelf = _shelf()
    wanted = _required(name, "create")
    draft = shelf.place(wanted, kind=kind, source=source)
    fields = _given(kind, how)
    if in_editor:
        draft.text = editing.compose(wanted, fields, kind) if fields else editing.template(wanted, kind)
        preset_wizard.in_editor(draft)
    elif fields:
        draft.text = editing.compose(wanted, fields, kind)
    elif preset_wizard.is_possible():
        answers = preset_wizard.ask(wanted, kind, source)
        draft = shelf.place(wanted, kind=kind, source=answers.source)
        draft.text = editing.compose(wanted, answers.fields, kind)
    else:
        raise _without_terminal()
    _tell(change.create(draft), as_json=how["as_json"])


def _without_terminal() -> BadRequest:
    hint = "say it by flags (-d, -m, -t, --prompt, --set), or add --editor"
    return BadRequest("There is no terminal to ask on.", kind="usage", hint=hint)


@click.command(epilog="Example: tmuxagents presets edit writer --set timeout=1200")
@_NAME
@click.option("--editor", "in_editor", is_flag=True, help="Open it in $EDITOR (on a terminal: anyway).")
@_with_fields
@_JSON
def edit(*, name: str | None, in_editor: bool, **how: Any) -> None:
    """Change the preset NAME (also global:NAME or project:NAME): by flags, or in an editor."""
    wanted = _required(name, "edit")
    found = _shelf().named(wanted)
    if not found:
        raise editing.missing(wanted)
    draft = change.text_of(found[0])
    fields = _given(draft.kind, how)
    if fields:
        made, lost = change.change(draft, fields)
        _tell(made, as_json=how["as_json"], lost=lost)
    elif in_editor or preset_wizard.is_possible():
        preset_wizard.in_editor(draft)
        _tell(change.rewrite(draft), as_json=how["as_json"])
    else:
        raise _without_terminal()


@click.command(epilog="Example: tmuxagents presets rm writer")
@_NAME
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@_JSON
def rm(*, name: str | None, yes: bool, as_json: bool) -> None:
    """Remove the preset NAME: the user's file and the project's (global:NAME, project:NAME: that one)."""
    wanted = _required(name, "delete")
    found = _shelf().named(wanted)
    if not found:
        raise editing.not_there(wanted)
    printing.lines((safe.line(one.path) for one in found), printing.ERR)
    if not yes:
        if not preset_wizard.is_possible():
            raise BadRequest(editing.question(wanted), kind="usage", hint="add --yes")
        if not click.confirm(editing.question(wanted), err=True):
            raise preset_wizard.Cancelled
    removed = change.remove(found)
    if as_json:
        printing.write(jsonline.encode({"v": 1, "removed": removed}))
    else:
        printing.lines([editing.deleted(wanted)])


_SYNONYMS = {"ls": "list", "create": "new", "delete": "rm", "remove": "rm"}


class PresetVerbs(click.Group):
    """The verbs, other words that people try for them, and the name of a preset alone, which shows it."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb's declaration."""
        return super().get_command(ctx, _SYNONYMS.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that was asked for."""
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(name, self.commands, n=1)
        if near:
            message = f'presets has no verb "{safe.line(name)}".'
            raise BadRequest(message, kind="usage", hint=f"did you mean {near[0]}?", candidates=near)
        return "show", self.commands["show"], args


@click.group(
    "presets",
    cls=PresetVerbs,
    invoke_without_command=True,
    epilog="Example: tmuxagents presets show repo-scout",
)
@_JSON
@click.pass_context
def presets(context: click.Context, *, as_json: bool) -> None:
    """Look at presets and profiles: files that name how a child is set up. Alone: list them."""
    if context.invoked_subcommand is None:
        _list(as_json=as_json)
    elif as_json:
        raise BadRequest("--json comes after the verb.", kind="usage")


def _here() -> tuple[str, Settings]:
    folder = lookup.folder() or "/"
    return folder, load.load(os.environ, lookup.here().project)


def _survey() -> Survey:
    folder, settings = _here()
    survey = reading.survey(folder, os.environ, settings)
    printing.warn([*settings.warnings, *survey.warnings])
    return survey


@presets.command("list", epilog="Example: tmuxagents presets list")
@_JSON
def list_(*, as_json: bool) -> None:
    """List all presets and profiles, those that are hidden by another of the same name, too."""
    _list(as_json=as_json)


def _list(*, as_json: bool) -> None:
    survey = _survey()
    hiding = list(filter(None, map(catalogue.hiding, survey.presets)))
    warnings = [*(warning for preset in survey.presets for warning in preset.warnings), *hiding]
    printing.warn(warnings)
    if as_json:
        shapes = [describe.document(preset) for preset in survey.presets]
        printing.write(
            jsonline.encode({"v": 1, "presets": shapes, "warnings": [*survey.warnings, *warnings]})
        )
    elif survey.presets:
        printing.lines(describe.table(survey.presets, printing.width()))
    else:
        printing.lines([describe.NOTHING], printing.ERR)


@presets.command(epilog="Example: tmuxagents presets show global:repo-scout")
@click.argument("name", shell_complete=names)
@_JSON
def show(*, name: str, as_json: bool) -> None:
    """Show what NAME (also global:NAME or project:NAME) sets, and which file says so."""
    survey = _survey()
    preset = survey.catalogue.choose(name, refuse=survey.catalogue.not_found)
    printing.warn(preset.warnings)
    if as_json:
        printing.write(jsonline.encode({"v": 1} | describe.document(preset)))
        return
    detail = describe.detail(preset.name, preset.fields, preset.kind, aligned=True)
    lines = [*detail.split("\n"), "", *describe.provenance(preset)]
    printing.lines(map(safe.text, lines))


@presets.command(epilog="Example: tmuxagents presets check .pi/subagents/repo-scout.md")
@click.argument("wanted", nargs=-1, metavar="[FILE|NAME]...", shell_complete=names)
@_JSON
def check(*, wanted: tuple[str, ...], as_json: bool) -> None:
    """Check preset and profile files, all or those named: exit code 2 if one of them is bad."""
    folder, settings = _here()
    printing.warn(settings.warnings)
    checked = change.Shelf(folder, os.environ, settings).check(wanted)
    bad = change.refusal(checked)
    if not as_json:
        printing.lines(line for one in checked for line in _checked_lines(one))
    if bad is not None:
        raise bad
    if as_json:
        printing.write(jsonline.encode({"v": 1, "files": [one.document() for one in checked]}))


def _checked_lines(one: Checked) -> list[str]:
    """Return what was found out about a file."""
    path = safe.line(one.path)
    if one.flaws:
        return [f"bad  {path}", *map(_below, (flaw.words() for flaw in one.flaws))]
    what = safe.line(f"{one.source} {one.kind} {one.name}")
    return [f"ok   {path} ({what})", *map(_below, one.notes)]


def _below(words_: str) -> str:
    return f"     {safe.line(words_)}"


for verb in (new, edit, rm):
    presets.add_command(verb)


VERBS = {"presets": presets}
