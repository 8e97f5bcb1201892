"""Rules of `attach`: a terminal's way back, which run comes next, what an answer means, which pager. Pure.

Nothing here knows how a run is shown.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Key = tuple[int, float, str]  # how much a run needs a person, when it was created, its id: the order

BATCH_NOTICE = "read-only transcript: `send` and typing need --live"
OUT = "out"  # the home of a terminal that came from outside this server
FAILED, WAITING, WORKING = range(3)  # the order in which runs need a person
_NOWHERE = "-"
_LONGEST_WAY = 8
_LONGEST_NUMBER = 9
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


def following(runs: Sequence[Key], shown: Key | None) -> list[str]:
    """Return runs in their order, those first that come after the shown one: round and round."""
    ordered = sorted(runs)
    later = [key for key in ordered if shown is not None and key > shown]
    return [run_id for _, _, run_id in (*later, *ordered[: len(ordered) - len(later)])]


def choice(answer: str, count: int) -> int | None:
    """Return which of `count` rows an answer means, counted from 0; None if it means none of them."""
    text = answer.strip() or "1"
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER else 0
    return number - 1 if 1 <= number <= count else None


def pager(environment: Mapping[str, str], *, has_less: bool) -> list[str] | None:
    """Return the program that shows a long text to a person; None: it is simply printed.

    `$PAGER` is the person's own line of shell, as for git; the text comes to it on stdin only.
    """
    named = environment.get("PAGER")
    if named is None:
        return ["less", "-R"] if has_less else None
    words = named.strip()
    return ["/bin/sh", "-c", named] if words not in ("", "cat") else None
