"""A checkpoint: how far the events of a run were folded and what they add up to, as one JSON text. Pure.

Only what would be read back as it was is written, and only what could have been written is read; of anything
else there is no checkpoint, and the events are folded from the first. Which file it tells of is the reader's
to check (runs/reading). No ending is ever made of one.
"""

from __future__ import annotations

from tmuxagents.records import Exit
from tmuxagents.runs.events import is_figure
from tmuxagents.runs.lifecycle import TRANSITIONS, RunState
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tmuxagents.runs.narration import Call

_VERSION = 3  # raised where events add up to something else than before, or something else is kept of them
_LONGEST = 64 * 1024  # bytes
_BIGGEST_COUNT = 2**53
_BIGGEST_MARK = 2**64
_PLACES = 4  # of a mark: device, inode, size, time of change
_CALL = 3  # its id, tool, argument
_KEYS = frozenset(("v", "mark", "offset", "lines", "tail", "activity", "calls", "state"))


class Checkpoint:
    """What is needed to go on. `mark`: what the file was known by, `tail`: the last bytes before `offset`."""

    __slots__ = ("activity", "calls", "lines", "mark", "offset", "state", "tail")

    def __init__(  # noqa: PLR0913  (all that a reading has come to)
        self,
        *,
        mark: tuple[int, int, int, int],
        offset: int,
        lines: int,
        tail: bytes,
        state: RunState,
        activity: str | None,
        calls: list[Call],
    ) -> None:
        self.mark = mark
        self.offset = offset
        self.lines = lines  # how many there are before it
        self.tail = tail
        self.state = state
        self.activity = activity
        self.calls = calls  # that have no result yet


def encode(point: Checkpoint) -> str | None:
    """Return it as a text; None where that would be too long, or would not say the same."""
    texts = (point.state.text, point.state.finished_text, point.activity)
    if sum(len(text) for text in texts if text) > _LONGEST:
        return None
    state = {name: getattr(point.state, name) for name in _FIELDS}
    how = point.state.exit
    document = {
        "v": _VERSION,
        "mark": list(point.mark),
        "offset": point.offset,
        "lines": point.lines,
        "tail": point.tail.decode("latin-1"),
        "activity": point.activity,
        "calls": [list(call) for call in point.calls],
        "state": state | {"exit": None if how is None else [how.exit_code, how.signal]},
    }
    if not _is_one(document):
        return None
    line = jsonline.encode(document)
    # Halves of characters, which are escaped: two of them side by side would be read as a whole one.
    return None if len(line) > _LONGEST or b"\\ud" in line else line.decode()


def decode(text: str) -> Checkpoint | None:
    """Return the checkpoint that a text is; None of anything else."""
    try:
        document = jsonline.decode(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not _is_one(document):
        return None
    return Checkpoint(
        mark=tuple(document["mark"]),
        offset=document["offset"],
        lines=document["lines"],
        tail=document["tail"].encode("latin-1"),
        state=_state(document["state"]),
        activity=document["activity"],
        calls=[tuple(call) for call in document["calls"]],
    )


def _state(fields: dict[str, Any]) -> RunState:
    state = RunState()
    for name, value in fields.items():
        setattr(state, name, value)
    state.exit = None if fields["exit"] is None else Exit(*fields["exit"])
    return state


# --- what may stand in it ---------------------------------------------------------------------------------


def _is_one(document: dict[str, Any]) -> bool:
    return (
        document.keys() == _KEYS
        and _is_count(document["v"])
        and document["v"] == _VERSION
        and _is_list(document["mark"], _is_place, _PLACES)
        and _is_count(document["offset"])
        and _is_count(document["lines"])
        and _is_tail(document["tail"], document["offset"])
        and _is_text(document["activity"])
        and _is_list(document["calls"], _is_call)
        and type(document["state"]) is dict
        and document["state"].keys() == _FIELDS.keys()
        and all(fits(document["state"][name]) for name, fits in _FIELDS.items())
    )


def _is_list(value: Any, fits: Callable[[Any], bool], length: int | None = None) -> bool:
    return type(value) is list and length in (None, len(value)) and all(map(fits, value))


def _is_place(value: Any) -> bool:
    return type(value) is int and 0 <= value < _BIGGEST_MARK


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _BIGGEST_COUNT


def _is_tail(value: Any, offset: int) -> bool:
    """Say whether it is what stands before an offset, as a letter a byte."""
    return type(value) is str and 0 < len(value) <= offset and max(value) <= "\xff"


def _is_text(value: Any) -> bool:
    return value is None or type(value) is str


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_number(value: Any) -> bool:
    return value is None or _is_count(value)


def _is_moment(value: Any) -> bool:
    return value is None or is_figure(value)


def _is_call(value: Any) -> bool:
    return _is_list(value, _is_text, _CALL) and value[1] is not None


def _is_phase(value: Any) -> bool:
    return type(value) is str and value in TRANSITIONS


def _is_usage(value: Any) -> bool:
    return type(value) is dict and value.keys() == _NO_USAGE.keys() and all(map(is_figure, value.values()))


def _is_exit(value: Any) -> bool:
    if value is None:
        return True
    return type(value) is list and len(value) == 2 and _is_number(value[0]) and _is_text(value[1])  # noqa: PLR2004


def _is_left_behind(value: Any) -> bool:
    return _is_list(value, _is_process)


def _is_process(value: Any) -> bool:
    known = type(value) is dict and value.keys() == _PROCESS
    return known and all(_is_text(fact) or _is_count(fact) for fact in value.values())


_PROCESS = frozenset(("pid", "comm", "why"))
_NO_USAGE = RunState().usage
_FIELDS: dict[str, Callable[[Any], bool]] = {
    "phase": _is_phase,
    "usage": _is_usage,
    "exit": _is_exit,
    "left_behind": _is_left_behind,
    **dict.fromkeys(("seq", "ignored", "turns", "tool_count", "message_count"), _is_count),
    **dict.fromkeys(("child_pid", "child_start_time", "position"), _is_number),
    **dict.fromkeys(("started_at", "last_event_at"), _is_moment),
    **dict.fromkeys(("agent_version", "pane", "window", "text", "finished_text"), _is_text),
    **dict.fromkeys(("stop_reason", "stderr_tail", "model", "error_message"), _is_text),
    **dict.fromkeys(("settled_aborted", "settled", "attended", "needs_input"), _is_flag),
}
