"""The verb presets: list, show and check presets and profiles; make, edit and remove them. Joins."""

from __future__ import annotations

import difflib
import os

import click

from tmuxagents.cli import printing, values
from tmuxagents.errors import BadRequest
from tmuxagents.presets import catalogue, change, describe, editing
from tmuxagents.presets.fields import BODY, DESCRIPTION, GLOBAL, PRESET, PROFILE, PROJECT
from tmuxagents.registry import lookup
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.presets.change import PresetShelf
    from tmuxagents.presets.preset import BadPreset, Preset, PresetFile


_NAME = click.argument("name")
_FIELDS = values.declaring(
    click.option("-d", "--description", metavar="TEXT", help="What it is for."),
    click.option("-m", "--model", metavar="MODEL", help="The agent's model."),
    click.option("-t", "--tools", metavar="A,B", help="The tools that the agent may use."),
    click.option("--prompt", metavar="TEXT", help="The text below the header (- reads stdin)."),
    click.option(
        "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Set any field; empty: none."
    ),
)
_NONE = ("There are no presets yet.", "hint: tmuxagents presets new NAME")
_SYNONYMS = {"ls": "list", "create": "new", "delete": "rm", "remove": "rm"}


class PresetVerbs(click.Group):
    """The verbs. It also takes other words for them; the name of a preset alone shows the preset."""

    verb_of_a_name = "show"

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb's declaration."""
        return super().get_command(ctx, _SYNONYMS.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that the arguments name."""
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(name, self.commands, n=1)
        if near:
            message = f'presets has no verb "{safe.line(name)}".'
            raise BadRequest(message, kind="usage", hint=f"did you mean {near[0]}?", candidates=near)
        return self.verb_of_a_name, self.commands[self.verb_of_a_name], args


@click.group(
    "presets",
    cls=PresetVerbs,
    invoke_without_command=True,
    epilog="Example: tmuxagents presets show repo-scout",
)
@values.JSON
@click.pass_context
def presets(context: click.Context, *, as_json: bool) -> None:
    """Show presets and profiles: files that say how a child is set up. Without a verb: list them."""
    values.alone(context, list_, as_json=as_json)


def _shelf(*, is_read: bool = True) -> PresetShelf:
    """Return the preset files. Print warnings about the settings, and with `is_read` about the files."""
    shelf = change.PresetShelf(lookup.here(), os.environ)
    printing.warn([*shelf.settings.warnings, *(shelf.survey.warnings if is_read else ())])
    return shelf


# --- list, show, check ---


@presets.command("list", epilog="Example: tmuxagents presets list")
@values.FORMAT
@values.JSON
def list_(*, as_json: bool, template: str | None) -> None:
    """List all presets, also those that are hidden by another of the same name."""
    survey = _shelf().survey
    hiding = list(filter(None, map(catalogue.hiding, survey.presets)))
    warnings = [
        *survey.catalogue.unread,
        *(warning for preset in survey.presets for warning in preset.warnings),
        *hiding,
    ]
    printing.warn(warnings)
    if template is not None:
        printing.formatted(template, map(describe.document, survey.presets))
    elif as_json:
        shapes = [describe.document(preset) for preset in survey.presets]
        printing.document({"v": 1, "presets": shapes, "warnings": [*survey.warnings, *warnings]})
    elif survey.presets:
        printing.lines(describe.table(survey.presets, printing.width()))
    else:
        printing.lines(_NONE, printing.ERR)


@presets.command(epilog="Example: tmuxagents presets show global:repo-scout")
@_NAME
@values.JSON
def show(*, name: str, as_json: bool) -> None:
    """Show what NAME (also global:NAME or project:NAME) sets, and which file defines it."""
    preset = _shelf().survey.catalogue.choose(name)
    printing.warn(preset.warnings)
    if as_json:
        printing.document({"v": 1} | describe.document(preset))
        return
    detail = describe.detail(preset.name, preset.fields, preset.kind, aligned=True)
    lines = [*detail.split("\n"), "", *describe.provenance(preset)]
    printing.lines(map(safe.text, lines))


@presets.command(epilog="Example: tmuxagents presets check .pi/subagents/repo-scout.md")
@click.argument("wanted", nargs=-1, metavar="[FILE|NAME]...")
@values.JSON
def check(*, wanted: tuple[str, ...], as_json: bool) -> None:
    """Check preset and profile files, all or those named: exit code 2 if one of them is bad."""
    checked = _shelf(is_read=False).check(wanted)
    bad = change.refusal(checked)
    for one in checked if not as_json else ():
        path, what = safe.line(one.path), safe.line(f"{one.source} {one.kind} {one.name}")
        below = [flaw.words() for flaw in one.flaws] or one.notes
        printing.lines([f"bad  {path}" if one.flaws else f"ok   {path} ({what})"])
        printing.lines(f"     {safe.line(line)}" for line in below)
    if bad is not None:
        raise bad
    if as_json:
        printing.document({"v": 1, "files": [one.document() for one in checked]})


# --- new, edit, rm ---


def _named(wanted: str) -> list[Preset | BadPreset]:
    """Return all files of a name; refuse a name that no file has."""
    shelf = _shelf()
    found = shelf.named(wanted)
    if not found:
        raise shelf.survey.catalogue.unknown(wanted)
    return found


def _given(kind: str, how: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that flags set; empty if there are none."""
    if how["description"] is not None and kind == PROFILE:
        raise BadRequest("A profile has no description.", kind="usage", hint="leave -d out")
    shorthands = (DESCRIPTION, "model", "tools")
    given = [f"{key}={how[key]}" for key in shorthands if how[key] is not None]
    fields = editing.assigned([*given, *how["assignments"]], kind)
    if how["prompt"] is not None:
        fields[BODY] = values.read_text(how["prompt"])
    return fields


def _report_saved(made: Preset, *, as_json: bool, lost: Sequence[str] = ()) -> None:
    printing.warn([*made.warnings, *(f"lost: {one}" for one in lost)])
    if as_json:
        printing.document({"v": 1} | describe.document(made))
    else:
        printing.lines([f'Saved the preset "{made.name}": {safe.line(made.path)}'])


def _without_terminal() -> BadRequest:
    hint = "give fields by flags (-d, -m, -t, --prompt, --set), or add --editor"
    return BadRequest("The editor needs a terminal.", kind="usage", hint=hint)


def _edited(draft: PresetFile) -> PresetFile:
    """Open a draft in an editor until it is good; raise Cancelled if nothing was changed."""
    before = draft.text
    while True:
        edited = values.edited(draft.text)
        if edited is None or edited == before:
            raise values.Cancelled
        draft = draft._replace(text=edited)
        flaws = editing.flaws_of(draft)
        if not flaws or not values.can_ask():
            return draft  # the caller refuses a bad draft
        printing.lines((safe.line(flaw.words()) for flaw in flaws), printing.ERR)
        if not click.confirm("Edit again?", default=True, err=True):
            raise values.Cancelled


@presets.command(epilog='Example: tmuxagents presets new writer -d "Writes docs" -t read,edit,write')
@_NAME
@click.option("--profile", "is_profile", is_flag=True, help="A profile instead of a preset.")
@click.option("--project", "in_project", is_flag=True, help="For this project only.")
@click.option("--editor", "in_editor", is_flag=True, help="Open it in $EDITOR (on a terminal: anyway).")
@click.option("--ask", "asks", is_flag=True, help="Ask for each field on this terminal.")
@_FIELDS
@values.JSON
def new(*, name: str, is_profile: bool, in_project: bool, in_editor: bool, asks: bool, **how: Any) -> None:
    """Make the preset NAME: in $EDITOR, by flags, or by questions."""
    kind = PROFILE if is_profile else PRESET
    shelf = _shelf()
    draft = shelf.place(name, kind=kind, source=PROJECT if in_project else GLOBAL)
    fields = _given(kind, how)
    if not (fields or in_editor or values.can_ask()):
        raise _without_terminal()
    if asks:
        answers = editing.ask_for_preset(kind, name, draft.source, values.OnTerminal())
        if answers is None:
            raise values.Cancelled
        draft, fields = shelf.place(name, kind=kind, source=answers.source), answers.fields | fields
    text = editing.compose(name, fields, kind) if fields or asks else editing.template(name, kind)
    draft = draft._replace(text=text)
    if in_editor or not (fields or asks):
        draft = _edited(draft)
    _report_saved(change.create(draft), as_json=how["as_json"])


@presets.command(epilog="Example: tmuxagents presets edit writer --set timeout=1200")
@_NAME
@click.option("--editor", "in_editor", is_flag=True, help="Open it in $EDITOR (on a terminal: anyway).")
@_FIELDS
@values.JSON
def edit(*, name: str, in_editor: bool, **how: Any) -> None:
    """Change the preset NAME (also global:NAME or project:NAME): by flags, or in $EDITOR."""
    draft = change.text_of(_named(name)[0])
    fields = _given(draft.kind, how)
    if fields:
        made, lost = change.change(draft, fields)
        _report_saved(made, as_json=how["as_json"], lost=lost)
    elif in_editor or values.can_ask():
        _report_saved(change.rewrite(_edited(draft)), as_json=how["as_json"])
    else:
        raise _without_terminal()


@presets.command(epilog="Example: tmuxagents presets rm writer")
@_NAME
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@values.JSON
def rm(*, name: str, yes: bool, as_json: bool) -> None:
    """Remove the preset NAME: the user's file and the project's (global:NAME, project:NAME: that one)."""
    found = _named(name)
    printing.lines((safe.line(one.path) for one in found if one.brand is None), printing.ERR)
    if not yes:
        values.confirm(f'Remove the preset "{safe.line(name)}"?')
    removed = change.remove(found)
    if as_json:
        printing.document({"v": 1, "removed": removed})
    else:
        printing.lines([f'Removed the preset "{safe.line(name)}".'])


VERBS = {"presets": presets}
