"""The files and folders that the environment names, and whether other users could have written them.

The state directory must be ours alone. A settings file must be ours or root's. What reads and writes any file
(from `open_regular` on) is here because all our processes import this module.

Touches: the environment and its folders.
"""

from __future__ import annotations

import errno
import os
import stat

from tmuxagents.cpython import ignoring
from tmuxagents.system.identity import secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


_NO_FILE = "it is no regular file"
_LIMIT = 1024 * 1024
_READ = os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OURS_IN_IT = ("runs", "hosts", "sealed")
_MOST_LINKS = 40  # as the kernel has it
_LONGEST_PID = 10  # digits
_UNMAPPED = 65534  # the owner that a user namespace shows for users it does not know
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def home(environment: Mapping[str, str]) -> str:
    """Return the state directory: runs, registry, logs."""
    named = environment.get("TMUXAGENTS_HOME")
    if named:
        return os.path.abspath(named)
    state = environment.get("XDG_STATE_HOME") or ""
    if not state.startswith("/"):  # the convention ignores a relative one
        state = f"{user_home(environment)}/.local/state"
    return f"{state}/tmuxagents"


def of_host(home_: str, host: str) -> str:
    """Return the folder for files that belong to one machine."""
    return f"{home_}/hosts/{host}"


def agent_dir(environment: Mapping[str, str]) -> str:
    """Return pi's folder for our children, who get it as PI_CODING_AGENT_DIR. PI_AGENT_DIR changes it."""
    named = environment.get("PI_AGENT_DIR")
    return os.path.abspath(named) if named else pi_dir(environment)


def pi_dir(environment: Mapping[str, str]) -> str:
    """Return the folder that a pi in this environment reads. pi does not know PI_AGENT_DIR."""
    named = environment.get("PI_CODING_AGENT_DIR") or "~/.pi/agent"
    if named == "~" or named.startswith("~/"):
        named = user_home(environment) + named[1:]
    return os.path.abspath(named)


def user_home(environment: Mapping[str, str]) -> str:
    """Return the user's home directory."""
    return environment.get("HOME") or os.path.expanduser("~")


def config_dir(environment: Mapping[str, str]) -> str:
    """Return the folder in the user's configuration that belongs to tmuxagents alone."""
    config = environment.get("XDG_CONFIG_HOME") or ""
    if not config.startswith("/"):  # as above
        config = f"{user_home(environment)}/.config"
    return f"{config}/tmuxagents"


def global_path(environment: Mapping[str, str]) -> str:
    """Return the path of the user's settings."""
    return f"{agent_dir(environment)}/settings.json"


def project_path(project: str) -> str:
    """Return the path of a project's settings."""
    return f"{project.rstrip('/')}/.pi/settings.json"


def tmux_server(environment: Mapping[str, str]) -> tuple[str, int | None, str]:
    """Return the socket, pid and the session in $TMUX. An odd pid is None, a missing text empty."""
    socket, pid, session = [*environment.get("TMUX", "").rsplit(",", 2), "", ""][:3]
    is_pid = pid.isascii() and pid.isdecimal() and len(pid) <= _LONGEST_PID
    return socket, int(pid) if is_pid else None, session


# --- the state directory is ours alone --------------------------------------------------------------------


def own_home(environment: Mapping[str, str]) -> str:
    """Return the state directory; raise Unusable unless it is ours alone."""
    named = home(environment)
    refuse_foreign(named)
    return named


def refuse_foreign(home_: str) -> None:
    """Raise Unusable if another user could have put something into a state directory, or could replace it.

    A folder that does not exist yet passes. Above a folder that passes, only we and root can change
    anything, so the answer stays true.
    """
    for start, parts in (("", home_.split("/")), *((home_, [name]) for name in _OURS_IN_IT)):
        _refuse_foreign(f"state directory {home_}", start, parts)


def refuse_foreign_run(run_dir: str) -> None:
    """Raise Unusable if another user could have made a run directory, wherever it lies."""
    _refuse_foreign(f"run directory {run_dir}", "", run_dir.split("/"))


def _refuse_foreign(what: str, start: str, parts: list[str]) -> None:
    for path, facts, is_end in _way(start, parts):
        why = _why_foreign(facts, is_end=is_end)
        if why is None:
            continue
        from tmuxagents.errors import Unusable  # noqa: PLC0415  (only to refuse)

        hint = "set TMUXAGENTS_HOME to a folder that is yours alone"
        if facts.st_uid == os.geteuid():
            hint = f"chmod go-w {path}, if you trust what is in it"
        elif os.geteuid() == 0:
            hint = f"work as that user, or {hint}"
        culprit = "it" if what.endswith(f" {path}") else path
        message = f"The {what} is not used, since {culprit} {why}."
        raise Unusable(message, kind="no-permission", hint=hint)


def _way(current: str, parts: list[str]) -> Iterator[tuple[str, os.stat_result, bool]]:
    """Yield each existing step on the way to a folder, with links and the steps to their targets.

    A step is a path, its facts, and whether it is the folder itself. `current`: the start of the way.
    """
    rest = parts[::-1]
    links = 0
    while rest and links <= _MOST_LINKS:
        part = rest.pop()
        if part in ("", "."):
            continue
        if part == "..":
            current = os.path.dirname(current).rstrip("/")
            continue
        path = f"{current}/{part}"
        try:
            facts = os.lstat(path)
            target = os.readlink(path) if stat.S_ISLNK(facts.st_mode) else None
        except OSError:
            return
        if target is None and not stat.S_ISDIR(facts.st_mode):
            return
        yield path, facts, target is None and not any(rest)
        if target is None:
            current = path
            continue
        links += 1
        current = "" if target.startswith("/") else current
        rest += target.split("/")[::-1]


def _why_foreign(facts: os.stat_result, *, is_end: bool) -> str | None:
    """Return why another user could have made a step. `is_end`: not even root may own the step."""
    us = os.geteuid()
    if facts.st_uid != us and (is_end or (facts.st_uid != 0 and not _is_unmapped(facts.st_uid))):
        import pwd  # noqa: PLC0415  (only to refuse)

        try:
            return f"belongs to {pwd.getpwuid(facts.st_uid).pw_name} (user {facts.st_uid})"
        except KeyError:
            return f"belongs to user {facts.st_uid}"
    if not facts.st_mode & _OTHERS_WRITE or stat.S_ISLNK(facts.st_mode) or only_we_write(facts):
        return None
    # In a sticky folder others can make files, but cannot replace ours.
    return None if facts.st_mode & stat.S_ISVTX and not is_end else "can be written by others"


def _is_unmapped(owner: int) -> bool:
    """Say whether our user namespace has no number for an owner. In a sandbox, root is such an owner."""
    if owner != _UNMAPPED:
        return False
    with open("/proc/self/uid_map", "rb", buffering=0) as lines:
        mapped = [line.split() for line in lines.read().split(b"\n") if line]
    return not any(int(first) <= owner < int(first) + int(count) for first, _, count in mapped)


# --- settings files, and opening what others may have left ------------------------------------------------


class SettingsFile:
    """The text of a settings file, or why the file is not trusted; neither if there is no file."""

    __slots__ = ("refused", "text")

    def __init__(self, text: str | None = None, *, refused: str | None = None) -> None:
        self.text = text
        self.refused = refused


def read_named(path: str) -> SettingsFile:
    """Return a settings file's text, or why it is not read."""
    try:
        handle = open_regular(path)
    except OSError as error:
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        return SettingsFile(refused=None if missing else error.strerror)
    try:
        file, folder = os.fstat(handle), os.stat(os.path.dirname(path) or ".")
        if file.st_size > _LIMIT:
            return SettingsFile(refused="it is larger than 1 MB")
        if not (only_we_write(file) and only_we_write(folder)):
            return SettingsFile(refused="others can write it or its folder")
        return SettingsFile(os.read(handle, _LIMIT).decode("utf-8", "replace"))
    except OSError as error:
        return SettingsFile(refused=error.strerror)
    finally:
        os.close(handle)


def open_regular(path: str, *, folder: int | None = None, links: bool = True) -> int:
    """Open a regular file to read it. Anything else is not even opened, but refused. Raises OSError.

    Opening a device can have effects, and a link may lead to one. So the file is examined first, and exactly
    the examined file is opened, whatever lies at the path by then.
    """
    follow = 0 if links else os.O_NOFOLLOW
    found = os.open(path, os.O_PATH | os.O_CLOEXEC | follow, dir_fd=folder)
    try:
        facts = os.fstat(found)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, _NO_FILE, path)
        try:
            return os.open(f"/proc/self/fd/{found}", _READ)
        except FileNotFoundError:  # there is no /proc here
            handle = os.open(path, _READ | follow, dir_fd=folder)
        if not os.path.samestat(os.fstat(handle), facts):
            os.close(handle)
            raise OSError(errno.EINVAL, _NO_FILE, path)
        return handle
    finally:
        os.close(found)


def make_folders(folder: str, mode: int = 0o700) -> None:
    """Make a folder and those above it that are missing, all with this mode. Raises OSError."""
    above = os.path.dirname(folder)
    if above and not os.path.exists(above):
        make_folders(above, mode)  # os.makedirs would leave these open to others
    try:
        os.mkdir(folder, mode)
    except OSError:
        if not os.path.isdir(folder):
            raise


def write_all(handle: int, text: bytes) -> None:
    """Write all bytes: a pipe or a full disk may accept a part before it refuses the rest. Raises OSError."""
    view = memoryview(text)
    while view:
        view = view[os.write(handle, view) :]


def write_new(
    path: str,
    text: bytes,
    mode: int = 0o600,
    *,
    folder: int | None = None,
    finish: Callable[[int], object] | None = None,
) -> None:
    """Make a file that is not there yet; no link is followed. `finish` gets it before it is closed.

    Raises OSError; FileExistsError if something is there.
    """
    handle = os.open(path, _NEW, mode, dir_fd=folder)
    try:
        write_all(handle, text)
        if finish is not None:
            finish(handle)
    finally:
        os.close(handle)


def replace(
    path: str, text: bytes, mode: int = 0o600, *, finish: Callable[[int], object] | None = None
) -> None:
    """Replace a file, whole or not at all, even if the power fails. Raises OSError.

    `finish` gets the new file before it takes its place. In a run directory runs/writing replaces files.
    """

    def kept(handle: int) -> None:
        if finish is not None:
            finish(handle)
        os.fsync(handle)

    making = f"{path}.{secret()}"
    try:
        write_new(making, text, mode, finish=kept)
        os.rename(making, path)
    except BaseException:
        with ignoring(OSError):
            os.unlink(making)
        raise


def only_we_write(facts: os.stat_result) -> bool:
    """Say whether only we (and root) could have written a file, or put another into a folder."""
    if facts.st_uid not in (os.getuid(), 0) or facts.st_mode & stat.S_IWOTH:
        return False
    if not facts.st_mode & stat.S_IWGRP:
        return True
    # The user may be the only member of the group: many systems combine that with umask 002.
    import grp  # noqa: PLC0415  (asked only for files that a group may write)
    import pwd  # noqa: PLC0415  (as above)

    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(facts.st_gid)
    except KeyError:
        return False
    is_own = user.pw_gid == facts.st_gid and group.gr_name == user.pw_name
    return is_own and set(group.gr_mem) <= {user.pw_name}
