"""A run once more, as its window showed it, in its own time, with keys to pause and step. Joins."""

from __future__ import annotations

import os
import select
import signal
import termios
import time

from tmuxagents.cli import printing, rendered
from tmuxagents.errors import BadRequest
from tmuxagents.render.paint import worth_showing
from tmuxagents.render.replay_clock import ReplayClock
from tmuxagents.render.story import SHOWN, Story
from tmuxagents.runs import events as run_events
from tmuxagents.runs import output as run_output
from tmuxagents.runs.inspect import inspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.runs.events import Event
    from tmuxagents.runs.inspect import RunView

_KEYS = "space pauses · s steps · + and - change the speed · q leaves"
_LEAVES = "q\x04"
_SECOND_LOOK_S = 0.1  # for a call that has become worth showing
_LOCAL_FLAGS = 3


def replay(run_dir: str, speed: float) -> None:
    """Show what a run said and did, in its own time, `speed` times as fast."""
    if not (printing.is_terminal() and printing.is_terminal(printing.IN)):
        hint = "tmuxagents transcript prints it at once"
        raise BadRequest("A replay needs a terminal.", kind="usage", hint=hint)
    found = inspect(run_dir)
    lines = run_output.event_lines(run_dir, after=0, follow=False)
    happened = [event for line in lines if (event := run_events.decode(line)) is not None]
    shown = [event for event in happened if event.type in SHOWN]
    for number in (signal.SIGTERM, signal.SIGHUP):  # the terminal is given back in any case
        signal.signal(number, _leave)
    before = termios.tcgetattr(printing.IN)
    ours = [*before]
    ours[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)
    try:
        termios.tcsetattr(printing.IN, termios.TCSADRAIN, ours)
        _play(found, shown, speed)
    finally:
        termios.tcsetattr(printing.IN, termios.TCSADRAIN, before)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _play(run: RunView, events: Sequence[Event], speed: float) -> None:
    """Show events, each in its time, and at last how the run ended."""
    story, painting = Story(), rendered.painter()
    story.head(run.plan, os.path.expanduser("~"))
    story.note(_KEYS)
    began = run.state.started_at or run.plan.created_at or 0.0
    last = events[-1].at if events else began
    moments = [began, *(event.at for event in events), run.ended_at or last]
    pace = ReplayClock(moments, speed=speed, now=time.monotonic())
    told = seen = 0
    while True:
        now = time.monotonic()
        due = pace.due(now)
        for event in events[told : due - 1]:  # the first moment is that of the start
            story.take(event)
        told = due - 1
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
    """Wait for a key or for the next event; say whether the replay continues."""
    limit_s = min(wait_s or 0.0, _SECOND_LOOK_S) if waits and wait_s is not None else wait_s
    ready, _, _ = select.select([printing.IN], [], [], limit_s)
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
