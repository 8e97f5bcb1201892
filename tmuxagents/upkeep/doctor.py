"""Doctor: examine the machine, the agent, a person's files and the runs, all at once; repair nothing. Joins.

This module has the checks of runs and hosts; upkeep/probes has the others.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tmuxagents import records, tmux
from tmuxagents.errors import NoSuchRun, TmuxAgentsError, Unusable
from tmuxagents.machines import build, hosts, link
from tmuxagents.records import is_run_id
from tmuxagents.registry import database
from tmuxagents.runs import directory, leftovers, words
from tmuxagents.runs import inspect as runs_
from tmuxagents.runs.leftovers import LeftoverScope
from tmuxagents.settings import keys, load
from tmuxagents.system import process, process_table, watcher_lock
from tmuxagents.text import figures
from tmuxagents.text.checks import BROKEN, Check, broken, warning
from tmuxagents.upkeep import checks, probes, remains

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from tmuxagents.records import ProcessRow
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.tmux.place import ChosenServer

    Look = Callable[["Case"], Check | Iterable[Check]]

_PATIENCE_S = 1.0


class Case:
    """What doctor examines: a caller, a folder, settings and a tmux server."""

    def __init__(
        self, caller: Caller, folder: str, environment: Mapping[str, str], *, socket: str | None
    ) -> None:
        self.caller = caller
        self.folder = folder
        self.environment = environment
        self.settings = load.load(environment, caller.project)
        self._socket = socket
        self._open_runs: list[RunView] | None = None
        self._reading = threading.Lock()

    @property
    def place(self) -> ChosenServer:
        """Return the server that a run would use. Raises BadRequest."""
        return tmux.choose_place(self.environment, flag=self._socket, setting=self.settings.tmux_socket)[0]

    def open_runs(self) -> list[RunView]:
        """Return the runs that have no result yet, read once for all checks: a log may take 16 MB to read."""
        with self._reading:
            if self._open_runs is None:
                self._open_runs = _read_open_runs(self.caller)
            return self._open_runs


class Examined(NamedTuple):
    """What doctor found."""

    at: float
    checks: list[Check]
    settings: list[tuple[str, Any, str]]

    @property
    def ok(self) -> bool:
        """Say whether nothing is broken."""
        return not any(check.state == BROKEN for check in self.checks)

    def document(self, version: str) -> dict[str, Any]:
        """Return the document."""
        return {
            "v": 1,
            "at": round(self.at, 3),
            "version": version,
            "ok": self.ok,
            "checks": [check.document() for check in self.checks],
            "settings": [dict(zip(("key", "value", "source"), row, strict=True)) for row in self.settings],
        }


def examine(case: Case) -> Examined:
    """Carry out all checks at once."""
    try:
        ours = bool(case.caller.home)
    except Unusable:
        ours = False

    def guarded(name: str, look: Look) -> list[Check]:
        """Carry out one entry of LOOKS. An error becomes a check of its own."""
        try:
            found = look(case)
            return [found] if isinstance(found, Check) else list(found)
        except TmuxAgentsError as error:
            return [broken(name, error.message, error.hint)]
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            return [broken(name, f"{where}{error.strerror}", "a sandbox may keep this program from it")]

    wanted = [(name, look) for name, look, in_state in LOOKS if ours or not in_state]
    with ThreadPoolExecutor(len(wanted)) as pool:
        found = [check for part in pool.map(lambda one: guarded(*one), wanted) for check in part]
    return Examined(time.time(), found, keys.rows(case.settings))


# --- the checks of runs -----------------------------------------------------------------------------------


def registry_file(case: Case) -> Check:
    """Check whether the registry can be used."""
    path = database.path_of(case.caller.home)
    if not os.path.exists(path):
        return Check("registry", "none yet; the first launch makes it")
    try:
        with database.open_file(path, _PATIENCE_S) as book:
            return Check("registry", f"{path} (runs: {len(book.ids())})")
    except database.Damaged as why:
        hint = "nothing to do: the next poll makes it again from the run directories"
        return warning("registry", f"{path} is damaged ({why})", hint)
    except database.Unfit as why:
        hint = "nothing to do: results are still correct, only slower"
        return warning("registry", f"{path} is not used ({why})", hint)


def watcher(case: Case) -> Check:
    """Check whether the watcher runs, if it has something to do."""
    holder = watcher_lock.holder(case.caller.home)
    if holder is not None:
        return Check("watcher", f"running, pid {holder[0]}")
    if any(not run.ended and not run.standing.foreign for run in case.open_runs()):
        hint = "nothing to do: the next launch, or the end of a run, starts it"
        return warning("watcher", "Not running while runs are active: the status line is old", hint)
    return Check("watcher", "idle; the next launch starts it")


def runs(case: Case) -> Check:
    """Check for lost runs that are not concluded yet."""
    open_runs = case.open_runs()
    due = [run.run_id[: words.SHORT_ID] for run in open_runs if run.is_due(time.time())]
    if due:
        return warning(
            "runs", f"Lost and not concluded: {checks.some(due)}", f"tmuxagents stop {' '.join(due)}"
        )
    return Check("runs", f"none is lost (live: {len(open_runs)})")


def _read_open_runs(caller: Caller) -> list[RunView]:
    """Read the runs that have no result yet."""
    found = []
    for run_id, row in remains.look(caller).rows.items():
        if not row.concluded:
            with contextlib.suppress(NoSuchRun):  # removed meanwhile
                found.append(runs_.inspect(f"{caller.runs}/{run_id}"))
    return found


def known_hosts(case: Case) -> Iterator[Check]:
    """Check what is recorded about other machines, without the network."""
    for host in hosts.read_hosts(case.environment).values():
        last, since = link.heard(case.caller.home, host.name)
        try:
            build.refuse_other(host)
        except Unusable as error:
            yield warning("host", error.message, str(error.hint))
            continue
        if since is not None:
            message = f"{host.name} has been unreachable for {figures.age(time.time() - since)}"
            yield warning("host", message, f"tmuxagents hosts check {host.name}")
            continue
        heard = "" if last is None else f", heard {figures.age(time.time() - last)} ago"
        yield Check("host", f"{host.name}: {host.engine}, tmuxagents {host.version}{heard}")


def processes(case: Case) -> Check:
    """Check for processes that ended runs have left."""
    table = process_table.table(since=0)
    marked = sorted({row.marker for row in table if row.marker and is_run_id(row.marker)})
    left: list[ProcessRow] = []
    for run_id in marked:
        run_dir = f"{case.caller.runs}/{run_id}"
        result = directory.read_result(run_dir)
        lives = process.presence(directory.identity_of(directory.read_wrapper(run_dir))) == records.HERE
        if result is None or lives:
            continue
        spared = {one.get("pid") for one in result.get("leftBehind") or () if isinstance(one, dict)}
        spared.add(os.getpid())
        ended = leftovers.sort_out(table, LeftoverScope(run_id=run_id, uid=os.getuid())).ended
        left += [row for row in ended if row.pid not in spared]
    if left:
        hint = f"look at them, then kill {' '.join(str(row.pid) for row in left)}"
        named = (f"{row.comm} ({row.pid})" for row in left)
        return warning("processes", f"Ended runs have left {checks.some(named)}", hint)
    return Check("processes", "ended runs have left none")


# The checks, in the order in which they are shown. Each is bounded in time, and none waits for another. Those
# marked True use the state directory. If that is not ours alone, they are left out, and `state` reports why.
LOOKS: tuple[tuple[str, Look, bool], ...] = (
    ("tmux", probes.tmux_program, False),
    ("server", probes.server, False),
    ("access", probes.access, True),
    ("state", probes.state, False),
    ("disk", probes.space, True),
    ("proc", probes.proc, False),
    ("inotify", probes.inotify, True),
    ("agent", probes.agent, True),
    ("agents", probes.others, True),
    ("node", probes.node, False),
    ("rg", probes.tools, False),
    ("pi", probes.extension, False),
    ("presets", probes.presets, False),
    ("keys", probes.keys, False),
    ("settings", probes.settings, False),
    ("registry", registry_file, True),
    ("watcher", watcher, True),
    ("runs", runs, True),
    ("processes", processes, True),
    ("host", known_hosts, True),
)
