"""What is known of runs: the registry, which is first told what the run directories say and it does not know.

Who asks here gets the same answers with and without a registry, a damaged one, or one of a newer program: then
an empty one in memory takes its place, and is filled from the run directories for this once.
"""

from __future__ import annotations

import os
import re
import time

from tmuxagents import records
from tmuxagents.commands import inspect
from tmuxagents.core import endings, lifecycle, sanitize
from tmuxagents.core.events import is_figure
from tmuxagents.edges import process, project, registry, rundir, settings
from tmuxagents.edges.registry import Row, Scope
from tmuxagents.errors import NoSuchRun
from tmuxagents.records import Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from tmuxagents.commands.inspect import Run
    from tmuxagents.edges.registry import Registry

    T = TypeVar("T")

LAST = "@last"
PATIENCE_S = 2.0  # a reader's; the directories are there, too
TEXT_LIMIT = 200
_ID = re.compile("[0-9a-f]{16}")
_BEGINNING = re.compile("[0-9a-f]{4,15}")
_NEAR = 3
_MOST_CANDIDATES = 8
# Two changes of a folder within one tick of the clock leave the same time on it; this is many ticks.
_SETTLED_NS = 2_000_000_000


class Caller:
    """Who asks, and from where."""

    __slots__ = ("home", "owner", "project", "runs")

    def __init__(self, environment: Mapping[str, str], folder: str) -> None:
        self.home = settings.home(environment)
        self.runs = settings.runs(environment)
        self.owner = environment.get("TMUXAGENTS_OWNER") or environment.get("PI_SESSION_ID")
        self.project = project.project_of(folder, environment.get("HOME") or os.path.expanduser("~"))


# --- asked ------------------------------------------------------------------------------------------------


def consult(caller: Caller, ask: Callable[[Registry], T]) -> tuple[T, list[str]]:
    """Ask the registry, or one in memory in its place; return the answer and warnings for people.

    `ask` is begun again where the registry fails in the middle of it.
    """
    warnings: list[str] = []
    path = registry.path_of(caller.home)
    while os.path.exists(path) or os.path.isdir(caller.runs):  # else nothing was ever launched: make nothing
        try:
            return _ask_file(path, caller, ask), warnings
        except registry.Damaged as damage:
            if warnings:
                break
            warnings.append(_set_aside(path, damage))
        except registry.Unfit as why:
            warnings.append(f"the registry is not used ({why}); the run directories are read instead")
            break
    with registry.open_memory() as book:
        reconcile(book, caller.runs)
        return ask(book), warnings


def _ask_file(path: str, caller: Caller, ask: Callable[[Registry], T]) -> T:
    with registry.open_file(path, PATIENCE_S) as book:
        reconcile(book, caller.runs)
        return ask(book)


def _set_aside(path: str, damage: registry.Damaged) -> str:
    try:
        aside = registry.set_aside(path, damage.identity, PATIENCE_S)
    except registry.Unfit as why:
        return f"the registry is damaged ({damage}) and cannot be set aside ({why})"
    return f"the registry was damaged ({damage}); it lies in {aside}, and a new one was made from the run directories"


# --- told -------------------------------------------------------------------------------------------------


def reconcile(book: Registry, runs: str) -> None:
    """Tell the registry of runs that it does not know, and of runs whose directories are gone.

    What it costs otherwise: one stat. A folder's time changes with each name in it that comes or goes, and the
    registry remembers at which time it knew them all.
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
    found = {"run_dir": run_dir, "meta": meta, "wrapper": wrapper, "result": result, "state": state}
    return row(inspect.Run(**found, activity=None, standing=standing))


def row(run: Run) -> Row:
    """Return the row of a run as it stands now."""
    meta, how, state = run.meta, run.standing.verdict, run.state
    plan = {key: _text(meta.get(key)) for key in ("name", "project", "owner", "mode", "preset", "cwd", "task")}
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
        **_place(run.wrapper),
    )


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


# --- found ------------------------------------------------------------------------------------------------


def find(reference: str, caller: Caller) -> str:
    """Return the run directory that a reference means: full id, name, unique beginning of an id, or @last."""
    if _ID.fullmatch(reference) and os.path.isdir(f"{caller.runs}/{reference}"):
        return f"{caller.runs}/{reference}"  # nothing else can be meant
    run_id, _ = consult(caller, lambda book: locate(reference, caller, book))
    return f"{caller.runs}/{run_id}"


def session(run_dir: str, caller: Caller) -> list[str]:
    """Return the run directories of the session that a run belongs to, oldest first."""
    own = os.path.basename(run_dir)

    def ask(book: Registry) -> list[str]:
        known = book.row(own)
        return [row.run_id for row in book.session(known.session_id)] if known else [own]

    return [f"{caller.runs}/{run_id}" for run_id in consult(caller, ask)[0]]


def locate(reference: str, caller: Caller, book: Registry) -> str:
    """Return the id of the run that a reference means, or raise NoSuchRun."""
    if reference == LAST:
        return _last(caller, book)
    if _ID.fullmatch(reference):
        if book.row(reference) is not None:
            return reference
        raise _unknown(reference, book)
    if not _BEGINNING.fullmatch(reference):
        return _named(reference, caller, book)
    matches = book.beginning(reference)
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise _unknown(reference, book)
    message = f'"{reference}" is the beginning of {len(matches)} run ids.'
    candidates = matches[:_MOST_CANDIDATES]
    hint = f"give more of it: {', '.join(candidates)}"
    raise NoSuchRun(message, kind="ambiguous-run", hint=hint, candidates=candidates)


def _unknown(reference: str, book: Registry) -> NoSuchRun:
    shown = sanitize.cut(sanitize.line(reference), 40)
    start = reference[:_NEAR]
    near = book.beginning(start)[:_MOST_CANDIDATES] if re.fullmatch("[0-9a-f]{3}", start) else []
    hint = f"near: {', '.join(near)}" if near else "name it by its id, 4 or more of its digits, or its name"
    return NoSuchRun(f'There is no run "{shown}".', kind="unknown-run", hint=hint, candidates=near)


def _last(caller: Caller, book: Registry) -> str:
    scope = Scope("owner", caller.owner) if caller.owner else Scope("project", caller.project)
    for newest in book.rows(scope, limit=1):
        return newest.run_id
    whose = "by this parent" if caller.owner else f"in {sanitize.line(caller.project)}"
    message = f"No run has been launched {whose} yet."
    raise NoSuchRun(message, kind="unknown-run", hint="name the run by its id")


def _named(name: str, caller: Caller, book: Registry) -> str:
    """Return the run of a name: the live one of this project, else its newest; other projects last."""
    namesakes = book.named(name)
    here = [row for row in namesakes if row.project == caller.project] or namesakes
    if not here:
        raise _unknown(name, book)
    live = (row for row in here if not row.concluded and not inspect.inspect(f"{caller.runs}/{row.run_id}").ended)
    return next(live, here[0]).run_id
