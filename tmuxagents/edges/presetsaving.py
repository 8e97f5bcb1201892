"""Preset and profile files as they are written: new, changed, removed. Whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import stat

from tmuxagents.edges.presetfiles import opened_folder, refuse_outside


def write_new(path: str, text: str, *, shared: bool) -> None:
    """Make a file that is not there yet, and its folder.

    `shared`: it is a project's. Others may read it, as they read code, and no link leads it out of there.
    """
    folder = os.path.dirname(path)
    if shared:
        refuse_outside(os.path.dirname(os.path.dirname(folder)), folder)
    _make_folders(folder, 0o755 if shared else 0o700)
    with opened_folder(os.path.realpath(folder, strict=True)) as handle:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        _write(os.open(os.path.basename(path), flags, 0o644 if shared else 0o600, dir_fd=handle), text)


def replace(path: str, text: str) -> None:
    """Put another text in the place of a file that was read; it is there whole, before and after."""
    target = os.path.realpath(path, strict=True)
    making = f"{target}.new-{os.getpid()}"
    mode = stat.S_IMODE(os.stat(target).st_mode) & 0o755
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        _write(os.open(making, flags, mode), text)
        os.rename(making, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(making)
        raise


def remove(path: str) -> None:
    """Remove a file."""
    os.unlink(path)


def _make_folders(folder: str, mode: int) -> None:
    if not os.path.isdir(folder):
        _make_folders(os.path.dirname(folder), mode)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, mode)


def _write(handle: int, text: str) -> None:
    try:
        raw = memoryview(text.encode("utf-8"))
        while raw:
            raw = raw[os.write(handle, raw) :]
        os.fsync(handle)
    finally:
        os.close(handle)
