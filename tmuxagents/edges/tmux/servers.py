"""Which server is which, without asking it: by its socket, and by the process that listens there.

No decision is made here: which server a run goes to is core/place.
"""

from __future__ import annotations

import os
import socket as sockets
import struct

from tmuxagents.edges import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN = 0  # somebody listens, but who cannot be said (another pid namespace, a queue that is full)
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
    """Return where the caller is; None outside tmux. A server that was left behind by its variable is not alive."""
    path, pid, _session = [*environment.get("TMUX", "").rsplit(",", 2), "", ""][:3]
    if not (path.startswith("/") and pid.isascii() and pid.isdigit()):
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


def socket_folder(environment: Mapping[str, str]) -> str:
    """Return the folder where tmux keeps the sockets of its `-L` names."""
    named = environment.get("TMUX_TMPDIR")
    base = named if named and os.path.exists(named) else "/tmp"  # noqa: S108  (as tmux itself)
    return f"{os.path.realpath(base)}/tmux-{os.getuid()}"
