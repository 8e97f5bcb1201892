"""Read a file that goes into a prompt, if the caller allows it and it is short plain text.

The caller decides by the real path of a file. Exactly the allowed file is read: no other file, and no link,
can replace it in between.

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

# The errors of opening a path where nothing is.
_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR)
_FLAGS = os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC


def read(path: str, *, limit: int, may: Callable[[str], bool]) -> FileText:
    """Return a file's text, or what is wrong with it. `may` decides by the real path of the file."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)  # this does nothing to a device or a pipe
    except ValueError:  # a NUL, or half a character: no file has such a name
        return FileText(problem=records.MISSING)
    except OSError as error:
        if not may(os.path.realpath(path)):  # outside, not even the existence of a file is disclosed
            return FileText(problem=records.OUTSIDE)
        return FileText(problem=records.MISSING if error.errno in _NOTHING_THERE else records.UNREADABLE)
    try:
        opened = f"/proc/self/fd/{handle}"
        if not may(os.readlink(opened)):
            return FileText(problem=records.OUTSIDE)
        return _read_opened(opened, limit)
    except OSError:
        return FileText(problem=records.UNREADABLE)
    finally:
        os.close(handle)


def _read_opened(path: str, limit: int) -> FileText:
    if not stat.S_ISREG(os.stat(path).st_mode):
        return FileText(problem=records.UNREADABLE)
    with open(os.open(path, _FLAGS), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(limit + 1) if size <= limit else b""
    size = max(size, len(data))
    if size > limit:
        return FileText(size=size, problem=records.TOO_LARGE)
    try:
        return FileText(data.decode("utf-8"), size=size)
    except UnicodeDecodeError:
        return FileText(size=size, problem=records.UNREADABLE)
