"""Our lines in a person's configuration file: put in, found again, taken out exact to the byte.

A block stands between two marks. The first one holds a digest of the lines, so that lines that the person has
changed are not taken for ours, and says what besides the lines is ours: a line break before it, or the file.
"""

from __future__ import annotations

import hashlib
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_FIRST = re.compile(
    rb"^# >>> tmuxagents ([0-9a-f]{8})(|, with the line break|, with the file) >>>\n", re.MULTILINE
)
_LAST = b"# <<< tmuxagents <<<\n"
_ANY_MARK = re.compile(rb"^# (>>>|<<<) tmuxagents\b", re.MULTILINE)
PLAIN, BREAK, FILE = b"", b", with the line break", b", with the file"

# What became of a block.
DONE, NOTHING, CHANGED, BROKEN = "done", "nothing", "changed", "broken"


class Edited:
    """A file's new text, and what became of the block in it. None: there is, or is to be, no file."""

    __slots__ = ("outcome", "text")

    def __init__(self, outcome: str, text: bytes | None) -> None:
        self.outcome = outcome
        self.text = text


class _Block:
    __slots__ = ("also", "end", "start")

    def __init__(self, start: int, end: int, also: bytes) -> None:
        self.start = start
        self.end = end
        self.also = also


def put(text: bytes | None, lines: Sequence[str]) -> Edited:
    """Put a block at the end of a file's text, or in the place of the one that is there."""
    if text is None:
        return Edited(DONE, _written(lines, FILE))
    block = _find(text)
    if isinstance(block, str):
        return Edited(block, text)
    if block is None:
        # A last line that is open, or goes on in the next one, would take our first into itself.
        open_end = text != b"" and (not text.endswith(b"\n") or text.endswith(b"\\\n"))
        also = BREAK if open_end else PLAIN
        return Edited(DONE, text + (b"\n" if open_end else b"") + _written(lines, also))
    new = text[: block.start] + _written(lines, block.also) + text[block.end :]
    return Edited(NOTHING if new == text else DONE, new)


def take(text: bytes | None) -> Edited:
    """Take the block out of a file's text again."""
    block = None if text is None else _find(text)
    if text is None or block is None:
        return Edited(NOTHING, text)
    if isinstance(block, str):
        return Edited(block, text)
    before, after = text[: block.start], text[block.end :]
    if block.also == BREAK and not after:
        before = before.removesuffix(b"\n")
    rest = before + after
    return Edited(DONE, None if block.also == FILE and not rest else rest)


def without(text: bytes) -> bytes:
    """Return what of a file is the person's."""
    return take(text).text or b""


def _written(lines: Sequence[str], also: bytes) -> bytes:
    body = "".join(f"{line}\n" for line in lines).encode()
    return b"# >>> tmuxagents " + _digest(body) + also + b" >>>\n" + body + _LAST


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:8].encode()


def _find(text: bytes) -> _Block | str | None:
    """Return the block, None if there is none, or why it cannot be touched."""
    marks = _ANY_MARK.findall(text)
    if not marks:
        return None
    first = _FIRST.search(text)
    # Without a line break at the very end a person's editor may have left the last mark.
    end = -1 if first is None else (text if text.endswith(b"\n") else text + b"\n").find(_LAST, first.end())
    if first is None or end < 0 or marks != [b">>>", b"<<<"]:
        return BROKEN
    if first[1] != _digest(text[first.end() : end]):
        return CHANGED
    return _Block(first.start(), min(len(text), end + len(_LAST)), first[2])
