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
LONGEST_PATH = 107  # bytes of a socket that the kernel has room for
_CREDENTIALS = struct.Struct("3i")


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
        except OSError:  # it is too long to be one
            return False


def refuse_long(path: str) -> None:
    """Raise Unusable for a path that the kernel takes for no socket."""
    if len(os.fsencode(path)) > LONGEST_PATH:
        why = os.strerror(errno.ENAMETOOLONG)
        message = f"There can be no tmux socket at {path}: {why}."
        hint = "give -L a shorter name, or set TMUX_TMPDIR to a folder with a shorter path"
        raise Unusable(message, kind="tmux-unreachable", hint=hint)


def socket_folder(environment: Mapping[str, str]) -> str:
    """Return the folder where tmux keeps the sockets of its `-L` names."""
    named = environment.get("TMUX_TMPDIR")
    base = named if named and os.path.exists(named) else "/tmp"  # noqa: S108  (as tmux itself)
    return f"{os.path.realpath(base)}/tmux-{os.getuid()}"


def make_folder(socket: str) -> None:
    """Make the folder of a socket as tmux makes it for `-L`, and refuse one in which others could put theirs.

    A client obeys its server: one of another user could make it run commands.
    """
    folder = os.path.dirname(socket)
    with contextlib.suppress(FileExistsError, FileNotFoundError, PermissionError):
        os.mkdir(folder, 0o700)
    try:
        facts = os.stat(folder)
    except OSError as error:
        message = f"There can be no tmux socket at {socket}: {error.strerror}."
        raise Unusable(message, kind="tmux-unreachable", hint="make its folder") from error
    sticky = facts.st_mode & stat.S_ISVTX
    if facts.st_uid not in (os.getuid(), 0) or (facts.st_mode & stat.S_IWOTH and not sticky):
        message = f"Others could put a tmux socket into {folder}."
        raise Unusable(message, kind="tmux-unreachable", hint="set TMUX_TMPDIR to a folder of yours")


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
