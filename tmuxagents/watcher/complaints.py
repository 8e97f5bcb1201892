"""What goes wrong in a watcher, in its log: each thing once, since most would be said again every round."""

from __future__ import annotations

import contextlib
import os
import time

_MOST = 200  # different ones that are remembered
_LONGEST = 1000


class Complaints:
    """Says a thing once. Stderr is the log."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, words: str) -> None:
        """Say it, unless it was said."""
        words = words.replace("\n", " ")[:_LONGEST]
        if words in self._said:
            return
        if len(self._said) >= _MOST:
            self._said.clear()
        self._said.add(words)
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {words}\n"
        with contextlib.suppress(OSError):
            os.write(2, line.encode("utf-8", "replace"))
