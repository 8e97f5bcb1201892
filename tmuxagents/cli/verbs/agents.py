"""The verb agents: which agents there are, which are installed, and what each can do. Joins."""

from __future__ import annotations

import os

import click

from tmuxagents.agents import overview
from tmuxagents.cli import printing, values
from tmuxagents.registry import lookup
from tmuxagents.runs import words
from tmuxagents.settings import load
from tmuxagents.text import safe
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
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def agents_verb(*, refresh: bool, template: str | None, as_json: bool) -> int:
    """List the agents that can do tasks: installed or not, tested versions, and what each can do.

    A * marks the default agent. LOGIN is known for agents that list their models.
    """
    settings = load.load(os.environ, lookup.here().project)
    found = overview.documents(os.environ, settings, refresh=refresh)
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


def _yes(can: bool) -> str:  # noqa: FBT001  (a cell's value)
    return "yes" if can else "no"


VERBS = {"agents": agents_verb}
