"""What a run's directory says: read once, or now and again without reading anything twice. Writes nothing.

Of a run whose wrapper lives, reading may go on from where another program had come to (runs/checkpoint). What
is said of one whose wrapper is gone never rests on that, unless a result says how it ended.

Joins.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.records import Facts
from tmuxagents.runs import directory, events, lifecycle
from tmuxagents.runs.marks import mark_of
from tmuxagents.runs.narration import Narrator
from tmuxagents.system import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tmuxagents.runs.events import Event
    from tmuxagents.runs.lifecycle import RunState
    from tmuxagents.runs.marks import Mark

_SLICE = 1024 * 1024  # of a log of any size, so much is in memory at once
_HEAD = 4
_TAIL = 256
_MOST_LINES = 2_000_000  # of the events; as rundir.MOST_BYTES, more than days of work need
_TOO_LONG = "[a line of events.jsonl above 8 MB is not read]"
_TOO_MUCH = (
    "[events.jsonl is longer than anybody reads: what is beyond 1 GB, or 2,000,000 lines, is not read]"
)
_READ = (directory.EVENTS, directory.RESULT, directory.WRAPPER)


class RunReader:
    """What is read of a run's directory, now and again: no event is read twice, no file that stands still.

    `take` gets each event. `checkpoint`: where another reading of this run has come to, maybe; not for who
    takes the events.
    """

    __slots__ = (
        *(
            "_checkpoint",
            "_early",
            "_events",
            "_lines",
            "_marks",
            "_narrator",
            "_offset",
            "_read_in",
            "_result",
        ),
        *("_since", "_started", "_tail", "_take", "activity", "folder", "state", "wrapper"),
    )

    def __init__(
        self, take: Callable[[Event], object] | None = None, *, checkpoint: str | None = None
    ) -> None:
        self._take = take
        self._checkpoint = checkpoint
        self.wrapper: dict[str, Any] | None = None
        self._result: dict[str, Any] | None = None
        self._marks: dict[str, Mark | None] = {}
        self.folder: Mark | None = None  # of the directory, before it was read last
        self._read_in: Mark | None = None  # the same, when events were
        self._begin_anew(None)

    def _begin_anew(self, events_file: tuple[int, ...] | None) -> None:
        self.state = lifecycle.RunState()
        self.activity: str | None = None
        self._narrator = Narrator()
        self._events = events_file  # device and inode
        self._offset = self._lines = 0
        self._tail = b""  # what was read last
        self._early = _HEAD  # so many of the next lines may be the start of the run
        self._started = False
        self._since: Mark | None = None  # what the events were known by at our checkpoint

    def facts(self, run_dir: str, presence: str | None = None) -> Facts:
        """Read on, in an order that cannot mislead, and return the facts.

        First who the wrapper is and whether it lives, then what it wrote: a result is there before its
        wrapper goes, so "gone" and then "no result" is no race. If one came in between, all is read again;
        so are the events where an ending may have to be made of them, and we have not read them all.
        `presence`: that the wrapper lives is known already.
        """
        while True:
            self.folder = mark_of(run_dir)
            if presence == records.HERE and self.wrapper is not None:
                # Only events tell anything now: a result that lies there is not the wrapper's.
                self._read_events(run_dir)
                return Facts(presence=presence, started=self._started, result=None)
            wrapper = self._read_wrapper(run_dir)
            where = presence or process.presence(directory.identity_of(wrapper))
            self._go_on(where)
            self._read_events(run_dir)
            result = self._read_result(run_dir)
            if self._since is not None and where != records.HERE and result is None:
                self._begin_anew(None)
                self._marks.clear()
                continue
            late = where == records.NEVER_CAME and (self._offset or result)
            if late and self._read_wrapper(run_dir) != wrapper:
                continue
            return Facts(presence=where, started=self._started, result=result)

    def _go_on(self, where: str) -> None:
        """Take up the checkpoint; whether it is of these events is seen when they are read."""
        text, self._checkpoint = self._checkpoint, None
        if text is None or where != records.HERE:
            return
        from tmuxagents.runs import checkpoint  # noqa: PLC0415  (hardly anybody has one)

        point = checkpoint.decode(text)
        if point is not None:
            self.state, self.activity = point.state, point.activity
            self._narrator.take_up(point.calls)
            self._events, self._offset, self._tail = point.mark[:2], point.offset, point.tail
            self._lines = point.lines
            self._since, self._started = point.mark, True

    def checkpoint(self) -> str | None:
        """Return what another reading can go on from; None where it had better begin with the first event."""
        mark = self.events_mark()
        if mark is None or mark[:2] != self._events or not self._started:
            return None
        from tmuxagents.runs import checkpoint  # noqa: PLC0415  (for who saves what was read)

        point = checkpoint.Checkpoint(
            mark=mark,
            offset=self._offset,
            lines=self._lines,
            tail=self._tail,
            state=self.state,
            activity=self.activity,
            calls=self._narrator.open_calls,
        )
        return checkpoint.encode(point)

    def events_mark(self) -> Mark | None:
        """Return what the events are known by that were read; None where there are none."""
        return self._marks.get(directory.EVENTS)

    def has_news(self, run_dir: str, *, held: bool = False) -> bool:
        """Say, without reading, whether there is anything to read. `held`: its wrapper lives."""
        # As long as it does, only events tell anything: a result that lies there is not the wrapper's.
        names = _READ[:1] if held else _READ
        return any(mark_of(f"{run_dir}/{name}") != self._marks.get(name) for name in names)

    def _read_wrapper(self, run_dir: str) -> dict[str, Any] | None:
        if self._is_new(run_dir, directory.WRAPPER):
            # Who it is does not change; one that is gone is made again by a wrapper that lives.
            self.wrapper = directory.read_wrapper(run_dir) or self.wrapper
        return self.wrapper

    def _read_result(self, run_dir: str) -> dict[str, Any] | None:
        if self._is_new(run_dir, directory.RESULT):
            self._result = directory.read_result(run_dir)
        return self._result

    def _is_new(self, run_dir: str, name: str) -> bool:
        mark = mark_of(f"{run_dir}/{name}")
        known = mark is not None and self._marks.get(name) == mark
        self._marks[name] = mark  # before it is read: what is written meanwhile is new again
        return not known

    def _read_events(self, run_dir: str) -> None:
        if not self._is_new(run_dir, directory.EVENTS):
            return
        mark = self._marks[directory.EVENTS]
        if mark is None:
            if self._since is not None:
                self._begin_anew(None)  # we have not seen them
            return
        path = f"{run_dir}/{directory.EVENTS}"
        if mark[:2] != self._events or mark[2] < self._offset or not self._goes_on(path, mark):
            self._begin_anew(mark[:2])
        self._read_in = self.folder
        while self._offset < mark[2] and not self._is_full():  # what comes meanwhile is told by another mark
            before = self._offset
            lines, self._offset = directory.read_lines(path, before, _SLICE)
            if self._offset == before:
                return
            if lines:
                self._tail = (lines[-1] + b"\n")[-_TAIL:]
                self._lines += len(lines)
                self._look_for_start(lines)
                self._fold(lines)
            else:
                self._tail = directory.read_before(path, self._offset, _TAIL)
                self.activity = _TOO_LONG
        if self._offset < mark[2]:
            self.activity = _TOO_MUCH
            self.state.settled = False  # what is not read may say that it went on: nothing is proven

    def _is_full(self) -> bool:
        return self._offset >= directory.MOST_BYTES or self._lines >= _MOST_LINES

    def _look_for_start(self, lines: list[bytes]) -> None:
        early, self._early = lines[: self._early], max(0, self._early - len(lines))
        self._started = self._started or any(b'"type":"run_started"' in line for line in early)

    def _goes_on(self, path: str, mark: Mark) -> bool:
        """Say whether the events are those that were read: new ones may have their inode and length."""
        if not self._tail or self.folder == self._read_in:
            return True
        if self._since is not None and mark[2] == self._since[2] and mark != self._since:
            return False  # touched, and nothing came
        return directory.read_before(path, self._offset, len(self._tail)) == self._tail

    def _fold(self, lines: list[bytes]) -> None:
        for line in lines:
            event = events.decode(line)
            if event is None:
                continue
            lifecycle.apply(self.state, event)
            self.activity = self._narrator.phrase(event) or self.activity
            if self._take is not None:
                self._take(event)


def gather(run_dir: str) -> tuple[Facts, dict[str, Any] | None, RunState]:
    """Return the facts of a directory, its wrapper.json, and what its events add up to."""
    reading = RunReader()
    facts = reading.facts(run_dir)
    return facts, reading.wrapper, reading.state
