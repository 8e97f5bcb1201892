"""Rules of `attach`: how to show a run, the way back, the list of runs, the next run, the pager. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from tmuxagents.text.width import columns, fit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Key = tuple[int, float, str]  # one of the ranks below, since when, the run's id

BATCH_NOTICE = "read-only transcript: `send` and typing need --live"
OUT = "out"  # the home of a terminal from outside this server
UNSEEN, WAITING, WORKING, SEEN = range(4)  # ranks: needs a person and is unseen, waits, works, seen failure
ATTACH, STAY, SWITCH, LEND = "attach", "stay", "switch", "lend"  # steps: how a run is shown
_NOWHERE = "-"
_LONGEST_WAY = 8
_TRAIL = re.compile(r"([^,]+),(\$[0-9]+:@[0-9]+|out|-)((?:,[0-9a-f]{16})*)")


class Trail:
    """A client's way back: its place before it showed runs, then those runs, the latest last."""

    __slots__ = ("client", "home", "runs")

    def __init__(self, client: str, home: str | None, runs: Sequence[str] = ()) -> None:
        self.client = client
        self.home = home  # session:window or OUT, where a detach leads; None: not known
        self.runs = tuple(runs)[-_LONGEST_WAY:]

    def __str__(self) -> str:
        return ",".join((self.client, self.home or _NOWHERE, *self.runs))

    def after(self, run_id: str) -> Trail:
        """Return the client's trail after it moves on from a run to another one."""
        return Trail(self.client, self.home, (*self.runs, run_id))


def parse_trail(text: str, client: str) -> Trail:
    """Return the trail in a text; an empty one if the text is no trail, or that of another client."""
    found = _TRAIL.fullmatch(text)
    if found is None or found[1] != client:
        return Trail(client, None)
    return Trail(client, None if found[2] == _NOWHERE else found[2], found[3].split(",")[1:])


class Shown(NamedTuple):
    """What a client of tmux shows now, and its way back."""

    session: str
    window: str
    run_id: str | None
    is_view: bool  # it shows a run through a session of our own
    read_only: bool
    trail: Trail


class ShowingStep(NamedTuple):
    """How a run is shown: attach a terminal, stay as it is, switch a client, or lend its terminal."""

    kind: str
    trail: Trail  # the client's trail after the step
    read_only: bool = False


def choose_step(
    terminal: str, shown: Shown | None, window: str, *, is_here: bool, read_only: bool
) -> ShowingStep:
    """Choose the step that shows a window on a terminal. `is_here`: both are on the same tmux server.

    `shown` is None for a terminal outside tmux. A client that shows a run already is switched, since prefix-d
    leads back from there. It stays as it was, read-only or not.
    """
    if shown is None:
        return ShowingStep(ATTACH, Trail(terminal, OUT), read_only)
    read_only = read_only and not shown.read_only
    if is_here and not read_only:
        if shown.window == window:
            return ShowingStep(STAY, shown.trail)
        if shown.run_id and shown.trail.home:
            return ShowingStep(SWITCH, shown.trail.after(shown.run_id))
    home = f"{shown.session}:{shown.window}"
    if shown.is_view or not is_here:
        home = shown.trail.home or OUT if is_here else OUT
    return ShowingStep(LEND, Trail(shown.trail.client, home), read_only)


def following(runs: Iterable[Key], shown: str | None) -> list[str]:
    """Order runs: first the unseen, newest first; then the others by rank, in a circle after `shown`."""
    ordered = [(rank, run_id) for rank, _, run_id in sorted(runs, key=lambda key: (key[0], -key[1], key[2]))]
    unseen = [run_id for rank, run_id in ordered if rank == UNSEEN and run_id != shown]
    others = [run_id for rank, run_id in ordered if rank != UNSEEN or run_id == shown]
    after = others.index(shown) + 1 if shown in others else 0
    return [*unseen, *others[after:], *others[:after]]


def pager(environment: Mapping[str, str], *, has_less: bool) -> list[str] | None:
    """Return the program that shows a long text to a person; None if the text is printed.

    `$PAGER` is a shell command of the person's, as for git; the text reaches it only on stdin.
    """
    named = environment.get("PAGER")
    if named is None:
        return ["less", "-R"] if has_less else None
    words = named.strip()
    return ["/bin/sh", "-c", named] if words not in ("", "cat") else None


LEAVE = -1  # the person chooses nothing
_HELP = "up/down choose, letters filter, Enter attaches, Esc leaves"
_AROUND = 3  # lines that show no run: the question, the header, the help
_REVERSE, _DIM = "\x1b[7m", "\x1b[2m"


class RunChooser:
    """The rows, the words of the filter, and the chosen row."""

    def __init__(self, question: str) -> None:
        self._question = question
        self._header = ""
        self._rows: Sequence[str] = ()
        self._filter = ""
        self._at = 0  # the chosen row, counted among those that pass the filter
        self._first = 0  # the first of them on the screen
        self._height = 1

    def take(self, header: str, rows: Sequence[str]) -> None:
        """Take the rows, or the same rows in another width."""
        self._header, self._rows = header, rows

    @property
    def _passing(self) -> list[int]:
        words = self._filter.lower().split()
        return [number for number, row in enumerate(self._rows) if all(word in row.lower() for word in words)]

    def press(self, key: str) -> int | None:
        """Take a key; return the number of the chosen row, LEAVE, or None to go on."""
        left = self._passing
        if key == "enter":
            return left[self._at] if left else None
        if key == "escape":
            return LEAVE
        steps = {"up": -1, "down": 1, "page-up": -self._height, "page-down": self._height}
        if key in steps:
            self._at += steps[key]
        elif key in ("home", "end"):
            self._at = 0 if key == "home" else len(left) - 1
        elif key == "backspace" or len(key) == 1:
            self._filter = self._filter[:-1] if key == "backspace" else self._filter + key
            self._at = 0
        self._at = max(0, min(self._at, len(self._passing) - 1))
        return None

    def draw(self, width: int, height: int) -> list[str]:
        """Return the lines of the screen."""
        left = self._passing
        self._height = max(1, height - _AROUND)
        self._first = max(self._at - self._height + 1, min(self._first, self._at))
        shown = left[self._first : self._first + self._height]
        lines = [fit(f"{self._question} {self._filter}_", width), _DIM + fit(self._header, width)]
        for place, number in enumerate(shown, self._first):
            row = fit(self._rows[number], width)
            chosen = _REVERSE + row + " " * (width - columns(row))
            lines.append(chosen if place == self._at else row)
        if not left:
            lines.append(fit("No run has these words.", width))
        lines += [""] * (height - 1 - len(lines))
        return [*lines[: height - 1], _DIM + fit(_HELP, width)][-height:]
