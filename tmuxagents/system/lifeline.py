"""The program that started us, at the other end of stdin: what it writes, and that it has gone.

Touches: stdin of our caller.
"""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 65536


class Lifeline:
    """A descriptor whose other end another program holds. Its output arrives in lines."""

    def __init__(self, handle: int = 0) -> None:
        self.handle = handle
        self.gone = False
        self._begun = b""

    def line(self) -> bytes | None:
        """Wait for a whole line; None if none will come any more."""
        while b"\n" not in self._begun and not self.gone:
            self._read()
        line, found, self._begun = self._begun.partition(b"\n")
        return line if found else None

    def speaks(self) -> bool:
        """Say whether there is something to read now, be it that he has gone."""
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        return bool(poll.poll(0))

    def lines(self) -> Iterator[bytes]:
        """Read once, where there is something to read, and yield the lines that are whole."""
        self._read()
        *whole, self._begun = self._begun.split(b"\n")
        yield from whole

    def _read(self) -> None:
        try:
            piece = os.read(self.handle, _PIECE)
        except OSError:
            piece = b""
        self._begun += piece
        self.gone = not piece
