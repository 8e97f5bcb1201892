"""Check what a launch needs before a run is made: folder, tmux, disk, a place in the queue, a free name.

Each check raises before anything exists. All are cheap: no process is started if a tmux server answers.

Joins.
"""

from __future__ import annotations

import contextlib
import os

from tmuxagents import tmux
from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.records import could_begin_run_id, is_run_id
from tmuxagents.registry import database, lookup
from tmuxagents.runs import directory, slots, writing
from tmuxagents.runs.words import SHORT_ID
from tmuxagents.system import places, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from tmuxagents.launch.plan import LaunchRequest
    from tmuxagents.registry.database import Registry
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.settings.keys import Settings
    from tmuxagents.tmux.place import ChosenServer

MOST_WAITING = 200
_LEAST_BYTES = 1024 * 1024
_PATIENCE_S = 5.0  # how long a launch waits for others that are claiming a name
_NAMES_LOCK = "names.lock"
_MOST_SHOWN = 3


def check_cwd(cwd: str) -> None:
    """Refuse a working directory that a child could not enter."""
    if not cwd.startswith("/"):
        return  # launch/plan has the message for it
    try:
        os.close(os.open(cwd, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
        enters = os.access(cwd, os.X_OK)
    except (OSError, ValueError) as error:
        message = f"The working directory {cwd} cannot be used: {getattr(error, 'strerror', error)}."
        raise BadRequest(message, kind="bad-cwd", hint="give --cwd DIR", field="cwd") from error
    if not enters:
        message = f"You are not allowed to enter the working directory {cwd}."
        raise BadRequest(message, kind="bad-cwd", hint="give --cwd DIR", field="cwd")


def check_machine(
    caller: Caller, place: ChosenServer, environment: Mapping[str, str], settings: Settings
) -> None:
    """Refuse a machine on which the run could not begin."""
    if process.start_time(os.getpid()) is None:
        message = "There is no /proc here, so no program can see which processes live."
        raise Unusable(message, kind="no-permission", hint="mount it, or leave the sandbox")
    _check_state(caller, place)
    if not os.path.exists(database.path_of(caller.home)):
        # Making the registry tests the disk's file locks, without which no program could conclude a run.
        lookup.with_registry(caller, lambda _: None)
    if process.find_program("tmux", environment.get("PATH", "")) is None:
        raise tmux.no_tmux()
    tmux.refuse_impossible(place.socket)
    if tmux.is_denied(place.socket):
        raise _not_allowed(f"tmux at {place.socket} may not be used", caller, place)
    if tmux.listening(place.socket) is None:
        if not tmux.may_be_made(place.socket):
            raise _not_allowed(f"no tmux socket can be made at {place.socket}", caller, place)
        tmux.client_version()  # a live server is asked when the window opens
    waiting = len(_queue(caller).tickets())
    if waiting >= MOST_WAITING:  # each is a process of 3 MB
        message = f"{waiting} runs wait for a slot already; the limit is {MOST_WAITING}."
        hint = f"wait for some, or raise maxRunning (now {int(settings.numbers['maxRunning'])})"
        raise Unusable(message, kind="no-space", hint=hint)


def _check_state(caller: Caller, place: ChosenServer) -> None:
    """Refuse a state directory that cannot be written, or is full."""
    try:
        places.make_folders(caller.runs)
        places.refuse_foreign(caller.home)  # another user may have made it this moment
        fits = os.access(caller.runs, os.W_OK | os.X_OK)
        disk = os.statvfs(caller.runs)
    except OSError as error:
        raise _not_allowed(f"{caller.home}: {error.strerror}", caller, place) from error
    if not fits:
        raise _not_allowed(f"{caller.home} cannot be written", caller, place)
    if disk.f_bavail * disk.f_frsize < _LEAST_BYTES:
        message = f"The disk of {caller.home} is full: less than 1 MB is left."
        raise Unusable(message, kind="no-space", hint=f"make room: df -h {caller.home}")


def _not_allowed(what: str, caller: Caller, place: ChosenServer) -> Unusable:
    hint = f"a sandbox must allow both {caller.home} and {os.path.dirname(place.socket)}"
    return Unusable(f"This program is not allowed to work here: {what}.", kind="no-permission", hint=hint)


def has_room(caller: Caller, settings: Settings) -> bool:
    """Say whether a run that is launched now finds a slot."""
    return _queue(caller).has_room(int(settings.numbers["maxRunning"]))


def _queue(caller: Caller) -> slots.Queue:
    return slots.Queue(places.of_host(caller.home, process.host()))


# --- other runs ---------------------------------------------------------------------------------------------


def refuse_namesake(book: Registry, caller: Caller, request: LaunchRequest) -> None:
    """Refuse a name that an active run of the project has, or that could be a short id of another run."""
    name = request.name or ""
    if len(name) >= lookup.SHORTEST_ID and could_begin_run_id(name) and book.beginning(name):
        message = f'The name "{name}" is the beginning of a run\'s id.'
        raise BadRequest(message, kind="bad-argument", hint="add a letter that is not a to f", field="name")
    namesakes = [row for row in book.named(name) if row.project == request.project]
    if any(lookup.is_active(row, caller, book) for row in namesakes):
        message = f'An active run of this project has the name "{name}" already.'
        hint = "choose another, or stop that one"
        raise BadRequest(message, kind="bad-argument", hint=hint, field="name")


def keep_name(caller: Caller, request: LaunchRequest, name: str | None) -> tuple[LaunchRequest, list[str]]:
    """Give a run the name of the one that it continues or repeats; if it is taken, return a warning."""
    if request.name is not None or name is None:
        return request, []
    named = request._replace(name=name)
    try:
        lookup.with_registry(caller, lambda book: refuse_namesake(book, caller, named))
    except BadRequest:
        return request, [f"another active run has the name {name} by now: this one has none"]
    return named, []


@contextlib.contextmanager
def claimed_name(caller: Caller, request: LaunchRequest) -> Iterator[None]:
    """Refuse a name that is taken; else hold the lock on all names while the run is made.

    The run directories decide, not the registry, since a cache may be removed meanwhile.
    """
    if request.name is None:
        yield
        return
    lock = writing.lock(os.path.realpath(caller.home), _PATIENCE_S, _NAMES_LOCK)
    if lock is None:
        raise Unusable("Another launch takes too long.", kind="window", hint="try it again")
    try:
        lookup.with_registry(caller, lambda book: refuse_namesake(book, caller, request))
        yield
    finally:
        os.close(lock)


def awaited(caller: Caller, after: Iterable[str]) -> set[str]:
    """Return the runs that a run waits for, directly or through others."""
    found: set[str] = set()
    queue = list(after)
    for run_id in queue:
        if run_id not in found and is_run_id(run_id):  # a child may have edited its plan
            found.add(run_id)
            plan = directory.read_plan(f"{caller.runs}/{run_id}")
            queue += plan.after if plan is not None else ()
    return found


def others_at_work(book: Registry, caller: Caller, cwd: str, *, besides: Container[str]) -> Sequence[str]:
    """Return the names or ids of the other active runs in a directory, newest first."""
    rows = [row for row in book.open_rows() if row.cwd == cwd and row.run_id not in besides]
    return [row.name or row.run_id[:SHORT_ID] for row in rows if lookup.is_active(row, caller, book)]


def warn_of_others(names: Sequence[str]) -> str:
    """Return the warning of other runs in the directory, and what to do about them."""
    shown = list(names[:_MOST_SHOWN])
    if len(names) > _MOST_SHOWN:
        shown.append(f"{len(names) - _MOST_SHOWN} more")
    who = " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
    work = "works" if len(names) == 1 else "work"
    return f"{who} already {work} in this directory (--after {names[0]} waits, --cwd DIR works elsewhere)"
