"""The verb that lists what an agent can use: models."""

from __future__ import annotations

import os

import click

from tmuxagents import configured, jsonline
from tmuxagents.cli import calling, streams, words
from tmuxagents.commands import models as available
from tmuxagents.core import model_table


@click.command("models", epilog="Example: tmuxagents models --json")
@click.option("--agent", metavar="NAME", help="The brand of the child (default: the setting defaultAgent).")
@click.option("--refresh", is_flag=True, help="Ask the agent now, even if nothing has changed.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def models_verb(*, agent: str | None, refresh: bool, as_json: bool) -> None:
    """List the models that a child can use, in the agent's own order."""
    settings = configured.load(os.environ, calling.caller().project)
    found = available.document(agent or settings.default_agent, os.environ, settings, refresh=refresh)
    if as_json:
        streams.write(jsonline.encode(found))
        return
    words.warn([*settings.warnings, *found["warnings"], *([found["why"]] if found["why"] else [])])
    words.lines(model_table.lines(found["models"], words.width()))


VERBS = {"models": models_verb}
