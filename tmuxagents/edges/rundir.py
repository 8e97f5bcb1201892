"""The run directory: the truth about a run. Made, appended, read from an offset, concluded under the lock.

Layout and rules: docs/run-directory.md. Paths are plain strings, since every wrapper pays for imports.
Writers are best effort where the contract says so (logs, transcript) and atomic where others decide by the
file (wrapper.json, result.json). The caller has set umask 077.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time

from tmuxagents import jsonline, records
from tmuxagents.edges import marks
from tmuxagents.records import Identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

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
ANNOUNCED = "announced"
LOCK = "run.lock"

_CHUNK = 1024 * 1024
_BIGGEST_JSON = 64 * 1024 * 1024  # a plan holds its task; but a forged file must not fill the memory
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
        _write_new(f"{making}/{META}", jsonline.encode(meta))
        os.rename(making, path)
    except BaseException:
        _remove_made(making)
        raise
    return path


def remove_unbegun(run_dir: str) -> None:
    """Remove a run directory that nobody has been told of."""
    _remove_made(run_dir)


def _remove_made(making: str) -> None:
    with contextlib.suppress(OSError):
        for name in os.listdir(making):
            os.unlink(f"{making}/{name}")
        os.rmdir(making)


def _write_new(path: str, text: bytes, *, folder: int | None = None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags, 0o600, dir_fd=folder)
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
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or (limit is not None and facts.st_size > limit):
            return None
        return _read_all(handle)
    except OSError:
        return None
    finally:
        os.close(handle)


def _read_all(handle: int) -> bytes:
    pieces = []
    while piece := os.read(handle, _CHUNK):
        pieces.append(piece)
    return b"".join(pieces)


def _read_some(handle: int, most: int) -> bytes:
    pieces = []
    while piece := os.read(handle, most):
        pieces.append(piece)
        if b"\n" in piece:
            break
    return b"".join(pieces)


def _read_json(path: str) -> dict[str, Any] | None:
    text = read_bytes(path, limit=_BIGGEST_JSON)
    if text is None:
        return None
    try:
        document = jsonline.decode(text)
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


def read_lines(path: str, offset: int, most: int | None = None) -> tuple[list[bytes], int]:
    """Return the complete lines from an offset on, and the offset behind them; a torn tail stays.

    `most`: read about so many bytes, but a whole line at least.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return [], offset
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size <= offset:
            return [], offset
        os.lseek(handle, offset, os.SEEK_SET)
        text = _read_all(handle) if most is None else _read_some(handle, most)
    except OSError:
        return [], offset
    finally:
        os.close(handle)
    whole, newline, _torn = text.rpartition(b"\n")
    return (whole.split(b"\n"), offset + len(whole) + 1) if newline else ([], offset)


# --- the lock and the two deciding files ------------------------------------------------------------------
# A child runs as the same user and may put anything in our way. Nothing is written through a link: the
# directory is opened first, and files are named inside of it. What lies in the way is moved aside.


def _open_folder(run_dir: str) -> int:
    return os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def place_of(path: str) -> tuple[int, int] | None:
    """Return device and inode of what lies at a path, itself if it is a link; None if there is nothing."""
    try:
        facts = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def lock(run_dir: str, limit_s: float) -> int | None:
    """Take the right to act on a run: to start it or to conclude it. None if it cannot be had in time.

    The caller closes the returned descriptor to let go. It is close-on-exec: no child inherits the right.
    """
    deadline = time.monotonic() + limit_s
    while True:
        handle = _open_lock(run_dir)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            facts = os.fstat(handle)
            if place_of(f"{run_dir}/{LOCK}") == (facts.st_dev, facts.st_ino):
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


def _open_lock(run_dir: str) -> int:
    folder = _open_folder(run_dir)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            return os.open(LOCK, flags, 0o600, dir_fd=folder)
        except (IsADirectoryError, OSError) as error:
            if error.errno not in (errno.EISDIR, errno.ELOOP):
                raise
            _move_aside(folder, LOCK)
            return os.open(LOCK, flags, 0o600, dir_fd=folder)
    finally:
        os.close(folder)


def claim(run_dir: str, wrapper: Mapping[str, Any]) -> bool:
    """Write wrapper.json if there is none; say whether there was none. It is never seen half written.

    Only for the holder of the lock.
    """
    folder = _open_folder(run_dir)
    name = f".{WRAPPER}.{secret()}"
    try:
        _write_new(name, jsonline.encode(wrapper), folder=folder)
        os.link(name, WRAPPER, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    else:
        return True
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        os.close(folder)


def is_whole(run_dir: str, place: tuple[int, int] | None) -> bool:
    """Say whether a directory is where it was, with the files that say what run it is and who runs it."""
    if place_of(run_dir) != place:
        return False
    return all(place_of(f"{run_dir}/{name}") is not None for name in (META, WRAPPER))


def restore(
    run_dir: str, meta: Mapping[str, Any], wrapper: Mapping[str, Any], place: tuple[int, int] | None
) -> bool:
    """Make again what is gone of a run whose wrapper lives: its directory, its plan, its wrapper.json.

    `place` is where the directory was. Say whether it had gone, and all logs with it. Raises OSError.
    """
    there = place_of(run_dir)
    gone = there != place
    if gone:
        if there is not None:
            os.rename(run_dir, f"{os.path.dirname(run_dir)}/.displaced-{secret()}")
        os.makedirs(run_dir, 0o700)
    if place_of(f"{run_dir}/{META}") is None:
        replace(run_dir, META, jsonline.encode(meta))
    if place_of(f"{run_dir}/{WRAPPER}") is None:
        claim(run_dir, wrapper)
    return gone


def replace(run_dir: str, name: str, text: bytes) -> None:
    """Write a file whole or not at all, over whatever lies there. Raises OSError. Only under the lock."""
    folder = _open_folder(run_dir)
    making = f".{name}.{secret()}"
    try:
        try:
            _write_new(making, text, folder=folder)
            try:
                os.rename(making, name, src_dir_fd=folder, dst_dir_fd=folder)
            except IsADirectoryError:
                _move_aside(folder, name)
                os.rename(making, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(making, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def remove(run_dir: str, name: str) -> None:
    """Remove a file, if it is there. Raises OSError."""
    folder = _open_folder(run_dir)
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        _move_aside(folder, name)
    finally:
        os.close(folder)


def _move_aside(folder: int, name: str) -> None:
    os.rename(name, f"{name}.displaced-{secret()}", src_dir_fd=folder, dst_dir_fd=folder)


def secret() -> str:
    """Return a name that nobody can have guessed and put in the way."""
    return os.urandom(6).hex()


def write_result(run_dir: str, result: Mapping[str, Any]) -> None:
    """Write the ending. Raises OSError. Only under the lock, only once."""
    replace(run_dir, RESULT, jsonline.encode(result))


def announce(run_dir: str) -> bool:
    """Take the right to announce a run; say whether nobody had it before. Raises OSError."""
    folder = _open_folder(run_dir)
    try:
        _write_new(ANNOUNCED, b"", folder=folder)
    except FileExistsError:
        return False
    finally:
        os.close(folder)
    return True


def is_announced(run_dir: str) -> bool:
    """Say whether somebody has announced a run."""
    return place_of(f"{run_dir}/{ANNOUNCED}") is not None


def open_prompt(run_dir: str) -> int:
    """Open what the child is to read: a plain file and nothing that could block. Raises OSError."""
    folder = _open_folder(run_dir)
    try:
        handle = os.open(PROMPT, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a file", PROMPT)
    os.set_blocking(handle, True)
    return handle


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
