"""The verb replay: show a run again at its own speed, with keys to pause and step. Joins."""

from __future__ import annotations

import math
import os
import select
import signal
import termios
import time

import click

from tmuxagents.cli import printing, rendered
from tmuxagents.errors import BadRequest
from tmuxagents.registry import lookup
from tmuxagents.render.rows import worth_showing
from tmuxagents.render.story import NEEDED, Story
from tmuxagents.runs import events as run_events
from tmuxagents.runs import output as run_output
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import foreground

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.runs.events import Event
    from tmuxagents.runs.inspect import RunView

_KEYS = "space pauses · s steps · + and - change the speed · q leaves"
_LEAVES = "q\x04"
_SECOND_LOOK_S = 0.1  # between two looks whether an open call has become worth showing
_LONGEST_S = 86400.0  # the longest wait in one step: select refuses centuries, and a time may be forged
_LOCAL_FLAGS = 3
_FASTER = 2.0
_APART_S = 0.001  # between events of the same moment, so that each is a step
_SLOWEST, _FASTEST = 1 / 64, 4096


@click.command(epilog="Example: tmuxagents replay finder --speed 4")
@click.argument("run", default=lookup.LAST)
@click.option(
    "--speed",
    type=click.FloatRange(min=_SLOWEST, max=_FASTEST),
    default=1.0,
    metavar="N",
    help="Play it N times as fast.",
)
def replay(*, run: str, speed: float) -> None:
    """Play back what RUN said and did, at its own speed (default: the newest run).

    Space pauses, s goes to the next step, + and - change the speed, q leaves.
    """
    run_dir = lookup.find_run(run, lookup.here())
    if not printing.has_person():
        hint = "tmuxagents transcript prints it at once"
        raise BadRequest("A replay needs a terminal.", kind="usage", hint=hint)
    if math.isnan(speed):  # click's range lets it pass
        raise BadRequest("--speed must be a number.", kind="usage", hint="--speed 2 is twice as fast")
    found = inspect(run_dir)
    lines = run_output.event_lines(run_dir, after=0, follow=False)
    happened = [event for line in lines if (event := run_events.decode(line)) is not None]
    needed = [event for event in happened if event.type in NEEDED]
    for number in (signal.SIGTERM, signal.SIGHUP):  # so that the terminal is restored in any case
        signal.signal(number, foreground.leave)
    before = termios.tcgetattr(printing.IN)
    ours = [*before]
    ours[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)
    try:
        termios.tcsetattr(printing.IN, termios.TCSADRAIN, ours)
        _show(found, needed, speed)
    finally:
        termios.tcsetattr(printing.IN, termios.TCSADRAIN, before)


def _show(run: RunView, events: Sequence[Event], speed: float) -> None:
    """Show each event at its time, and finally how the run ended."""
    story, painting = Story(), rendered.painter()
    story.head(run.plan, os.path.expanduser("~"))
    story.note(_KEYS)
    began = run.state.started_at or run.plan.created_at or 0.0
    last = events[-1].at if events else began
    moments = [began, *(event.at for event in events), run.ended_at or last]
    pace = ReplayClock(moments, speed=speed, now=time.monotonic())
    skipped = seen = 0
    while True:
        now = time.monotonic()
        due = pace.due(now)
        for event in events[skipped : due - 1]:  # the first moment is the start of the run
            story.take(event)
        skipped = due - 1
        verdict = run.standing.verdict
        if due == len(moments) and verdict is not None:
            story.close(verdict, run.elapsed(now), run.state)
        open_calls = worth_showing(story, pace.clock(now))
        text = painting.paint(story.blocks[seen:], open_calls, width=printing.width())
        seen = len(story.blocks)
        printing.write(text.encode("utf-8", "replace"))
        if due == len(moments) or not _listen(pace, pace.wait(now), waits=len(open_calls) < len(story.open)):
            return


def _listen(pace: ReplayClock, wait_s: float | None, *, waits: bool) -> bool:
    """Wait for a key or the next event; say whether the replay continues. `waits`: for a call, as well."""
    if wait_s is not None:
        wait_s = min(wait_s, _SECOND_LOOK_S if waits else _LONGEST_S)
    ready, _, _ = select.select([printing.IN], [], [], wait_s)
    if not ready:
        return True
    keys = os.read(printing.IN, 64).decode("utf-8", "replace") or _LEAVES
    now = time.monotonic()
    for key in keys:
        if key in _LEAVES:
            return False
        if key == " ":
            pace.pause(now)
        elif key in "s\n\r":
            pace.step(now)
        elif key in "+-":
            pace.change(now, faster=key == "+")
    return True


# --- its clock ---


class ReplayClock:
    """The clock of a replay. `now` is the reader's clock, `moments` are those of the run."""

    __slots__ = ("_at", "_began", "_due", "_moments", "_paused", "_speed")

    def __init__(self, moments: Sequence[float], *, speed: float, now: float) -> None:
        self._moments = [moments[0]]
        for moment in moments[1:]:
            self._moments.append(max(moment, self._moments[-1] + _APART_S))
        self._at = moments[0]  # the moment of the run at the reader's time `_began`
        self._began = now
        self._speed = speed
        self._paused = False
        self._due = 0

    def clock(self, now: float) -> float:
        """Return the moment of the run that the replay has reached."""
        return self._at if self._paused else self._at + (now - self._began) * self._speed

    def due(self, now: float) -> int:
        """Return the number of events to show by now."""
        clock = self.clock(now)
        while self._due < len(self._moments) and self._moments[self._due] <= clock:
            self._due += 1
        return self._due

    def wait(self, now: float) -> float | None:
        """Return the seconds until the next event; None during a pause and at the end."""
        due = self.due(now)
        if self._paused or due == len(self._moments):
            return None
        return (self._moments[due] - self.clock(now)) / self._speed

    def pause(self, now: float) -> None:
        """Pause, or continue."""
        self._set(self.clock(now), now)
        self._paused = not self._paused

    def step(self, now: float) -> None:
        """Go to the next event at once."""
        due = self.due(now)
        if due < len(self._moments):
            self._set(self._moments[due], now)

    def change(self, now: float, *, faster: bool) -> None:
        """Double the speed, or halve it."""
        self._set(self.clock(now), now)
        self._speed = min(_FASTEST, max(_SLOWEST, self._speed * (_FASTER if faster else 1 / _FASTER)))

    def _set(self, at: float, now: float) -> None:
        self._at, self._began = at, now


VERBS = {"replay": replay}
