"""Change a run directory: make it whole, lock and claim it, replace its files, announce its end.

Files on which other processes rely (wrapper.json, result.json) are written atomically. A child runs as the
same user and may put anything in our way. So nothing is written through a link: we open the directory first
and name files relative to it. Anything in the way is moved aside. This module also makes and removes a run's
seal (runs/seal).

Touches: the run directory.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from tmuxagents.cpython import ignoring, sha256
from tmuxagents.runs import documents
from tmuxagents.runs.directory import (
    ANNOUNCED,
    APPEND_SYSTEM_PROMPT,
    LOCK,
    MACHINE,
    META,
    OUTPUT,
    PROMPT,
    RESULT,
    SEEN,
    SESSION,
    SYSTEM_PROMPT,
    WRAPPER,
    open_folder,
    place_of,
    read_bytes,
    read_machine,
    seal_of,
)
from tmuxagents.system import places
from tmuxagents.system.identity import secret
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.records import Plan

_REPLACED = (MACHINE, META, PROMPT, WRAPPER, OUTPUT, RESULT)  # written beside their place, then put there
_MACHINE_LOCK_S = 2.0  # a change takes only a moment
RESERVE = 64 * 1024
_OURS = 0o700
_SET_UP = (META, SYSTEM_PROMPT, APPEND_SYSTEM_PROMPT)  # what decides how a child is set up


def create(runs: str, plan: Plan, texts: Mapping[str, bytes]) -> str:
    """Make a run directory from its plan and its prompt files; return its path.

    The directory gets its name only when it is whole, so that no reader ever sees half a run.
    """
    places.make_folders(runs)
    path = f"{runs}/{plan.run_id}"
    making = f"{runs}/.new-{plan.run_id}"
    if place_of(path) is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    os.mkdir(making, 0o700)
    try:
        made = {**texts, META: jsonline.encode(documents.meta(plan))}
        for name, text in made.items():
            places.write_new(f"{making}/{name}", text)
        # First the seal: a large plan counts only if its seal knows it.
        places.make_folders(os.path.dirname(seal_of(path)))
        unseal(path)  # the seal of a run of this name that was removed by hand
        places.write_new(seal_of(path), _sealing(made, far=MACHINE in made))
        os.rename(making, path)
    except BaseException:
        _remove_made(making)
        unseal(path)
        raise
    return path


def begin_session(run_dir: str) -> None:
    """Make the child's session file, empty, if there is none: the child's umask might let others read it."""
    with ignoring(OSError):
        places.write_new(f"{run_dir}/{SESSION}", b"")


def remove_unbegun(run_dir: str) -> None:
    """Remove a run directory that no other process knows."""
    _remove_made(run_dir)
    unseal(run_dir)


def _sealing(texts: Mapping[str, bytes], *, far: bool) -> bytes:
    """Return the text of a seal.

    `far`: the run works on another machine. Without it, a machine.json does not count: a child may have
    written that.
    """
    found = {name: texts[name] for name in _SET_UP if name in texts}
    hashes = {name: sha256(text) for name, text in found.items()}
    sizes = {name: len(text) for name, text in found.items()}
    whole = {"v": 1, "files": hashes, "sizes": sizes}
    return jsonline.encode({**whole, "far": True} if far else whole)


def seal_child(run_dir: str, wrapper: Mapping[str, Any], child: int, started: int | None) -> None:
    """Add to the seal which process is the run's child. Best effort: the child's mark identifies it, too."""
    line = {key: wrapper[key] for key in ("bootId", "pidNamespace")} | {"child": [child, started]}
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with ignoring(OSError):
        handle = os.open(seal_of(run_dir), flags, 0o600)
        try:
            places.write_all(handle, jsonline.encode(line))
        finally:
            os.close(handle)


def take_plan(run_dir: str, text: bytes) -> None:
    """Replace a run's plan by that of the machine where it works, and renew its seal. Raises OSError."""
    texts = {META: text}
    for name in _SET_UP[1:]:
        found = read_bytes(f"{run_dir}/{name}")
        texts |= {} if found is None else {name: found}
    # In one step: a reader that finds no seal would take the run for one of this machine.
    folder, name = os.path.split(seal_of(run_dir))
    replace(folder, name, _sealing(texts, far=True))
    replace(run_dir, META, text)


def change_machine(run_dir: str, changes: Mapping[str, Any]) -> None:
    """Change the record of the machine where a run works. Raises OSError."""
    held = lock(run_dir, _MACHINE_LOCK_S, f"{MACHINE}.lock")
    try:
        before = read_machine(run_dir)
        if before is not None:
            replace(run_dir, MACHINE, jsonline.encode({**before, **changes}))
    finally:
        if held is not None:
            os.close(held)


def unseal(run_dir: str) -> None:
    """Remove the seal of a run that is gone."""
    with ignoring(OSError):
        os.unlink(seal_of(run_dir))


def _remove_made(making: str) -> None:
    with ignoring(OSError):
        for name in os.listdir(making):
            os.unlink(f"{making}/{name}")
        os.rmdir(making)


def reserve(run_dir: str) -> int | None:
    """Reserve disk space, so that the result fits on a full disk; closing the descriptor frees it."""
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


def lock(run_dir: str, limit_s: float, name: str = LOCK) -> int | None:
    """Take the lock of a run, the right to start or conclude it. None if that takes longer than the limit.

    The caller releases it by closing the descriptor, which no child inherits.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    deadline = time.monotonic() + limit_s
    while True:
        folder = open_folder(run_dir)
        try:
            try:
                handle = os.open(name, flags, 0o600, dir_fd=folder)
            except OSError as error:
                if error.errno not in (errno.EISDIR, errno.ELOOP):
                    raise
                _move_aside(folder, name)
                handle = os.open(name, flags, 0o600, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            facts = os.fstat(handle)
            if place_of(f"{run_dir}/{name}") == (facts.st_dev, facts.st_ino):
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


def claim(run_dir: str, wrapper: Mapping[str, Any]) -> bool:
    """Write wrapper.json, whole, unless there is one; say whether it was written. Only under the lock."""
    folder = open_folder(run_dir)
    name = f".{WRAPPER}.{secret()}"
    try:
        places.write_new(name, jsonline.encode(wrapper), folder=folder)
        os.link(name, WRAPPER, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    else:
        return True
    finally:
        with ignoring(OSError):  # a file of this name claims nothing
            os.unlink(name, dir_fd=folder)
        os.close(folder)


def restore(run_dir: str, plan: Plan, wrapper: Mapping[str, Any], place: tuple[int, int] | None) -> bool:
    """Restore missing parts of a run whose wrapper lives: its directory, its plan, its wrapper.json.

    `place` is the directory's old place. Say whether the directory, with all logs, was gone. Raises OSError.
    """
    present = place_of(run_dir)
    gone = present != place
    if gone:
        if present is not None:
            os.rename(run_dir, f"{os.path.dirname(run_dir)}/.displaced-{secret()}")
        places.make_folders(os.path.dirname(run_dir))
        os.mkdir(run_dir, 0o700)
    if place_of(f"{run_dir}/{META}") is None:
        replace(run_dir, META, jsonline.encode(documents.meta(plan)))
    if place_of(f"{run_dir}/{WRAPPER}") is None:
        claim(run_dir, wrapper)
    return gone


def open_up(run_dir: str) -> None:
    """Restore our rights to the directory and its parent folder: a child may take them away."""
    for path in (os.path.dirname(run_dir), run_dir):
        with ignoring(OSError):
            handle = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                mode = os.fstat(handle).st_mode & 0o777
                if mode & _OURS != _OURS:
                    os.chmod(f"/proc/self/fd/{handle}", mode | _OURS)
            finally:
                os.close(handle)


def replace(run_dir: str, name: str, text: bytes) -> None:
    """Write a file whole or not at all, and replace what is there. Raises OSError. Only under the lock."""
    folder = open_folder(run_dir)
    making = f".{name}.{secret()}"
    try:
        try:
            places.write_new(making, text, folder=folder)
            try:
                os.rename(making, name, src_dir_fd=folder, dst_dir_fd=folder)
            except IsADirectoryError:
                _move_aside(folder, name)
                os.rename(making, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with ignoring(OSError):
                os.unlink(making, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def remove(run_dir: str, name: str) -> None:
    """Remove a file, if it is there. Raises OSError."""
    folder = open_folder(run_dir)
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        _move_aside(folder, name)
    finally:
        os.close(folder)


def remove_half_written(run_dir: str) -> None:
    """Remove the unfinished files of a writer that was killed. Only under the lock."""
    folder = open_folder(run_dir)
    try:
        for name in os.listdir(folder):
            if name.startswith(tuple(f".{whole}." for whole in _REPLACED)):
                with ignoring(OSError):  # a folder was made by the child
                    os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)


def _move_aside(folder: int, name: str) -> None:
    os.rename(name, f"{name}.displaced-{secret()}", src_dir_fd=folder, dst_dir_fd=folder)


def write_result(run_dir: str, result: Mapping[str, Any]) -> None:
    """Write the result. Raises OSError. Only under the lock, only once."""
    replace(run_dir, RESULT, jsonline.encode(result))


def announce(run_dir: str) -> bool:
    """Claim the announcement of a run; say whether it was still free. Raises OSError."""
    folder = open_folder(run_dir)
    try:
        places.write_new(ANNOUNCED, b"", folder=folder)
    except FileExistsError:
        return False
    finally:
        os.close(folder)
    return True


def see(run_dir: str) -> None:
    """Record that a person looks at a run now. The watcher notices it. Raises OSError."""
    folder = open_folder(run_dir)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(SEEN, flags, 0o600, dir_fd=folder)
        os.utime(handle)
        os.close(handle)
    finally:
        os.close(folder)
