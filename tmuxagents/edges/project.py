"""Which project a folder belongs to: the nearest ancestor with `.git` or `.pi`, within bounds.

Never the home directory itself (every user of pi has `~/.pi`), never a folder that is everybody's, never
across a mount point.
"""

from __future__ import annotations

import os

_EVERYBODYS = ("/", "/tmp", "/var/tmp")  # noqa: S108  (named to be refused)


def project_of(folder: str, home: str) -> str:
    """Return the project of an absolute folder: the folder itself where there is no other."""
    home = os.path.realpath(home)
    start = os.path.realpath(folder)
    try:
        device = os.stat(start).st_dev
    except OSError:
        return start
    current = start
    while current != home and current not in _EVERYBODYS:
        if os.path.exists(f"{current}/.git") or os.path.isdir(f"{current}/.pi"):
            return current
        current = os.path.dirname(current)
        try:
            if os.stat(current).st_dev != device:
                break
        except OSError:
            break
    return start
