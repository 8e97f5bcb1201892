"""Writing to the caller, below Python's streams, which may be closed or of an encoding that cannot say it."""

from __future__ import annotations

import os

OUT, ERR = 1, 2


def write(text: bytes, stream: int = OUT) -> None:
    """Write everything, or raise OSError."""
    while text:
        text = text[os.write(stream, text) :]


def is_terminal(stream: int = OUT) -> bool:
    """Say whether a person reads it."""
    return os.isatty(stream)


def give_up() -> None:
    """Point the streams at nothing: Python would try once more on its way out, and complain."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
    except OSError:  # no more descriptors: that has just been told
        return
    for stream in (OUT, ERR):
        os.dup2(nothing, stream)
