"""Lines at the bottom of a terminal, redrawn in place (`run`, `poll --watch`). Joins."""

from __future__ import annotations

import contextlib
import math
import os
import time

from tmuxagents.cli import printing
from tmuxagents.runs import words
from tmuxagents.text import safe
from tmuxagents.text.width import columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ROWS = 24  # of a terminal that does not know its size
_ROUND_S = 1.0  # of a list that is watched


class Picture:
    """Some lines of a terminal. They must be narrower than it; what is printed above them scrolls away."""

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._drawn: list[str] = []

    def size(self) -> tuple[int, int]:
        """Return columns and rows of the terminal."""
        try:
            size = os.get_terminal_size(self._stream)
        except OSError:
            return words.WIDTH, _ROWS
        return size.columns or words.WIDTH, size.lines or _ROWS

    def draw(self, lines: Sequence[str], above: str = "") -> None:
        """Draw lines in place of the former ones; print `above` before them."""
        if list(lines) == self._drawn and not above:
            return
        wide, _ = self.size()
        # A terminal that became narrower has broken the former lines.
        height = sum(max(1, math.ceil(columns(safe.text(line)) / wide)) for line in self._drawn)
        up = f"\x1b[{height}A" if height else ""
        text = "".join(f"\x1b[2K{line}\n" for line in lines)
        self._drawn = list(lines)
        with contextlib.suppress(OSError):  # a lost connection stops nothing
            clear = "\x1b[0J"
            written = f"{up}\r{clear if above else ''}{above}{text}{clear}"
            printing.write(written.encode("utf-8", "replace"), self._stream)


def watch(look: Callable[[], list[str]]) -> int:
    """Draw what `look` returns every second, until Ctrl-C."""
    from tmuxagents.errors import BadRequest  # noqa: PLC0415

    if not printing.is_terminal() or os.environ.get("TERM") == "dumb":
        raise BadRequest(
            "--watch needs a terminal.", kind="usage", hint="--follow prints each change as a line"
        )
    picture = Picture(printing.OUT)
    try:
        while True:
            _, rows = picture.size()
            picture.draw(look()[: rows - 1])
            time.sleep(_ROUND_S)
    except KeyboardInterrupt:
        return 0
