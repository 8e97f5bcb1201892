"""Our lines in a person's configuration, our files, and our text before an option: put in, found, taken out.

Our lines are a block between two marks, the first with a digest, so that lines that a person has changed do
not count as ours. The mark also says what besides the lines is ours: a line break before them, or the file.
Each of our files ends with a mark that has its digest and the number of folders made for it.

Pure.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_FIRST = re.compile(
    rb"^# >>> tmuxagents ([0-9a-f]{8})(|, with the line break|, with the file) >>>\n", re.MULTILINE
)
_LAST = b"# <<< tmuxagents <<<\n"
_ANY_MARK = re.compile(rb"^# (>>>|<<<) tmuxagents\b", re.MULTILINE)
PLAIN, BREAK, FILE = b"", b", with the line break", b", with the file"

# The outcome of an edit. FOREIGN: another program wrote the file; TAKEN: it uses our name in there.
DONE, NOTHING, CHANGED, BROKEN = "done", "nothing", "changed", "broken"
FOREIGN, TAKEN = "foreign", "taken"


class Edited(NamedTuple):
    """The outcome of an edit, and the file's new text; None: there is no file."""

    outcome: str
    text: bytes | None


class _Block(NamedTuple):
    start: int
    end: int
    also: bytes


def put_block(text: bytes | None, lines: Sequence[str]) -> Edited:
    """Put a block at the end of a file's text, or in the place of the block that is there."""
    if text is None:
        return Edited(DONE, _written(lines, FILE))
    block = _find(text)
    if isinstance(block, str):
        return Edited(block, text)
    if block is None:
        # An open last line, or one that continues in the next, would swallow our first.
        open_end = text != b"" and (not text.endswith(b"\n") or text.endswith(b"\\\n"))
        also = BREAK if open_end else PLAIN
        return Edited(DONE, text + (b"\n" if open_end else b"") + _written(lines, also))
    new = text[: block.start] + _written(lines, block.also) + text[block.end :]
    return Edited(NOTHING if new == text else DONE, new)


def take_block(text: bytes | None) -> Edited:
    """Take the block out of a file's text."""
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


def _written(lines: Sequence[str], also: bytes) -> bytes:
    body = "".join(f"{line}\n" for line in lines).encode()
    return b"# >>> tmuxagents " + _digest(body) + also + b" >>>\n" + body + _LAST


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:8].encode()


def _find(text: bytes) -> _Block | str | None:
    """Return the block, None if there is none, or why it must not be touched."""
    marks = _ANY_MARK.findall(text)
    if not marks:
        return None
    first = _FIRST.search(text)
    # An editor may have removed the line break after the last mark.
    end = -1 if first is None else (text if text.endswith(b"\n") else text + b"\n").find(_LAST, first.end())
    if first is None or end < 0 or marks != [b">>>", b"<<<"]:
        return BROKEN
    if first[1] != _digest(text[first.end() : end]):
        return CHANGED
    return _Block(first.start(), min(len(text), end + len(_LAST)), first[2])


_MARK = re.compile(rb"\n(<!--|//) tmuxagents ([0-9a-f]{8})(?:, folders (\d(?:,\d)?))?(?: -->)?\n\Z")
MARKDOWN, SCRIPT = (b"\n<!-- ", b" -->\n"), (b"\n// ", b"\n")  # around the mark in a file's last line


def put_file(
    before: bytes | None, text: str, folders: tuple[int, ...] = (), around: tuple[bytes, bytes] = MARKDOWN
) -> Edited:
    """Return a file's new text. A file that another program wrote, or a person changed, stays."""
    if before is not None:
        outcome = _outcome(before)
        if outcome != DONE:
            return Edited(outcome, before)
        folders = folders_of(before)
    body = text.encode("utf-8", "surrogateescape")
    made = b", folders " + ",".join(map(str, folders)).encode() if folders else b""
    digest = _digest(body + b"\n" if around == MARKDOWN else body)
    new = body + around[0] + b"tmuxagents " + digest + made + around[1]
    return Edited(NOTHING if new == before else DONE, new)


def take_file(before: bytes | None) -> Edited:
    """Return that the file goes, if it is ours."""
    if before is None:
        return Edited(NOTHING, None)
    outcome = _outcome(before)
    return Edited(outcome, None if outcome == DONE else before)


def is_marked(text: bytes | None) -> bool:
    """Say whether a file ends with our mark."""
    return _MARK.search(text or b"") is not None


def folders_of(text: bytes | None) -> tuple[int, ...]:
    """Return how many folders were made for one of our files; () if the file does not say."""
    mark = _MARK.search(text or b"")
    return tuple(map(int, mark[3].split(b","))) if mark and mark[3] else ()


def _outcome(text: bytes) -> str:
    mark = _MARK.search(text)
    if mark is None:
        return FOREIGN
    body = text[: mark.start() + (mark[1] == b"<!--")]  # in markdown the digest covers the line break
    return DONE if mark[2] == _digest(body) else CHANGED


class InFront(NamedTuple):
    """A text in front of an option's value. `mark`: the part of it that shows, anywhere, that it is ours."""

    text: str
    mark: str

    def is_in(self, value: str) -> bool:
        """Say whether a value shows it already, anywhere."""
        return self.mark in value

    def joined(self, value: str) -> str:
        """Return a value with it in front."""
        return self.text + value

    def parted(self, value: str) -> str | None:
        """Return a value without it; None if it is not where we put it."""
        rest = value.removeprefix(self.text)
        return None if rest == value or self.is_in(rest) else rest
