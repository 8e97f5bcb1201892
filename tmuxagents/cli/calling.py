"""Who calls the command line, and from where."""

from __future__ import annotations

import os

from tmuxagents.commands import known


def caller() -> known.Caller:
    """Return who asks."""
    return known.Caller(os.environ, folder() or "/")  # a removed folder is no project any more


def folder() -> str | None:
    """Return where the caller stands; None if that folder was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None
