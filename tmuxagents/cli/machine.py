"""Verbs for programs: schema, and the hidden machine verbs."""

from __future__ import annotations

import os

import click

from tmuxagents.cli import streams
from tmuxagents.commands import schema as schemas
from tmuxagents.edges import lookout, settings
from tmuxagents.wrapper.become import become_wrapper


@click.command(epilog="Example: tmuxagents schema result")
@click.argument("name")
@click.option("--json", is_flag=True, expose_value=False, help="It is JSON anyway.")
def schema(*, name: str) -> None:
    """Print the JSON Schema of the document NAME."""
    streams.write(schemas.text(name).encode())


@click.command(hidden=True)
@click.argument("run_dir")
def wrap(*, run_dir: str) -> None:
    """Run the wrapper of a run directory in this terminal (started by launch, not by people)."""
    become_wrapper(run_dir)


@click.command(hidden=True)
def watch() -> None:
    """Watch over all runs, unless somebody does (started by launch and by wrappers, not by people)."""
    lookout.become(settings.own_home(os.environ), os.environ)


VERBS = {"schema": schema, "_wrap": wrap, "_watch": watch}
