"""Folders that are made for files of ours in a person's places, and go again once they are empty."""

from __future__ import annotations

import contextlib
import os

from tmuxagents.errors import Unusable


def missing(path: str) -> int:
    """Return how many folders on the way to this one, itself included, are not there."""
    count = 0
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        count, path = count + 1, os.path.dirname(path)
    return count


def names(path: str) -> list[str]:
    """Return the names of what lies in a folder; none where it is no folder."""
    try:
        return sorted(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []


def make(path: str, *, private: bool) -> None:
    """Make a folder and those above it. Raises Unusable."""
    try:
        if missing(path):
            make(os.path.dirname(path), private=private)
            os.mkdir(path, 0o700 if private else 0o777)
        elif not os.path.isdir(path):
            raise NotADirectoryError(20, "it is no folder", path)
    except OSError as error:
        message = f"{path} cannot be made: {error.strerror}."
        raise Unusable(message, kind="no-permission", hint="make it, or move what is in its way") from error


def remove(path: str, above: int = 0) -> None:
    """Remove a folder, and so many above it, as far as they are empty."""
    with contextlib.suppress(OSError):
        for _ in range(above + 1):
            os.rmdir(path)
            path = os.path.dirname(path)
