"""The verbs agents and models: the agents, the abilities of each, and the models of one. Joins."""

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
from tmuxagents.text.width import GAP, columns, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_HEADER = ("AGENT", "VERSION", "TESTED", "LOGIN", "LIVE", "MESSAGES", "RESUME", "COST", "PERMISSION")
_DROPPED = ("COST", "TESTED", "LOGIN", "RESUME", "MESSAGES")  # the least important first
_LOGIN = {None: words.NONE, True: "yes", False: "no"}


@click.command("agents", epilog="Example: tmuxagents agents --json")
@click.option("--refresh", is_flag=True, help="Ask the agents now, even if nothing has changed.")
@values.FORMAT
@values.JSON
def agents_verb(*, refresh: bool, template: str | None, as_json: bool) -> int:
    """List the agents that can do tasks: installed or not, tested versions, and what each can do.

    A * marks the default agent. LOGIN is known for agents that list their models.
    """
    settings = load.load(os.environ, lookup.here().project)
    found = available.agent_documents(os.environ, settings, refresh=refresh)
    if as_json:
        printing.document({"v": 1, "agents": found, "warnings": settings.warnings})
        return 0
    printing.warn(settings.warnings)
    for one in found:
        printing.warn(one["warnings"] if one["installed"] else ())
    if template is not None:
        printing.formatted(template, found)
    else:
        printing.lines(_fitting([_HEADER, *map(_row, found)], printing.width()))
    return 0


def _fitting(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the lines of the table, without the columns that a narrow terminal has no room for."""
    kept = list(zip(*rows, strict=True))
    for name in _DROPPED:
        if sum(max(map(columns, cells)) + len(GAP) for cells in kept) - len(GAP) <= width:
            break
        kept = [cells for cells in kept if cells[0] != name]
    return table(list(zip(*kept, strict=True)), width)


def _row(one: Mapping[str, Any]) -> Sequence[str]:
    """Return the cells of one agent. The default permission comes first."""
    version = one["version"] or (words.NONE if one["installed"] else "not installed")
    levels = [level for level in one["permissions"] if level != one["defaultPermission"]]
    if one["defaultPermission"]:
        levels.insert(0, one["defaultPermission"])
    return (
        f"{safe.line(one['name'])}{'*' if one['isDefault'] else ''}",
        safe.line(version),
        one["tested"] or words.NONE,
        _LOGIN[one["loggedIn"]],
        _yes("live" in one["seats"]),
        _yes(one["takesMessages"]),
        _yes(one["resumes"]),
        one["cost"],
        ",".join(levels) or words.NONE,
    )


# --- models ---


@click.command("models", epilog="Example: tmuxagents models --json")
@click.option("--agent", metavar="NAME", help="The agent to ask (default: the setting defaultAgent).")
@click.option("--refresh", is_flag=True, help="Ask the agent now, even if nothing has changed.")
@values.FORMAT
@values.JSON
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


_MODELS_HEADER = ("MODEL", "CONTEXT", "OUTPUT", "THINKING", "IMAGES", "NAME")


def lines(models: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """Return the lines of the table; an empty list if there is no model."""
    rows: list[tuple[str, ...]] = [_MODELS_HEADER]
    for model in models:
        sizes = (model["contextWindow"], model["maxTokens"])
        shown = (words.NONE if size is None else figures.count(size) for size in sizes)
        flags = (_yes(model["reasoning"]), _yes(model["images"]))
        name = safe.line(model["name"] or "") or words.NONE
        rows.append((safe.line(model["id"]), *shown, *flags, name))
    return table(rows, width) if models else []


def _yes(flag: bool | None) -> str:  # noqa: FBT001  (a cell's value)
    return words.NONE if flag is None else "yes" if flag else "no"


VERBS = {"agents": agents_verb, "models": models_verb}
