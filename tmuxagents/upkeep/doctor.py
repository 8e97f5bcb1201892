"""Examine the machine, the agent, a person's files and the runs, all at once; nothing is mended. Joins.

Here are the examinations of the runs: registry, watcher, runs to be concluded, processes left behind.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

from tmuxagents import records, tmux
from tmuxagents.errors import NoSuchRun, TmuxAgentsError, Unusable
from tmuxagents.records import is_run_id
from tmuxagents.registry import database
from tmuxagents.runs import directory, leftovers, words
from tmuxagents.runs import inspect as runs_
from tmuxagents.runs.leftovers import Whose
from tmuxagents.settings import keys as rules
from tmuxagents.settings import load
from tmuxagents.system import process, process_table, watcher_lock
from tmuxagents.upkeep import agent, checks, machine, remains
from tmuxagents.upkeep.checks import Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.records import ProcessRow
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.tmux.place import Place

    Look = Callable[["Case"], Sequence[Check]]

_PATIENCE_S = 1.0


def registry_file(case: Case) -> list[Check]:
    """Look whether the registry can be used."""
    path = database.path_of(case.caller.home)
    if not os.path.exists(path):
        return [Check("registry", "there is none yet; the first launch makes it")]
    try:
        with database.open_file(path, _PATIENCE_S) as book:
            return [Check("registry", f"{path} can be used (runs: {len(book.ids())})")]
    except database.Damaged as why:
        hint = "none: it is made anew from the run directories at the next poll"
        return [checks.warning("registry", f"{path} is damaged ({why})", hint)]
    except database.Unfit as why:
        hint = "what is said of runs is right all the same, a little more slowly"
        return [checks.warning("registry", f"{path} is not used ({why})", hint)]


def watcher(case: Case) -> list[Check]:
    """Look whether the watcher is there, where it has something to do."""
    there = watcher_lock.holder(case.caller.home)
    if there is not None:
        return [Check("watcher", f"it is there, pid {there[0]}")]
    live = [run for run in _open_runs(case) if not run.ended and not run.standing.foreign]
    if live:
        hint = "none is needed: the next launch, or the end of one of them, starts it"
        return [checks.warning("watcher", "There is none, and runs are live: the status line is old", hint)]
    return [Check("watcher", "there is none, and it has nothing to do; the next launch starts it")]


def runs(case: Case) -> list[Check]:
    """Look for runs whose ending nobody has written down."""
    there = _open_runs(case)
    due = [run.run_id[: words.SHORT_ID] for run in there if run.is_due(time.time())]
    if due:
        hint = f"tmuxagents stop {' '.join(due)}"
        return [checks.warning("runs", f"Lost and not concluded: {checks.some(due)}", hint)]
    return [Check("runs", f"none is lost (live: {len(there)})")]


def _open_runs(case: Case) -> list[RunView]:
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
        return [checks.warning("processes", f"Runs have ended and left {checks.some(named)}", hint)]
    return [Check("processes", "no run has left any behind")]


def _marked(table: list[ProcessRow]) -> Iterator[str]:
    yield from sorted({row.marker for row in table if row.marker and is_run_id(row.marker)})


def _left_of(run_id: str, case: Case, table: list[ProcessRow]) -> list[ProcessRow]:
    """Return what lives of an ended run against rule S; of a run that is not ours we cannot say."""
    run_dir = f"{case.caller.runs}/{run_id}"
    result = directory.read_result(run_dir)
    here = process.presence(directory.identity_of(directory.read_wrapper(run_dir))) == records.HERE
    if result is None or here:
        return []
    spared = {one.get("pid") for one in result.get("leftBehind") or () if isinstance(one, dict)}
    left = leftovers.sort_out(table, Whose(run_id=run_id, uid=os.getuid()))
    return [row for row in left.ended if row.pid not in spared and row.pid != os.getpid()]


# In the order in which they are told. Each is bounded; none waits for another.
LOOKS: tuple[tuple[str, Look], ...] = (
    ("tmux", machine.program),
    ("server", machine.server),
    ("access", machine.access),
    ("state", machine.state),
    ("disk", machine.disk),
    ("proc", machine.proc),
    ("inotify", machine.inotify),
    ("agent", agent.agent),
    ("node", agent.node),
    ("rg", agent.tools),
    ("pi", agent.extension),
    ("presets", agent.presets),
    ("keys", agent.keys),
    ("settings", agent.settings),
    ("registry", registry_file),
    ("watcher", watcher),
    ("runs", runs),
    ("processes", processes),
)


# What lies in the state directory: where that is not ours alone, only `state` is looked at, which says so.
_IN_STATE = ("access", "disk", "inotify", "agent", "registry", "watcher", "runs", "processes")


class Case:
    """What is looked at: who asks, where, with which settings, and which tmux server would be used."""

    def __init__(
        self, caller: Caller, folder: str, environment: Mapping[str, str], *, socket: str | None
    ) -> None:
        self.caller = caller
        self.folder = folder
        self.environment = environment
        self.settings = load.load(environment, caller.project)
        self._socket = socket

    @property
    def place(self) -> Place:
        """Return which server would be used; raise BadRequest where what is set names none."""
        return tmux.choose_place(self.environment, flag=self._socket, setting=self.settings.tmux_socket)[0]


class Examined:
    """What was found."""

    __slots__ = ("at", "checks", "settings")

    def __init__(self, checks: list[Check], settings: list[tuple[str, Any, str]]) -> None:
        self.at = time.time()
        self.checks = checks
        self.settings = settings

    @property
    def ok(self) -> bool:
        """Say whether nothing is broken."""
        return not any(check.state == checks.BROKEN for check in self.checks)

    def document(self, version: str) -> dict[str, Any]:
        """Return the document."""
        return {
            "v": 1,
            "at": round(self.at, 3),
            "version": version,
            "ok": self.ok,
            "checks": [check.document() for check in self.checks],
            "settings": [
                {"key": key, "value": value, "source": source} for key, value, source in self.settings
            ],
        }


def examine(case: Case) -> Examined:
    """Look at everything."""
    left_out = () if _is_ours(case.caller) else _IN_STATE
    looks = [(name, look) for name, look in LOOKS if name not in left_out]
    with ThreadPoolExecutor(len(looks)) as pool:
        looked = [pool.submit(_guarded, name, look, case) for name, look in looks]
        checks = [check for one in looked for check in one.result()]
    return Examined(checks, rules.rows(case.settings))


def _is_ours(caller: Caller) -> bool:
    """Say whether the state directory is ours alone."""
    try:
        return bool(caller.home)
    except Unusable:
        return False


def _guarded(name: str, look: Look, case: Case) -> Sequence[Check]:
    """Look; what refuses says by itself what to do."""
    try:
        return look(case)
    except TmuxAgentsError as error:
        return [checks.broken(name, error.message, error.hint)]
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return [checks.broken(name, f"{where}{error.strerror}", "is this program kept from it by a sandbox?")]
