"""The run directory: the truth about a run. Made, appended, read from an offset, concluded under the lock.

Layout and rules: docs/run-directory.md. Paths are plain strings, since every wrapper pays for imports.
Writers are best effort where the contract says so (logs, transcript) and atomic where others decide by the
file (wrapper.json, result.json). The caller has set umask 077.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time

from tmuxagents import records
from tmuxagents.records import Identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

META = "meta.json"
PROMPT = "prompt.txt"
SYSTEM_PROMPT = "system-prompt.md"
APPEND_SYSTEM_PROMPT = "append-system-prompt.md"
EVENTS = "events.jsonl"
STDOUT = "stdout.log"
STDERR = "stderr.log"
TRANSCRIPT = "transcript.log"
SESSION = "child-session.jsonl"
WRAPPER = "wrapper.json"
OUTPUT = "output.md"
RESULT = "result.json"
LOCK = "run.lock"

_CHUNK = 1024 * 1024
_BIGGEST_JSON = 64 * 1024 * 1024  # a plan holds its task; but a forged file must not fill the memory
_NEWLINE = 10
RESERVE = 64 * 1024


# --- made -------------------------------------------------------------------------------------------------


def create(runs: str, meta: Mapping[str, Any], texts: Mapping[str, bytes]) -> str:
    """Make a run directory from its plan and its prompt files; return its path.

    It appears under its name only when it is whole: nobody ever sees half a run.
    """
    os.makedirs(runs, mode=0o700, exist_ok=True)
    path = f"{runs}/{meta['runId']}"
    making = f"{runs}/.new-{meta['runId']}"
    os.mkdir(making, 0o700)
    try:
        for name, text in texts.items():
            _write_new(f"{making}/{name}", text)
        _write_new(f"{making}/{META}", _json(meta))
        os.rename(making, path)
    except BaseException:
        _remove_made(making)
        raise
    return path


def _remove_made(making: str) -> None:
    with contextlib.suppress(OSError):
        for name in os.listdir(making):
            os.unlink(f"{making}/{name}")
        os.rmdir(making)


def _json(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _write_new(path: str, text: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        write_all(handle, text)
    finally:
        os.close(handle)


def write_all(handle: int, text: bytes) -> None:
    """Write everything: a full disk may take a part without an error before it refuses the rest."""
    view = memoryview(text)
    while view:
        view = view[os.write(handle, view) :]


# --- read -------------------------------------------------------------------------------------------------


def read_bytes(path: str, *, limit: int | None = None) -> bytes | None:
    """Return a file's content; None if there is none, or something else in its place."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        too_long = limit is not None and os.fstat(handle).st_size > limit
        return None if too_long else _read_all(handle)
    except OSError:
        return None
    finally:
        os.close(handle)


def _read_all(handle: int) -> bytes:
    pieces = []
    while piece := os.read(handle, _CHUNK):
        pieces.append(piece)
    return b"".join(pieces)


def _read_json(path: str) -> dict[str, Any] | None:
    text = read_bytes(path, limit=_BIGGEST_JSON)
    if text is None:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def read_meta(run_dir: str) -> dict[str, Any] | None:
    """Return the plan of a run; None if there is no such run, or not in this directory."""
    meta = _read_json(f"{run_dir}/{META}")
    return meta if meta is not None and meta.get("runId") == os.path.basename(run_dir) else None


def read_result(run_dir: str) -> dict[str, Any] | None:
    """Return the result if there is one that can be read."""
    result = _read_json(f"{run_dir}/{RESULT}")
    if (
        result is None
        or result.get("status") not in records.ENDED
        or not isinstance(result.get("reason"), str)
    ):
        return None
    return result


def read_wrapper(run_dir: str) -> dict[str, Any] | None:
    """Return what the wrapper wrote of itself."""
    return _read_json(f"{run_dir}/{WRAPPER}")


def identity_of(wrapper: Mapping[str, Any] | None) -> Identity | None:
    """Return the identity in a wrapper.json; None if there is none."""
    if wrapper is None:
        return None
    host, boot, namespace = wrapper.get("host"), wrapper.get("bootId"), wrapper.get("pidNamespace")
    pid, started = wrapper.get("pid"), wrapper.get("startTime")
    words = isinstance(host, str) and isinstance(boot, str)
    if not words or not all(type(figure) is int for figure in (namespace, pid, started)):
        return None
    return Identity(host=str(host), boot_id=str(boot), pid_namespace=namespace, pid=pid, start_time=started)  # type: ignore[arg-type]


def read_lines(path: str, offset: int) -> tuple[list[bytes], int]:
    """Return the complete lines from an offset on, and the offset behind them; a torn tail stays."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return [], offset
    try:
        if os.fstat(handle).st_size <= offset:
            return [], offset
        os.lseek(handle, offset, os.SEEK_SET)
        text = _read_all(handle)
    except OSError:
        return [], offset
    finally:
        os.close(handle)
    whole, newline, _torn = text.rpartition(b"\n")
    return (whole.split(b"\n"), offset + len(whole) + 1) if newline else ([], offset)


# --- appended ---------------------------------------------------------------------------------------------


class Appender:
    """Appends to one file, best effort: what cannot be written is counted, and the next line starts anew."""

    __slots__ = ("_handle", "_path", "_torn", "lost")

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle: int | None = None
        self._torn = False
        self.lost = 0

    def append(self, text: bytes) -> None:
        """Append whole lines in one write."""
        if not text:
            return
        try:
            if self._handle is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                self._handle = os.open(self._path, flags, 0o600)
            view = memoryview(b"\n" + text if self._torn else text)
            while view:
                written = os.write(self._handle, view)
                self._torn = view[written - 1] != _NEWLINE
                view = view[written:]
        except OSError:
            self.lost += 1

    def reopen(self) -> None:
        """Begin the file anew at its path, after its directory was removed."""
        self.close()
        self._torn = False

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


# --- the lock and the two deciding files ------------------------------------------------------------------


def lock(run_dir: str, limit_s: float) -> int | None:
    """Take the right to act on a run: to start it or to conclude it. None if it cannot be had in time.

    The caller closes the returned descriptor to let go. It is close-on-exec: no child inherits the right.
    """
    deadline = time.monotonic() + limit_s
    path = f"{run_dir}/{LOCK}"
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same(handle, path):
                return handle
        except BlockingIOError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.02)


def _is_same(handle: int, path: str) -> bool:
    """Say whether a path still leads to this open file: it may have been removed and made anew."""
    try:
        there, here = os.stat(path, follow_symlinks=False), os.fstat(handle)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def claim(run_dir: str, wrapper: Mapping[str, Any]) -> bool:
    """Write wrapper.json if there is none; say whether there was none. It is never seen half written.

    Only for the holder of the lock.
    """
    text = _json(wrapper)
    path = f"{run_dir}/{WRAPPER}"
    handle, name = _unnamed(run_dir)
    try:
        write_all(handle, text)
        if name is None:
            # A directory descriptor, though unused for a full path, makes Python follow the link.
            os.link(f"/proc/self/fd/{handle}", path, src_dir_fd=handle, follow_symlinks=True)
        else:
            os.link(name, path)
    except FileExistsError:
        return False
    else:
        return True
    finally:
        os.close(handle)
        if name is not None:
            os.unlink(name)


def restore(run_dir: str, meta: Mapping[str, Any], wrapper: Mapping[str, Any]) -> bool:
    """Make a run directory again that was removed under a living wrapper, or only its wrapper.json.

    Say whether the directory itself had gone, and all logs with it. Raises OSError.
    """
    try:
        os.mkdir(run_dir, 0o700)
    except FileExistsError:
        gone = False
    except FileNotFoundError:
        os.makedirs(run_dir, 0o700)
        gone = True
    else:
        gone = True
    if gone:
        replace(run_dir, META, _json(meta))
    claim(run_dir, wrapper)
    return gone


def _unnamed(run_dir: str) -> tuple[int, str | None]:
    """Open a file that has no name yet; on file systems without such, one with a name to be removed."""
    try:
        return os.open(run_dir, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600), None
    except OSError:
        name = f"{run_dir}/.{WRAPPER}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)  # of a wrapper that died here; the lock makes it ours
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), name


def replace(run_dir: str, name: str, text: bytes) -> None:
    """Write a file whole or not at all, over whatever lies there. Raises OSError. Only under the lock."""
    making = f"{run_dir}/.{name}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(making)
    try:
        _write_new(making, text)
        _clear_way(f"{run_dir}/{name}")
        os.rename(making, f"{run_dir}/{name}")
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(making)
        raise


def remove(run_dir: str, name: str) -> None:
    """Remove a file, if it is there. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{run_dir}/{name}")


def _clear_way(path: str) -> None:
    """Move a directory aside that somebody put where a file of ours belongs."""
    if os.path.isdir(path) and not os.path.islink(path):
        os.rename(path, f"{path}.was-a-directory")


def write_result(run_dir: str, result: Mapping[str, Any]) -> None:
    """Write the ending. Raises OSError. Only under the lock, only once."""
    replace(run_dir, RESULT, _json(result))


def reserve(run_dir: str) -> int | None:
    """Hold a little of the disk, so that the result fits on a full one; closing the descriptor lets go."""
    try:
        handle = os.open(run_dir, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        os.posix_fallocate(handle, 0, RESERVE)
    except OSError:
        os.close(handle)
        return None
    return handle
