"""A log of whole lines, appended best effort: what cannot be written is counted, and never stops anybody."""

from __future__ import annotations

import os

_NEWLINE = 10
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Appender:
    """Appends to one file. After a torn write the next line starts anew."""

    __slots__ = ("_handle", "_path", "_torn", "lost")

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle: int | None = None
        self._torn = False
        self.lost = 0

    def append(self, text: bytes) -> None:
        """Append whole lines in one write, if the disk takes them."""
        if not text:
            return
        try:
            if self._handle is None:
                self._handle = os.open(self._path, _FLAGS, 0o600)
            view = memoryview(b"\n" + text if self._torn else text)
            while view:
                written = os.write(self._handle, view)
                self._torn = view[written - 1] != _NEWLINE
                view = view[written:]
        except OSError:
            self.lost += 1

    def is_in_place(self) -> bool:
        """Say whether the open file is still the one that its path leads to."""
        if self._handle is None:
            return True
        try:
            there, here = os.stat(self._path, follow_symlinks=False), os.fstat(self._handle)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # nobody can say: what cannot be looked at has not gone
        return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)

    def reopen(self) -> None:
        """Begin the file anew at its path, since the old one was removed."""
        self.close()
        self._torn = False

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
