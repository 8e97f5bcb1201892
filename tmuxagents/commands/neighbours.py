"""The live runs beside a new one: who has its name, how many work in its directory."""

from __future__ import annotations

import os

from tmuxagents.commands.inspect import inspect
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from tmuxagents.commands.known import Caller
    from tmuxagents.core.plan import LaunchRequest
    from tmuxagents.edges.registry import Registry, Row


def refuse_namesake(book: Registry, caller: Caller, request: LaunchRequest, *, besides: str = "") -> None:
    """Refuse a name that a live run of the project has."""
    here = [row for row in book.named(request.name or "") if row.project == request.project]
    if any(_lives(row, caller, book) for row in here if row.run_id != besides):
        message = f'A live run of this project has the name "{request.name}" already.'
        hint = "choose another, or stop that one"
        raise BadRequest(message, kind="bad-argument", hint=hint, field="name")


def count(book: Registry, caller: Caller, cwd: str, *, besides: Container[str]) -> int:
    """Return how many other live runs work in a directory."""
    there = [row for row in book.open_rows() if row.cwd == cwd and row.run_id not in besides]
    return sum(_lives(row, caller, book) for row in there)


def _lives(row: Row, caller: Caller, book: Registry) -> bool:
    run_dir = f"{caller.runs}/{row.run_id}"
    if row.concluded or not os.path.isdir(run_dir):
        return False
    return not inspect(run_dir, checkpoint=book.checkpoints([row.run_id]).get(row.run_id)).ended
