"""Files of a run that grow: its logs, written best effort, and the inbox, with the messages to its child.

A log line that cannot be written is only counted: a full disk costs log lines, never the result. The log of a
child's output keeps its first 8 MB and its last 4 to 8 MB.

Watchers get an inotify event only when a file is closed, and we keep events.jsonl open. So with the first
lines after a silence, we open and close it once (a "knock"). The watcher then reads this run again and again
until the run is silent.

Touches: the run directory.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from tmuxagents.runs import directory
from tmuxagents.runs.events import INBOX_KINDS, STOP, InboxMessage
from tmuxagents.system import places
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# --- logs -------------------------------------------------------------------------------------------------

QUIET_S = 0.6  # the silence after which new lines come with a knock
_NEWLINE = 10
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Log:
    """A log file, opened at the first write; `lost` counts the writes that failed."""

    __slots__ = ("_handle", "_path", "lost")

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle: int | None = None
        self.lost = 0

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Appender(_Log):
    """Appends to one file. After a torn write, the next text starts a new line. `knocks`: see above."""

    __slots__ = ("_knocks", "_torn", "_wrote_at")

    def __init__(self, path: str, *, knocks: bool = False) -> None:
        super().__init__(path)
        self._knocks = knocks
        self._wrote_at = -QUIET_S
        self._torn = False

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
        # The time before the write: a reader of these lines starts its timer later, so it still reads when
        # our next knock is due.
        self._wrote_at = begun_at

    def is_in_place(self) -> bool:
        """Say whether the open file is still the one at its path."""
        if self._handle is None:
            return True
        try:
            present, ours = os.stat(self._path, follow_symlinks=False), os.fstat(self._handle)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # unknown: what cannot be read is not gone
        return (present.st_dev, present.st_ino) == (ours.st_dev, ours.st_ino)

    def reopen(self) -> None:
        """Begin a new file at the path: the old one was removed."""
        self.close()
        self._torn = False


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


class RawLog(_Log):
    """A bounded log file with one writer, which keeps the offset."""

    __slots__ = ("_size",)

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._size = 0

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


# --- the inbox: appended under the file's own lock, read by the run's wrapper -------------------------------

INBOX = "inbox.jsonl"
_INBOX_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MOST_MESSAGE_BYTES = 64 * 1024 * 1024  # of an inbox; nothing beyond is written or read
_PIECE = 1024 * 1024
_LOCK_LIMIT_S = 5.0


def append_message(run_dir: str, kind: str, text: str | None, **more: str) -> int:
    """Append a message; return its number. `more`: `ask` and `by` of an answer. Raises OSError."""
    path = f"{run_dir}/{INBOX}"
    deadline = time.monotonic() + _LOCK_LIMIT_S
    handle = os.open(path, _INBOX_FLAGS, 0o600)
    try:
        while True:  # but not for ever: a child could keep the lock
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.01)
        size = os.fstat(handle).st_size
        if size > MOST_MESSAGE_BYTES:
            raise OSError(errno.EFBIG, f"the inbox holds more than {MOST_MESSAGE_BYTES // 1024 // 1024} MB")
        ids = (message.inbox_id for messages, _ in _pieces(path, 0) for message in messages)
        number = max(ids, default=0) + 1
        is_torn = os.pread(handle, 1, max(0, size - 1)) not in (b"", b"\n")
        message = {"v": 1, "inboxId": number, "at": round(time.time(), 3), "kind": kind, "text": text}
        message |= more
        places.write_all(handle, (b"\n" if is_torn else b"") + jsonline.encode(message))
    finally:
        os.close(handle)
    return number


def _pieces(path: str, offset: int) -> Iterator[tuple[list[InboxMessage], int]]:
    """Yield the messages after an offset, about 1 MB of them at a time, and the offset after them."""
    while offset <= MOST_MESSAGE_BYTES:
        lines, after = directory.read_lines(path, offset, _PIECE)
        if after == offset:
            return
        offset = after
        yield [message for line in lines if (message := _parse(line)) is not None], offset


class Inbox:
    """The messages of one run, as its wrapper reads them: each once."""

    __slots__ = ("_offset", "_path", "_place")

    def __init__(self, run_dir: str) -> None:
        self._path = f"{run_dir}/{INBOX}"
        self._offset = 0
        self._place: tuple[int, int] | None = None

    def fresh(self) -> list[InboxMessage]:
        """Return the messages that came since the last call, at most the first 1 MB of them."""
        place = directory.place_of(self._path)
        if place != self._place:  # the run directory was removed, and this is a new file
            self._place, self._offset = place, 0
        for messages, offset in _pieces(self._path, self._offset):
            self._offset = offset
            if messages:
                return messages
        return []


def _parse(line: bytes) -> InboxMessage | None:
    """Parse a line; return None if it is no message, since a child can write to the inbox, too."""
    raw = directory.document_of(line)
    if raw is None or raw.get("kind") not in INBOX_KINDS:
        return None
    number, text = raw.get("inboxId"), raw.get("text")
    if type(number) is not int or number < 1 or not (isinstance(text, str) or raw["kind"] == STOP):
        return None
    more = {key: raw[key] for key in ("ask", "by") if isinstance(raw.get(key), str)}
    return InboxMessage(number, raw["kind"], text if isinstance(text, str) else None, **more)
