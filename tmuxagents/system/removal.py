"""Permanent removal of files, and of folders that a child could write into. It follows no link out of them.

Touches: the disk.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time

from tmuxagents.system import identity

HIDDEN = ".removing-"  # begins the name of a run directory that is being removed
_LIMIT_S = 60.0
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def hide(run_dir: str) -> str:
    """Rename a whole run, so that no reader finds it; return the new path, to remove. Raises OSError."""
    hidden = f"{os.path.dirname(run_dir)}/{HIDDEN}{os.path.basename(run_dir)}-{identity.secret()}"
    os.rename(run_dir, hidden)
    return hidden


def size(path: str) -> int:
    """Return how many bytes of files lie at and below a path."""
    count, folders = 0, [path]
    with contextlib.suppress(OSError):
        facts = os.lstat(path)
        if not os.path.isdir(path) or os.path.islink(path):
            return facts.st_size
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        count += entry.stat(follow_symlinks=False).st_size
    return count


def remove(path: str) -> None:
    """Remove a file, or a folder with all that is in it. Raises OSError for what cannot be removed.

    A folder inside a folder is moved up first. So this works at any depth, and beside another process that
    removes the same files.
    """
    with contextlib.suppress(FileNotFoundError, IsADirectoryError):
        os.unlink(path)
    try:
        top = _open(path)
    except FileNotFoundError:
        return
    deadline = time.monotonic() + _LIMIT_S
    try:
        while names := os.listdir(top):
            for name in names:
                _clear(name, top)
            if time.monotonic() > deadline:
                raise OSError(errno.ENOTEMPTY, "it is filled again and again", path)
    finally:
        os.close(top)
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(path)


def _clear(name: str, top: int) -> None:
    """Remove one entry of a folder. If it is a folder itself, remove its files and move its folders up."""
    if _unlink(name, top):
        return
    try:
        inner = _open(name, top)
    except FileNotFoundError:
        return
    try:
        for each in os.listdir(inner):
            if not _unlink(each, inner):
                with contextlib.suppress(FileNotFoundError):
                    os.close(_open(each, inner))  # this gives us the rights that moving it needs
                    os.rename(each, identity.secret(), src_dir_fd=inner, dst_dir_fd=top)
    finally:
        os.close(inner)
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=top)


def _unlink(name: str, folder: int) -> bool:
    """Remove a name; say whether that was done. Only a folder stays."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except IsADirectoryError:
        return False
    return True


def _open(path: str, folder: int | None = None) -> int:
    """Open a folder to clear it, even if its mode forbids that."""
    handle = os.open(path, os.O_PATH | _FOLDER, dir_fd=folder)
    try:
        name = f"/proc/self/fd/{handle}"
        if os.stat(name).st_mode & 0o700 != 0o700:  # noqa: PLR2004  (a mode is written so)
            os.chmod(name, 0o700)
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(handle)
