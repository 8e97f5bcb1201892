"""The identity of a process (host, boot, pid namespace, pid, start time), and whether the process lives.

Every reader of runs imports this module, so it is separate from system/process, which acts on processes.

Touches: /proc.
"""

from __future__ import annotations

import errno
import os

from tmuxagents import records
from tmuxagents.records import Identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.errors import Unusable

_READ = os.O_RDONLY | os.O_CLOEXEC
_STAT = 4096  # /proc/PID/stat is shorter, and is whole in one read
_GONE = (errno.ENOENT, errno.ESRCH, errno.EACCES, errno.EPERM, errno.EINVAL)  # or not ours


def read(path: str) -> bytes:
    """Return the content of a small system file. Raises OSError."""
    handle = os.open(path, _READ)
    try:
        text = b""
        while piece := _read_on(handle, 65536):
            text += piece
        return text
    finally:
        os.close(handle)


def _read_on(handle: int, size: int) -> bytes:
    """Read a piece, at the second try if need be.

    A long file takes many reads. If one failed read meant starting again, a long file might never be read
    whole.
    """
    try:
        return os.read(handle, size)
    except OSError as error:
        if means_gone(error):
            raise
        return os.read(handle, size)


def host() -> str:
    """Return the name of this machine: its host name and 8 characters of its machine id."""
    try:
        machine = read("/etc/machine-id").decode("ascii", "replace").strip()[:8]
    except OSError:
        machine = ""
    return f"{os.uname().nodename}-{machine or '0' * 8}"


def boot_id() -> str:
    """Return the id of this boot."""
    try:
        return read("/proc/sys/kernel/random/boot_id").decode().strip()
    except OSError as error:
        unless_gone(error)
        message = "/proc is not mounted, and only /proc shows whether a run still lives"
        raise _without_proc(message) from error


def pid_namespace() -> int:
    """Return the inode of our pid namespace: pids mean nothing across it."""
    return os.stat("/proc/self/ns/pid").st_ino


def start_time(pid: int, *, zombie: bool = False) -> int | None:
    """Return when a living process started, in clock ticks since boot; None if it is dead.

    A zombie is dead, unless the caller asks about a child that it has not reaped yet (`zombie`).
    """
    try:
        handle = os.open(f"/proc/{pid}/stat", _READ)
        try:
            fields = _read_on(handle, _STAT).rpartition(b")")[2].split(None, 20)
        finally:
            os.close(handle)
    except OSError as error:
        unless_gone(error)
        return None
    return None if is_dead(fields) and not zombie else int(fields[19])


def is_dead(fields: list[bytes]) -> bool:
    """Say whether a process is dead. One with only its first thread ended looks like a zombie, but lives."""
    return fields[0] == b"X" or (fields[0] == b"Z" and int(fields[17]) <= 1)


def means_gone(error: OSError) -> bool:
    """Say whether an error means that the process is gone or not ours. Others mean a lack of resources."""
    return error.errno in _GONE


def unless_gone(error: OSError) -> None:
    """Raise an error unless it means that the process is gone or not ours."""
    if not means_gone(error):
        raise error


def myself() -> Identity:
    """Return the identity of this process."""
    started = start_time(os.getpid())
    if started is None:
        raise _without_proc("/proc does not show this process")
    return Identity(
        host=host(), boot_id=boot_id(), pid_namespace=pid_namespace(), pid=os.getpid(), start_time=started
    )


def presence(identity: Identity | None) -> str:
    """Say where a wrapper is: here, gone, elsewhere, or never came."""
    if identity is None:
        return records.NEVER_CAME
    if identity.boot_id != boot_id():
        # Another boot of the same host: its processes are dead. The boot decides, as a host can be renamed.
        return records.GONE if identity.host == host() else records.ELSEWHERE
    if identity.pid_namespace != pid_namespace():
        return records.ELSEWHERE
    return records.HERE if start_time(identity.pid) == identity.start_time else records.GONE


def _without_proc(message: str) -> Unusable:
    from tmuxagents.errors import Unusable  # noqa: PLC0415  (almost never needed)

    return Unusable(message, kind="no-permission", hint="mount -t proc proc /proc")


def secret() -> str:
    """Return a name that no other program can guess and occupy."""
    return os.urandom(6).hex()
