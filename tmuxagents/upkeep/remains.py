"""The remains of runs besides their directories: windows, links, registry rows, stray files, checkouts.

A checkout here holds the work of a run that another machine launched. It is removed once that machine has
the work. If a run that is removed here works on another machine, it is removed there, too.

Joins.
"""

from __future__ import annotations

import math
import os
import time

from tmuxagents import records, tmux
from tmuxagents.errors import TmuxAgentsError, Unusable
from tmuxagents.launch import handover
from tmuxagents.machines import leavings, refs, requests
from tmuxagents.machines.checkout import list_checkouts, list_unfinished
from tmuxagents.records import is_run_id
from tmuxagents.registry import database, learn
from tmuxagents.registry.rows import server_of
from tmuxagents.runs import directory
from tmuxagents.system import places, process, project, removal
from tmuxagents.text import paths
from tmuxagents.tmux import servers
from tmuxagents.upkeep.prune_rules import LEFTOVER, LINK, WINDOW, Removed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tmuxagents.registry.database import Row
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.upkeep.prune import Pruned


PATIENCE_S = 2.0
OLD_S = 3600.0  # no process needs a stray file of this age: a launch takes seconds
_ASIDE = (".new-", ".displaced-")
# Files that a run directory has only until its run is over.
_PASSING = (
    *(handover.ORDERS, handover.ANSWER),
    *(directory.LIVE_EVENTS, directory.LIVE_ORDERS, directory.LIVE_FILES),
)
_UNUSED = ("registry.db.broken", "registry.db.new")


class Stock:
    """All runs, as rows from the registry or made from their directories."""

    __slots__ = ("nameless", "rows", "stale", "warnings")

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.stale: list[Row] = []  # of runs whose directories are gone
        self.nameless: list[str] = []  # directories without a run
        self.warnings: list[str] = []


def look(caller: Caller) -> Stock:
    """Return all runs. Nothing is written, not even to the registry."""
    stock = Stock()
    rows: dict[str, Row] = {}
    path = database.path_of(caller.home)
    if os.path.exists(path):
        try:
            with database.open_file(path, PATIENCE_S) as book:
                rows = {row.run_id: row for row in book.rows(database.Scope("all"))}
        except (database.Damaged, database.Unfit) as why:
            message = f"the registry is not used ({why}); the run directories are read instead"
            stock.warnings.append(message)
    listed = {name for name in _names(caller.runs) if is_run_id(name)}
    for run_id in sorted(listed | set(rows)):
        run_dir = f"{caller.runs}/{run_id}"
        known = rows.get(run_id)
        row = known if known is not None and known.concluded else learn.row_of(run_dir)
        if not os.path.isdir(run_dir):
            stock.stale += [known] if known is not None else []
        elif row is None:
            stock.nameless.append(run_dir)
        else:
            row.polled_at = known.polled_at if known is not None else None
            stock.rows[run_id] = row
    return stock


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def forget(caller: Caller, run_ids: Collection[str], pruned: Pruned) -> None:
    """Drop the registry's rows of runs that are gone."""
    path = database.path_of(caller.home)
    if pruned.dry_run or not run_ids or not os.path.exists(path):
        return
    try:
        with database.open_file(path, PATIENCE_S) as book:
            book.forget(run_ids)
    except (database.Damaged, database.Unfit):
        return  # the next reader sees which directories are gone


# --- windows ----------------------------------------------------------------------------------------------


def close_windows(rows: Iterable[Row], caller: Caller, pruned: Pruned) -> None:
    """Close the windows of ended runs on live servers. A window at which a person looks stays."""
    by_server: dict[str, list[Row]] = {}
    for row in rows:
        by_server.setdefault(row.server or "", []).append(row)
    for server, its in by_server.items():
        parts = server_of(server)
        if parts is None:
            continue
        socket, pid, started = parts
        # Exactly this server must still listen there.
        if process.start_time(pid) != started or tmux.listening(socket) not in (pid, servers.UNKNOWN):
            continue
        try:
            windows = tmux.Tmux(socket).windows
            present = windows.all()
            for row in its:
                window = present.get(row.run_id)
                if window is None or not window.dead or window.watched:
                    continue
                if pruned.dry_run or windows.close_ended(window.window, row.run_id):
                    of_others = row.owner != caller.owner
                    pruned.removed.append(Removed(WINDOW, row.run_id, socket, of_others=of_others))
        except tmux.NoServer:
            continue
        except Unusable as error:
            pruned.warnings.append(f"windows on {socket} stay as they are: {error.message}")


# --- links ------------------------------------------------------------------------------------------------


def remove_links(
    projects: Iterable[str | None], caller: Caller, pruned: Pruned, *, among: Collection[str] | None = None
) -> None:
    """Remove projects' links to runs that are gone. `among`: only the links to these runs."""
    gone = pruned.run_ids
    for folder in sorted({folder for folder in projects if folder}):
        for run_id in project.links(folder, caller.runs):
            run_dir = f"{caller.runs}/{run_id}"
            if (among is not None and run_id not in among) or (
                os.path.lexists(run_dir) and run_id not in gone
            ):
                continue
            path = f"{folder}/{project.LINKS}/{run_id}"
            try:
                if not pruned.dry_run:
                    project.unlink(folder, run_dir)
            except OSError as error:
                pruned.warnings.append(f"{path} could not be removed: {error.strerror}")
            else:
                pruned.removed.append(Removed(LINK, run_id, path))


# --- stray files ------------------------------------------------------------------------------------------


def remove_leftovers(stock: Stock, caller: Caller, pruned: Pruned, *, keep_s: float | None) -> None:
    """Remove the files that killed launches, wrappers and prunes left behind, and old logs."""
    since, gone = pruned.at - OLD_S, pruned.run_ids
    stray = []
    for name in sorted(_names(caller.runs)):
        path = f"{caller.runs}/{name}"
        if name.startswith(removal.HIDDEN) or (name.startswith(_ASIDE) and _is_older(path, since)):
            stray.append(path)
    for name in sorted(_names(f"{caller.home}/{directory.SEALED}")):
        path = f"{caller.home}/{directory.SEALED}/{name}"
        if not os.path.lexists(f"{caller.runs}/{name}") and _is_older(path, since):
            stray.append(path)
    for path in stock.nameless:
        presence = process.presence(directory.identity_of(directory.read_wrapper(path)))
        if presence in (records.GONE, records.NEVER_CAME) and _is_older(path, since):
            stray.append(path)
    over = [row.run_id for row in stock.rows.values() if row.concluded and row.run_id not in gone]
    passing = (f"{caller.runs}/{run_id}/{name}" for run_id in over for name in _PASSING)
    stray += [path for path in passing if _is_older(path, since)]
    if keep_s is not None:
        host = places.of_host(caller.home, process.host())
        unused = [f"{host}/{name}" for name in sorted(_names(host)) if name.startswith(_UNUSED)]
        logs = [f"{host}/logs/{name}" for name in sorted(_names(f"{host}/logs"))]
        stray += [path for path in (*unused, *logs) if _is_older(path, pruned.at - max(keep_s, OLD_S))]
    for path in stray:
        remove_leftover(path, pruned)


def remove_leftover(path: str, pruned: Pruned) -> None:
    """Remove a file or folder that nothing uses any more, and record it. A failure becomes a warning."""
    size = removal.size(path)
    try:
        if not pruned.dry_run:
            removal.remove(path)
    except OSError as error:
        pruned.warnings.append(f"{path} could not be removed: {error.strerror}")
    else:
        pruned.removed.append(Removed(LEFTOVER, path=path, size=size))


def _is_older(path: str, moment: float) -> bool:
    try:
        return os.lstat(path).st_mtime < moment
    except OSError:
        return False


# --- checkouts and runs of other machines -----------------------------------------------------------------

_GROWING = ("/objects", "/objects/pack", "/refs/sent")  # parts of a repository that change during a transfer


def remove_checkouts(
    stock: Stock, caller: Caller, pruned: Pruned, *, among: Collection[str] | None = None
) -> None:
    """Remove checkouts in which no run works. `among`: only the checkouts of these runs, even if young."""
    gone = pruned.run_ids
    used = [row.cwd for row in stock.rows.values() if row.cwd and row.run_id not in gone]
    for origin, run_id in list_checkouts(caller.home, os.environ):
        path = origin.checkout(run_id)
        if any(paths.is_inside(cwd, path) for cwd in used):
            continue
        # A young checkout may belong to a run that is about to begin.
        if run_id not in among if among is not None else _age(path) < OLD_S:
            continue
        try:
            kept = leavings.missing(origin, run_id)
            if kept:
                pruned.warnings.append(f"the checkout {path} stays: {refs.listed(kept)} has not come back")
                continue
            size = removal.size(path)
            if not pruned.dry_run:
                origin.remove(run_id)
        except OSError as error:
            pruned.warnings.append(f"{path} could not be removed: {error.strerror}")
        except TmuxAgentsError as error:
            pruned.warnings.append(f"the checkout {path} stays: {error.message}")
        else:
            pruned.removed.append(Removed(LEFTOVER, path=path, size=size))


def remove_unfinished(caller: Caller, pruned: Pruned) -> None:
    """Remove unfinished repositories that have received nothing for an hour."""
    for path in list_unfinished(caller.home):
        if min(_age(f"{path}{part}") for part in ("", *_GROWING)) >= OLD_S:
            remove_leftover(path, pruned)


def _age(path: str) -> float:
    """Return how many seconds ago a folder changed; infinity if it does not exist."""
    try:
        return time.time() - os.lstat(path).st_mtime
    except OSError:
        return math.inf


def prune_elsewhere(runs: Iterable[RunView], pruned: Pruned) -> None:
    """Ask the machines of far runs to remove the runs with their checkouts. A failure becomes a warning."""
    for run in runs:
        if not run.is_far or pruned.dry_run:
            continue
        try:
            answer = requests.carry_out(run, ["prune", run.run_id], os.environ)
        except TmuxAgentsError as why:
            if why.kind != "unknown-run":
                pruned.warnings.append(f"run {run.run_id} stays on {run.host}: {why.message}")
        else:
            pruned.warnings += [f"{run.host}: {warning}" for warning in answer.get("warnings") or ()]
