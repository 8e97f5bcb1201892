"""Tells what happens in a run: to events.jsonl, the transcript, the window, in this order of importance.

Joins.
"""

from __future__ import annotations

import time

from tmuxagents.cpython import ignoring
from tmuxagents.records import NEVER
from tmuxagents.runs import directory, events, lifecycle, marks, narration, writing
from tmuxagents.runs.logs import Appender, RawLog
from tmuxagents.runs.narration import Narrator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.agents.base import Reader
    from tmuxagents.records import Plan, Verdict
    from tmuxagents.runs.events import Event
    from tmuxagents.wrapper.terminal import StoryWindow

SHOW_EVERY_S = 0.2  # the pane; each time costs tmux as much as many lines do
_SOON_S = 0.05  # what is due by then is shown now, and so needs no wake-up of its own
TITLE_EVERY_S = 0.5
_TITLE_BY_S = 0.7  # a title that is due goes with the next lines, if there are any soon
_REST = 8.0  # the window rests this many times as long as it took to make what it shows
_BUFFER = 256 * 1024
_STDERR_EVENTS = 200  # lines of stderr that become events; the log has them all
_PLAIN_LINES = 500  # lines of stdout that are no JSON and are shown all the same
_LONGEST_STDERR = 2000


class Recorder:
    """Writes one run down. Best effort: what is lost is counted, and never stops the run."""

    def __init__(
        self,
        run_dir: str,
        plan: Plan,
        wrapper: Mapping[str, Any],
        window: StoryWindow,
        *,
        width: int,
    ) -> None:
        self.run_dir = run_dir
        self.state = lifecycle.RunState()
        self.stdout = RawLog(f"{run_dir}/{directory.STDOUT}")
        self.stderr = RawLog(f"{run_dir}/{directory.STDERR}")
        self._is_cut = False  # a log was begun anew, or an answer was too long to be kept
        self._place = directory.place_of(run_dir)
        self._whole: marks.Mark | None = None  # what the directory was known by when all was there
        self._plan = plan
        self._wrapper = wrapper
        self._terminal = window.terminal
        self._narrator = Narrator(width)
        self._events = Appender(f"{run_dir}/{directory.EVENTS}", knocks=True)
        self._transcript = Appender(f"{run_dir}/{directory.TRANSCRIPT}")
        self._event_lines = bytearray()
        self._transcript_lines = bytearray()
        self._window = window
        self._activity: str | None = None
        self.show_at = NEVER  # when the window has to be written again whatever happens
        self._lines_at = self._titled_at = 0.0
        self._seq = 0
        self._stderr_events = 0
        self._plain_lines = 0
        self._first_line = b""  # the run_started event, without which a run counts as not started

    def begin_logs(self) -> None:
        """Have the logs of a child that may say nothing: the plan and the result name them."""
        self.stdout.write(b"")
        self.stderr.write(b"")

    def event(self, event: Event) -> None:
        """Take one event in."""
        if (
            self.state.phase == lifecycle.LEAVING
            and event.type not in lifecycle.TRANSITIONS[lifecycle.LEAVING]
        ):
            return  # what it says while we end it is no part of the run
        self._seq += 1
        event.seq = self._seq
        event.at = round(time.time(), 3)
        lifecycle.apply(self.state, event)
        line = events.encode(event)
        if event.type == "run_started":
            self._first_line = line
        self._event_lines += line
        phrase = self._narrator.phrase(event)
        entry = narration.entry(event, phrase)
        if phrase is not None and phrase.strip():
            self._activity = phrase
        self._window.take(event, len(line))
        if entry is not None:
            self._line(entry)
        elif len(self._event_lines) > _BUFFER:
            self._write()

    def note_reader(self, reader: Reader) -> None:
        """Take in what the child said of itself and no event carries."""
        if self.state.phase != lifecycle.LEAVING:
            self.state.model, self.state.error_message = reader.model, reader.error_message
        self._is_cut |= reader.left_out

    def head(self, started: str, home: str) -> None:
        """Begin transcript and window with what the run is."""
        for line in narration.header(self._plan, started):
            self._line(line)
        self._window.head(self._plan, home)

    def close(self, verdict: Verdict, seconds: float) -> None:
        """End transcript and window with how the run ended."""
        self._line(narration.closing(verdict, seconds))
        self._window.close(verdict, seconds, self.state)

    def _line(self, line: str) -> None:
        self._transcript_lines += line.encode() + b"\n"
        if len(self._event_lines) + len(self._transcript_lines) > _BUFFER:
            self._write()

    def plain_output(self, text: str) -> None:
        """Show a line of the child's stdout that is no event."""
        self._plain_lines += 1
        line = narration.plain_output(text) if self._plain_lines <= _PLAIN_LINES else None
        if line is not None:
            self._line(line)
            self._window.note(line)

    def stderr_line(self, line: bytes) -> None:
        """Take in a line of the child's stderr; a flood ends in the log alone."""
        text = line.decode("utf-8", "replace")
        if not text.strip():
            return
        self._stderr_events += 1
        if self._stderr_events <= _STDERR_EVENTS:
            self.event(events.stderr(text[:_LONGEST_STDERR]))
        else:
            self.state.stderr_tail = text[:_LONGEST_STDERR]  # the message of a child that fails after a flood

    def hint(self, text: str) -> None:
        """Say something in the window alone."""
        self._window.note(text)
        self._lines_at = 0.0

    def resized(self, now: float) -> None:
        """Show the window anew, soon, if it has another width."""
        self._window.resized(now)

    def flush(self, now: float, *, last: bool = False) -> None:
        """Write what has gathered; `now` is monotonic. Once for each time we wake up."""
        if self._event_lines or self._transcript_lines:
            self._write()
        window = self._window
        if last or window.has_news or self._activity is not None or now + _SOON_S >= window.wanted_at:
            self._show(now, last=last)
        titled_at = NEVER if self._activity is None else self._titled_at + _TITLE_BY_S
        self.show_at = self._lines_at if window.has_news else min(window.wanted_at, titled_at)

    def _write(self) -> None:
        self.keep_directory()
        self._events.append(bytes(self._event_lines))
        self._transcript.append(bytes(self._transcript_lines))
        self._event_lines.clear()
        self._transcript_lines.clear()

    def _show(self, now: float, *, last: bool) -> None:
        """Show what is due, and the title if it is, in one go."""
        shown = b""
        due_at = self._lines_at if self._window.has_news else self._window.wanted_at
        if last or now + _SOON_S >= due_at:
            begun = time.monotonic()
            shown = self._window.painted(now + _SOON_S)
        if shown:
            # A second one may come at once: a child that says something now and then is shown at once.
            rested = now + _REST * (time.monotonic() - begun)
            self._lines_at = max(now, self._lines_at + SHOW_EVERY_S, rested)
        title_is_due = last or now >= self._titled_at + TITLE_EVERY_S
        if self._activity is not None and title_is_due and not self._window.has_news:
            if self._terminal.is_terminal:
                shown += narration.title(self._activity)
            self._activity = None
            self._titled_at = now
        if shown:
            self._terminal.show(shown)

    def title(self, words: str) -> None:
        """Make words the title of the pane."""
        self._activity = None
        if self._terminal.is_terminal:
            self._terminal.show(narration.title(words))

    def keep_directory(self) -> None:
        """Make again what was removed or replaced of the run: an agent may clean up more than its own.

        A result that is there already is not ours: it is ignored while we live, and must not outlive us.
        """
        mark = marks.mark_of(self.run_dir)
        if mark is not None and mark == self._whole:
            return  # no name in it has come or gone since all was seen to be in its place
        self._whole = mark if mark is not None and marks.is_settled(mark) else None
        with ignoring(OSError):
            writing.remove(self.run_dir, directory.RESULT)
        try:
            self._find_again()
        except OSError:
            writing.open_up(self.run_dir)
            try:
                self._find_again()
            except OSError:
                self._events.lost += 1

    def _find_again(self) -> None:
        gone = False
        if not directory.is_whole(self.run_dir, self._place):
            gone = writing.restore(self.run_dir, self._plan, self._wrapper, self._place)
            self._place = directory.place_of(self.run_dir)
        has_events = not gone and self._events.is_in_place()
        if has_events and self._transcript.is_in_place():
            return
        # Go on at the end of the logs that are there, begin the others.
        self._is_cut = True
        for log in (self._events, self._transcript, self.stdout, self.stderr):
            log.reopen()
        if not has_events:
            self._events.append(self._first_line)

    @property
    def incomplete(self) -> bool:
        """Say whether anything could not be written down."""
        lost = self._events.lost + self._transcript.lost + self.stdout.lost + self.stderr.lost
        return self._is_cut or lost > 0
