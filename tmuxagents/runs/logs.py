"""Write the logs of a run, best effort: whole lines appended, and a child's output kept within bounds.

What cannot be written is counted and stops nothing: a full disk costs log lines, never the result. A child's
output keeps its first 8 MB and its last 4 to 8 MB.

Watchers get an inotify event only when a file is closed, and we keep ours open. So after a silence we open
and close it once (a "knock"); the watcher then reads this run again and again until it is silent.

Touches: the run directory.
"""

from __future__ import annotations

import os
import time

QUIET_S = 0.6  # the silence after which new lines come with a knock
_NEWLINE = 10
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Appender:
    """Appends to one file. After a torn write the next text starts on a new line. `knocks`: see above."""

    __slots__ = ("_handle", "_knocks", "_path", "_torn", "_wrote_at", "lost")

    def __init__(self, path: str, *, knocks: bool = False) -> None:
        self._path = path
        self._knocks = knocks
        self._wrote_at = -QUIET_S
        self._handle: int | None = None
        self._torn = False
        self.lost = 0

    def append(self, text: bytes) -> None:
        """Append whole lines, if the disk takes them."""
        if not text:
            return
        begun_at = time.monotonic()
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
            return
        if self._knocks and time.monotonic() - self._wrote_at >= QUIET_S:
            knock(self._path)
        # Taken before the write: a reader of these lines starts its quiet timer later, so it is still reading
        # when our next knock is due.
        self._wrote_at = begun_at

    def is_in_place(self) -> bool:
        """Say whether the open file is still the one at its path."""
        if self._handle is None:
            return True
        try:
            there, here = os.stat(self._path, follow_symlinks=False), os.fstat(self._handle)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # unknown: what cannot be read is not gone
        return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)

    def reopen(self) -> None:
        """Begin a new file at the path: the old one was removed."""
        self.close()
        self._torn = False

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def knock(path: str) -> bool:
    """Open a file for writing and close it, so that each watcher of its folder gets an event."""
    try:
        os.close(os.open(path, _FLAGS & ~os.O_CREAT))
    except OSError:
        return False
    return True


HEAD = 8 * 1024 * 1024
TAIL = 4 * 1024 * 1024
_STEP = 256 * 1024
MARK = b"\n[... left out by tmuxagents: the log keeps its beginning and its end ...]\n"


class RawLog:
    """A bounded log file with one writer, which keeps the offset."""

    __slots__ = ("_handle", "_path", "_size", "lost")

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle: int | None = None
        self._size = 0
        self.lost = 0

    def write(self, text: bytes) -> None:
        """Append, and make room in the middle if need be."""
        try:
            if self._handle is None:
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                self._handle = os.open(self._path, flags, 0o600)
                self._size = os.fstat(self._handle).st_size
            view = memoryview(text)
            while view:
                room = HEAD + 2 * TAIL - self._size
                if room <= 0:
                    self._make_room(self._handle)
                    continue
                written = os.pwrite(self._handle, view[:room], self._size)
                self._size += written
                view = view[written:]
        except OSError:
            self.lost += 1

    def _make_room(self, handle: int) -> None:
        """Move the last 4 MB to just after the head."""
        source, target = self._size - TAIL, HEAD
        os.pwrite(handle, MARK, target)
        target += len(MARK)
        while source < self._size:
            piece = os.pread(handle, _STEP, source)
            if not piece:
                break
            os.pwrite(handle, piece, target)
            source += len(piece)
            target += len(piece)
        os.ftruncate(handle, target)
        self._size = target

    def reopen(self) -> None:
        """Begin a new file at the path: its directory was removed."""
        self.close()
        self._size = 0

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
