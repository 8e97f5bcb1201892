"""Verbs that change presets and profiles: new, edit, rm. By flags, in an editor, or by questions."""

from __future__ import annotations

import os

import click

from tmuxagents import configured, jsonline
from tmuxagents.cli import calling, preset_wizard, streams, tasks, words
from tmuxagents.commands import edit_presets, presets
from tmuxagents.core import preset_edit, preset_words, sanitize
from tmuxagents.core.preset_fields import BODY, DESCRIPTION, GLOBAL, PRESET, PROFILE, PROJECT
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tmuxagents.commands.edit_presets import Shelf
    from tmuxagents.core.presets import Preset


def names(_context: click.Context, _argument: click.Parameter, beginning: str) -> list[str]:
    """Return the names that begin so, for a shell that completes."""
    folder = calling.folder() or "/"
    settings = configured.load(os.environ, calling.caller().project)
    known = presets.survey(folder, os.environ, settings).catalogue.names()
    return preset_edit.completions(beginning, known, verbs=()) or []


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
    folder = calling.folder() or "/"
    settings = configured.load(os.environ, calling.caller().project)
    shelf = edit_presets.Shelf(folder, os.environ, settings)
    words.warn([*settings.warnings, *shelf.survey.warnings])
    return shelf


def _given(kind: str, how: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that flags set; empty if there are none."""
    if how["description"] is not None and kind == PROFILE:
        raise BadRequest("A profile has no description.", kind="usage", hint="leave -d out")
    shorthands = ((DESCRIPTION, "description"), ("model", "model"), ("tools", "tools"))
    given = [f"{key}={how[name]}" for key, name in shorthands if how[name] is not None]
    fields = preset_edit.assigned([*given, *how["assignments"]], kind)
    if how["prompt"] is not None:
        fields[BODY] = tasks.content(tasks.STDIN) if how["prompt"] == tasks.STDIN else how["prompt"]
    return fields


def _required(name: str | None, verb: str) -> str:
    if name is None:
        called = {"create": "new", "delete": "rm"}.get(verb, verb)
        hint = f"tmuxagents presets {called} NAME; see tmuxagents presets {called} --help"
        raise BadRequest(preset_edit.usage(verb), kind="usage", hint=hint)
    return name


def _tell(made: Preset, *, as_json: bool, lost: Sequence[str] = ()) -> None:
    words.warn([*made.warnings, *(f"lost: {one}" for one in lost)])
    if as_json:
        streams.write(jsonline.encode({"v": 1} | preset_words.document(made)))
    else:
        words.lines([preset_edit.saved(made), sanitize.line(made.path)])


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
        draft.text = (
            preset_edit.compose(wanted, fields, kind) if fields else preset_edit.template(wanted, kind)
        )
        preset_wizard.in_editor(draft)
    elif fields:
        draft.text = preset_edit.compose(wanted, fields, kind)
    elif preset_wizard.is_possible():
        answers = preset_wizard.ask(wanted, kind, source)
        draft = shelf.place(wanted, kind=kind, source=answers.source)
        draft.text = preset_edit.compose(wanted, answers.fields, kind)
    else:
        raise _without_terminal()
    _tell(edit_presets.create(draft), as_json=how["as_json"])


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
        raise preset_edit.missing(wanted)
    draft = edit_presets.text_of(found[0])
    fields = _given(draft.kind, how)
    if fields:
        made, lost = edit_presets.change(draft, fields)
        _tell(made, as_json=how["as_json"], lost=lost)
    elif in_editor or preset_wizard.is_possible():
        preset_wizard.in_editor(draft)
        _tell(edit_presets.rewrite(draft), as_json=how["as_json"])
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
        raise preset_edit.not_there(wanted)
    words.lines((sanitize.line(one.path) for one in found), streams.ERR)
    if not yes:
        if not preset_wizard.is_possible():
            raise BadRequest(preset_edit.question(wanted), kind="usage", hint="add --yes")
        if not click.confirm(preset_edit.question(wanted), err=True):
            raise preset_wizard.Cancelled
    removed = edit_presets.remove(found)
    if as_json:
        streams.write(jsonline.encode({"v": 1, "removed": removed}))
    else:
        words.lines([preset_edit.deleted(wanted)])
