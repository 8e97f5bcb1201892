"""The project of a folder: the nearest folder, from it upwards, with `.git` or `.pi`; and its links to runs.

The search upwards stops before the home directory (every user of pi has `~/.pi`) and before shared folders
such as /tmp. It crosses no mount point. Where the search finds nothing, the project is the folder itself.

Touches: the folders above one.
"""

from __future__ import annotations

import os

from tmuxagents.cpython import ignoring
from tmuxagents.system import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LINKS = ".pi/subagents/runs"
_EVERYBODYS = ("/", "/tmp", "/var/tmp")  # noqa: S108  (named to be refused)


def project_of(folder: str, home: str) -> str:
    """Return the project of an absolute folder: the folder itself where there is no other."""
    for current in upwards(folder, home):
        if os.path.exists(f"{current}/.git") or os.path.isdir(f"{current}/.pi"):
            return current
    return os.path.realpath(folder)


def upwards(folder: str, home: str) -> Iterator[str]:
    """Yield a folder and those above it, as far as a project can reach."""
    home = os.path.realpath(home)
    current = os.path.realpath(folder)
    mounted: set[str] | None = None
    while current != home and current not in _EVERYBODYS:
        yield current
        mounted = _mount_points() if mounted is None else mounted  # not needed for the first folder
        if current in mounted:
            return
        current = os.path.dirname(current)


def _mount_points() -> set[str]:
    """Return all mount points. Device numbers would not show a folder that is mounted from the same disk."""
    try:
        with open("/proc/self/mountinfo", "rb", buffering=0) as lines:
            fields = [line.split(b" ", 5)[4] for line in lines.read().split(b"\n") if line]
    except OSError:
        return set()
    found = set()
    for field in fields:
        first, *others = field.split(b"\\")  # a blank or a backslash in a path is written in octal
        signs = (bytes((int(other[:3], 8),)) + other[3:] for other in others)
        found.add(os.fsdecode(first + b"".join(signs)))
    return found


def is_really_inside(path: str, project: str) -> bool:
    """Say whether a path lies in a project also after all links are followed: a clone may hold links.

    What lies at the path need not exist.
    """
    from tmuxagents.text import paths  # noqa: PLC0415  (`poll` imports this module, but asks no such thing)

    return paths.is_inside(os.path.realpath(path), os.path.realpath(project))


def link(project: str, run_dir: str) -> bool:
    """Leave a link to a run in its project, for people; say whether that worked. No program needs it.

    The home directory gets none, nor does a folder that all users share. An existing file stays.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    if project in (*_EVERYBODYS, home):
        return False
    folder = _links_folder(project, making=True)
    if folder is None:
        return False
    try:
        with ignoring(FileExistsError):
            places.write_new(".gitignore", b"*\n", 0o644, folder=folder)
        os.symlink(run_dir, os.path.basename(run_dir), dir_fd=folder)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def links(project: str, runs: str) -> list[str]:
    """Return the runs in the folder `runs` to which a project has links."""
    folder = _links_folder(project)
    if folder is None:
        return []
    try:
        return [name for name in sorted(os.listdir(folder)) if _is_link_to(folder, name, f"{runs}/{name}")]
    finally:
        os.close(folder)


def unlink(project: str, run_dir: str) -> None:
    """Remove the link to a run from its project, if it is there. Raises OSError."""
    name = os.path.basename(run_dir)
    folder = _links_folder(project)
    if folder is None:
        return
    try:
        if _is_link_to(folder, name, run_dir):
            os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    finally:
        os.close(folder)


def _is_link_to(folder: int, name: str, target: str) -> bool:
    try:
        return os.readlink(name, dir_fd=folder) == target
    except OSError:
        return False


def _links_folder(project: str, *, making: bool = False) -> int | None:
    """Open the folder of links, unless a link leads to it: a cloned repository may contain such a link.

    Each folder is opened inside the one above it, so that no other process can replace one meanwhile.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        folder = os.open(project, flags)
    except OSError:
        return None
    for part in LINKS.split("/"):
        above = folder
        try:
            if making:
                with ignoring(FileExistsError):
                    os.mkdir(part, dir_fd=above)
            folder = os.open(part, flags | os.O_NOFOLLOW, dir_fd=above)
        except OSError:
            return None
        finally:
            os.close(above)
    return folder
