"""All living processes as rows, with parent, mark and role; and whether the kernel killed one to free memory.

A run's files may lie about a process, so each process is examined itself.

Touches: /proc and the control groups.
"""

from __future__ import annotations

import errno
import os
import time

from tmuxagents import records
from tmuxagents.cpython import ignoring
from tmuxagents.records import Identity, ProcessRow
from tmuxagents.system import identity
from tmuxagents.system.identity import (
    is_dead,
    means_gone,
    myself,
    pid_namespace,
    presence,
    read,
    start_time,
    unless_gone,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


MARKER = b"TMUXAGENTS_RUN="
ROLE = b"TMUXAGENTS_ROLE="
# A wrapper's command line ends with these flags, this program, and its run directory.
_WRAPPER_FLAGS, _WRAPPER_BOOT = [b"-I", b"-S"], b"/tmuxagents/_wrap.py"
_WATCH = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/_watch.py"
WATCHER, HOOK = "watcher", "hook"  # the roles that spare a process
_TRIES, _PAUSE_S = 3, 0.01
_LISTENING = b"00010000"  # __SO_ACCEPTCON in /proc/net/unix
_STARTING_S, _STARTING_TRIES = 0.001, 50  # a starting program gets its environment last
_MEMORY, _ENVIRONMENT_END = 20, 48  # in /proc/PID/stat, behind the name


def table(*, since: int, ended: set[tuple[int, int]] | None = None) -> list[ProcessRow]:
    """Return all living processes.

    Reading environments and sockets is expensive. It is done only for processes that can matter to a run
    which began at `since` (clock ticks): those of our user that are not older.

    `ended` gets pid and start time of those that were listed and have ended, as far as they can matter. What
    such a process started in the meantime is not listed.
    """
    rows = []
    for pid in map(int, filter(str.isdigit, _asked(os.listdir, "/proc"))):
        row = _row(pid, since, ended)
        if row is None:
            continue
        rows.append(row)
        if row.uid == os.getuid() and row.start_time >= since:
            row.marker, role = _marks(pid)
            # Any process can set a role's variable. So a watcher must be one, and a hook a watcher's child.
            if role in (WATCHER, HOOK) and _watches(pid if role == WATCHER else row.ppid):
                row.role = role
            row.listens = row.session == pid and _listens(pid)
    return rows


def wrapper_of(run_id: str, recorded: Identity | None) -> Identity | None:
    """Return the living wrapper of a run on this machine, by its own command line; None if there is none.

    `recorded`: the wrapper by `wrapper.json`, which a child may have forged; None if it has not come yet.
    """
    if recorded is None or (presence(recorded) == records.HERE and _wraps(recorded.pid, run_id)):
        return recorded
    wrappers = []
    for pid in map(int, filter(str.isdigit, _asked(os.listdir, "/proc"))):
        started = start_time(pid) if _is_own(pid) and _wraps(pid, run_id) else None
        if started is not None:
            wrappers.append((started, pid))
    if not wrappers:
        return None
    started, pid = min(wrappers)  # a later one finds that the run has a wrapper, and exits
    return myself().changed(pid=pid, start_time=started)


def _is_own(pid: int) -> bool:
    """Say whether a process is our user's, and still there."""
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()
    except OSError as error:
        unless_gone(error)
        return False


def _wraps(pid: int, run_id: str) -> bool:
    """Say whether a process of our own pid namespace was started as the wrapper of a run.

    /proc also lists the processes of namespaces inside ours; their runs are not ours to judge.
    """
    try:
        words = read(f"/proc/{pid}/cmdline").split(b"\0")[:-1]
        (*flags, boot, run_dir) = words[-4:] if len(words) > 4 else (b"", b"")  # noqa: PLR2004  (and an interpreter)
        is_one = flags == _WRAPPER_FLAGS and boot.endswith(_WRAPPER_BOOT)
        if not is_one or os.path.basename(run_dir) != run_id.encode():
            return False
        return os.stat(f"/proc/{pid}/ns/pid").st_ino == pid_namespace()
    except PermissionError:
        return True  # another user's: signalling it fails, and the error says why
    except OSError as error:
        unless_gone(error)
        return False


def carries(pid: int, started: int, run_id: str) -> bool:
    """Say whether exactly this process lives and carries a run's mark."""
    return start_time(pid) == started and _marks(pid)[0] == run_id and start_time(pid) == started


def _asked(ask: Callable[[str], T], path: str) -> T:
    """Query the system, with retries: a lack of resources usually passes in a moment."""
    for _ in range(_TRIES - 1):
        try:
            return ask(path)
        except OSError as error:
            if means_gone(error):
                raise
            time.sleep(_PAUSE_S)
    return ask(path)


def _row(pid: int, since: int, ended: set[tuple[int, int]] | None) -> ProcessRow | None:
    try:
        text = _asked(read, f"/proc/{pid}/stat")
        uid = _asked(os.stat, f"/proc/{pid}").st_uid
        if uid != os.getuid():  # /proc may show our untraceable ones (ssh-agent) as root's
            uid = int(_asked(read, f"/proc/{pid}/status").partition(b"\nUid:")[2].split(None, 1)[0])
    except (IndexError, ValueError):
        return None
    except OSError as error:
        unless_gone(error)
        if ended is not None and error.errno in (errno.ENOENT, errno.ESRCH):
            ended.add((pid, 0))
        return None
    head, _, tail = text.rpartition(b")")
    fields = tail.split()
    if len(fields) < 20:  # noqa: PLR2004  (proc(5))
        return None
    if is_dead(fields):
        if ended is not None and int(fields[19]) >= since:
            ended.add((pid, int(fields[19])))
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
    path = f"/proc/{pid}/environ"
    try:
        environment = _asked(read, path)
        for _ in range(_STARTING_TRIES):  # a process that is becoming another program gets a new one
            if environment:
                break
            starting = _is_starting(pid)
            environment = _asked(read, path)  # it may have started before that check
            if not starting:
                break
            time.sleep(_STARTING_S)
    except OSError as error:
        unless_gone(error)
        return None, None
    for entry in environment.split(b"\0"):
        if entry.startswith(MARKER):
            marker = entry[len(MARKER) :].decode("ascii", "replace")
        elif entry.startswith(ROLE):
            role = entry[len(ROLE) :].decode("ascii", "replace")
    return marker, role


def _watches(pid: int) -> bool:
    """Say whether a process is a watcher: our interpreter, and a watcher's command line."""
    try:
        words = read(f"/proc/{pid}/cmdline").split(b"\0")
        ours = os.readlink(f"/proc/{pid}/exe") == os.readlink("/proc/self/exe")
    except OSError as error:
        unless_gone(error)
        return False
    return ours and words[1:3] == [b"-P", os.fsencode(_WATCH)]


def _is_starting(pid: int) -> bool:
    """Say whether a process has memory and no environment yet. Even an empty environment has an address.

    A kernel thread has no memory, and never gets an environment.
    """
    fields = _asked(read, f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return not is_dead(fields) and fields[_MEMORY] != b"0" and fields[_ENVIRONMENT_END] == b"0"


def _listens(pid: int) -> bool:
    """Say whether a process listens on a unix socket, in its own network namespace.

    A process that hides its descriptors counts, as key agents do: ending a person's agent would be worse.
    """
    try:
        lines = _asked(read, f"/proc/{pid}/net/unix").split(b"\n")[1:]
        columns = [line.split() for line in lines]
        listening = {c[6] for c in columns if len(c) > 6 and c[3] == _LISTENING}  # noqa: PLR2004  (proc(5))
        for name in _asked(os.listdir, f"/proc/{pid}/fd"):
            with ignoring(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{name}")
                if target.startswith("socket:[") and target[8:-1].encode() in listening:
                    return True
    except PermissionError:
        return True
    except OSError as error:
        unless_gone(error)
    return False


# --- memory -----------------------------------------------------------------------------------------------

_ROOT = "/sys/fs/cgroup"


def was_short() -> bool:
    """Say whether the kernel killed a process of our control group because memory was short."""
    with ignoring(OSError):
        for line in identity.read("/proc/self/cgroup").decode("utf-8", "replace").splitlines():
            _, controllers, path = line.split(":", 2)
            if "memory" in controllers.split(","):
                file = f"{_ROOT}/memory{path}/memory.oom_control"
            elif not controllers:
                file = f"{_ROOT}{path}/memory.events"
            else:
                continue
            with ignoring(OSError):
                for fact in identity.read(file).decode().splitlines():
                    name, _, count = fact.partition(" ")
                    if name == "oom_kill" and count.strip() not in ("", "0"):
                        return True
    return False
