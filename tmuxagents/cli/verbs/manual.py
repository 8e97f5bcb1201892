"""The verb help. Joins."""

from __future__ import annotations

import click

from tmuxagents.cli import group, printing
from tmuxagents.errors import BadRequest


@click.command("help", epilog="Example: tmuxagents help presets new")
@click.argument("verbs", nargs=-1, metavar="[VERB]...")
def explain(*, verbs: tuple[str, ...]) -> None:
    """Explain VERB, or list all verbs."""
    context = click.get_current_context().find_root()
    for name in verbs:
        parent = context.command
        command = parent.get_command(context, name) if isinstance(parent, click.Group) else None
        if command is None and context.parent is None:
            raise group.unknown(name)
        if command is None:
            hint = f"see {context.command_path} --help"
            raise BadRequest(f'{context.command_path} has no verb "{name}".', kind="usage", hint=hint)
        context = click.Context(command, info_name=name, parent=context)
    printing.lines([context.get_help()])


VERBS = {"help": explain}
