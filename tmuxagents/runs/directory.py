"""The run directory, the only truth about a run: the names of its files, and reading them.

docs/run-directory.md describes the layout and the rules. runs/writing changes run directories; readers do not
load it. Paths are plain strings, since every wrapper pays for imports.

Touches: the run directory.
"""

from __future__ import annotations

import errno
import os
import stat

from tmuxagents import records
from tmuxagents.records import Identity
from tmuxagents.runs import documents, marks
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.records import Plan

LIVE_EVENTS, LIVE_ORDERS = "live-events.fifo", "live-orders.fifo"
LIVE_FILES = "live"  # a folder of the bridge: a socket, and files for an agent that has hooks
META = "meta.json"
PROMPT = "prompt.txt"
SYSTEM_PROMPT = "system-prompt.md"
APPEND_SYSTEM_PROMPT = "append-system-prompt.md"
EVENTS = marks.EVENTS
STDOUT = "stdout.log"
STDERR = "stderr.log"
TRANSCRIPT = "transcript.log"
SESSION = "child-session.jsonl"
WRAPPER = "wrapper.json"
OUTPUT = "output.md"
RESULT = "result.json"
MACHINE = "machine.json"  # only of a run that works on another machine: how we reach it
HANDED = "handed.json"  # the environment for a run that starts without its launcher; the wrapper removes it
ANNOUNCED = "announced"
SEEN = "seen"
LOCK = "run.lock"
SEALED = "sealed"  # a folder beside that of all runs

_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG)
# With these errors the machine has failed. The file may be there, so no ending may follow from its absence.
_UNKNOWN = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ESTALE)
_CHUNK = 1024 * 1024
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

# Limits for reading. A child can write files of any size, which must not cost the readers of all runs their
# memory or time.
LONGEST_LINE = 8 * 1024 * 1024  # of a log; the wrapper writes none that is longer
MOST_BYTES = 1024 * 1024 * 1024  # of a log: a million events of 1 KB each
BIGGEST_OUTPUT = 16 * 1024 * 1024
_BIGGEST = 64 * 1024 * 1024  # of any other file that is read at once
BIGGEST_PLAN = 256 * 1024  # of a plan, or a system prompt, unless its seal says more (runs/seal)
_BIGGEST_RECORD = 4 * 1024 * 1024  # of result.json and wrapper.json: our own words, and 64 KB of the answer
_MUCH = 16 * 1024 * 1024


def seal_of(run_dir: str) -> str:
    """Return the path of a run's seal, which lies outside of its directory."""
    runs, run_id = os.path.split(run_dir)
    return f"{os.path.dirname(runs)}/{SEALED}/{run_id}"


def read_bytes(path: str, *, limit: int | None = None) -> bytes | None:
    """Return a file's content; None if it is absent, not our regular file, or larger than the limit.

    Raises OSError if the machine fails, since the file may be there then.
    """
    most = _BIGGEST if limit is None else limit
    opened = _open(path)
    if opened is None:
        return None
    handle, size = opened
    pieces: list[bytes] = []
    try:
        while size <= most and (piece := os.read(handle, _CHUNK)):
            pieces.append(piece)
            size = max(size, sum(map(len, pieces)))  # it may grow while we read
        return b"".join(pieces) if size <= most else None
    except OSError as error:
        _unless_unknown(error)
        return None
    finally:
        os.close(handle)


def _is_ours(facts: os.stat_result) -> bool:
    """Say whether this is a regular file that belongs to us or to root."""
    return stat.S_ISREG(facts.st_mode) and facts.st_uid in (os.geteuid(), 0)


def _open(path: str) -> tuple[int, int] | None:
    """Open our own regular file; return the handle and its size, None if there is no such file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        _unless_unknown(error)
        return None
    facts = os.fstat(handle)
    if not _is_ours(facts):
        os.close(handle)
        return None
    return handle, facts.st_size


def _unless_unknown(error: OSError) -> None:
    if error.errno in _UNKNOWN:
        raise error


def document_of(text: bytes | None) -> dict[str, Any] | None:
    """Return the JSON object in a text that anyone may have written; None if there is none."""
    if text is None or jsonline.is_dense(text):
        return None
    try:
        document = jsonline.decode(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def read_plan(run_dir: str) -> Plan | None:
    """Return the plan of a run; None if this directory holds no such run."""
    text = read_bytes(f"{run_dir}/{META}", limit=BIGGEST_PLAN)
    if text is None:
        from tmuxagents.runs import seal  # noqa: PLC0415  (few tasks are that large)

        text = seal.large_plan(run_dir)
    document = document_of(text)
    plan = None if document is None else documents.plan_of(document)
    if plan is None or plan.run_id != os.path.basename(run_dir):
        return None
    machine = read_machine(run_dir)
    return plan if machine is None else documents.seen_from_here(plan, machine)


def is_plan(run_dir: str, text: bytes) -> bool:
    """Say whether a text is a plan of the run in this directory: another machine may send anything."""
    document = document_of(text)
    return document is not None and documents.plan_of(document).run_id == os.path.basename(run_dir)


def read_result(run_dir: str) -> dict[str, Any] | None:
    """Return the result if there is one that can be read."""
    return result_of(read_bytes(f"{run_dir}/{RESULT}", limit=_BIGGEST_RECORD))


def result_of(text: bytes | None) -> dict[str, Any] | None:
    """Return the result in a text; None if the text is no valid result."""
    result = (document_of(text) if len(text or b"") <= _BIGGEST_RECORD else None) or {}
    reason = result.get("reason")
    sound = result.get("status") in records.ENDED and isinstance(reason, str) and reason.isprintable()
    return result if sound else None


def read_wrapper(run_dir: str) -> dict[str, Any] | None:
    """Return what the wrapper wrote about itself."""
    return document_of(read_bytes(f"{run_dir}/{WRAPPER}", limit=_BIGGEST_RECORD))


def read_machine(run_dir: str) -> dict[str, Any] | None:
    """Return the machine.json of a run that works on another machine; None for a run of this machine."""
    path = f"{run_dir}/{MACHINE}"
    if place_of(path) is None:  # true of almost every run; it costs only this look
        return None
    launched = (read_bytes(seal_of(run_dir), limit=_BIGGEST_RECORD) or b"").partition(b"\n")[0]
    if (document_of(launched) or {}).get("far") is not True:
        return None  # a child has written the file
    return document_of(read_bytes(path, limit=_BIGGEST_RECORD)) or {}  # a damaged one still says "not here"


def identity_of(wrapper: Mapping[str, Any] | None) -> Identity | None:
    """Return the identity in a wrapper.json; None if there is none."""
    if wrapper is None:
        return None
    host, boot, namespace = wrapper.get("host"), wrapper.get("bootId"), wrapper.get("pidNamespace")
    pid, started = wrapper.get("pid"), wrapper.get("startTime")
    words = isinstance(host, str) and isinstance(boot, str)
    if not words or not all(type(figure) is int for figure in (namespace, pid, started)):
        return None
    return Identity(host=str(host), boot_id=str(boot), pid_namespace=namespace, pid=pid, start_time=started)  # type: ignore[arg-type]  # checked in the lines above


def read_lines(path: str, offset: int, most: int = _MUCH) -> tuple[list[bytes], int]:
    """Return the complete lines from an offset on, and the offset after them; a torn last line is left out.

    Reads about `most` bytes, but at least one whole line. A line that is too long is skipped piece by piece:
    the offset advances without lines. Nothing beyond MOST_BYTES is read. Raises OSError if the machine fails.
    """
    opened = _open(path) if offset < MOST_BYTES else None
    if opened is None:
        return [], offset
    handle, size = opened
    try:
        if size <= offset:
            return [], offset
        os.lseek(handle, offset, os.SEEK_SET)
        pieces = [os.read(handle, most)]
        while pieces[-1] and b"\n" not in pieces[-1] and sum(map(len, pieces)) < LONGEST_LINE:
            pieces.append(os.read(handle, most))
        text = b"".join(pieces)
        end = text.rfind(b"\n")
        if end < 0:
            return [], _data_from(handle, offset + len(text)) if len(text) >= LONGEST_LINE else offset
    except OSError as error:
        _unless_unknown(error)
        return [], offset
    finally:
        os.close(handle)
    lines = text[:end].split(b"\n")
    if end > LONGEST_LINE:
        lines = [line for line in lines if len(line) <= LONGEST_LINE]
    return lines, offset + end + 1


def _data_from(handle: int, offset: int) -> int:
    """Return the offset of the next data in a file: a hole in the file is skipped."""
    try:
        return os.lseek(handle, offset, os.SEEK_DATA)
    except OSError as error:
        return os.lseek(handle, 0, os.SEEK_END) if error.errno == errno.ENXIO else offset


def read_before(path: str, offset: int, size: int) -> bytes:
    """Return the last bytes before an offset. Raises OSError if the machine fails."""
    begin = max(0, offset - size)
    return read_from(path, begin, offset - begin)


def read_from(path: str, offset: int, most: int) -> bytes:
    """Return at most `most` bytes of our own file from an offset on. Raises OSError if the machine fails."""
    opened = _open(path)
    if opened is None:
        return b""
    try:
        return os.pread(opened[0], most, offset)
    except OSError as error:
        _unless_unknown(error)
        return b""
    finally:
        os.close(opened[0])


def place_of(path: str) -> tuple[int, int] | None:
    """Return device and inode of a file, folder or link; None if there is nothing at the path.

    Raises OSError if that is unknown: a file that cannot be read is not gone.
    """
    try:
        facts = os.stat(path, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NOTHING:
            return None
        raise
    return facts.st_dev, facts.st_ino


def is_whole(run_dir: str, place: tuple[int, int] | None) -> bool:
    """Say whether a run directory is where it was, and has its plan and its wrapper.json."""
    if place_of(run_dir) != place:
        return False
    return all(place_of(f"{run_dir}/{name}") is not None for name in (META, WRAPPER))


def is_announced(run_dir: str) -> bool:
    """Say whether a run is announced."""
    return place_of(f"{run_dir}/{ANNOUNCED}") is not None


def seen_at(run_dir: str) -> float:
    """Return when a person last looked at a run; 0.0: never."""
    try:
        return os.stat(f"{run_dir}/{SEEN}", follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def open_folder(run_dir: str) -> int:
    """Open a run directory, never a link, to name files relative to it. Raises OSError.

    The directory must be ours. If a child has made it writable for others, that is undone.
    """
    folder = os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        facts = os.fstat(folder)
        if facts.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "It belongs to another user", run_dir)
        if facts.st_mode & _OTHERS_WRITE:
            os.fchmod(folder, facts.st_mode & ~_OTHERS_WRITE & 0o7777)
    except OSError:
        os.close(folder)
        raise
    return folder


def open_prompt(run_dir: str) -> int:
    """Open the child's prompt: a regular file, nothing that could block. Raises OSError."""
    folder = open_folder(run_dir)
    try:
        handle = os.open(PROMPT, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    if not _is_ours(os.fstat(handle)):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a file", PROMPT)
    os.set_blocking(handle, True)
    return handle
