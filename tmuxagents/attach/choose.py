"""Choose the run to show: in tmux's own tree of windows, or the next one that needs a person. Joins."""

from __future__ import annotations

import time

from tmuxagents import tmux
from tmuxagents.attach import attach, rules, where
from tmuxagents.attach.attach import live_runs
from tmuxagents.errors import NoSuchRun, NotPossible, TmuxAgentsError, Unusable
from tmuxagents.records import FAILED
from tmuxagents.registry import lookup
from tmuxagents.runs import directory
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import poll

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tmuxagents.attach.attach import Viewer
    from tmuxagents.attach.where import RunTarget
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.status.snapshot import Snapshot
    from tmuxagents.tmux.choosing import Choosing

_PAUSE_S = 0.15
_SLOW_AFTER_S = 60.0  # a person may leave it open, so it must cost next to nothing
_SLOW_PAUSE_S = 1.0


def asked(found: Snapshot, environment: Mapping[str, str], terminal: str | None) -> Choosing | None:
    """Ask in the pane that this is called in; None where that cannot be, or a run has no window there."""
    pane = environment.get("TMUX_PANE")
    try:
        seat = attach.find_viewer(environment, terminal, hint="").seat
        if seat is None or pane is None or seat.client.pane != pane:
            return None
        there = seat.tmux.windows.all()
        windows = [there[run_id].window for run_id in found.active if run_id in there]
        if len(windows) < len(found.active):
            return None
        choosing = seat.tmux.choosing
        choosing.ask(pane, windows)
    except TmuxAgentsError:
        return None  # a list on the terminal asks as well
    return choosing


def wait(choosing: Choosing) -> str | None:
    """Return the run that is chosen, None if the person left without choosing any."""
    begun = time.monotonic()
    while True:
        is_over, run_id = choosing.answer()
        if is_over:
            return run_id
        time.sleep(_PAUSE_S if time.monotonic() - begun < _SLOW_AFTER_S else _SLOW_PAUSE_S)


_NEWEST = 30  # runs among which failed ones are looked for


def next_run(caller: Caller, viewer: Viewer) -> tuple[RunView, RunTarget]:
    """Return the next run that needs a person: first failed runs, then waiting ones, then working ones.

    Round and round, each kind in order of creation. One whose window cannot be reached is passed over.
    """
    order = _order(caller)
    fault: NotPossible | Unusable = NoSuchRun("No run is live here any more.", kind="unknown-run")
    for run_id in rules.following(order, _shown(caller, viewer, order)):
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
        order = _failed(caller)
        if not order:
            raise
        return order
    rows = [found.registry_rows[run_id] for run_id in found.active]
    ranks = (rules.WORKING, rules.WAITING)
    working = ((ranks[bool(row.needs_input)], row.created_at, row.run_id) for row in rows)
    return [*_failed(caller), *working]


def _failed(caller: Caller) -> list[rules.Key]:
    """Return the failed runs; call it after a snapshot, which has found the latest endings."""
    scope = poll.query_of(caller, ()).scope
    newest, _ = lookup.with_registry(caller, lambda book: book.rows(scope, limit=_NEWEST))
    return [(rules.FAILED, row.created_at, row.run_id) for row in newest if row.status == FAILED]


def _shown(caller: Caller, viewer: Viewer, order: Sequence[rules.Key]) -> rules.Key | None:
    """Return which run is shown now, by its place in the order of runs."""
    run_id = viewer.seat.run_id if viewer.seat else None
    if run_id is None:
        return None
    plan = directory.read_plan(f"{caller.runs}/{run_id}")
    created = plan.created_at if plan else None
    other = (rules.WORKING, created, run_id) if created is not None else None
    return next((key for key in order if key[-1] == run_id), other)
