"""Files that go into a prompt: resolved, asked about, then read, bounded, and only if they are plain text.

What may be read is the caller's to say. A file is judged by where it really lies, and it is the one that was
judged that is read: another file, or a link, cannot replace it in between.

Touches: files that go into a prompt.
"""

from __future__ import annotations

import errno
import os
import stat

from tmuxagents import records
from tmuxagents.records import FileText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What an open may say of a path where nothing is.
_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR)
_PIECE = 256 * 1024


def is_there(path: str) -> bool:
    """Say whether something has this name, a link that leads nowhere too."""
    return os.path.lexists(path)


def resolve(path: str) -> str:
    """Return where a path really leads, as far as it leads anywhere."""
    return os.path.realpath(path)


def read(path: str, *, limit: int, may: Callable[[str], bool]) -> FileText:
    """Return a file's text, or what is wrong with it. `may` is asked with the path where it really lies."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)  # nothing happens to a device or a pipe by this
    except (OSError, ValueError) as error:
        return _without(path, error, may)
    try:
        if not may(os.readlink(_handle_path(handle))):
            return FileText(problem=records.OUTSIDE)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return FileText(problem=records.UNREADABLE)
        return _read_opened(handle, limit)
    except OSError:
        return FileText(problem=records.UNREADABLE)
    finally:
        os.close(handle)


def _without(path: str, error: OSError | ValueError, may: Callable[[str], bool]) -> FileText:
    """Say why a path cannot be opened; of what is outside nobody learns whether it is there."""
    if not isinstance(error, OSError):  # a NUL, or half a character: no file has such a name
        return FileText(problem=records.MISSING)
    if not may(resolve(path)):
        return FileText(problem=records.OUTSIDE)
    return FileText(problem=records.MISSING if error.errno in _NOTHING_THERE else records.UNREADABLE)


def _read_opened(handle: int, limit: int) -> FileText:
    readable = os.open(_handle_path(handle), os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        size = os.fstat(readable).st_size
        data = _first(readable, limit + 1) if size <= limit else b""
    finally:
        os.close(readable)
    size = max(size, len(data))
    if size > limit:
        return FileText(size=size, problem=records.TOO_LARGE)
    try:
        return FileText(data.decode("utf-8"), size=size)
    except UnicodeDecodeError:
        return FileText(size=size, problem=records.UNREADABLE)


def _first(handle: int, most: int) -> bytes:
    pieces, left = [], most
    while left > 0 and (piece := os.read(handle, min(left, _PIECE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _handle_path(handle: int) -> str:
    return f"/proc/self/fd/{handle}"
