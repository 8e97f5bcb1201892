"""The environment: folders by XDG and by pi's variables, and the texts of settings files. Parses nothing."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LIMIT = 1024 * 1024


def home(environment: Mapping[str, str]) -> str:
    """Return the state directory: runs, registry, logs."""
    named = environment.get("TMUXAGENTS_HOME")
    if named:
        return os.path.abspath(named)
    state = environment.get("XDG_STATE_HOME") or ""
    if not state.startswith("/"):  # a relative one is void, says the convention
        state = f"{user_home(environment)}/.local/state"
    return f"{state}/tmuxagents"


def runs(environment: Mapping[str, str]) -> str:
    """Return the folder of all run directories."""
    return f"{home(environment)}/runs"


def of_host(home_: str, host: str) -> str:
    """Return the folder of what is bound to one machine."""
    return f"{home_}/hosts/{host}"


def agent_dir(environment: Mapping[str, str]) -> str:
    """Return pi's own folder; the children get it as PI_CODING_AGENT_DIR."""
    named = environment.get("PI_AGENT_DIR") or environment.get("PI_CODING_AGENT_DIR")
    return os.path.abspath(named) if named else f"{user_home(environment)}/.pi/agent"


def user_home(environment: Mapping[str, str]) -> str:
    """Return the user's home directory."""
    return environment.get("HOME") or os.path.expanduser("~")


def global_path(environment: Mapping[str, str]) -> str:
    """Return the path of the user's settings."""
    return f"{agent_dir(environment)}/settings.json"


def project_path(project: str) -> str:
    """Return the path of a project's settings."""
    return f"{project}/.pi/settings.json"


class File:
    """What a settings file says, or why nobody should believe it; neither where there is none."""

    __slots__ = ("refused", "text")

    def __init__(self, text: str | None = None, *, refused: str | None = None) -> None:
        self.text = text
        self.refused = refused


def read_own(path: str) -> str | None:
    """Return a settings file's text; None if there is none, or somebody else could have written it."""
    return read_named(path).text


def read_named(path: str) -> File:
    """Return a settings file's text, or why it is not read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        return File(refused=None if missing else error.strerror)
    try:
        facts = os.fstat(handle)
        refused = _why_not(facts, os.stat(os.path.dirname(path) or "."))
        if refused:
            return File(refused=refused)
        return File(os.read(handle, _LIMIT).decode("utf-8", "replace"))
    except OSError as error:
        return File(refused=error.strerror)
    finally:
        os.close(handle)


def _why_not(file: os.stat_result, folder: os.stat_result) -> str | None:
    if not stat.S_ISREG(file.st_mode):
        return "it is no regular file"
    if file.st_size > _LIMIT:
        return "it is larger than 1 MB"
    if not (only_we_write(file) and only_we_write(folder)):
        return "others can write it or its folder"
    return None


def only_we_write(facts: os.stat_result) -> bool:
    """Say whether nobody but us (and root) could have written a file, or put another into a folder."""
    if facts.st_uid not in (os.getuid(), 0) or facts.st_mode & stat.S_IWOTH:
        return False
    return not facts.st_mode & stat.S_IWGRP or _is_private(facts.st_gid)


def _is_private(group: int) -> bool:
    """Say whether a group is the user's alone: who has one has umask 002 as well, on many systems."""
    import grp  # noqa: PLC0415  (asked only for files that a group may write)
    import pwd  # noqa: PLC0415

    try:
        user, ours = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    alone = user.pw_gid == group and ours.gr_name == user.pw_name
    return alone and set(ours.gr_mem) <= {user.pw_name}
