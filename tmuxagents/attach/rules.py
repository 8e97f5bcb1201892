"""Rules of `attach`: a terminal's way back, which run comes next, what an answer means, which pager. Pure.

`attach/attach.show` decides how a run is shown: switch, lend or attach.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Key = tuple[int, float, str]  # a rank below, since when, the run's id

BATCH_NOTICE = "read-only transcript: `send` and typing need --live"
OUT = "out"  # the home of a terminal that came from outside this server
UNSEEN, WAITING, WORKING, SEEN = range(4)  # a failure, waits for a person, works, a failure looked at
_NOWHERE = "-"
_LONGEST_WAY = 8
_TRAIL = re.compile(r"([^,]+),(\$[0-9]+:@[0-9]+|out|-)((?:,[0-9a-f]{16})*)")


class Trail:
    """A client's way back: the place where it was before it showed runs, then the runs, the last one last."""

    __slots__ = ("client", "home", "runs")

    def __init__(self, client: str, home: str | None, runs: Sequence[str] = ()) -> None:
        self.client = client
        self.home = home  # session:window or OUT, where it is once it is detached; None: not known
        self.runs = tuple(runs)[-_LONGEST_WAY:]

    def __str__(self) -> str:
        return ",".join((self.client, self.home or _NOWHERE, *self.runs))

    def past(self, run_id: str) -> Trail:
        """Return the trail of the client once it goes on from a run to another one."""
        return Trail(self.client, self.home, (*self.runs, run_id))


def parse_trail(text: str, client: str) -> Trail:
    """Return the trail in a text; an empty one if it is of another client, or none at all."""
    found = _TRAIL.fullmatch(text)
    if found is None or found[1] != client:
        return Trail(client, None)
    return Trail(client, None if found[2] == _NOWHERE else found[2], found[3].split(",")[1:])


def following(runs: Iterable[Key], shown: str | None) -> list[str]:
    """Return runs: the newest unseen first, then the others by rank, from the shown one on, in a circle."""
    ordered = [(rank, run_id) for rank, _, run_id in sorted(runs, key=lambda key: (key[0], -key[1], key[2]))]
    unseen = [run_id for rank, run_id in ordered if rank == UNSEEN and run_id != shown]
    others = [run_id for rank, run_id in ordered if rank != UNSEEN or run_id == shown]
    after = others.index(shown) + 1 if shown in others else 0
    return [*unseen, *others[after:], *others[:after]]


def pager(environment: Mapping[str, str], *, has_less: bool) -> list[str] | None:
    """Return the program that shows a long text to a person; None: it is simply printed.

    `$PAGER` is the person's own line of shell, as for git; the text comes to it on stdin only.
    """
    named = environment.get("PAGER")
    if named is None:
        return ["less", "-R"] if has_less else None
    words = named.strip()
    return ["/bin/sh", "-c", named] if words not in ("", "cat") else None
