"""Which project a folder belongs to: the nearest ancestor with `.git` or `.pi`, within bounds.

Never the home directory itself (every user of pi has `~/.pi`), never a folder that is everybody's, never
across a mount point.
"""

from __future__ import annotations

import os
import re

_OCTAL = re.compile(r"\\(\d{3})")  # how mountinfo writes blanks
LINKS = ".pi/subagents/runs"
_EVERYBODYS = ("/", "/tmp", "/var/tmp")  # noqa: S108  (named to be refused)


def project_of(folder: str, home: str) -> str:
    """Return the project of an absolute folder: the folder itself where there is no other."""
    home = os.path.realpath(home)
    start = os.path.realpath(folder)
    mounted = _mount_points()
    current = start
    while current != home and current not in _EVERYBODYS:
        if os.path.exists(f"{current}/.git") or os.path.isdir(f"{current}/.pi"):
            return current
        if current in mounted:
            break
        current = os.path.dirname(current)
    return start


def _mount_points() -> set[str]:
    """Return where something is mounted; devices would not tell of a folder mounted on the same disk."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
            fields = [line.split(" ")[4] for line in lines]
    except OSError:
        return set()
    return {_OCTAL.sub(lambda found: chr(int(found.group(1), 8)), field) for field in fields}


def link(project: str, run_dir: str) -> bool:
    """Leave a link to a run in its project, for people; say whether that worked. Read by nobody.

    Not in a home directory, nor where everybody may write. What is there already is left alone.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    if project in (*_EVERYBODYS, home) or not os.path.isdir(project):
        return False
    folder = project
    try:
        for part in LINKS.split("/"):
            folder = f"{folder}/{part}"
            if os.path.islink(folder):
                return False  # a link in a clone would lead our writing elsewhere
            os.makedirs(folder, exist_ok=True)
        _ignore_all(f"{folder}/.gitignore")
        os.symlink(run_dir, f"{folder}/{os.path.basename(run_dir)}")
    except OSError:
        return False
    return True


def _ignore_all(path: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o644)
    except FileExistsError:
        return
    try:
        os.write(handle, b"*\n")
    finally:
        os.close(handle)
