"""inbox.jsonl: messages to a live child, appended under the file's own lock, read on by its wrapper.

Touches: the run directory.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from tmuxagents.runs import directory, writing
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

INBOX = "inbox.jsonl"
STEER, FOLLOW_UP, STOP = "steer", "followUp", "stop"
KINDS = (STEER, FOLLOW_UP, STOP)
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MOST_BYTES = 64 * 1024 * 1024  # of an inbox; more is neither written nor read
_PIECE = 1024 * 1024
_LOCK_LIMIT_S = 5.0


class InboxMessage:
    """One message. `text` is None where the kind says all."""

    __slots__ = ("inbox_id", "kind", "text")

    def __init__(self, inbox_id: int, kind: str, text: str | None) -> None:
        self.inbox_id = inbox_id
        self.kind = kind
        self.text = text


def append(run_dir: str, kind: str, text: str | None) -> int:
    """Append a message; return its number. Raises OSError."""
    handle = os.open(f"{run_dir}/{INBOX}", _FLAGS, 0o600)
    try:
        _lock(handle)
        number, torn = _counted(run_dir, handle)
        message = {"v": 1, "inboxId": number + 1, "at": round(time.time(), 3), "kind": kind, "text": text}
        writing.write_all(handle, (b"\n" if torn else b"") + jsonline.encode(message))
    finally:
        os.close(handle)
    return number + 1


def _lock(handle: int) -> None:
    """Wait for the lock, but not for ever: a child could keep it."""
    deadline = time.monotonic() + _LOCK_LIMIT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _counted(run_dir: str, handle: int) -> tuple[int, bool]:
    """Return the highest number in the file, and whether its last line is torn."""
    size = os.fstat(handle).st_size
    if size > MOST_BYTES:
        raise OSError(errno.EFBIG, f"the inbox holds more than {MOST_BYTES // 1024 // 1024} MB")
    pieces = _pieces(f"{run_dir}/{INBOX}", 0)
    highest = max((message.inbox_id for messages, _ in pieces for message in messages), default=0)
    return highest, os.pread(handle, 1, max(0, size - 1)) not in (b"", b"\n")


def _pieces(path: str, offset: int) -> Iterator[tuple[list[InboxMessage], int]]:
    """Yield the messages behind an offset, about 1 MB of them at a time, and the offset behind them."""
    while offset <= MOST_BYTES:
        lines, after = directory.read_lines(path, offset, _PIECE)
        if after == offset:
            return
        offset = after
        yield [message for line in lines if (message := _read(line)) is not None], offset


class Inbox:
    """The messages of one run, as its wrapper reads them: each once."""

    __slots__ = ("_offset", "_path", "_place")

    def __init__(self, run_dir: str) -> None:
        self._path = f"{run_dir}/{INBOX}"
        self._offset = 0
        self._place: tuple[int, int] | None = None

    def fresh(self) -> list[InboxMessage]:
        """Return the messages that came since the last look; of more than 1 MB, the first ones."""
        place = directory.place_of(self._path)
        if place != self._place:  # its directory was removed, and it was begun anew
            self._place, self._offset = place, 0
        for messages, offset in _pieces(self._path, self._offset):
            self._offset = offset
            if messages:
                return messages
        return []


def _read(line: bytes) -> InboxMessage | None:
    """Read a line; None if it is no message: a child can write there, too."""
    if jsonline.is_dense(line):
        return None
    try:
        raw: Any = jsonline.decode(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or raw.get("kind") not in KINDS:
        return None
    number, text = raw.get("inboxId"), raw.get("text")
    if type(number) is not int or number < 1 or not (isinstance(text, str) or raw["kind"] == STOP):
        return None
    return InboxMessage(number, raw["kind"], text if isinstance(text, str) else None)
