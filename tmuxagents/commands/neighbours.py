"""The live runs beside a new one: who has its name, how many work in its directory."""

from __future__ import annotations

import os
import time

from tmuxagents.commands import known
from tmuxagents.commands.inspect import inspect
from tmuxagents.errors import BadRequest, NoSuchRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from tmuxagents.commands.inspect import Run
    from tmuxagents.commands.known import Caller
    from tmuxagents.core.plan import LaunchRequest
    from tmuxagents.edges.registry import Registry, Row

_PATIENCE_S = 5.0
_AGAIN_S = 0.02


def refuse_namesake(book: Registry, caller: Caller, request: LaunchRequest) -> None:
    """Refuse a name that a live run of the project has, before anything is made."""
    if any(_live(row, caller, book) for row in _namesakes(book, request)):
        raise _taken(request)


def keep_name(caller: Caller, request: LaunchRequest, name: object) -> list[str]:
    """Let a run have the name of the one that it follows, unless a live run has it; return a warning then."""
    if request.name is not None or not isinstance(name, str):
        return []
    request.name = name
    try:
        known.consult(caller, lambda book: refuse_namesake(book, caller, request))
    except BadRequest:
        request.name = None
        return [f"another live run has the name {name} by now: this one has none"]
    return []


def claim_name(caller: Caller, request: LaunchRequest, made: Row) -> None:
    """Have a name for the run that was made a moment ago, or refuse it.

    Of runs that are made at one moment the first has it, and the others, which see it, go. Who was made later
    but asked before there was a first one saw nobody, and begins: so the first waits until all of the others
    have gone or begun.
    """
    until = time.monotonic() + _PATIENCE_S
    while known.consult(caller, lambda book: _has_rival(book, caller, request, made))[0]:
        if time.monotonic() > until:
            raise _taken(request)
        time.sleep(_AGAIN_S)


def _has_rival(book: Registry, caller: Caller, request: LaunchRequest, made: Row) -> bool:
    """Say whether a later run may still begin; refuse the name where one has begun, or was made before."""
    others = [row for row in _namesakes(book, request) if row.run_id != made.run_id]
    live = [(run, row) for row in others if (run := _live(row, caller, book)) is not None]
    if any(run.wrapper is not None or _order(row) < _order(made) for run, row in live):
        raise _taken(request)
    return bool(live)


def count(book: Registry, caller: Caller, cwd: str, *, besides: Container[str]) -> int:
    """Return how many other live runs work in a directory."""
    there = [row for row in book.open_rows() if row.cwd == cwd and row.run_id not in besides]
    return sum(_live(row, caller, book) is not None for row in there)


def _namesakes(book: Registry, request: LaunchRequest) -> list[Row]:
    return [row for row in book.named(request.name or "") if row.project == request.project]


def _order(row: Row) -> tuple[float, str]:
    return row.created_at, row.run_id


def _taken(request: LaunchRequest) -> BadRequest:
    message = f'A live run of this project has the name "{request.name}" already.'
    hint = "choose another, or stop that one"
    return BadRequest(message, kind="bad-argument", hint=hint, field="name")


def _live(row: Row, caller: Caller, book: Registry) -> Run | None:
    run_dir = f"{caller.runs}/{row.run_id}"
    if row.concluded or not os.path.isdir(run_dir):
        return None
    try:
        run = inspect(run_dir, checkpoint=book.checkpoints([row.run_id]).get(row.run_id))
    except NoSuchRun:  # it went a moment ago
        return None
    return None if run.ended else run
