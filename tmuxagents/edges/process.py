"""Processes: who I am, who lives, start one, signal one, list them. Linux: /proc, pidfd, subreaper.

Never by pid alone: a process is named by its pid and start time, and signalled through a pidfd that was
opened before both were compared.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import select
import signal
import time

from tmuxagents import records
from tmuxagents.errors import Unusable
from tmuxagents.records import Identity, ProcessRow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MARKER = b"TMUXAGENTS_RUN="
ROLE = b"TMUXAGENTS_ROLE="
_PR_SET_CHILD_SUBREAPER = 36
_LISTENING = b"00010000"  # __SO_ACCEPTCON in /proc/net/unix
_PIPE_SIZE = 256 * 1024
# KILL and STOP cannot be set; the two that libc keeps for itself (32 and 33) must not be.
_ALL_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


# --- identity ---------------------------------------------------------------------------------------------


def _read(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = b""
        while piece := os.read(handle, 65536):
            text += piece
        return text
    finally:
        os.close(handle)


def host() -> str:
    """Return the name of this machine: its host name and 8 characters of its machine id."""
    try:
        machine = _read("/etc/machine-id").decode("ascii", "replace").strip()[:8]
    except OSError:
        machine = ""
    return f"{os.uname().nodename}-{machine or '0' * 8}"


def boot_id() -> str:
    """Return the id of this boot."""
    try:
        return _read("/proc/sys/kernel/random/boot_id").decode().strip()
    except OSError as error:
        message = "/proc is not mounted, and without it nobody can tell a living run from a dead one"
        raise Unusable(message, kind="no-permission", hint="mount -t proc proc /proc") from error


def pid_namespace() -> int:
    """Return the inode of our pid namespace: pids mean nothing across it."""
    return os.stat("/proc/self/ns/pid").st_ino


def start_time(pid: int, *, zombie: bool = False) -> int | None:
    """Return when a living process started, in clock ticks since boot; None if it is dead.

    A zombie is dead, unless it is a child that we have not reaped yet and ask about.
    """
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError as error:
        _unless_gone(error)
        return None
    return None if _is_dead(fields) and not zombie else int(fields[19])


def _is_dead(fields: list[bytes]) -> bool:
    """Say whether a process is dead; one whose first thread has ended looks like a zombie and is none."""
    return fields[0] == b"X" or (fields[0] == b"Z" and int(fields[17]) <= 1)


def myself() -> Identity:
    """Return the identity of this process."""
    started = start_time(os.getpid())
    if started is None:
        raise Unusable(
            "/proc does not show this process", kind="no-permission", hint="mount -t proc proc /proc"
        )
    return Identity(
        host=host(), boot_id=boot_id(), pid_namespace=pid_namespace(), pid=os.getpid(), start_time=started
    )


def presence(identity: Identity | None) -> str:
    """Say where a wrapper is: here, gone, elsewhere, or never came."""
    if identity is None:
        return records.NEVER_CAME
    if identity.boot_id != boot_id():
        # The same host in another boot: everything of it is dead. A host name alone may change in one boot.
        return records.GONE if identity.host == host() else records.ELSEWHERE
    if identity.pid_namespace != pid_namespace():
        return records.ELSEWHERE
    return records.HERE if start_time(identity.pid) == identity.start_time else records.GONE


# --- one process ------------------------------------------------------------------------------------------


def open_handle(pid: int, started: int) -> int | None:
    """Return a pidfd of exactly this process, None if it is gone. The caller closes it."""
    try:
        handle = os.pidfd_open(pid)
    except OverflowError:
        return None  # a number that no process can have
    except OSError as error:
        _unless_gone(error)
        return None
    if start_time(pid) != started:
        os.close(handle)
        return None
    return handle


def send(pid: int, started: int, *signals: int) -> bool:
    """Signal exactly this process; say whether it was there and ours to signal."""
    handle = open_handle(pid, started)
    if handle is None:
        return False
    try:
        for number in signals:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def wait_gone(pid: int, started: int, limit_s: float | None) -> bool:
    """Wait until this process is gone; say whether it is."""
    handle = open_handle(pid, started)
    if handle is None:
        return True
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(None if limit_s is None else max(0, round(limit_s * 1000))))
    finally:
        os.close(handle)


def wait_all_gone(processes: Iterable[ProcessRow], limit_s: float) -> None:
    """Wait until all these processes are gone, at most so long."""
    deadline = time.monotonic() + limit_s
    for row in processes:
        wait_gone(row.pid, row.start_time, max(0.0, deadline - time.monotonic()))


def become_subreaper() -> None:
    """Make orphaned descendants our children instead of init's, so that none gets out of sight."""
    import ctypes  # noqa: PLC0415  (only the wrapper pays for it)

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def find_program(name: str, path: str) -> str | None:
    """Return where a program lies, looked for in the child's own PATH; None if nowhere."""
    if "/" in name:
        return name if os.path.exists(name) else None
    for folder in path.split(":"):
        candidate = f"{folder or '.'}/{name}"
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def pipe() -> tuple[int, int]:
    """Return the two ends of a pipe that a child writes into: ours never blocks, and takes a lot at once."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(reading, False)
    with contextlib.suppress(OSError):  # an unprivileged user has so much of it and no more
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    return reading, writing


def spawn(
    path: str, argv: list[str], environment: Mapping[str, str], *, streams: tuple[int, int, int]
) -> int:
    """Start a child as the leader of a session of its own, without our signal settings.

    It gets these three descriptors and no other. Raises OSError, or ValueError for words that no command line
    can hold.
    """
    keep_descriptors_ours()
    actions = [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]
    return os.posix_spawn(
        path, argv, environment, file_actions=actions, setsid=True, setsigmask=[], setsigdef=_ALL_SIGNALS
    )


def open_standard_streams() -> None:
    """Open whichever of the descriptors 0 to 2 is closed on nothing, before another file gets its number."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004  (stdin, stdout, stderr)
        os.set_inheritable(handle, True)  # noqa: FBT003  (its only form)
    os.close(handle)


def keep_descriptors_ours() -> None:
    """Let no child inherit what we ourselves inherited: whoever started us may have left files open."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:  # noqa: PLR2004  (stdin, stdout, stderr)
            with contextlib.suppress(OSError):  # the one that listed them is closed by now
                os.set_inheritable(int(name), False)  # noqa: FBT003  (its only form)


def raise_limits() -> dict[str, list[int]]:
    """Take as many descriptors and as large files as we may; return what the limits were, for the child."""
    before = {}
    for name in ("RLIMIT_NOFILE", "RLIMIT_FSIZE"):
        soft, hard = resource.getrlimit(getattr(resource, name))
        before[name] = [soft, hard]
        _set_soft(name, hard, hard)
    return before


@contextlib.contextmanager
def surroundings(umask: int, limits: Mapping[str, list[int]]) -> Iterator[None]:
    """Have the launcher's umask and limits while a child is started: it inherits them, we go on with ours.

    Only soft limits, and only as far as our own hard ones allow: what is given up cannot be had back.
    """
    ours = {name: resource.getrlimit(getattr(resource, name)) for name in limits if hasattr(resource, name)}
    before = os.umask(umask)
    try:
        for name, (soft, hard) in ours.items():
            wanted = limits[name][0]
            fits = hard == resource.RLIM_INFINITY or (wanted != resource.RLIM_INFINITY and wanted <= hard)
            _set_soft(name, wanted if fits else soft, hard)
        yield
    finally:
        for name, (soft, hard) in ours.items():
            _set_soft(name, soft, hard)
        os.umask(before)


def _set_soft(name: str, soft: int, hard: int) -> None:
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(getattr(resource, name), (soft, hard))


def signal_name(number: int) -> str:
    """Return the name of a signal, also of one that has none of its own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def send_group(leader: int, *signals: int) -> None:
    """Signal the process group of a child that we have not reaped yet (so its number is still its own)."""
    for number in signals:
        try:
            os.killpg(leader, number)
        except (ProcessLookupError, PermissionError):
            return


def reap(child: int) -> int | None:
    """Reap whatever of ours has died; return the wait status of `child` if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = status


# --- all processes ----------------------------------------------------------------------------------------


def table(*, since: int) -> list[ProcessRow]:
    """Return all living processes.

    Environment and sockets, the dear part, are read only of those that can matter to a run that began at
    `since` (clock ticks): of our user, and not older.
    """
    rows = []
    mine = os.getuid()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        row = _row(int(name))
        if row is None:
            continue
        rows.append(row)
        if row.uid != mine or row.start_time < since:
            continue
        row.marker, row.role = _marks(row.pid)
        if row.session == row.pid:
            row.listens = _listens(row.pid)
    return rows


def _row(pid: int) -> ProcessRow | None:
    try:
        text = _read(f"/proc/{pid}/stat")
        uid = os.stat(f"/proc/{pid}").st_uid
        if uid != os.getuid():  # root's name also stands on ours that may not be traced (ssh-agent)
            uid = int(_read(f"/proc/{pid}/status").partition(b"\nUid:")[2].split(None, 1)[0])
    except (IndexError, ValueError):
        return None
    except OSError as error:
        _unless_gone(error)
        return None
    head, _, tail = text.rpartition(b")")
    fields = tail.split()
    if len(fields) < 20 or _is_dead(fields):  # noqa: PLR2004  (proc(5))
        return None
    return ProcessRow(
        pid=pid,
        ppid=int(fields[1]),
        session=int(fields[3]),
        start_time=int(fields[19]),
        uid=uid,
        comm=head.partition(b"(")[2].decode("utf-8", "replace"),
    )


def _marks(pid: int) -> tuple[str | None, str | None]:
    """Return the run marker and the role in a process's environment."""
    marker = role = None
    try:
        environment = _read(f"/proc/{pid}/environ")
    except OSError as error:
        _unless_gone(error)
        return None, None
    for entry in environment.split(b"\0"):
        if entry.startswith(MARKER):
            marker = entry[len(MARKER) :].decode("ascii", "replace")
        elif entry.startswith(ROLE):
            role = entry[len(ROLE) :].decode("ascii", "replace")
    return marker, role


def _unless_gone(error: OSError) -> None:
    """Raise an error that does not mean that the process has gone or is not ours: we ran out of something."""
    if error.errno not in (errno.ENOENT, errno.ESRCH, errno.EACCES, errno.EPERM, errno.EINVAL):
        raise error


def _listens(pid: int) -> bool:
    """Say whether a process listens on a unix socket, in its own network namespace.

    Keepers of keys hide their descriptors: better to spare one too many than to end somebody's agent.
    """
    try:
        lines = _read(f"/proc/{pid}/net/unix").split(b"\n")[1:]
        columns = [line.split() for line in lines]
        listening = {c[6] for c in columns if len(c) > 6 and c[3] == _LISTENING}  # noqa: PLR2004  (proc(5))
        return any(_socket(f"/proc/{pid}/fd/{name}") in listening for name in os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        return True
    except OSError as error:
        _unless_gone(error)
        return False


def _socket(path: str) -> bytes | None:
    """Return the inode of the socket behind a descriptor."""
    try:
        target = os.readlink(path)
    except OSError:
        return None
    return target[8:-1].encode() if target.startswith("socket:[") else None
