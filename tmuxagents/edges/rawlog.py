"""What a child printed, kept within bounds: the first 8 MB for ever, then the last 4 to 8 MB.

Best effort, like all logs of a run: a full disk costs log lines, never the result.
"""

from __future__ import annotations

import os

HEAD = 8 * 1024 * 1024
TAIL = 4 * 1024 * 1024
_STEP = 256 * 1024
MARK = b"\n[... left out by tmuxagents: the log keeps its beginning and its end ...]\n"


class RawLog:
    """One bounded log file. One writer, which keeps the offset itself."""

    __slots__ = ("_handle", "_path", "_size", "lost")

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle: int | None = None
        self._size = 0
        self.lost = 0

    def write(self, text: bytes) -> None:
        """Add to the end, making room in the middle where it is due."""
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
        """Move the last 4 MB down behind the head."""
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
        """Begin the file anew at its path, after its directory was removed."""
        self.close()
        self._size = 0

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
