"""The registry's file as a file: where it lies, whether it is still the same one, what is wrong with it."""

from __future__ import annotations

import os

from tmuxagents.edges.identity import host

NAME = "registry.db"

Identity = tuple[int, int]


class Unfit(Exception):
    """The registry cannot be used now, or not by us; it is left as it is."""


class Damaged(Exception):
    """The registry's file is none, or not ours; `identity` is the file that was found so."""

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
