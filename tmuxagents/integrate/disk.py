"""A person's own configuration files, and folders made for our files. Touches: a person's files.

A file is read and written whole. Links, modes and owners stay. A folder that was made for one of our files is
removed once it is empty.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from tmuxagents.errors import Unusable
from tmuxagents.system import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMIT = 4 * 1024 * 1024


def read(path: str) -> bytes | None:
    """Return a file's content, None if there is none. Raises Unusable."""
    with _translated(path):
        try:
            handle = places.open_regular(path)
        except FileNotFoundError:
            return None
        with open(handle, "rb") as file:
            if os.fstat(handle).st_size > _LIMIT:
                raise OSError(errno.EINVAL, "it is larger than 4 MB", path)
            return file.read()


def replace(path: str, before: bytes | None, after: bytes | None, *, private: bool = False) -> None:
    """Write a file whole or not at all; remove it if `after` is None.

    Raises Unusable, also if the file no longer has the content `before`.

    `private`: no other user may read a new file.
    """
    target = os.path.realpath(path)
    with _translated(path):
        if read(target) != before:
            raise OSError(errno.EAGAIN, "it has just been changed", path)
        if after is None:
            os.unlink(target)
            return
        places.replace(target, after, finish=lambda handle: _make_like(handle, target, private=private))


def _make_like(handle: int, target: str, *, private: bool) -> None:
    """Give a new file the mode and owner of the one it replaces, else those of any new file."""
    try:
        facts = os.stat(target)
    except FileNotFoundError:
        if private:
            return  # it was made private
        umask = os.umask(0o077)
        os.umask(umask)
        os.fchmod(handle, 0o666 & ~umask)
        return
    if (facts.st_uid, facts.st_gid) != (os.getuid(), os.getgid()):
        os.fchown(handle, facts.st_uid, facts.st_gid)
    os.fchmod(handle, stat.S_IMODE(facts.st_mode))


@contextlib.contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = "no-space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "no-permission"
        hint = "with --dry-run you see the lines, to put them there yourself"
        raise Unusable(f"{path} cannot be used: {error.strerror}.", kind=kind, hint=hint) from error


def missing(path: str) -> int:
    """Return how many folders at the end of a path do not exist."""
    count = 0
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        count, path = count + 1, os.path.dirname(path)
    return count


def names(path: str) -> list[str]:
    """Return the names in a folder; none if it is not a folder."""
    try:
        return sorted(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []


def make(path: str, *, private: bool) -> None:
    """Make a folder and those above it. Raises Unusable."""
    try:
        if missing(path):
            make(os.path.dirname(path), private=private)
            os.mkdir(path, 0o700 if private else 0o777)
        elif not os.path.isdir(path):
            raise NotADirectoryError(20, "it is not a folder", path)
    except OSError as error:
        message = f"{path} cannot be made: {error.strerror}."
        raise Unusable(message, kind="no-permission", hint="make it, or move what is in its way") from error


def remove(path: str, above: int = 0) -> None:
    """Remove a folder and `above` folders above it, as long as they are empty."""
    with contextlib.suppress(OSError):
        for _ in range(above + 1):
            os.rmdir(path)
            path = os.path.dirname(path)
