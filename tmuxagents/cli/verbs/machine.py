"""The verbs help, schema and skill, and the hidden verbs that start our own processes. Joins."""

from __future__ import annotations

import difflib
import os
from importlib import resources

import click

from tmuxagents.cli import group, printing
from tmuxagents.errors import BadRequest
from tmuxagents.system import places, shipped, watcher_lock
from tmuxagents.wrapper import become_wrapper


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


@click.command(epilog="Example: tmuxagents schema result")
@click.argument("name")
@click.option("--json", is_flag=True, expose_value=False, help="It is JSON anyway.")
def schema(*, name: str) -> None:
    """Print the JSON Schema of the document NAME."""
    printing.write(text(name).encode())


@click.command(epilog="Example: tmuxagents skill")
def skill() -> None:
    """Print the skill that teaches an agent to delegate from a shell."""
    printing.write(shipped.skill().encode())


@click.command(hidden=True)
@click.argument("run_dir")
def wrap(*, run_dir: str) -> None:
    """Run the wrapper of a run directory in this terminal (started by launch, not by people)."""
    become_wrapper(run_dir)


@click.command(hidden=True)
def watch() -> None:
    """Watch over all runs, unless a watcher already does (started by launch and wrappers, not by people)."""
    watcher_lock.become(places.own_home(os.environ), os.environ)


def names() -> list[str]:
    """Return the documents that have a schema."""
    folder = resources.files("tmuxagents") / "schemas"
    return sorted(
        entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json")
    )


def text(name: str) -> str:
    """Return one schema."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3)
        message = f'There is no schema "{name[:40]}". Schemas: {", ".join(known)}'
        hint = f"did you mean {near[0]}?" if near else None
        raise BadRequest(message, kind="bad-argument", hint=hint, field="name", candidates=near)
    return (resources.files("tmuxagents") / "schemas" / f"{name}.json").read_text("utf-8")


VERBS = {"help": explain, "schema": schema, "skill": skill, "_wrap": wrap, "_watch": watch}
