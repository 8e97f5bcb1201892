"""A person's own configuration file: read and written whole, as it lies (a link stays one, modes stay)."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from tmuxagents.edges.settings import open_regular
from tmuxagents.errors import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMIT = 4 * 1024 * 1024


def read(path: str) -> bytes | None:
    """Return a file's content, None if there is none. Raises Unusable for what cannot be read as one."""
    with _translated(path):
        try:
            handle = open_regular(path)
        except FileNotFoundError:
            return None
        with open(handle, "rb") as file:
            if os.fstat(handle).st_size > _LIMIT:
                raise OSError(errno.EINVAL, "it is no file that a person writes", path)
            return file.read()


def replace(path: str, before: bytes | None, after: bytes | None, *, private: bool = False) -> None:
    """Write a file whole or not at all, or remove it. Raises Unusable, also if it is not as it was before.

    `private`: a new one is for no other user.
    """
    target = os.path.realpath(path)
    with _translated(path):
        if read(target) != before:
            raise OSError(errno.EAGAIN, "somebody has just changed it", path)
        if after is None:
            os.unlink(target)
        else:
            _write(target, after, private=private)


def _write(target: str, text: bytes, *, private: bool) -> None:
    making = f"{target}.{os.urandom(6).hex()}"
    handle = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(text)
            file.flush()
            _make_like(handle, target, private=private)
            os.fsync(handle)
        os.rename(making, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(making)
        raise


def _make_like(handle: int, target: str, *, private: bool) -> None:
    """Give a new file the mode and the owner of the one that it replaces, else what a new one has."""
    try:
        facts = os.stat(target)
    except FileNotFoundError:
        if private:
            return  # it was made so
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
