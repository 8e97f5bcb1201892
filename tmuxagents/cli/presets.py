"""Verbs about presets and profiles: list, show, check. Those that change files: see preset_editing."""

from __future__ import annotations

import difflib
import os

import click

from tmuxagents import configured, jsonline
from tmuxagents.cli import calling, preset_editing, streams, words
from tmuxagents.commands import presets as reading
from tmuxagents.core import preset_choice, preset_words, sanitize
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.commands.check_presets import Checked
    from tmuxagents.commands.presets import Survey
    from tmuxagents.core.settings import Settings

_JSON = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")


_SYNONYMS = {"ls": "list", "create": "new", "delete": "rm", "remove": "rm"}


class Verbs(click.Group):
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
            message = f'presets has no verb "{sanitize.line(name)}".'
            raise BadRequest(message, kind="usage", hint=f"did you mean {near[0]}?", candidates=near)
        return "show", self.commands["show"], args


@click.group(
    "presets",
    cls=Verbs,
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
        raise BadRequest("--json stands behind the verb.", kind="usage")


def _here() -> tuple[str, Settings]:
    folder = calling.folder() or "/"
    return folder, configured.load(os.environ, calling.caller().project)


def _survey() -> Survey:
    folder, settings = _here()
    survey = reading.survey(folder, os.environ, settings)
    words.warn([*settings.warnings, *survey.warnings])
    return survey


@presets.command("list", epilog="Example: tmuxagents presets list")
@_JSON
def list_(*, as_json: bool) -> None:
    """List all presets and profiles, those that are hidden by another of the same name, too."""
    _list(as_json=as_json)


def _list(*, as_json: bool) -> None:
    survey = _survey()
    hiding = list(filter(None, map(preset_choice.hiding, survey.presets)))
    warnings = [*(warning for preset in survey.presets for warning in preset.warnings), *hiding]
    words.warn(warnings)
    if as_json:
        shapes = [preset_words.document(preset) for preset in survey.presets]
        streams.write(jsonline.encode({"v": 1, "presets": shapes, "warnings": [*survey.warnings, *warnings]}))
    elif survey.presets:
        words.lines(preset_words.table(survey.presets, words.width()))
    else:
        words.lines([preset_words.NOTHING], streams.ERR)


@presets.command(epilog="Example: tmuxagents presets show global:repo-scout")
@click.argument("name", shell_complete=preset_editing.names)
@_JSON
def show(*, name: str, as_json: bool) -> None:
    """Show what NAME (also global:NAME or project:NAME) sets, and which file says so."""
    survey = _survey()
    preset = survey.catalogue.choose(name, refuse=survey.catalogue.not_found)
    words.warn(preset.warnings)
    if as_json:
        streams.write(jsonline.encode({"v": 1} | preset_words.document(preset)))
        return
    detail = preset_words.detail(preset.name, preset.fields, preset.kind, aligned=True)
    lines = [*detail.split("\n"), "", *preset_words.provenance(preset)]
    words.lines(map(sanitize.text, lines))


@presets.command(epilog="Example: tmuxagents presets check .pi/subagents/repo-scout.md")
@click.argument("wanted", nargs=-1, metavar="[FILE|NAME]...", shell_complete=preset_editing.names)
@_JSON
def check(*, wanted: tuple[str, ...], as_json: bool) -> None:
    """Check preset and profile files, all or those named: exit code 2 if one of them is bad."""
    from tmuxagents.commands import check_presets  # noqa: PLC0415  (for this verb alone)

    folder, settings = _here()
    words.warn(settings.warnings)
    checked = check_presets.Checker(folder, os.environ, settings).check(wanted)
    bad = check_presets.refusal(checked)
    if not as_json:
        words.lines(line for one in checked for line in _checked_lines(one))
    if bad is not None:
        raise bad
    if as_json:
        streams.write(jsonline.encode({"v": 1, "files": [one.document() for one in checked]}))


def _checked_lines(one: Checked) -> list[str]:
    """Return what was found out about a file."""
    path = sanitize.line(one.path)
    if one.flaws:
        return [f"bad  {path}", *map(_below, (flaw.words() for flaw in one.flaws))]
    what = sanitize.line(f"{one.source} {one.kind} {one.name}")
    return [f"ok   {path} ({what})", *map(_below, one.notes)]


def _below(words_: str) -> str:
    return f"     {sanitize.line(words_)}"


for verb in (preset_editing.new, preset_editing.edit, preset_editing.rm):
    presets.add_command(verb)

VERBS = {"presets": presets}
