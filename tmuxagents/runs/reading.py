"""Read a run's directory, once or again and again, and no part of it twice. Writes nothing.

While the wrapper lives, a reader may continue from the checkpoint of another process. Once the wrapper is
gone, the whole log is read again, unless a result says how the run ended.

Joins.
"""

from __future__ import annotations

import binascii

from tmuxagents import records
from tmuxagents.records import Exit, Facts, Record
from tmuxagents.runs import directory, events, lifecycle
from tmuxagents.runs.lifecycle import RunState
from tmuxagents.runs.marks import mark_of
from tmuxagents.runs.narration import Narrator
from tmuxagents.system import process
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from tmuxagents.runs.events import Event
    from tmuxagents.runs.marks import Mark
    from tmuxagents.runs.narration import Call

    _T = TypeVar("_T")


# --- checkpoints ------------------------------------------------------------------------------------------

_VERSION = 5  # change it when the same events give another state, or when the text has other fields
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


# A text with a wrong checksum, or of another version, is ignored. RunReader checks whether a checkpoint
# belongs to the events file. No ending is ever concluded from a checkpoint.


def encode_checkpoint(point: Checkpoint) -> str | None:
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
    # A half of a character is escaped. Two halves side by side would be read as one whole character.
    return None if len(line) > _LONGEST or b"\\ud" in line else _head(line) + line.decode()


def decode_checkpoint(text: str) -> Checkpoint | None:
    """Return the checkpoint in a text; None if the text is damaged or of another version."""
    head, brace, rest = str(text).partition("{")  # a damaged registry may hold anything
    line = (brace + rest).encode("utf-8", "replace")
    if head != _head(line):
        return None
    fields = jsonline.decode(line)
    fields["state"], saved = RunState(), fields["state"]
    for name, value in saved.items():
        setattr(fields["state"], name, value)
    fields["state"].exit = None if saved["exit"] is None else Exit(*saved["exit"])
    fields["tail"] = fields["tail"].encode("latin-1")
    fields["mark"], fields["calls"] = tuple(fields["mark"]), [tuple(call) for call in fields["calls"]]
    return Checkpoint(**fields)


def _head(line: bytes) -> str:
    return f"{_VERSION} {binascii.crc32(line):08x} "


# --- reading ----------------------------------------------------------------------------------------------

_SLICE = 1024 * 1024  # how much of a log is in memory at once
_HEAD = 4
_TAIL = 256
_MOST_LINES = 2_000_000  # of the events; like directory.MOST_BYTES, more than any run writes in days
_TOO_LONG = "[a line of events.jsonl above 8 MB is not read]"
_TOO_MUCH = (
    "[events.jsonl is longer than anybody reads: what is beyond 1 GB, or 2,000,000 lines, is not read]"
)
_READ = (directory.EVENTS, directory.RESULT, directory.WRAPPER, directory.MACHINE)
GOES_ON = (records.HERE, records.MIRRORED)  # then a reader may continue where another stopped


def presence_of(wrapper: Mapping[str, Any] | None, machine: Mapping[str, Any] | None) -> str:
    """Return where the wrapper of a run is. The processes here prove nothing about another machine."""
    if machine is not None:
        return records.MIRRORED
    return process.presence(directory.identity_of(wrapper))


class RunReader:
    """Reads a run's directory again and again: no event twice, and no file that has not changed.

    `take` gets each event. `checkpoint`: the text of an earlier reader, if there is one; only without `take`.
    """

    __slots__ = (
        *("_checkpoint", "_early", "_events", "_lines", "_marks", "_narrator", "_offset", "_read_in"),
        *("_result", "_since", "_started", "_tail", "_take", "activity", "folder", "machine", "state"),
        "wrapper",
    )

    def __init__(
        self, take: Callable[[Event], object] | None = None, *, checkpoint: str | None = None
    ) -> None:
        self._take = take
        self._checkpoint = checkpoint
        self.wrapper: dict[str, Any] | None = None
        self.machine: dict[str, Any] | None = None  # of a run that works on another one
        self._result: dict[str, Any] | None = None
        self._marks: dict[str, Mark | None] = {}
        self.folder: Mark | None = None  # of the directory, before the last reading
        self._read_in: Mark | None = None  # `folder` when events were last read
        self._begin_anew(None)

    def _begin_anew(self, events_file: tuple[int, ...] | None) -> None:
        self.state = lifecycle.RunState()
        self.activity: str | None = None
        self._narrator = Narrator()
        self._events = events_file  # device and inode
        self._offset = self._lines = 0
        self._tail = b""  # the last bytes before the offset
        self._early = _HEAD  # how many of the next lines may be the start of the run
        self._started = False
        self._since: Mark | None = None  # the mark of the events at our checkpoint

    def facts(self, run_dir: str, presence: str | None = None) -> Facts:
        """Read what is new, in an order that cannot mislead, and return the facts.

        First we read which process the wrapper is and whether it lives, then its files. A wrapper writes its
        result before it exits, so "gone" and then "no result" is no race. If a wrapper came in between, we
        read all again. We do the same if a checkpoint was used and the events must now decide the ending.
        `presence`: given if the caller knows that the wrapper lives.
        """
        while True:
            self.folder = mark_of(run_dir)
            if presence == records.HERE and self.wrapper is not None:
                # Only events count now: a result beside a living wrapper is not the wrapper's.
                self._read_events(run_dir)
                return Facts(presence=presence, started=self._started, result=None)
            read = self._read_if_new
            self.machine = read(run_dir, directory.MACHINE, directory.read_machine, self.machine)
            wrapper = self._read_wrapper(run_dir)
            where = presence or presence_of(wrapper, self.machine)
            text, self._checkpoint = self._checkpoint, None
            point = decode_checkpoint(text) if text is not None and where in GOES_ON else None
            if point is not None:  # `_read_events` checks whether it belongs to these events
                self.state, self.activity = point.state, point.activity
                self._narrator.calls.take_up(point.calls)
                self._events, self._offset, self._tail = point.mark[:2], point.offset, point.tail
                self._lines, self._since, self._started = point.lines, point.mark, True
            self._read_events(run_dir)
            result = read(run_dir, directory.RESULT, directory.read_result, self._result)
            self._result = result
            if self._since is not None and where not in GOES_ON and result is None:
                self._begin_anew(None)
                self._marks.clear()
                continue
            late = where == records.NEVER_CAME and (self._offset or result)
            if late and self._read_wrapper(run_dir) != wrapper:
                continue
            return Facts(presence=where, started=self._started, result=result)

    def checkpoint(self) -> str | None:
        """Return a checkpoint for the next reader; None if that reader should begin with the first event."""
        mark = self.events_mark()
        if mark is None or mark[:2] != self._events or not self._started:
            return None
        point = Checkpoint(
            mark=mark,
            offset=self._offset,
            lines=self._lines,
            tail=self._tail,
            state=self.state,
            activity=self.activity,
            calls=self._narrator.calls.all,
        )
        return encode_checkpoint(point)

    def events_mark(self) -> Mark | None:
        """Return the mark of the events that were read; None if there are none."""
        return self._marks.get(directory.EVENTS)

    def has_news(self, run_dir: str, *, held: bool = False) -> bool:
        """Say, without reading, whether there is anything to read. `held`: the wrapper lives."""
        names = _READ[:1] if held else _READ  # see `facts`: only events count then
        return any(mark_of(f"{run_dir}/{name}") != self._marks.get(name) for name in names)

    def _read_wrapper(self, run_dir: str) -> dict[str, Any] | None:
        # wrapper.json never changes; a living wrapper writes it again if it was removed.
        found = self._read_if_new(run_dir, directory.WRAPPER, directory.read_wrapper, self.wrapper)
        self.wrapper = found or self.wrapper
        return self.wrapper

    def _read_if_new(self, run_dir: str, name: str, read: Callable[[str], _T], known: _T) -> _T:
        """Return what `read` finds in a file, or the `known` value if the file has not changed."""
        mark = mark_of(f"{run_dir}/{name}")  # taken before the reading, so that later changes are new again
        if mark is not None and mark == self._marks.get(name):
            return known
        found = read(run_dir)
        self._marks[name] = mark  # only now: a file that could not be read is new again
        return found

    def _read_events(self, run_dir: str) -> None:
        path = f"{run_dir}/{directory.EVENTS}"
        mark = mark_of(path)  # before the reading, as above
        if mark is None:
            self._marks[directory.EVENTS] = None
            if self._since is not None:
                self._begin_anew(None)  # the checkpoint has events that are gone
            return
        if mark == self._marks.get(directory.EVENTS):
            return
        if mark[:2] != self._events or mark[2] < self._offset or not self._is_same_log(path, mark):
            self._begin_anew(mark[:2])
        self._read_in = self.folder
        while self._offset < min(mark[2], directory.MOST_BYTES) and self._lines < _MOST_LINES:
            before = self._offset
            lines, self._offset = directory.read_lines(path, before, _SLICE)
            if self._offset == before:
                break  # the rest is no whole line yet
            if lines:
                self._tail = (lines[-1] + b"\n")[-_TAIL:]
                self._lines += len(lines)
                self._fold(lines)
            else:
                self._tail = directory.read_before(path, self._offset, _TAIL)
                self.activity = _TOO_LONG
        is_too_much = self._offset >= directory.MOST_BYTES or self._lines >= _MOST_LINES
        if is_too_much and self._offset < mark[2]:
            self.activity = _TOO_MUCH
            self.state.settled = False  # the rest may show that the child went on, so nothing is proven
        self._marks[directory.EVENTS] = mark  # only now, as above

    def _fold(self, lines: list[bytes]) -> None:
        early, self._early = lines[: self._early], max(0, self._early - len(lines))
        self._started = self._started or any(b'"type":"run_started"' in line for line in early)
        for event in filter(None, map(events.decode, lines)):
            lifecycle.apply(self.state, event)
            self.activity = self._narrator.phrase(event) or self.activity
            if self._take is not None:
                self._take(event)

    def _is_same_log(self, path: str, mark: Mark) -> bool:
        """Say whether this is the log that we have read: another one may have its inode and length."""
        if not self._tail or self.folder == self._read_in:
            return True
        if self._since is not None and mark[2] == self._since[2] and mark != self._since:
            return False  # written to, and nothing was added
        return directory.read_before(path, self._offset, len(self._tail)) == self._tail


def gather(run_dir: str) -> tuple[Facts, dict[str, Any] | None, RunState]:
    """Return the facts of a directory, its wrapper.json, and what its events add up to."""
    reading = RunReader()
    facts = reading.facts(run_dir)
    return facts, reading.wrapper, reading.state
