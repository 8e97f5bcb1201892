"""inbox.jsonl: messages to a child, appended under the file's own lock and read by the run's wrapper.

Touches: the run directory.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from tmuxagents.runs import directory, writing
from tmuxagents.runs.messages import KINDS, STOP, InboxMessage
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

INBOX = "inbox.jsonl"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MOST_BYTES = 64 * 1024 * 1024  # of an inbox; nothing beyond is written or read
_PIECE = 1024 * 1024
_LOCK_LIMIT_S = 5.0


def append(run_dir: str, kind: str, text: str | None, **more: str) -> int:
    """Append a message, of an answer also `ask` and `by`; return its number. Raises OSError."""
    path = f"{run_dir}/{INBOX}"
    handle = os.open(path, _FLAGS, 0o600)
    try:
        _wait_for_lock(handle)
        size = os.fstat(handle).st_size
        if size > MOST_BYTES:
            raise OSError(errno.EFBIG, f"the inbox holds more than {MOST_BYTES // 1024 // 1024} MB")
        known = (message.inbox_id for messages, _ in _pieces(path, 0) for message in messages)
        number = max(known, default=0) + 1
        is_torn = os.pread(handle, 1, max(0, size - 1)) not in (b"", b"\n")
        message = {"v": 1, "inboxId": number, "at": round(time.time(), 3), "kind": kind, "text": text}
        message |= more
        writing.write_all(handle, (b"\n" if is_torn else b"") + jsonline.encode(message))
    finally:
        os.close(handle)
    return number


def _wait_for_lock(handle: int) -> None:
    """Wait for the lock, but not for ever: a child could keep it."""
    deadline = time.monotonic() + _LOCK_LIMIT_S
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)


def _pieces(path: str, offset: int) -> Iterator[tuple[list[InboxMessage], int]]:
    """Yield the messages after an offset, about 1 MB of them at a time, and the offset after them."""
    while offset <= MOST_BYTES:
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
        """Return the messages that came since the last call; of more than 1 MB, the first ones."""
        place = directory.place_of(self._path)
        if place != self._place:  # the run directory was removed, and this is a new file
            self._place, self._offset = place, 0
        for messages, offset in _pieces(self._path, self._offset):
            self._offset = offset
            if messages:
                return messages
        return []


def _parse(line: bytes) -> InboxMessage | None:
    """Parse a line; None if it is not a message: a child can write there, too."""
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
    more = {key: raw[key] for key in ("ask", "by") if isinstance(raw.get(key), str)}
    return InboxMessage(number, raw["kind"], text if isinstance(text, str) else None, **more)
