"""The far end of a mirror: it sends the news of run directories to the machine that launched the runs.

It also defines the frames that both ends use.

A request is a line, `{"run": ID, "at": {"events.jsonl": 120}}`. The answer comes in frames: a JSON line, then
the number of bytes that the line gives. A file that only grows is sent from the offset of the mirror. Any
other file is sent whole when it has changed. The result comes last, only when no wrapper can write any more.
The second part of this module is for the near end: with it, watcher/mirror reads, checks and stores frames.

Joins.
"""

from __future__ import annotations

import os
import select
import time

from tmuxagents import records
from tmuxagents.records import is_run_id
from tmuxagents.runs import directory
from tmuxagents.runs.marks import mark_of
from tmuxagents.runs.reading import presence_of
from tmuxagents.system import places, watcher_lock
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from tmuxagents.runs.marks import Mark
    from tmuxagents.system.lifeline import Lifeline

APPENDED = (directory.EVENTS, directory.STDOUT, directory.STDERR, directory.TRANSCRIPT)  # they only grow
# Copied whole when they have changed; the result comes after all others.
WHOLE = (
    *(directory.META, directory.WRAPPER, directory.PROMPT, directory.SYSTEM_PROMPT),
    *(directory.APPEND_SYSTEM_PROMPT, directory.OUTPUT, directory.SESSION),
)
PIECE = 256 * 1024
_LONGEST_HEAD = 4096
_MOST = dict.fromkeys(APPENDED, PIECE) | dict.fromkeys((*WHOLE, directory.RESULT), 64 * 1024 * 1024)
ROUND_S = 0.05  # between two looks at runs that talk
_IDLE_S = 0.25  # between two looks while none does
_BEAT_S = 3.0
_SWEEP_S = 1.0  # how often all files of a run are checked, not only its events
_KEEP_S = 10.0  # how often a watcher is started here, if there is none
_AT_ONCE = 64  # the most frames of one run in one round, so that no run holds up the others


def serve(home: str, lifeline: Lifeline, out: int) -> None:
    """Send the news of the requested runs, until the reader has gone. Raises BrokenPipeError."""
    runs: dict[str, FollowedRun] = {}
    swept_at = beat_at = kept_at = 0.0
    requests = select.poll()
    requests.register(lifeline.handle, select.POLLIN)

    def send(head: dict[str, Any], text: bytes) -> None:
        places.write_all(out, jsonline.encode({**head, "size": len(text)}) + text)

    while not lifeline.gone:
        now = time.monotonic()
        if now >= kept_at + _KEEP_S:
            watcher_lock.ensure(home)  # it concludes what is lost here
            kept_at = now
        sweeps = now >= swept_at + _SWEEP_S
        swept_at = now if sweeps else swept_at
        talking = [one for one in runs.values() if sweeps or one.talks()]
        for one in talking:
            if one.send(send):
                del runs[one.run_id]
        if now >= beat_at + _BEAT_S:
            send({"beat": True}, b"")
            beat_at = now
        speaks = requests.poll(1000 * (ROUND_S if runs or talking else _IDLE_S))
        for line in lifeline.lines() if speaks else ():
            asked = directory.document_of(line) or {}
            run_id = asked.get("run")
            if isinstance(run_id, str) and is_run_id(run_id):
                at = asked.get("at")
                runs[run_id] = FollowedRun(f"{home}/runs", run_id, at if isinstance(at, dict) else {})


class FollowedRun:
    """One run directory, and how much of it the mirror has."""

    __slots__ = ("_at", "_inodes", "_marks", "_waiting", "_wants_more", "run_dir", "run_id")

    def __init__(self, runs: str, run_id: str, at: Mapping[str, Any]) -> None:
        self.run_id = run_id
        self.run_dir = f"{runs}/{run_id}"
        self._at = {name: size for name in APPENDED if type(size := at.get(name)) is int}
        self._inodes: dict[str, int] = {}
        self._marks: dict[str, Mark | None] = {}
        self._wants_more = True
        self._waiting: str | None = None  # why the run waits in Slurm's queue

    def talks(self) -> bool:
        """Say whether its events have changed, or more is left to send."""
        mark = mark_of(f"{self.run_dir}/{directory.EVENTS}")
        return self._wants_more or mark != self._marks.get(directory.EVENTS)

    def send(self, send: Callable[[dict[str, Any], bytes], None]) -> bool:
        """Send the news of the run; say whether no more can come."""
        wrapper = directory.read_wrapper(self.run_dir)
        machine = directory.read_machine(self.run_dir)
        presence = presence_of(wrapper, machine)
        waiting = (machine or {}).get("waiting")
        if waiting != self._waiting:
            self._waiting = waiting
            send({"run": self.run_id, "waiting": waiting}, b"")
        may_end = presence != records.HERE and directory.read_result(self.run_dir) is not None
        result = directory.read_bytes(f"{self.run_dir}/{directory.RESULT}") if may_end else None
        if directory.place_of(self.run_dir) is None:
            send({"run": self.run_id, "gone": True}, b"")
            return True
        left = _AT_ONCE
        for name in APPENDED:
            left = self._append(name, send, left)
        self._wants_more = left <= 0
        if self._wants_more:
            return False
        for name in WHOLE:
            path = f"{self.run_dir}/{name}"
            mark = mark_of(path)
            if mark == self._marks.get(name) or (name == directory.SESSION and result is None):
                continue  # unchanged, or the session of a child that still works: that grows
            self._marks[name] = mark
            text = directory.read_bytes(path) if mark is not None else None
            if text is not None:
                send({"run": self.run_id, "file": name, "whole": True}, text)
        if result is not None:
            send({"run": self.run_id, "file": directory.RESULT, "whole": True}, result)
        return result is not None

    def _append(self, name: str, send: Callable[[dict[str, Any], bytes], None], left: int) -> int:
        """Send what a file has gained, in at most `left` frames; return how many of these are left."""
        path = f"{self.run_dir}/{name}"
        mark = mark_of(path)
        self._marks[name] = mark
        if mark is None:
            return left
        if mark[2] == 0 and name not in self._at:
            send({"run": self.run_id, "file": name, "at": 0}, b"")
        at, inode = self._at.get(name, 0), self._inodes.setdefault(name, mark[1])
        if mark[2] < at or inode != mark[1]:  # a log was begun anew, as runs/logs does with a huge one
            at, self._inodes[name] = 0, mark[1]
            send({"run": self.run_id, "file": name, "at": 0, "anew": True}, b"")
        while at < mark[2] and left > 0:
            text = directory.read_from(path, at, PIECE)
            if not text:
                break
            send({"run": self.run_id, "file": name, "at": at}, text)
            at, left = at + len(text), left - 1
        self._at[name] = at
        return left


# --- frames ---------------------------------------------------------------------------------------------


class Broken(ValueError):
    """The other machine sends no valid stream of frames."""


class Frame:
    """A part of one file of a run, news of the run, or a sign of life."""

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
    """Cuts the incoming bytes into frames, and refuses every frame that could do harm here."""

    def __init__(self) -> None:
        self._text = bytearray()

    def take(self, piece: bytes) -> Iterator[Frame]:
        """Take a piece; yield the frames that are complete now. Raises Broken."""
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
    """A file here does not have the length that the far end expects."""


def append_piece(run_dir: str, frame: Frame) -> None:
    """Add bytes to a file that only grows. If it was begun anew over there, it is begun anew here."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    folder = directory.open_folder(run_dir)
    try:
        handle = os.open(str(frame.name), flags, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        if frame.at is None or frame.at + len(frame.text) > directory.MOST_BYTES:
            return  # readers stop there, and another machine must not fill our disk
        if frame.is_new:
            os.ftruncate(handle, 0)
            return
        if os.fstat(handle).st_size != frame.at:
            raise NotInStep(f"{frame.name} is not as long as the other end believes")
        os.lseek(handle, 0, os.SEEK_END)
        places.write_all(handle, frame.text)
    finally:
        os.close(handle)
