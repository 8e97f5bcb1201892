"""The environment: folders by XDG and by pi's variables, and the texts of settings files. Parses nothing."""

from __future__ import annotations

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
        state = f"{_user_home(environment)}/.local/state"
    return f"{state}/tmuxagents"


def runs(environment: Mapping[str, str]) -> str:
    """Return the folder of all run directories."""
    return f"{home(environment)}/runs"


def agent_dir(environment: Mapping[str, str]) -> str:
    """Return pi's own folder; the children get it as PI_CODING_AGENT_DIR."""
    named = environment.get("PI_AGENT_DIR") or environment.get("PI_CODING_AGENT_DIR")
    return os.path.abspath(named) if named else f"{_user_home(environment)}/.pi/agent"


def _user_home(environment: Mapping[str, str]) -> str:
    return environment.get("HOME") or os.path.expanduser("~")


def global_path(environment: Mapping[str, str]) -> str:
    """Return the path of the user's settings."""
    return f"{agent_dir(environment)}/settings.json"


def project_path(project: str) -> str:
    """Return the path of a project's settings."""
    return f"{project}/.pi/settings.json"


def read_own(path: str) -> str | None:
    """Return a settings file's text; None if there is none, or somebody else could have written it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LIMIT:
            return None
        if not _is_ours(facts) or not _is_ours(os.stat(os.path.dirname(path) or ".")):
            return None
        return os.read(handle, _LIMIT).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(handle)


def _is_ours(facts: os.stat_result) -> bool:
    """Say whether nobody but us (and root) could have written it."""
    return facts.st_uid in (os.getuid(), 0) and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
