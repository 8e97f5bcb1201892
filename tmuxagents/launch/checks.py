"""What must hold before a run is made: a folder, tmux, a disk, a place in the queue, a name of its own.

Each check raises, and nothing exists yet. All are cheap: a few looks, no process where a server answers.

Joins.
"""

from __future__ import annotations

import os
import time

from tmuxagents import tmux
from tmuxagents.errors import BadRequest, NoSuchRun, Unusable
from tmuxagents.registry import database, lookup
from tmuxagents.runs import slots
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import places as files
from tmuxagents.system import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from tmuxagents.launch.plan import LaunchRequest
    from tmuxagents.registry.database import Registry, Row
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.settings.keys import Settings
    from tmuxagents.tmux.place import ChosenServer

MOST_WAITING = 200
_LEAST_BYTES = 1024 * 1024


def check_cwd(cwd: str) -> None:
    """Refuse a working directory that a child could not enter."""
    if not cwd.startswith("/"):
        return  # the plan has words for it
    try:
        os.close(os.open(cwd, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
        enters = os.access(cwd, os.X_OK)
    except (OSError, ValueError) as error:
        message = f"The working directory {cwd} cannot be used: {getattr(error, 'strerror', error)}."
        raise BadRequest(message, kind="bad-cwd", hint="give --cwd DIR", field="cwd") from error
    if not enters:
        message = f"The working directory {cwd} may not be entered."
        raise BadRequest(message, kind="bad-cwd", hint="give --cwd DIR", field="cwd")


def check_machine(
    caller: Caller, place: ChosenServer, environment: Mapping[str, str], settings: Settings
) -> None:
    """Refuse a machine on which the run could not begin."""
    if process.start_time(os.getpid()) is None:
        message = "There is no /proc here: nobody could say which processes live."
        raise Unusable(message, kind="no-permission", hint="mount it, or leave the sandbox")
    _check_state(caller, place)
    _check_locks(caller)
    _check_tmux(caller, place, environment)
    _check_queue(caller, settings)


def _check_state(caller: Caller, place: ChosenServer) -> None:
    """Refuse a state directory that cannot be written, or is full."""
    try:
        os.makedirs(caller.runs, mode=0o700, exist_ok=True)
        files.refuse_foreign(caller.home)  # another user may have made it this moment
        fits = os.access(caller.runs, os.W_OK | os.X_OK)
        disk = os.statvfs(caller.runs)
    except OSError as error:
        raise _not_allowed(f"{caller.home}: {error.strerror}", caller, place) from error
    if not fits:
        raise _not_allowed(f"{caller.home} cannot be written", caller, place)
    if disk.f_bavail * disk.f_frsize < _LEAST_BYTES:
        message = f"The disk of {caller.home} is full: less than 1 MB is left."
        raise Unusable(message, kind="no-space", hint=f"make room: df -h {caller.home}")


def _check_locks(caller: Caller) -> None:
    """Refuse a disk without locks: no program could conclude a run on it."""
    if not os.path.exists(database.path_of(caller.home)):
        # Making the registry tries the locks; a launch makes it if there is none.
        lookup.with_registry(caller, lambda _: None)


def _check_tmux(caller: Caller, place: ChosenServer, environment: Mapping[str, str]) -> None:
    """Refuse where there is no tmux, none new enough, or none that we may talk to."""
    if process.find_program("tmux", environment.get("PATH", "")) is None:
        raise Unusable("There is no tmux on PATH.", kind="tmux-missing", hint="install it: apt install tmux")
    tmux.refuse_impossible(place.socket)
    if tmux.is_denied(place.socket):
        raise _not_allowed(f"tmux at {place.socket} may not be used", caller, place)
    if tmux.listening(place.socket) is None:
        if not tmux.may_be_made(place.socket):
            raise _not_allowed(f"no tmux socket can be made at {place.socket}", caller, place)
        tmux.client_version()  # of a server that lives, the call that opens the window asks it


def _not_allowed(what: str, caller: Caller, place: ChosenServer) -> Unusable:
    hint = f"a sandbox must allow both {caller.home} and {os.path.dirname(place.socket)}"
    return Unusable(f"This program may not work here: {what}.", kind="no-permission", hint=hint)


def has_room(caller: Caller, settings: Settings) -> bool:
    """Say whether a run that is launched now finds a slot."""
    return _queue(caller).has_room(int(settings.numbers["maxRunning"]))


def _queue(caller: Caller) -> slots.Queue:
    return slots.Queue(files.of_host(caller.home, process.host()))


def _check_queue(caller: Caller, settings: Settings) -> None:
    """Refuse one run more than can wait: each is a process of 3 MB."""
    waiting = _queue(caller).tickets()
    if len(waiting) >= MOST_WAITING:
        most = int(settings.numbers["maxRunning"])
        message = f"{len(waiting)} runs wait for a slot already; {MOST_WAITING} is the most."
        raise Unusable(message, kind="no-space", hint=f"wait for some, or raise maxRunning (now {most})")


_PATIENCE_S = 5.0
_AGAIN_S = 0.02


def refuse_namesake(book: Registry, caller: Caller, request: LaunchRequest) -> None:
    """Refuse a name that a live run of the project has, before anything is made."""
    if any(_live(row, caller, book) for row in _namesakes(book, request)):
        raise _taken(request)


def keep_name(caller: Caller, request: LaunchRequest, name: str | None) -> tuple[LaunchRequest, list[str]]:
    """Let a run have the name of the one that it follows, unless a live run has it; return a warning then."""
    if request.name is not None or name is None:
        return request, []
    named = request._replace(name=name)
    try:
        lookup.with_registry(caller, lambda book: refuse_namesake(book, caller, named))
    except BadRequest:
        return request, [f"another live run has the name {name} by now: this one has none"]
    return named, []


def claim_name(caller: Caller, request: LaunchRequest, made: Row) -> None:
    """Claim the name of a run that was just made, or refuse it.

    If several runs claim a name at once, the oldest keeps it; the others see it and withdraw. A younger run
    may have checked before the oldest was visible, so the oldest waits until each rival has withdrawn or
    started. The run directories decide, and not the registry: that is a cache which may be removed meanwhile.
    """
    until = time.monotonic() + _PATIENCE_S
    while lookup.with_registry(caller, lambda book: _has_rival(book, caller, request, made))[0]:
        if time.monotonic() > until:
            raise _taken(request)
        time.sleep(_AGAIN_S)


def _has_rival(book: Registry, caller: Caller, request: LaunchRequest, made: Row) -> bool:
    """Say whether a younger rival may still start; refuse the name if a rival is older or has started."""
    others = [row for row in _namesakes(book, request) if row.run_id != made.run_id]
    live = [(run, row) for row in others if (run := _live(row, caller, book)) is not None]
    if any(run.wrapper is not None or _order(row) < _order(made) for run, row in live):
        raise _taken(request)
    return bool(live)


def count(book: Registry, caller: Caller, cwd: str, *, besides: Container[str]) -> int:
    """Return how many other live runs work in a directory."""
    there = [row for row in book.open_rows() if row.cwd == cwd and row.run_id not in besides]
    return sum(_live(row, caller, book) is not None for row in there)


def _namesakes(book: Registry, request: LaunchRequest) -> list[Row]:
    return [row for row in book.named(request.name or "") if row.project == request.project]


def _order(row: Row) -> tuple[float, str]:
    return row.created_at, row.run_id


def _taken(request: LaunchRequest) -> BadRequest:
    message = f'A live run of this project has the name "{request.name}" already.'
    hint = "choose another, or stop that one"
    return BadRequest(message, kind="bad-argument", hint=hint, field="name")


def _live(row: Row, caller: Caller, book: Registry) -> RunView | None:
    run_dir = f"{caller.runs}/{row.run_id}"
    if row.concluded or not os.path.isdir(run_dir):
        return None
    try:
        run = inspect(run_dir, checkpoint=book.checkpoints([row.run_id]).get(row.run_id))
    except NoSuchRun:  # it went a moment ago
        return None
    return None if run.ended else run
