"""What doctor looks at of the runs: registry, watcher, runs to be concluded, processes left behind."""

from __future__ import annotations

import os
import re
import time

from tmuxagents import records
from tmuxagents.commands import inspect as runs_
from tmuxagents.commands import remains
from tmuxagents.core import checkup, display, leftovers
from tmuxagents.core.checkup import Check
from tmuxagents.core.leftovers import Whose
from tmuxagents.edges import lookout, process, process_table, registry, rundir
from tmuxagents.errors import NoSuchRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tmuxagents.commands.doctor import Case
    from tmuxagents.commands.inspect import Run
    from tmuxagents.records import ProcessRow

_ID = re.compile("[0-9a-f]{16}")
_PATIENCE_S = 1.0


def registry_file(case: Case) -> list[Check]:
    """Look whether the registry can be used."""
    path = registry.path_of(case.caller.home)
    if not os.path.exists(path):
        return [Check("registry", "there is none yet; the first launch makes it")]
    try:
        with registry.open_file(path, _PATIENCE_S) as book:
            return [Check("registry", f"{path} can be used (runs: {len(book.ids())})")]
    except registry.Damaged as why:
        hint = "none: it is made anew from the run directories at the next poll"
        return [checkup.warning("registry", f"{path} is damaged ({why})", hint)]
    except registry.Unfit as why:
        hint = "what is said of runs is right all the same, a little more slowly"
        return [checkup.warning("registry", f"{path} is not used ({why})", hint)]


def watcher(case: Case) -> list[Check]:
    """Look whether the watcher is there, where it has something to do."""
    there = lookout.holder(case.caller.home)
    if there is not None:
        return [Check("watcher", f"it is there, pid {there[0]}")]
    live = [run for run in _open_runs(case) if not run.ended and not run.standing.foreign]
    if live:
        hint = "none is needed: the next launch, or the end of one of them, starts it"
        return [checkup.warning("watcher", "There is none, and runs are live: the status line is old", hint)]
    return [Check("watcher", "there is none, and it has nothing to do; the next launch starts it")]


def runs(case: Case) -> list[Check]:
    """Look for runs whose ending nobody has written down."""
    there = _open_runs(case)
    due = [run.run_id[: display.SHORT_ID] for run in there if run.is_due(time.time())]
    if due:
        hint = f"tmuxagents stop {' '.join(due)}"
        return [checkup.warning("runs", f"Lost and not concluded: {checkup.some(due)}", hint)]
    return [Check("runs", f"none is lost (live: {len(there)})")]


def _open_runs(case: Case) -> list[Run]:
    """Return the runs that have no ending yet, or one that nobody has written down."""
    found = []
    for run_id, row in remains.look(case.caller).rows.items():
        if not row.concluded:
            try:
                found.append(runs_.inspect(f"{case.caller.runs}/{run_id}"))
            except NoSuchRun:  # removed while we look
                continue
    return found


def processes(case: Case) -> list[Check]:
    """Look for processes of runs that have ended."""
    table = process_table.table(since=0)
    left = [row for run_id in _marked(table) for row in _left_of(run_id, case, table)]
    if left:
        hint = f"look at them, then kill {' '.join(str(row.pid) for row in left)}"
        named = (f"{row.comm} ({row.pid})" for row in left)
        return [checkup.warning("processes", f"Runs have ended and left {checkup.some(named)}", hint)]
    return [Check("processes", "no run has left any behind")]


def _marked(table: list[ProcessRow]) -> Iterator[str]:
    yield from sorted({row.marker for row in table if row.marker and _ID.fullmatch(row.marker)})


def _left_of(run_id: str, case: Case, table: list[ProcessRow]) -> list[ProcessRow]:
    """Return what lives of an ended run against rule S; of a run that is not ours we cannot say."""
    run_dir = f"{case.caller.runs}/{run_id}"
    result = rundir.read_result(run_dir)
    here = process.presence(rundir.identity_of(rundir.read_wrapper(run_dir))) == records.HERE
    if result is None or here:
        return []
    spared = {one.get("pid") for one in result.get("leftBehind") or () if isinstance(one, dict)}
    left = leftovers.sort_out(table, Whose(run_id=run_id, uid=os.getuid()))
    return [row for row in left.ended if row.pid not in spared and row.pid != os.getpid()]
