"""The verb models: what an agent can use, as a table in the agent's own order. Ids are never cut. Joins."""

from __future__ import annotations

import os

import click

from tmuxagents.agents import resolve as available
from tmuxagents.cli import printing
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
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def models_verb(*, agent: str | None, refresh: bool, as_json: bool) -> None:
    """List the models that a child can use, in the agent's own order."""
    settings = load.load(os.environ, lookup.here().project)
    found = available.document(agent or settings.default_agent, os.environ, settings, refresh=refresh)
    if as_json:
        printing.document(found)
        return
    printing.warn([*settings.warnings, *found["warnings"], *([found["why"]] if found["why"] else [])])
    printing.lines(lines(found["models"], printing.width()))


_HEADER = ("MODEL", "CONTEXT", "OUTPUT", "THINKING", "IMAGES", "NAME")


def lines(models: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """Return the lines of the table; none at all where there is no model."""
    return table([_HEADER, *map(_cells, models)], width) if models else []


def _cells(model: Mapping[str, Any]) -> tuple[str, ...]:
    sizes = (model["contextWindow"], model["maxTokens"])
    flags = (_yes(model["reasoning"]), _yes(model["images"]))
    name = model["name"]
    shown = (words.NONE if size is None else figures.count(size) for size in sizes)
    return safe.line(model["id"]), *shown, *flags, safe.line(name or "") or words.NONE


def _yes(flag: bool | None) -> str:  # noqa: FBT001  (a cell's value)
    return words.NONE if flag is None else "yes" if flag else "no"


VERBS = {"models": models_verb}
