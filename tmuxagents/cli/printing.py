"""Writing to the caller: lines, warnings, how wide a line may be. Joins.

Below Python's streams, which may be closed or have an encoding that cannot express a text.
"""

from __future__ import annotations

import errno
import os
import sys

from tmuxagents.runs import words
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tmuxagents.errors import BadRequest

IN, OUT, ERR = 0, 1, 2
_PIECE = 1024 * 1024


def check_out() -> None:
    """Refuse a stdout that is closed, or open for reading only: the answer would be lost."""
    if sys.stdout is None or _is_refused(os.write, OUT, b""):
        raise _useless("stdout cannot be written to: it is closed.", "> /dev/null discards the answer")


def check_in() -> None:
    """Refuse a stdin that is closed, or open for writing only."""
    if sys.stdin is None or _is_refused(os.read, IN, 0):
        hint = "< FILE reads a file, < /dev/null reads nothing"
        raise _useless("stdin cannot be read: it is closed.", hint)


def _is_refused(act: Callable[..., object], stream: int, nothing: bytes | int) -> bool:
    """Say whether a stream is closed, by reading or writing nothing; other problems show up on use."""
    try:
        act(stream, nothing)
    except OSError as error:
        return error.errno == errno.EBADF
    return False


def read(most: int) -> bytes:
    """Read stdin to its end, or this much of it."""
    check_in()
    text = bytearray()
    while len(text) < most:
        try:
            piece = os.read(IN, min(_PIECE, most - len(text)))
        except BlockingIOError:  # the caller may have made the pipe so
            import select  # noqa: PLC0415  (few have)

            select.select([IN], [], [])
            continue
        except OSError as error:
            raise _useless(f"stdin cannot be read: {error.strerror}.", "< FILE reads a file") from error
        if not piece:
            break
        text += piece
    return bytes(text)


def _useless(message: str, hint: str) -> BadRequest:
    from tmuxagents.errors import BadRequest  # noqa: PLC0415  (hardly any caller is so)

    return BadRequest(message, kind="usage", hint=hint)


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
    except OSError:  # no more descriptors: that was just reported
        return
    for stream in (OUT, ERR):
        os.dup2(nothing, stream)


def lines(texts: Iterable[str], stream: int = OUT) -> None:
    """Write lines. Those beside the answer, on stderr, best effort: they are not to cost the answer."""
    try:
        write("".join(f"{line}\n" for line in texts).encode("utf-8", "replace"), stream)
    except OSError:
        if stream != ERR:
            raise


def warn(warnings: Iterable[str]) -> None:
    """Write warnings, for people."""
    lines(map(warning, warnings), ERR)


def warning(text: str) -> str:
    """Return a warning as a line."""
    line = safe.line(text)
    return line if line.startswith("Warning: ") else f"warning: {line}"  # some are fixed to the letter


def columns() -> int | None:
    """Return how wide the terminal is; None where there is none, or it has no width."""
    try:
        return os.get_terminal_size(OUT).columns or None
    except OSError:
        return None


def width() -> int:
    """Return how wide a line may be."""
    return columns() or words.WIDTH
