"""What must be there before a run is made: a folder to work in, tmux, a disk, a place in the queue.

Each check raises, and nothing exists yet. All are cheap: a few looks, no process where a server answers.
"""

from __future__ import annotations

import os

from tmuxagents.commands import known
from tmuxagents.edges import process, registry, slots, tmux
from tmuxagents.edges import settings as files
from tmuxagents.errors import BadRequest, Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.commands.known import Caller
    from tmuxagents.core.place import Place
    from tmuxagents.core.settings import Settings

MOST_WAITING = 200
_LEAST_BYTES = 1024 * 1024


def check_cwd(cwd: str) -> None:
    """Refuse a working directory in which no child could stand."""
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


def check_machine(caller: Caller, place: Place, environment: Mapping[str, str], settings: Settings) -> None:
    """Refuse a machine on which the run could not begin."""
    if process.start_time(os.getpid()) is None:
        message = "There is no /proc here: nobody could say which processes live."
        raise Unusable(message, kind="no-permission", hint="mount it, or leave the sandbox")
    _check_state(caller, place)
    _check_locks(caller)
    _check_tmux(caller, place, environment)
    _check_queue(caller, settings)


def _check_state(caller: Caller, place: Place) -> None:
    """Refuse a state directory that cannot be written, or is full."""
    try:
        os.makedirs(caller.runs, mode=0o700, exist_ok=True)
        files.refuse_foreign(caller.home)  # somebody may have made it this moment
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
    """Refuse a disk without locks, before there is a run on it that nobody could conclude."""
    if not os.path.exists(registry.path_of(caller.home)):
        # Who makes the registry tries the locks; each launch makes it where there is none.
        known.consult(caller, lambda _: None)


def _check_tmux(caller: Caller, place: Place, environment: Mapping[str, str]) -> None:
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


def _not_allowed(what: str, caller: Caller, place: Place) -> Unusable:
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
