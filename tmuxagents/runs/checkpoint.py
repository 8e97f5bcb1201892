"""A checkpoint: the state after the first part of a run's events, as one text for the next reader. Pure.

A checksum covers the text: one that is damaged, or of another version, is ignored, and the events are folded
from the first. runs/reading checks which file a checkpoint belongs to. No ending is ever concluded
from one.
"""

from __future__ import annotations

import binascii

from tmuxagents.records import Exit, Record
from tmuxagents.runs.lifecycle import RunState
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.runs.narration import Call

_VERSION = 5  # raised when events add up to something else than before, or when the text has other fields
_LONGEST = 64 * 1024  # bytes


class Checkpoint(Record):
    """What a reader needs to continue."""

    __slots__ = ("activity", "calls", "lines", "mark", "offset", "state", "tail")

    mark: tuple[int, int, int, int]  # of the events file
    offset: int
    lines: int  # how many come before the offset
    tail: bytes  # the last bytes before the offset
    state: RunState
    activity: str | None
    calls: list[Call]  # those without a result so far


def encode(point: Checkpoint) -> str | None:
    """Return the text of a checkpoint; None if it would be too long, or would read back differently."""
    state = {name: getattr(point.state, name) for name in RunState.__slots__}
    texts = (point.state.text, point.state.finished_text, point.activity)
    if sum(len(text) for text in texts if text) > _LONGEST:
        return None
    ending = point.state.exit
    fields = point.fields() | {
        "tail": point.tail.decode("latin-1"),
        "calls": [list(call) for call in point.calls],
        "mark": list(point.mark),
        "state": state | {"exit": None if ending is None else [ending.exit_code, ending.signal]},
    }
    line = jsonline.encode(fields)
    # Halves of characters are escaped: two of them side by side would be read as a whole character.
    return None if len(line) > _LONGEST or b"\\ud" in line else _head(line) + line.decode()


def decode(text: str) -> Checkpoint | None:
    """Return the checkpoint that a text says; None if it is damaged or of another version."""
    head, brace, rest = str(text).partition("{")  # a damaged registry may hold anything
    line = (brace + rest).encode("utf-8", "replace")
    if head != _head(line):
        return None
    fields = jsonline.decode(line)
    fields["state"], told = RunState(), fields["state"]
    for name, value in told.items():
        setattr(fields["state"], name, value)
    fields["state"].exit = None if told["exit"] is None else Exit(*told["exit"])
    fields["tail"] = fields["tail"].encode("latin-1")
    fields["mark"], fields["calls"] = tuple(fields["mark"]), [tuple(call) for call in fields["calls"]]
    return Checkpoint(**fields)


def _head(line: bytes) -> str:
    return f"{_VERSION} {binascii.crc32(line):08x} "
