"""The verb models: what an agent can use, as a table in the agent's own order. Ids are never cut. Joins."""

from __future__ import annotations

import os

import click

from tmuxagents.agents import installed
from tmuxagents.agents import resolve as available
from tmuxagents.cli import printing, values
from tmuxagents.errors import Unusable
from tmuxagents.registry import lookup
from tmuxagents.runs import words
from tmuxagents.settings import load
from tmuxagents.text import figures, safe
from tmuxagents.text.width import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


@click.command("models", epilog="Example: tmuxagents models --json")
@click.option("--agent", metavar="NAME", help="The agent to ask (default: the setting defaultAgent).")
@click.option("--refresh", is_flag=True, help="Ask the agent now, even if nothing has changed.")
@values.FORMAT
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def models_verb(*, agent: str | None, refresh: bool, template: str | None, as_json: bool) -> int:
    """List the models that an agent can use, in the agent's own order."""
    settings = load.load(os.environ, lookup.here().project)
    name = agent or settings.default_agent
    if as_json:
        document = available.document(name, os.environ, settings, refresh=refresh)
        printing.document(document)
        return 0 if document["available"] else Unusable.exit_code
    printing.warn(settings.warnings)
    known = available.find(name, os.environ, settings, refresh=refresh)
    printing.warn(known.warnings)
    if known.models is None and not installed.lists_models(name, settings):
        printing.warn([f"{name} cannot be asked for its models; it takes those that its provider knows"])
    if template is not None:
        printing.formatted(template, known.models or ())
    else:
        printing.lines(lines(known.models or (), printing.width()))
    return 0


_HEADER = ("MODEL", "CONTEXT", "OUTPUT", "THINKING", "IMAGES", "NAME")


def lines(models: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """Return the lines of the table; an empty list if there is no model."""
    rows: list[tuple[str, ...]] = [_HEADER]
    for model in models:
        sizes = (model["contextWindow"], model["maxTokens"])
        shown = (words.NONE if size is None else figures.count(size) for size in sizes)
        flags = (_yes(model["reasoning"]), _yes(model["images"]))
        name = safe.line(model["name"] or "") or words.NONE
        rows.append((safe.line(model["id"]), *shown, *flags, name))
    return table(rows, width) if models else []


def _yes(flag: bool | None) -> str:  # noqa: FBT001  (a cell's value)
    return words.NONE if flag is None else "yes" if flag else "no"


VERBS = {"models": models_verb}
