"""The frames of a mirror: files that are copied, a stream cut into frames, a frame written. Joins."""

from __future__ import annotations

import os

from tmuxagents.records import is_run_id
from tmuxagents.runs import directory, writing
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

APPENDED = (directory.EVENTS, directory.STDOUT, directory.STDERR, directory.TRANSCRIPT)  # they only grow
# Copied whole when they have changed; the result comes after all others.
WHOLE = (
    *(directory.META, directory.WRAPPER, directory.PROMPT, directory.SYSTEM_PROMPT),
    *(directory.APPEND_SYSTEM_PROMPT, directory.OUTPUT, directory.SESSION),
)
PIECE = 256 * 1024
_LONGEST_HEAD = 4096
_MOST = dict.fromkeys(APPENDED, PIECE) | dict.fromkeys((*WHOLE, directory.RESULT), 64 * 1024 * 1024)


class Broken(ValueError):
    """What comes from the other machine is no stream of frames."""


class Frame:
    """A part of one file of one run, or a word about it."""

    __slots__ = ("at", "is_gone", "is_new", "name", "run_id", "text", "waiting")

    def __init__(self, head: dict[str, Any], text: bytes) -> None:
        self.run_id: str | None = head.get("run")  # None: a sign of life
        self.name: str | None = head.get("file")
        self.at: int | None = head.get("at")  # None: the file is whole
        self.is_new = head.get("anew") is True  # the file was begun anew
        self.is_gone = head.get("gone") is True  # there is no such run
        self.waiting = str(head.get("waiting") or "") if "waiting" in head else None  # what the run waits for
        self.text = text


class FrameReader:
    """Cuts what comes in, piece by piece, into frames. Nothing in it is believed that could do harm here."""

    def __init__(self) -> None:
        self._text = bytearray()

    def take(self, piece: bytes) -> Iterator[Frame]:
        """Take a piece; yield the frames that are whole by now. Raises Broken."""
        self._text += piece
        while True:
            end = self._text.find(b"\n", 0, _LONGEST_HEAD)
            if end < 0:
                if len(self._text) >= _LONGEST_HEAD:
                    raise Broken("a frame has no head")
                return
            head = _head(bytes(self._text[:end]))
            whole = end + 1 + head["size"]
            if len(self._text) < whole:
                return
            text = bytes(self._text[end + 1 : whole])
            del self._text[:whole]
            yield Frame(head, text)


def _head(line: bytes) -> dict[str, Any]:
    try:
        head = jsonline.decode(line)
    except (ValueError, RecursionError) as error:
        raise Broken("a frame's head is no JSON") from error
    if not isinstance(head, dict) or type(head.get("size")) is not int or head["size"] < 0:
        raise Broken("a frame has no size")
    run_id, name, at = head.get("run"), head.get("file"), head.get("at")
    if run_id is not None and not (isinstance(run_id, str) and is_run_id(run_id)):
        raise Broken("a frame names no run")
    if name is None:
        if head["size"]:
            raise Broken("a frame names no file")
        return head
    if not isinstance(name, str) or name not in _MOST or run_id is None:
        raise Broken("a frame names a file that is not mirrored")
    if (at is None) == (name in APPENDED) or not (at is None or (type(at) is int and at >= 0)):
        raise Broken("a frame has no place in its file")
    if head["size"] > _MOST[name]:
        raise Broken("a frame is too large")
    return head


class NotInStep(ValueError):
    """A file here has another length than the far end believes."""


def append(run_dir: str, frame: Frame) -> None:
    """Add bytes to a file that only grows; a file that was begun anew over there is begun anew here."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    folder = directory.open_folder(run_dir)
    try:
        handle = os.open(str(frame.name), flags, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        if frame.at is None or frame.at + len(frame.text) > directory.MOST_BYTES:
            return  # no reader reads on there, and another machine must not fill our disk
        if frame.is_new:
            os.ftruncate(handle, 0)
            return
        if os.fstat(handle).st_size != frame.at:
            raise NotInStep(f"{frame.name} is not as long as the other end believes")
        os.lseek(handle, 0, os.SEEK_END)
        writing.write_all(handle, frame.text)
    finally:
        os.close(handle)
