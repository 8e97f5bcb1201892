"""A file of ours in a place of a person's: its last line says that it is ours, and tells when it was changed.

The line has a digest of all before it, and how many folders were made for the file: they go with it.
"""

from __future__ import annotations

import hashlib
import re

from tmuxagents.core import block

_MARK = re.compile(rb"\n<!-- tmuxagents ([0-9a-f]{8})(?:, folders (\d),(\d))? -->\n\Z")
FOREIGN = "foreign"
NO_FOLDERS = (0, 0)


def put(before: bytes | None, text: str, folders: tuple[int, int] = NO_FOLDERS) -> block.Edited:
    """Return a file's new text; that of somebody else, or one that was changed by hand, stays."""
    if before is not None:
        outcome = _outcome(before)
        if outcome != block.DONE:
            return block.Edited(outcome, before)
        folders = folders_of(before)
    new = _marked(text.encode(), folders)
    return block.Edited(block.NOTHING if new == before else block.DONE, new)


def take(before: bytes | None) -> block.Edited:
    """Return that the file goes, if it is ours."""
    if before is None:
        return block.Edited(block.NOTHING, None)
    outcome = _outcome(before)
    return block.Edited(outcome, None if outcome == block.DONE else before)


def folders_of(text: bytes | None) -> tuple[int, int]:
    """Return how many folders were made for a file of ours."""
    mark = _MARK.search(text or b"")
    return (int(mark[2]), int(mark[3])) if mark and mark[2] else NO_FOLDERS


def _outcome(text: bytes) -> str:
    mark = _MARK.search(text)
    if mark is None:
        return FOREIGN
    return block.DONE if mark[1] == _digest(text[: mark.start() + 1]) else block.CHANGED


def _marked(body: bytes, folders: tuple[int, int]) -> bytes:
    made = b", folders %d,%d" % folders if any(folders) else b""
    return body + b"\n<!-- tmuxagents " + _digest(body + b"\n") + made + b" -->\n"


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:8].encode()
