"""Record whether a host answers, and start the mirror that finds this out.

Every `poll` of a far run reads the record.

Touches: the state directory, processes.
"""

from __future__ import annotations

import os
import sys

from tmuxagents.cpython import ignoring
from tmuxagents.runs import directory
from tmuxagents.system import places, process, watcher_lock
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_MOST = 4096


def folder(home: str) -> str:
    """Return the folder of the records of other machines."""
    return f"{home}/machines"


def unreachable_since(home: str, host: str) -> float | None:
    """Return the time since which a host has not answered; None if it answers, or nothing is known."""
    since = read(home, host).get("unreachableSince")
    return float(since) if isinstance(since, (int, float)) else None


def unreachable(home: str) -> dict[str, float]:
    """Return the hosts that do not answer, each with the time since which it has not."""
    try:
        names = os.listdir(folder(home))
    except OSError:
        return {}
    hosts = [name.removesuffix(".json") for name in names if name.endswith(".json")]
    found = {host: unreachable_since(home, host) for host in hosts}
    return {host: since for host, since in found.items() if since is not None}


def read(home: str, host: str) -> Mapping[str, Any]:
    """Return the last record of a host."""
    text = directory.read_bytes(f"{folder(home)}/{host}.json", limit=_MOST)
    return directory.document_of(text) or {}


def heard(home: str, host: str) -> tuple[float | None, float | None]:
    """Return the time of a host's last answer, and the time since which it has not answered."""
    last = read(home, host).get("lastHeard")
    return float(last) if isinstance(last, (int, float)) else None, unreachable_since(home, host)


def write(home: str, host: str, *, heard_at: float | None, since: float | None, why: str | None) -> None:
    """Record whether a host answers. A failure does no harm: the next change is recorded again."""
    from tmuxagents.runs import writing  # noqa: PLC0415  (`poll` only reads the record)

    document = {"v": 1, "host": host, "lastHeard": heard_at, "unreachableSince": since, "why": why}
    with ignoring(OSError):
        writing.replace(_made(home), f"{host}.json", jsonline.encode(document))


# --- the mirror --------------------------------------------------------------------------------------------


def ensure_mirror(home: str, host: str, environment: Mapping[str, str]) -> bool:
    """Start the mirror of a host unless one works; say whether one was started. Do not wait for it."""
    around = {**watcher_lock.surroundings(home, environment), "TMUXAGENTS_ROLE": "mirror"}
    argv = [sys.executable, "-P", "-m", "tmuxagents", "_far", "mirror", host]
    try:
        held = take(home, host)
        if held is None:
            return False
        os.close(held)
        process.start_away(argv, around)
    except OSError:
        return False
    return True


def take(home: str, host: str, limit_s: float = 0.0) -> int | None:
    """Take the right to be the mirror of a host; None if another process has it. Raises OSError."""
    from tmuxagents.runs import writing  # noqa: PLC0415  (as above)

    return writing.lock(_made(home), limit_s, f"{host}.lock")


def _made(home: str) -> str:
    """Make the folder of the records, if it is missing; return its real path."""
    places.make_folders(folder(home))
    return os.path.realpath(folder(home))
