"""Identify a tmux server without asking it, by its socket and by the process that listens there.

`tmux/place` decides which server a run goes to. Touches: tmux.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket as sockets
import stat
import struct
from typing import NamedTuple

from tmuxagents.cpython import signal
from tmuxagents.errors import Unusable
from tmuxagents.system import places, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN = 0  # a process listens, but its pid is unknown (another pid namespace, a queue that is full)
_CREDENTIALS = struct.Struct("3i")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_EVERYBODY = ["0", "0", "4294967295"]  # the map of users outside of all user namespaces
_LONGEST_PATH = 107  # bytes of a socket's path that the kernel has room for


class ServerLife(NamedTuple):
    """One life of one server. Two are the same only if socket, pid and start time all agree."""

    socket: str
    pid: int
    start_time: int | None  # clock ticks since boot, as in wrapper.json; None: no such process here

    @property
    def lives(self) -> bool:
        """Say whether its process still runs, with or without its socket."""
        return self.start_time is not None and process.start_time(self.pid) == self.start_time

    def look_for_ended(self) -> None:
        """Make the server ask the kernel which of its programs have ended.

        On a busy machine tmux 3.3a misses the signal of an end about once in 500 times. Then it knows no exit
        code until the next program ends.
        """
        if self.start_time is not None:
            process.send(self.pid, self.start_time, signal.SIGCHLD)


class TmuxCaller(NamedTuple):
    """The caller's place in tmux, by `$TMUX` and `$TMUX_PANE`."""

    server: ServerLife
    pane: str | None
    lives: bool


def server_of(socket: str, pid: int) -> ServerLife:
    """Return the record of a server that reports this pid."""
    return ServerLife(os.path.realpath(socket), pid, process.start_time(pid))


def caller(environment: Mapping[str, str]) -> TmuxCaller | None:
    """Return the caller's place; None outside tmux. It lives if its server, or an unknown one, listens."""
    path, pid, session = places.tmux_server(environment)
    if not path.startswith("/") or pid is None or not session:
        return None
    listener = listening(path)
    lives = listener in (UNKNOWN, pid)
    return TmuxCaller(server_of(path, pid), environment.get("TMUX_PANE"), lives=lives)


def listening(path: str) -> int | None:
    """Return the pid of the listener at a socket, None without one. Starts no process, never waits."""
    try:
        pid, _ = _peer(path)
    except BlockingIOError:
        return UNKNOWN
    except OSError:
        return None
    return pid


def _peer(path: str) -> tuple[int, int]:
    """Return pid and user of the listener at a socket. Nothing is sent to it."""
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM | sockets.SOCK_NONBLOCK) as probe:
        probe.connect(path)
        credentials = probe.getsockopt(sockets.SOL_SOCKET, sockets.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _ = _CREDENTIALS.unpack(credentials)
    return pid, user


def is_denied(path: str) -> bool:
    """Say whether we are not allowed to use a socket, as in a sandbox. The socket needs no listener."""
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM | sockets.SOCK_NONBLOCK) as probe:
        try:
            return probe.connect_ex(path) in (errno.EACCES, errno.EPERM)
        except OSError:
            return False  # the path is too long for a socket


def socket_folder(environment: Mapping[str, str]) -> str:
    """Return the folder where tmux keeps the sockets of its `-L` names."""
    named = environment.get("TMUX_TMPDIR")
    base = named if named and os.path.exists(named) else "/tmp"  # noqa: S108  (as tmux itself)
    return f"{os.path.realpath(base)}/tmux-{os.getuid()}"


def resolved(socket: str) -> str:
    """Return the path that tmux gets: links above the folder are resolved, folder and socket stay."""
    folder, name = os.path.split(socket)
    above, last = os.path.split(folder)
    if last in ("", ".", ".."):
        return os.path.join(os.path.realpath(folder), name)
    return os.path.join(os.path.realpath(above), last, name)


def refuse_impossible(socket: str) -> None:
    """Raise Unusable for a path at which no socket can be, or that is not ours alone. This makes nothing."""
    if len(os.fsencode(socket)) > _LONGEST_PATH:
        message = f"There can be no tmux socket at {socket}: {os.strerror(errno.ENAMETOOLONG)}."
        hint = "give -L a shorter name, or set TMUX_TMPDIR to a folder with a shorter path"
        raise Unusable(message, kind="tmux-unreachable", hint=hint)
    path = resolved(socket)
    with contextlib.suppress(FileNotFoundError):
        refuse_foreign(path)
    folder = os.path.dirname(path)
    try:
        os.stat(f"{folder if os.path.lexists(folder) else os.path.dirname(folder)}/")
    except PermissionError:
        return  # a sandbox, it seems: is_denied and may_be_made report it
    except OSError as error:
        raise _no_socket(socket, error) from error


def may_be_made(socket: str) -> bool:
    """Say whether a server could make its socket, and make_folder the socket's folder."""
    folder = os.path.dirname(socket)
    there = folder if os.path.isdir(folder) else os.path.dirname(folder)
    return os.access(there, os.W_OK | os.X_OK)


def make_folder(socket: str) -> None:
    """Make the folder of a socket as tmux makes it for `-L`, and refuse one that is not ours alone."""
    folder = os.path.dirname(socket)
    with contextlib.suppress(OSError):  # the next check reports why there is none
        os.mkdir(folder, 0o700)
    try:
        os.stat(f"{folder}/")
        refuse_foreign(socket)
    except OSError as error:
        raise _no_socket(socket, error) from error


def _no_socket(socket: str, error: OSError) -> Unusable:
    message = f"There can be no tmux socket at {socket}: {error.strerror}."
    hint = "make its folder, or set TMUX_TMPDIR to one of yours"
    return Unusable(message, kind="tmux-unreachable", hint=hint)


# --- ours alone -------------------------------------------------------------------------------------------


def refuse_foreign(socket: str) -> None:
    """Raise Unusable for a resolved path that is not ours alone, or at which another user listens.

    A client obeys its server: it becomes a program, or writes a file. So before a client is started, the
    server must be ours, and no other user may be able to replace it. This cannot change later: only we and
    root can change the folders on the way, the socket and the lock beside it.
    Raises FileNotFoundError if the folder is missing and any user could make it.
    """
    folder = os.path.dirname(socket)
    shared = False
    try:
        above = folder.rstrip("/").split("/")[:-1]
        for length in range(len(above)):  # from the root on
            shared = _refuse_changeable("/".join(above[: length + 1]) or "/", folder)
        facts = os.lstat(folder)
        if facts.st_uid != os.getuid():
            raise _open_to_others(folder, "it belongs to another user")
        if stat.S_ISLNK(facts.st_mode):
            raise _open_to_others(folder, "it is a link")
        if facts.st_mode & _OTHERS_WRITE:  # even a sticky one lets others be first
            raise _open_to_others(folder, f"its mode is {stat.S_IMODE(facts.st_mode):04o}")
    except FileNotFoundError:
        if shared:
            raise
        return
    except OSError:
        return  # we may not look, and no client may
    try:
        foreign = os.lstat(socket).st_uid != os.getuid() or _peer(socket)[1] != os.getuid()
    except OSError:
        return  # the socket is ours, and its listener is busy or gone
    if foreign:
        raise _foreign(f"The tmux server at {socket} belongs to another user.")


def _refuse_changeable(path: str, folder: str) -> bool:
    """Refuse a folder on the way if others can replace our files in it; say whether they can add files."""
    facts = os.lstat(path)
    shared = bool(facts.st_mode & _OTHERS_WRITE)
    if facts.st_uid != os.getuid() and not _is_root(facts.st_uid):
        raise _open_to_others(folder, f"{path} belongs to another user")
    if stat.S_ISLNK(facts.st_mode) or (shared and not facts.st_mode & stat.S_ISVTX):
        raise _open_to_others(folder, f"others can change {path}")
    return shared


def _is_root(user: int) -> bool:
    """Say whether a user is root. A user namespace that does not know root reports it as "nobody"."""
    if user == 0:
        return True
    try:
        with open("/proc/self/uid_map", encoding="utf-8") as users:
            is_apart = users.read().split() != _EVERYBODY
        with open("/proc/sys/kernel/overflowuid", encoding="utf-8") as nobody:
            return is_apart and user == int(nobody.read())
    except OSError:
        return False


def _open_to_others(folder: str, why: str) -> Unusable:
    return _foreign(f"Others could put a tmux socket into {folder}: {why}.")


def _foreign(message: str) -> Unusable:
    hint = "name a folder that only you can write to: by -L, TMUX_TMPDIR, or without TMUX"
    return Unusable(message, kind="tmux-unreachable", hint=hint)
