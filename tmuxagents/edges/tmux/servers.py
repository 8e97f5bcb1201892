"""Which server is which, without asking it: by its socket, and by the process that listens there.

No decision is made here: which server a run goes to is core/place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket as sockets
import stat
import struct

from tmuxagents.edges import process
from tmuxagents.errors import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN = 0  # somebody listens, but who cannot be said (another pid namespace, a queue that is full)
_CREDENTIALS = struct.Struct("3i")
_LONGEST_PATH = 107  # bytes of a socket that the kernel has room for


class Server:
    """One life of one server: the same only if socket, pid and start time all agree."""

    __slots__ = ("pid", "socket", "start_time")

    def __init__(self, socket: str, pid: int, start_time: int | None) -> None:
        self.socket = socket
        self.pid = pid
        self.start_time = start_time  # clock ticks since boot, as in wrapper.json; None: not of this machine

    def __eq__(self, other: object) -> bool:
        mine = (self.socket, self.pid, self.start_time)
        return isinstance(other, Server) and mine == (other.socket, other.pid, other.start_time)

    def __hash__(self) -> int:
        return hash((self.socket, self.pid, self.start_time))

    @property
    def lives(self) -> bool:
        """Say whether its process is there, whatever became of its socket."""
        return self.start_time is not None and process.start_time(self.pid) == self.start_time


class Caller:
    """Where in tmux somebody calls from, as `$TMUX` and `$TMUX_PANE` say."""

    __slots__ = ("lives", "pane", "server")

    def __init__(self, server: Server, pane: str | None, *, lives: bool) -> None:
        self.server = server
        self.pane = pane
        self.lives = lives


def server_of(socket: str, pid: int) -> Server:
    """Return the record of a server that says it has this pid."""
    return Server(os.path.realpath(socket), pid, process.start_time(pid))


def caller(environment: Mapping[str, str]) -> Caller | None:
    """Return where the caller is; None outside tmux. It lives if exactly the server that is named listens."""
    path, pid, session = [*environment.get("TMUX", "").rsplit(",", 2), "", ""][:3]
    if not (path.startswith("/") and pid.isascii() and pid.isdigit() and session):
        return None
    listener = listening(path)
    lives = listener in (UNKNOWN, int(pid))
    return Caller(server_of(path, int(pid)), environment.get("TMUX_PANE"), lives=lives)


def listening(path: str) -> int | None:
    """Return the pid of who listens at a socket; None if nobody does. No tmux process, and it never waits."""
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM | sockets.SOCK_NONBLOCK) as probe:
        try:
            probe.connect(path)
        except BlockingIOError:
            return UNKNOWN
        except OSError:
            return None
        pid, _, _ = _CREDENTIALS.unpack(
            probe.getsockopt(sockets.SOL_SOCKET, sockets.SO_PEERCRED, _CREDENTIALS.size)
        )
        return int(pid)


def is_denied(path: str) -> bool:
    """Say whether we may not talk to a socket, as in a sandbox. Nobody needs to listen there."""
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM | sockets.SOCK_NONBLOCK) as probe:
        try:
            return probe.connect_ex(path) in (errno.EACCES, errno.EPERM)
        except OSError:
            return False  # it is too long to be one


def socket_folder(environment: Mapping[str, str]) -> str:
    """Return the folder where tmux keeps the sockets of its `-L` names."""
    named = environment.get("TMUX_TMPDIR")
    base = named if named and os.path.exists(named) else "/tmp"  # noqa: S108  (as tmux itself)
    return f"{os.path.realpath(base)}/tmux-{os.getuid()}"


def refuse_impossible(socket: str) -> None:
    """Refuse a path at which no socket can be, or at which others could put theirs. Nothing is made."""
    if len(os.fsencode(socket)) > _LONGEST_PATH:
        message = f"There can be no tmux socket at {socket}: {os.strerror(errno.ENAMETOOLONG)}."
        hint = "give -L a shorter name, or set TMUX_TMPDIR to a folder with a shorter path"
        raise Unusable(message, kind="tmux-unreachable", hint=hint)
    folder = os.path.dirname(socket)
    there = folder if os.path.lexists(folder) else os.path.dirname(folder)
    try:
        facts = os.stat(f"{there}/")
    except PermissionError:
        return  # a sandbox, it seems: is_denied and may_be_made say so
    except OSError as error:
        raise _no_socket(socket, error) from error
    if there == folder:
        _refuse_shared(folder, facts)


def may_be_made(socket: str) -> bool:
    """Say whether a server could make its socket, and the folder of that as make_folder would."""
    folder = os.path.dirname(socket)
    there = folder if os.path.isdir(folder) else os.path.dirname(folder)
    return os.access(there, os.W_OK | os.X_OK)


def make_folder(socket: str) -> None:
    """Make the folder of a socket as tmux makes it for `-L`, and refuse one in which others could put theirs.

    A client obeys its server: one of another user could make it run commands.
    """
    folder = os.path.dirname(socket)
    with contextlib.suppress(OSError):  # why there is none is told by the look that follows
        os.mkdir(folder, 0o700)
    try:
        facts = os.stat(f"{folder}/")
    except OSError as error:
        raise _no_socket(socket, error) from error
    _refuse_shared(folder, facts)


def _refuse_shared(folder: str, facts: os.stat_result) -> None:
    sticky = facts.st_mode & stat.S_ISVTX
    if facts.st_uid not in (os.getuid(), 0) or (facts.st_mode & stat.S_IWOTH and not sticky):
        message = f"Others could put a tmux socket into {folder}."
        raise Unusable(message, kind="tmux-unreachable", hint="set TMUX_TMPDIR to a folder of yours")


def _no_socket(socket: str, error: OSError) -> Unusable:
    message = f"There can be no tmux socket at {socket}: {error.strerror}."
    hint = "make its folder, or set TMUX_TMPDIR to one of yours"
    return Unusable(message, kind="tmux-unreachable", hint=hint)


def refuse_foreign(socket: str) -> None:
    """Raise Unusable for a socket of another user."""
    try:
        user = os.stat(socket).st_uid
    except OSError:
        return  # tmux has words for it
    if user not in (os.getuid(), 0):
        message = f"The tmux server at {socket} belongs to another user."
        raise Unusable(
            message, kind="tmux-unreachable", hint="tmuxagents -L tmuxagents uses a server of yours"
        )
