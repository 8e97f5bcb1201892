"""Choose the run to show: by a person from a list, or the next one that needs a person. Joins."""

from __future__ import annotations

import time

from tmuxagents import tmux
from tmuxagents.attach import rules, screen, seen, where
from tmuxagents.attach.attach import live_runs
from tmuxagents.attach.rules import LEAVE, RunChooser
from tmuxagents.errors import NoSuchRun, NotPossible, Unusable
from tmuxagents.records import FAILED
from tmuxagents.registry import lookup
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import poll, table
from tmuxagents.status.snapshot import take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.attach.attach import Viewer
    from tmuxagents.attach.where import RunTarget
    from tmuxagents.registry.database import Row
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.runs.words import SnapshotRow

_NEWEST = 30  # runs among which failed ones are looked for
_QUESTION = "Attach to which run?"


def to_choose(caller: Caller) -> list[SnapshotRow]:
    """Return active runs and the latest failures of the caller's scope, those that need a person first."""
    order = rules.following(_order(caller), None)
    rows = {shown.run["runId"]: shown for shown in take(poll.named(order), caller).rows}
    return [rows[run_id] for run_id in order if run_id in rows]


def ask(rows: Sequence[SnapshotRow]) -> str | None:
    """Let a person choose one of these runs on the terminal; None: they leave."""
    with screen.FullScreen() as terminal:
        chooser = RunChooser(_QUESTION)
        while True:
            size = terminal.size()
            header, *lines = table.lines(rows, time.time(), width=size[0])
            chooser.take(header, lines)
            terminal.draw(chooser.draw(*size))
            typed = terminal.typed(60.0)
            if typed is None:
                return None
            for key in screen.keys(typed):
                number = chooser.press(key)
                if number is not None:
                    return None if number == LEAVE else str(rows[number].run["runId"])


def next_run(caller: Caller, viewer: Viewer) -> tuple[RunView, RunTarget]:
    """Return the next run that needs a person: the newest unseen one, then waiting and working ones.

    One whose window cannot be reached is passed over.
    """
    fault: NotPossible | Unusable = NoSuchRun("No run is active here any more.", kind="unknown-run")
    for run_id in rules.following(_order(caller), viewer.seat.shown.run_id if viewer.seat else None):
        try:
            run = inspect(f"{caller.runs}/{run_id}")
            target, _ = where.find_window(run)
        except tmux.Unanswered:
            raise
        except (NotPossible, Unusable) as why:
            fault = why
            continue
        if target is not None:
            return run, target
    raise fault


def _order(caller: Caller) -> list[rules.Key]:
    """Return the runs of the caller's scope that may need a person; raise if there are none."""
    try:
        found = live_runs(caller)
    except NoSuchRun:
        if not _failed(caller):
            raise
        live = []
    else:
        live = [found.registry_rows[run_id] for run_id in found.active]
    ranked = [(rules.WAITING if row.needs_input else rules.WORKING, row) for row in live]
    ranked += [(rules.SEEN, row) for row in _failed(caller)]
    return [
        (
            rules.UNSEEN if seen.is_unseen(row, caller.runs) else rank,
            seen.needs_since(row) or row.created_at,
            row.run_id,
        )
        for rank, row in ranked
    ]


def _failed(caller: Caller) -> list[Row]:
    """Return the failed runs; call it after a snapshot, which has found the latest endings."""
    scope = poll.query_of(caller, ()).scope
    newest, _ = lookup.with_registry(caller, lambda book: book.rows(scope, limit=_NEWEST))
    return [row for row in newest if row.status == FAILED]
