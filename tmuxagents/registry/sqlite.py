"""SQLite's own module, and the registry's file: where it lies, whether it is the same.

`sqlite3`, the package around `_sqlite3`, adds dates, which the registry does not store, and 1.5 ms.

Touches: SQLite.
"""

from __future__ import annotations

import os

from tmuxagents import cpython
from tmuxagents.system.identity import host

__all__ = ["sqlite3"]

cpython.prepare_sqlite()

import _sqlite3 as sqlite3  # noqa: E402  (prepared first)

NAME = "registry.db"

Identity = tuple[int, int]


class Unfit(Exception):
    """The registry cannot be used now, or not by us; it is left as it is."""


class Damaged(Exception):
    """The registry's file is no database, or not our own; `identity` is that file."""

    def __init__(self, why: str, identity: Identity | None) -> None:
        super().__init__(why)
        self.identity = identity


def path_of(home: str) -> str:
    """Return the path of this machine's registry in a state directory."""
    return f"{home}/hosts/{host()}/{NAME}"


def identity(path: str) -> Identity | None:
    """Return device and inode of a file, None if there is none."""
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unfit(str(error.strerror)) from error
    return facts.st_dev, facts.st_ino
