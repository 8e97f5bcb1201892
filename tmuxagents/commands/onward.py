"""Which run `attach --next` shows: the next one that needs somebody, after the one that is shown now."""

from __future__ import annotations

from tmuxagents.commands import known, poll, whereabouts
from tmuxagents.commands.attach import live_runs
from tmuxagents.commands.inspect import inspect
from tmuxagents.core import attaching
from tmuxagents.edges import rundir, tmux
from tmuxagents.errors import NoSuchRun, NotPossible, Unusable
from tmuxagents.records import FAILED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.commands.attach import Stand
    from tmuxagents.commands.inspect import Run
    from tmuxagents.commands.known import Caller
    from tmuxagents.commands.whereabouts import Spot

_NEWEST = 30  # runs among which failed ones are looked for


def next_run(caller: Caller, who: Stand) -> tuple[Run, Spot]:
    """Return the next run that needs somebody: those that failed, those that wait, those that work.

    Round and round, each kind in order of creation. One whose window cannot be reached is passed over.
    """
    order = _order(caller)
    fault: NotPossible | Unusable = NoSuchRun("No run is live here any more.", kind="unknown-run")
    for run_id in attaching.following(order, _shown(caller, who, order)):
        try:
            run = inspect(f"{caller.runs}/{run_id}")
            spot, _ = whereabouts.find_window(run)
        except tmux.Unanswered:
            raise
        except (NotPossible, Unusable) as why:
            fault = why
            continue
        if spot is not None:
            return run, spot
    raise fault


def _order(caller: Caller) -> list[attaching.Key]:
    """Return the runs of the caller's scope that may need somebody; raise where there is none."""
    try:
        found = live_runs(caller)
    except NoSuchRun:
        order = _failed(caller)
        if not order:
            raise
        return order
    rows = [found.rows[run_id] for run_id in found.active]
    ranks = (attaching.WORKING, attaching.WAITING)
    working = ((ranks[bool(row.needs_input)], row.created_at, row.run_id) for row in rows)
    return [*_failed(caller), *working]


def _failed(caller: Caller) -> list[attaching.Key]:
    """Return those that have failed, to be asked for after a look: that has found out who has by now."""
    scope = poll.asked_by(caller, ()).scope
    newest, _ = known.consult(caller, lambda book: book.rows(scope, limit=_NEWEST))
    return [(attaching.FAILED, row.created_at, row.run_id) for row in newest if row.status == FAILED]


def _shown(caller: Caller, who: Stand, order: Sequence[attaching.Key]) -> attaching.Key | None:
    """Return which run is shown now, by its place in the order of runs."""
    run_id = who.seat.run_id if who.seat else None
    if run_id is None:
        return None
    plan = rundir.read_meta(f"{caller.runs}/{run_id}")
    created = plan.get("createdAt") if plan else None
    other = (attaching.WORKING, created, run_id) if isinstance(created, (int, float)) else None
    return next((key for key in order if key[-1] == run_id), other)
