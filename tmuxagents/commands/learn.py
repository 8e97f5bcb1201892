"""What the run directories tell the registry: the row of each run, and which runs there are at all."""

from __future__ import annotations

import os
import re
import time

from tmuxagents import records
from tmuxagents.commands import inspect
from tmuxagents.core import endings, lifecycle
from tmuxagents.core.events import is_figure
from tmuxagents.edges import process, registry, rundir
from tmuxagents.edges.registry import Row
from tmuxagents.records import Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.commands.inspect import Run
    from tmuxagents.edges.registry import Registry
    from tmuxagents.edges.tmux.servers import Server

TEXT_LIMIT = 200
_ID = re.compile("[0-9a-f]{16}")
# Two changes of a folder within one tick of the clock leave the same time on it; this is many ticks.
_SETTLED_NS = 2_000_000_000


def reconcile(book: Registry, runs: str) -> None:
    """Tell the registry of runs that it does not know, and of runs whose directories are gone.

    Where there are none this costs one stat: a folder's time changes with each name in it that comes or goes,
    and the registry remembers at which time it knew them all.
    """
    folder, settled = _folder(runs)
    if folder is not None and book.folder() == folder:
        return
    known = book.ids()  # before the listing: a launch that comes between is then not taken for a removal
    listed = _listed(runs)
    new = [row for name in listed - known if (row := row_of(f"{runs}/{name}")) is not None]
    gone = [run_id for run_id in known - listed if not os.path.isdir(f"{runs}/{run_id}")]
    # A directory that is no run may become one, by its wrapper's hand, without the folder's time telling.
    whole = len(new) == len(listed - known)
    sure = folder if settled and whole else None
    if new or gone or sure:
        book.absorb(new, gone, sure)


def _folder(runs: str) -> tuple[str | None, bool]:
    """Return what a folder is known by as long as no name in it comes or goes, and whether that is sure."""
    try:
        facts = os.stat(runs)
    except FileNotFoundError:
        return None, False
    age = time.time_ns() - facts.st_mtime_ns
    return f"{facts.st_dev}.{facts.st_ino}.{facts.st_mtime_ns}", age > _SETTLED_NS


def _listed(runs: str) -> set[str]:
    try:
        return {name for name in os.listdir(runs) if _ID.fullmatch(name)}
    except FileNotFoundError:
        return set()


def row_of(run_dir: str) -> Row | None:
    """Return the row of a run directory, None if there is no run in it.

    Of a run that has ended, only its plan and its result are read: there may be thousands of them.
    """
    meta = rundir.read_meta(run_dir)
    if meta is None:
        return None
    wrapper = rundir.read_wrapper(run_dir)
    presence = process.presence(rundir.identity_of(wrapper))
    result = rundir.read_result(run_dir)
    if result is None or presence == records.HERE:
        return row(inspect.inspect(run_dir))
    state = lifecycle.RunState()
    state.started_at = _figure(result.get("startedAt"))
    standing = endings.state_of(Facts(presence=presence, started=True, result=result), state)
    return row(
        inspect.Run(
            run_dir=run_dir,
            meta=meta,
            wrapper=wrapper,
            result=result,
            state=state,
            activity=None,
            standing=standing,
        )
    )


def row(run: Run) -> Row:
    """Return the row of a run as it stands now."""
    meta, how, state = run.meta, run.standing.verdict, run.state
    plan = {
        key: _text(meta.get(key)) for key in ("name", "project", "owner", "mode", "preset", "cwd", "task")
    }
    return Row(
        run.run_id,
        session_id=_text(meta.get("sessionId")) or run.run_id,
        **plan | {"task": (plan["task"] or "")[:TEXT_LIMIT]},
        created_at=_figure(meta.get("createdAt")) or 0.0,
        status=run.standing.status,
        reason=how.reason if how else None,
        activity=((how.error_message if how else run.activity) or "")[:TEXT_LIMIT] or None,
        attended=state.attended,
        settled=how is None and state.settled,
        needs_input=how is None and state.needs_input,
        started_at=_figure(state.started_at),
        ended_at=_figure(run.ended_at),
        last_event_at=_figure(state.last_event_at),
        concluded=run.result is not None,
        event_seq=state.seq,
        changed_at=_changed_at(run),
        launcher=_launcher(meta),
        **_place(run.wrapper),
    )


def _launcher(meta: Mapping[str, Any]) -> str | None:
    tmux = meta.get("tmux")
    return _text(tmux.get("launcher")) if isinstance(tmux, dict) else None


def key_of(server: Server) -> str | None:
    """Return the registry's name of a tmux server; None for one of another machine."""
    if server.start_time is None:
        return None
    return registry.server_key(server.socket, server.pid, server.start_time)


def _changed_at(run: Run) -> float:
    """Return since when a run stands so, rather too late than too early: who was told before is told again.

    The end of a lost run is when it was last heard of, long before anybody knew; but then its result is late.
    """
    now = time.time()
    if run.result is None:
        return now
    try:
        written = os.stat(f"{run.run_dir}/{rundir.RESULT}").st_mtime
    except OSError:
        return now
    return max(written, _figure(run.ended_at) or 0.0)


def _place(wrapper: Mapping[str, Any] | None) -> dict[str, str | None]:
    tmux = (wrapper or {}).get("tmux")
    if not isinstance(tmux, dict):
        return {}
    socket, pid, started = tmux.get("socketPath"), tmux.get("serverPid"), tmux.get("serverStartTime")
    known = isinstance(socket, str) and type(pid) is int and type(started) is int
    server = registry.server_key(str(socket), int(pid or 0), int(started or 0)) if known else None
    return {"server": server, "window": _text(tmux.get("window")), "pane": _text(tmux.get("pane"))}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _figure(value: Any) -> float | None:
    return float(value) if is_figure(value) else None
