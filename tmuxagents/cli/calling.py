"""Who calls the command line, and from where. Joins."""

from __future__ import annotations

import os

from tmuxagents.registry import lookup


def caller() -> lookup.Caller:
    """Return who asks."""
    return lookup.Caller(os.environ, folder() or "/")  # a removed folder is no project any more


def folder() -> str | None:
    """Return where the caller stands; None if that folder was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None
