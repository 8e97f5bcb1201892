"""Prune: remove named runs, or those older than the setting keepRuns, with everything that they left behind.

An active run is never removed, and a lost run is concluded first. A run disappears as a whole, under its
lock: a reader finds all of it or nothing.

Joins.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field

from tmuxagents import records
from tmuxagents.errors import NotPossible
from tmuxagents.registry import lookup
from tmuxagents.runs import directory, words, writing
from tmuxagents.runs.conclude import NEVER_OPENED, conclude
from tmuxagents.runs.events import is_figure
from tmuxagents.runs.inspect import inspect, removed
from tmuxagents.runs.reading import gather
from tmuxagents.system import process, removal
from tmuxagents.upkeep import prune_rules, remains
from tmuxagents.upkeep.prune_rules import Past, Removed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from tmuxagents.registry.lookup import Caller
    from tmuxagents.settings.keys import Settings
    from tmuxagents.upkeep.remains import Stock

_BUSY_S = 0.2
_OVER = (records.GONE, records.NEVER_CAME, records.MIRRORED)  # a run with a result and one of these is over
_HELD_S = 1.0  # another process may hold the lock for a moment, to see if the run is lost


@dataclass
class Pruned:
    """What was removed, or would be."""

    dry_run: bool
    at: float = field(default_factory=time.time)
    removed: list[Removed] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def run_ids(self) -> set[str]:
        """Return the ids of the removed runs."""
        return {str(one.run_id) for one in self.removed if one.what == prune_rules.RUN}

    def document(self) -> dict[str, Any]:
        """Return the document."""
        return {
            "v": 1,
            "dryRun": self.dry_run,
            "removed": [one.document() for one in self.removed],
            "bytes": sum(one.size for one in self.removed),
            "warnings": self.warnings,
        }


def prune_named(references: Iterable[str], caller: Caller, *, dry_run: bool = False) -> Pruned:
    """Remove runs; if one of them lives, or an active run needs it, remove none and raise NotPossible."""
    pruned = Pruned(dry_run=dry_run)
    run_dirs = list(dict.fromkeys(lookup.find_run(reference, caller) for reference in references))
    stock = remains.look(caller)
    runs = [inspect(run_dir) for run_dir in run_dirs]
    for run in runs:
        if run.standing.foreign and run.machine is None:
            host = (run.wrapper or {}).get("host")
            message = f"Run {run.run_id} belongs to another host ({host}): it can only be pruned there."
            raise NotPossible(message, kind="run-busy", hint=f"run tmuxagents prune on {host}")
        if not run.ended and not run.is_due(time.time()):
            message = f"Run {run.run_id} is still {run.standing.status}."
            hint = f"stop it first: tmuxagents stop {run.run_id[: words.SHORT_ID]}"
            raise NotPossible(message, kind="run-running", hint=hint)
    _refuse_needed(run_dirs, stock, caller)
    with contextlib.ExitStack() as locks:
        if not dry_run:
            process.raise_limits()  # each lock is a descriptor
            for run_dir in run_dirs:
                locks.callback(os.close, _hold(run_dir))
            # One of the runs may have been continued meanwhile.
            _refuse_needed(run_dirs, remains.look(caller), caller)
        for run_dir in run_dirs:
            _remove(run_dir, stock, pruned)
    rows = [stock.rows[run_id] for run_id in pruned.run_ids if run_id in stock.rows]
    remains.close_windows(rows, caller, pruned)
    remains.remove_links({row.project for row in rows}, caller, pruned, among=pruned.run_ids)
    remains.remove_checkouts(stock, caller, pruned, among=pruned.run_ids)
    remains.prune_elsewhere(runs, pruned)
    remains.forget(caller, pruned.run_ids, pruned)
    return pruned


def prune_old(caller: Caller, settings: Settings, *, windows: bool, dry_run: bool = False) -> Pruned:
    """Remove runs older than keepRuns. `windows`: also close the windows of all other ended runs."""
    pruned, keep_s = Pruned(dry_run=dry_run), settings.keep_runs_s
    stock = remains.look(caller)
    pruned.warnings += stock.warnings
    past = [
        Past(
            *(row.run_id, row.session_id, row.status, row.concluded),
            *(row.polled_at is not None, row.created_at, row.ended_at),
        )
        for row in stock.rows.values()
    ]
    for run in prune_rules.expired(past, keep_s=keep_s, now=pruned.at, needed=_needed(stock, caller)):
        with _held(f"{caller.runs}/{run.run_id}", pruned) as is_ours:
            if is_ours:
                _remove(f"{caller.runs}/{run.run_id}", stock, pruned)
    gone = pruned.run_ids
    rows = stock.rows.values()
    closed = [row for row in rows if row.run_id in gone or (windows and row.concluded)]
    remains.close_windows(closed, caller, pruned)
    projects = {row.project for row in (*rows, *stock.stale)} | {caller.project}
    remains.remove_links(projects, caller, pruned)
    pruned.removed += [Removed(prune_rules.ROW, run_id=row.run_id) for row in stock.stale]
    remains.forget(caller, gone | {row.run_id for row in stock.stale}, pruned)
    remains.remove_leftovers(stock, caller, pruned, keep_s=keep_s)
    remains.remove_checkouts(stock, caller, pruned)
    remains.remove_unfinished(caller, pruned)
    return pruned


# --- which ones -------------------------------------------------------------------------------------------


def _needed(stock: Stock, caller: Caller) -> dict[str, str]:
    """Return the ids of the runs on which unended runs build, each with the id of an unended run."""
    needed: dict[str, str] = {}
    for row in stock.rows.values():
        if row.concluded:
            continue
        plan = directory.read_plan(f"{caller.runs}/{row.run_id}")
        others = [plan.resumes, *plan.after] if plan else []
        others += [run.run_id for run in stock.rows.values() if run.session_id == row.session_id]
        needed |= {other: row.run_id for other in others if isinstance(other, str) and other != row.run_id}
    return needed


def _refuse_needed(run_dirs: Iterable[str], stock: Stock, caller: Caller) -> None:
    """Refuse runs on which unended runs build."""
    needed = _needed(stock, caller)
    for run_id in map(os.path.basename, run_dirs):
        if run_id in needed:
            message = f"Run {run_id} is needed by run {needed[run_id]}, which has not ended."
            raise NotPossible(message, kind="run-busy", hint="prune it when that one has ended")


# --- one run ----------------------------------------------------------------------------------------------


def _hold(run_dir: str) -> int:
    """Conclude a run if it is lost, and take the lock of the run, which must be over."""
    if not _is_over(run_dir) and conclude(run_dir, never_came=NEVER_OPENED) is None:
        if not os.path.isdir(run_dir):
            raise removed(run_dir)
        lives = gather(run_dir)[0].presence in (records.HERE, records.ELSEWHERE)
        raise _has_begun(run_dir) if lives else _is_busy(run_dir)
    try:
        held = writing.lock(run_dir, _HELD_S)
    except FileNotFoundError as error:
        raise removed(run_dir) from error
    if held is None:
        raise _is_busy(run_dir)
    if not _is_over(run_dir):
        os.close(held)
        raise _has_begun(run_dir)
    return held


def _is_busy(run_dir: str) -> NotPossible:
    """Return the error for a run that another process holds."""
    run_id = os.path.basename(run_dir)
    message = f"Another process holds run {run_id}, to resume, prune or conclude it."
    return NotPossible(message, kind="run-busy", hint="try again in a moment")


def _has_begun(run_dir: str) -> NotPossible:
    message = f"Run {os.path.basename(run_dir)} has just begun."
    return NotPossible(message, kind="run-running", hint="look at it again: tmuxagents poll")


@contextlib.contextmanager
def _held(run_dir: str, pruned: Pruned) -> Iterator[bool]:
    """Hold a run's lock; say whether we have it and the run is over. A dry run takes no lock."""
    if pruned.dry_run:
        yield _is_over(run_dir)
        return
    try:
        held = writing.lock(run_dir, _BUSY_S)
    except OSError:  # another process has just removed it
        held = None
    try:
        yield held is not None and _is_over(run_dir)
    finally:
        if held is not None:
            os.close(held)


def _is_over(run_dir: str) -> bool:
    facts, _, _ = gather(run_dir)
    return facts.result is not None and facts.presence in _OVER


def _remove(run_dir: str, stock: Stock, pruned: Pruned) -> None:
    """Remove a run. A part that cannot be removed stays hidden, and the next prune tries again."""
    row = stock.rows.get(os.path.basename(run_dir))
    result = directory.read_result(run_dir) or {}
    known_status = row.status if row is not None and row.status in records.ENDED else records.FAILED
    ended_at: Any = result.get("endedAt", row.ended_at if row is not None else None)
    removed = Removed(
        prune_rules.RUN,
        os.path.basename(run_dir),
        run_dir,
        removal.size(run_dir),
        result.get("status", known_status),
        float(ended_at) if is_figure(ended_at) else None,
    )
    if not pruned.dry_run:
        hidden = removal.hide(run_dir)
        writing.unseal(run_dir)
        try:
            removal.remove(hidden)
        except OSError as error:
            pruned.warnings.append(f"{hidden} could not be removed completely: {error.strerror}")
    pruned.removed.append(removed)
