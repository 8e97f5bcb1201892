"""Words to the caller: lines, warnings, how wide a line may be."""

from __future__ import annotations

import os

from tmuxagents.cli import streams
from tmuxagents.core import display, sanitize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def lines(texts: Iterable[str], stream: int = streams.OUT) -> None:
    """Write lines. Those beside the answer, on stderr, best effort: they are not to cost the answer."""
    try:
        streams.write("".join(f"{line}\n" for line in texts).encode("utf-8", "replace"), stream)
    except OSError:
        if stream != streams.ERR:
            raise


def warn(warnings: Iterable[str]) -> None:
    """Write warnings, for people."""
    lines(map(warning, warnings), streams.ERR)


def warning(text: str) -> str:
    """Return a warning as a line."""
    line = sanitize.line(text)
    return line if line.startswith("Warning: ") else f"warning: {line}"  # some are fixed to the letter


def columns() -> int | None:
    """Return how wide the terminal is; None where there is none, or it has no width."""
    try:
        return os.get_terminal_size(streams.OUT).columns or None
    except OSError:
        return None


def width() -> int:
    """Return how wide a line may be."""
    return columns() or display.WIDTH
