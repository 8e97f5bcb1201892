"""Checkouts that other machines had made here, of runs that are gone: removed once their work has come back.

Joins.
"""

from __future__ import annotations

import math
import os
import time

from tmuxagents.errors import TmuxAgentsError
from tmuxagents.machines import leavings, refs
from tmuxagents.machines.checkout import list_checkouts, list_unfinished
from tmuxagents.system import removal
from tmuxagents.upkeep.prune_rules import LEFTOVER, Removed
from tmuxagents.upkeep.remains import OLD_S, remove_leftover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from tmuxagents.registry.lookup import Caller
    from tmuxagents.upkeep.prune import Pruned
    from tmuxagents.upkeep.remains import Stock

_GROWING = ("/objects", "/objects/pack", "/refs/sent")  # of a repository, while something is sent


def remove(stock: Stock, caller: Caller, pruned: Pruned, *, among: Collection[str] | None = None) -> None:
    """Remove checkouts in which no run works any more; `among`: only of these runs, and young ones, too."""
    gone = pruned.run_ids
    used = [row.cwd for row in stock.rows.values() if row.cwd and row.run_id not in gone]
    for project, run_id in list_checkouts(caller.home, os.environ):
        path = project.checkout(run_id)
        if any(f"{cwd}/".startswith(f"{path}/") for cwd in used):
            continue
        # A young one may be that of a run which is about to begin.
        if run_id not in among if among is not None else _age(path) < OLD_S:
            continue
        try:
            kept = leavings.missing(project, run_id)
            if kept:
                pruned.warnings.append(f"the checkout {path} stays: {refs.listed(kept)} has not come back")
                continue
            size = removal.size(path)
            if not pruned.dry_run:
                project.remove(run_id)
        except OSError as error:
            pruned.warnings.append(f"{path} could not be removed: {error.strerror}")
        except TmuxAgentsError as error:
            pruned.warnings.append(f"the checkout {path} stays: {error.message}")
        else:
            pruned.removed.append(Removed(LEFTOVER, path=path, size=size))

    if among is None:
        _remove_unfinished(caller, pruned)


def _remove_unfinished(caller: Caller, pruned: Pruned) -> None:
    for path in list_unfinished(caller.home):
        if min(_age(f"{path}{part}") for part in ("", *_GROWING)) < OLD_S:
            continue
        remove_leftover(path, pruned)


def _age(path: str) -> float:
    """Return how long ago a folder has changed; one that is not there has not changed for ever."""
    try:
        return time.time() - os.lstat(path).st_mtime
    except OSError:
        return math.inf
