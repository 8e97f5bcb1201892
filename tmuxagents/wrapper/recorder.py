"""Record what happens in a run: in events.jsonl first, then in the transcript, then in the window. Joins."""

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

SHOW_EVERY_S = 0.2  # between two writes to the window; each costs tmux as much as many lines
_SOON_S = 0.05  # text that is due within this time is shown now, to save a wake-up
TITLE_EVERY_S = 0.5
_TITLE_BY_S = 0.7  # a due title waits this long for lines that can be written with it
_REST = 8.0  # after painting, the window rests this many times as long as the painting took
_BUFFER = 256 * 1024
_STDERR_EVENTS = 200  # lines of stderr that become events; the log has them all
_PLAIN_LINES = 500  # lines of stdout that are shown though they are no JSON
_LONGEST_STDERR = 2000


class Recorder:
    """Records one run as well as possible: losses are counted, and never stop the run."""

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
        self._whole: marks.Mark | None = None  # the directory's mark when all its files were in place
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
        self.show_at = NEVER  # when the window has to be written again even if nothing happens
        self._lines_at = self._titled_at = 0.0
        self._seq = 0
        self._stderr_events = 0
        self._plain_lines = 0
        self._first_line = b""  # the run_started event, without which a run counts as not started

    def begin_logs(self) -> None:
        """Make empty logs: the plan and the result name them even if the child prints nothing."""
        self.stdout.write(b"")
        self.stderr.write(b"")

    def event(self, event: Event) -> None:
        """Record one event."""
        if (
            self.state.phase == lifecycle.LEAVING
            and event.type not in lifecycle.TRANSITIONS[lifecycle.LEAVING]
        ):
            return  # the run does not include what the child does while we end it
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
        """Take over the facts about the child that its reader knows and no event has."""
        if self.state.phase != lifecycle.LEAVING:
            self.state.model, self.state.error_message = reader.model, reader.error_message
        self._is_cut |= reader.left_out

    def head(self, started: str, home: str) -> None:
        """Begin transcript and window with the facts of the run."""
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
        """Record a line of the child's stderr; of a flood, later lines go only to the log."""
        text = line.decode("utf-8", "replace")
        if not text.strip():
            return
        self._stderr_events += 1
        if self._stderr_events <= _STDERR_EVENTS:
            self.event(events.stderr(text[:_LONGEST_STDERR]))
        else:
            self.state.stderr_tail = text[:_LONGEST_STDERR]  # the message of a child that fails after a flood

    def hint(self, text: str) -> None:
        """Show a remark in the window only."""
        self._window.note(text)
        self._lines_at = 0.0

    def resized(self, now: float) -> None:
        """Repaint the window soon if its width has changed."""
        self._window.resized(now)

    def flush(self, now: float, *, last: bool = False) -> None:
        """Write everything since the last flush, and show the part that is due. `now` is monotonic."""
        if self._event_lines or self._transcript_lines:
            self._write()
        window = self._window
        if last or window.has_news or self._activity is not None or now + _SOON_S >= window.wanted_at:
            shown = b""  # the lines and the title that are due, in one write
            due_at = self._lines_at if window.has_news else window.wanted_at
            if last or now + _SOON_S >= due_at:
                begun = time.monotonic()
                shown = window.painted(now + _SOON_S)
            if shown:
                # After a pause a second write may follow at once, so that occasional lines are not delayed.
                rested = now + _REST * (time.monotonic() - begun)
                self._lines_at = max(now, self._lines_at + SHOW_EVERY_S, rested)
            title_is_due = last or now >= self._titled_at + TITLE_EVERY_S
            if self._activity is not None and title_is_due and not window.has_news:
                if self._terminal.is_terminal:
                    shown += narration.title(self._activity)
                self._activity = None
                self._titled_at = now
            if shown:
                self._terminal.show(shown)
        titled_at = NEVER if self._activity is None else self._titled_at + _TITLE_BY_S
        self.show_at = self._lines_at if window.has_news else min(window.wanted_at, titled_at)

    def _write(self) -> None:
        self.keep_directory()
        self._events.append(bytes(self._event_lines))
        self._transcript.append(bytes(self._transcript_lines))
        self._event_lines.clear()
        self._transcript_lines.clear()

    def title(self, words: str) -> None:
        """Set the title of the pane."""
        self._activity = None
        if self._terminal.is_terminal:
            self._terminal.show(narration.title(words))

    def keep_directory(self) -> None:
        """Restore files of the run that were removed or replaced: an agent may remove too much.

        A result that exists by now is not ours. Readers ignore it while we live; it must not outlive us.
        """
        mark = marks.mark_of(self.run_dir)
        if mark is not None and mark == self._whole:
            return  # no name in it has come or gone since all files were seen in place
        self._whole = mark if mark is not None and marks.is_reliable(mark) else None
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
        # Continue at the end of the logs that exist, and begin the others.
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
