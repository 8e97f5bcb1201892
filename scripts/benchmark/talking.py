"""Row 1 once more: what a look costs while the runs talk, however much they have said before."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scripts.benchmark.measure import Case, interleaved
from scripts.benchmark.table import ratio
from tmuxagents.runs import directory, events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scripts.benchmark.stage import Stage, Stand
    from scripts.benchmark.table import Figure

_SMALLEST = ["-I", "-S", "-c", "pass"]
_MANY, _LONG = 100, 5_000
_LONGEST = 600_000
_BETWEEN = 10  # events of each run between two looks


def looks(stage: Stage) -> Iterator[Figure]:
    """Row 1, of runs that talk: each has said something new since the look before."""
    for live, log, watched in ((_MANY, _LONG, False), (_MANY, _LONG, True), (1, _LONGEST, False)):
        with stage.home(known=live, live=live) as stand:
            talkers = _Talkers(stand, log)
            stand.settle()
            stand.call("poll")
            if watched:
                stand.home.be_watched()
                stand.watch()
                stand.settle()
            found = interleaved(_cases(stage, stand, talkers), stage.times(40))
        who = (
            f"{live} live runs of {log:,} events each talk" if live > 1 else f"a run of {log:,} events talks"
        )
        words = f"`poll` while {who}, {'a' if watched else 'no'} watcher"
        yield ratio(1, words, found["F"], found["poll"], goal=None, of="F")


def _cases(stage: Stage, stand: Stand, talkers: _Talkers) -> dict[str, Callable[[], float]]:
    environment = stand.home.environment
    poll = Case([stage.entry, "poll"], environment)

    def look() -> float:
        talkers.say(_BETWEEN)
        return poll()

    return {"F": Case([stage.python, *_SMALLEST], environment), "poll": look}


class _Talkers:
    """The live runs of a stand, which all say the same."""

    def __init__(self, stand: Stand, log: int) -> None:
        runs = f"{stand.home.state}/runs"
        self._paths = [f"{runs}/{run_id}/{directory.EVENTS}" for run_id in stand.live]
        self._seq = len(directory.read_lines(self._paths[0], 0)[0])
        self.say(log - self._seq)

    def say(self, count: int) -> None:
        """Say so much more."""
        said = b"".join(self._next() for _ in range(count))
        for path in self._paths:
            with open(path, "ab") as file:
                file.write(said)

    def _next(self) -> bytes:
        self._seq += 1
        call = f"more-{self._seq // 2}"
        event = (
            events.tool_call(call, "read", {"path": f"src/part{self._seq}.py"})
            if self._seq % 2 == 0
            else events.tool_result(call, "read", is_error=False, text="import os", duration_ms=3)
        )
        event.seq, event.at = self._seq, time.time()
        return events.encode(event)
