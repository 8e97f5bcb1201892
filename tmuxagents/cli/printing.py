"""Reading from and writing to the caller's streams: lines, warnings, the width of a line. Joins.

This module bypasses Python's streams, which may be closed, or have an encoding that lacks a character.
"""

from __future__ import annotations

import errno
import os
import sys

from tmuxagents.runs import words
from tmuxagents.system import places
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

IN, OUT, ERR = 0, 1, 2
_PIECE = 1024 * 1024


_CLOSED = (
    ("stdin cannot be read: it is closed.", "< FILE reads a file, < /dev/null reads nothing"),
    ("stdout cannot be written to: it is closed.", "> /dev/null discards the answer"),
)


def check(stream: int) -> None:
    """Refuse a stdin or stdout that is closed, or open in the other direction only.

    Reading or writing zero bytes shows that. Other problems show when the stream is used.
    """
    try:
        if (sys.stdin, sys.stdout)[stream] is not None:
            os.read(IN, 0) if stream == IN else os.write(OUT, b"")
            return
    except OSError as error:
        if error.errno != errno.EBADF:
            return
    raise _unusable(*_CLOSED[stream])


def read(most: int) -> bytes:
    """Read stdin to its end, or at most this many bytes."""
    check(IN)
    text = bytearray()
    while len(text) < most:
        try:
            piece = os.read(IN, min(_PIECE, most - len(text)))
        except BlockingIOError:  # the caller may have made the pipe non-blocking
            import select  # noqa: PLC0415  (rare)

            select.select([IN], [], [])
            continue
        except OSError as error:
            raise _unusable(f"stdin cannot be read: {error.strerror}.", "< FILE reads a file") from error
        if not piece:
            break
        text += piece
    return bytes(text)


def _unusable(message: str, hint: str) -> Exception:
    from tmuxagents.errors import BadRequest  # noqa: PLC0415  (rare)

    return BadRequest(message, kind="usage", hint=hint)


def write(text: bytes, stream: int = OUT) -> None:
    """Write everything, or raise OSError."""
    places.write_all(stream, text)


def is_terminal(stream: int = OUT) -> bool:
    """Say whether a stream is a terminal, where a person reads."""
    return os.isatty(stream)


def has_person() -> bool:
    """Say whether a person types and reads here: stdin and stdout are terminals."""
    return is_terminal(IN) and is_terminal(OUT)


def give_up() -> None:
    """Point the streams at /dev/null. Else Python would write to them again at its exit, and complain."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
    except OSError:  # no more descriptors, as just reported
        return
    for stream in (OUT, ERR):
        os.dup2(nothing, stream)


def lines(texts: Iterable[str], stream: int = OUT) -> None:
    """Write lines; a failure on stderr is ignored, since it must not cost the answer."""
    try:
        write("".join(f"{line}\n" for line in texts).encode("utf-8", "replace"), stream)
    except OSError:
        if stream != ERR:
            raise


def warn(warnings: Iterable[str]) -> None:
    """Write warnings, for people."""
    lines(map(warning, warnings), ERR)


def warning(text: str) -> str:
    """Return a warning as one line, or as several on a narrow terminal."""
    line = safe.line(text)
    return folded(line if line.startswith("Warning: ") else f"warning: {line}")  # some texts are fixed


def folded(line: str, stream: int = ERR) -> str:
    """Return a line for a stream, wrapped between words if that is a terminal."""
    try:
        room = os.get_terminal_size(stream).columns
    except OSError:
        return line
    if not 0 < room < len(line) or "\n" in line:
        return line
    import textwrap  # noqa: PLC0415  (for long lines on terminals)

    return textwrap.fill(line, room, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def document(found: bytes | Mapping[str, Any]) -> None:
    """Write a JSON document, encoded or not: on one line for programs, on several for a person."""
    from tmuxagents.text import jsonline  # noqa: PLC0415  (for documents only)

    text = found if isinstance(found, bytes) else jsonline.encode(found)
    write(jsonline.pretty(text) if is_terminal() else text)


def formatted(template: str, documents: Iterable[Mapping[str, Any]]) -> None:
    """Write one line for each document, as the template formats it."""
    from tmuxagents.errors import BadRequest  # noqa: PLC0415  (for templates only)
    from tmuxagents.text import templates  # noqa: PLC0415  (as above)

    try:
        parsed = templates.Template(template)
        texts = [parsed.fill(one) for one in documents]
    except templates.BadTemplateError as error:
        hint = f"fields: {', '.join(error.near)}" if error.near else "as in --format '{{.name}}'"
        raise BadRequest(f"--format: {error}.", kind="usage", hint=hint, candidates=error.near) from error
    lines(map(safe.text, texts) if is_terminal() else texts)


def paints(stream: int = OUT) -> bool:
    """Say whether colours may be written to a stream."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns() -> int | None:
    """Return the width of the terminal; None if there is none, or it has no width."""
    try:
        return os.get_terminal_size(OUT).columns or None
    except OSError:
        return None


def width() -> int:
    """Return how wide a line may be."""
    return columns() or words.WIDTH
