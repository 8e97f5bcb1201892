"""The wrapper's own terminal, and the window in which it paints the run's story. Joins.

The child never waits for the terminal: one that is scrolled, frozen or stopped only loses lines. Flow control
is off, so that Ctrl-S freezes nothing. Keys come as bytes, so that no key sends a signal.
"""

from __future__ import annotations

import os
import select
import termios
import time

from tmuxagents.cpython import ignoring
from tmuxagents.records import NEVER
from tmuxagents.render import styles, tool_calls
from tmuxagents.render.rows import Painter
from tmuxagents.render.story import NEEDED, NOTE, WORTH_SHOWING_S, Block, Story

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.records import Plan, Verdict
    from tmuxagents.runs.events import Event
    from tmuxagents.runs.lifecycle import RunState

CTRL_C = b"\x03"
# Ends an escape sequence that a killed program may have left unfinished. Then switches off the modes that
# it may have left on: other screen, mouse, focus, paste, keyboard, colours.
_USUAL = (
    b"\x1b\\\x1b[?2026l\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l"
    b"\x1b[>4;0m\x1b[?1l\x1b>\x1b[?7h\x1b[r\x1b[999;1H\x1b(B\x1b[m\x1b[?25h"
)
_KEPT = 256 * 1024  # bytes that may wait for a terminal that does not take them
_INPUT_FLAGS, _LOCAL_FLAGS = 0, 3  # places in what tcgetattr returns


class Terminal:
    """The terminal behind a descriptor; without one, nothing is shown. Showing never blocks."""

    __slots__ = (
        "_before",
        "_handle",
        "_lent",
        "_ours",
        "_rung",
        "_skipped",
        "_unshown",
        "keys",
        "skips",
        "waiting",
    )

    def __init__(self, descriptor: int = 1) -> None:
        self._unshown = b""
        self._skipped = 0
        self.skips = 0  # how often something was skipped
        self._rung = False
        self._before: list[Any] | None = None
        self._ours: list[Any] | None = None
        self._lent: int | None = None  # the descriptor of our keys, while another program reads them
        self._handle: int | None = None
        self.keys: int | None = None
        self.waiting: int | None = None  # the descriptor to wait on until more can be shown
        if not os.isatty(descriptor):
            return
        # Handles of our own: O_NONBLOCK on inherited ones would affect all processes that share them.
        flags = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        with ignoring(OSError, termios.error):
            self._handle = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | flags)
            self.keys = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | flags)
            self._before = termios.tcgetattr(self.keys)
            ours = termios.tcgetattr(self.keys)
            ours[_INPUT_FLAGS] &= ~(termios.IXON | termios.IXOFF)
            ours[_LOCAL_FLAGS] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
            termios.tcsetattr(self.keys, termios.TCSANOW, ours)
            self._ours = ours

    @property
    def is_terminal(self) -> bool:
        """Say whether a person may be looking."""
        return self._handle is not None

    @property
    def is_ours(self) -> bool:
        """Say whether there is a terminal, and no other program has it."""
        return self._handle is not None and self._lent is None

    @property
    def columns(self) -> int | None:
        """Return the width; None if it is unknown or there is no terminal."""
        if self._handle is None:
            return None
        try:
            return os.get_terminal_size(self._handle).columns or None
        except OSError:
            return None

    def show(self, text: bytes) -> None:
        """Show as much as the terminal takes now; the rest waits, and too much of it is skipped."""
        if self._handle is None or self._lent is not None:
            return
        shown = self._gap() + text  # first, how much is missing here
        if len(self._unshown) + len(shown) > _KEPT:
            self._skipped += text.count(b"\n")
            self.skips += 1
        else:
            self._unshown += shown
            self._skipped = 0
        self.flush()

    def ring(self) -> None:
        """Ring the bell, once in a run's life."""
        if self._handle is not None and not self._rung:
            self._rung = True
            with ignoring(OSError):
                os.write(self._handle, b"\a")

    def flush(self) -> None:
        """Show the text that waits, as far as the terminal takes it now."""
        if self._handle is None:
            return
        try:
            while self._unshown or self._skipped:
                self._unshown = self._unshown[os.write(self._handle, self._unshown) :]
                if not self._unshown and self._skipped:
                    self._unshown, self._skipped = self._gap(), 0
        except BlockingIOError:
            pass
        except OSError:
            self._unshown = b""  # hung up
        self.waiting = self._handle if self._unshown else None

    def _gap(self) -> bytes:
        skipped = self._skipped
        return b"... %d lines not shown here: see the transcript\n" % skipped if skipped else b""

    def pressed(self) -> bytes:
        """Return the keys that were pressed since the last call."""
        if self.keys is None:
            return b""
        try:
            typed = os.read(self.keys, 4096)
        except BlockingIOError:
            return b""
        except OSError:
            typed = b""
        if not typed:
            os.close(self.keys)
            self.keys = None
        return typed

    # --- lent to a program ---

    def lend(self, limit_s: float) -> bool:
        """Lend the terminal to another program, in its earlier modes; say whether there is a terminal.

        Until it is taken back, nothing is shown and no key is read.
        """
        if self._handle is None or self.keys is None:
            return False
        self.show_rest(limit_s)
        self._lent, self.keys = self.keys, None
        self._set(self._before)
        return True

    def give_to(self, group: int) -> None:
        """Send the keys of the terminal to a process group."""
        if self._handle is not None:
            with ignoring(OSError):
                os.tcsetpgrp(self._handle, group)

    def take_back(self) -> None:
        """Take the terminal back, and make it usable whatever the program did to it."""
        if self._lent is None:
            return
        self.keys, self._lent = self._lent, None
        self.give_to(os.getpgrp())
        self._set(self._ours)
        self.show(_USUAL)

    @property
    def is_hung_up(self) -> bool:
        """Say whether the terminal is gone."""
        if self._handle is None:
            return False
        poll = select.poll()
        poll.register(self._handle, 0)
        return any(what & (select.POLLHUP | select.POLLERR) for _, what in poll.poll(0))

    def _set(self, modes: list[Any] | None) -> None:
        if modes is not None and self._handle is not None:
            with ignoring(OSError, termios.error):
                termios.tcsetattr(self._handle, termios.TCSANOW, modes)

    def leave(self, limit_s: float) -> None:
        """Show the text that still waits, for a moment at most, and give the terminal back as it was."""
        self.show_rest(limit_s)
        self._set(self._before)

    def show_rest(self, limit_s: float) -> None:
        """Show the text that still waits, for a moment at most."""
        deadline = time.monotonic() + limit_s
        while self._unshown and (left := deadline - time.monotonic()) > 0:
            poll = select.poll()
            poll.register(self.waiting or 0, select.POLLOUT)
            poll.poll(round(left * 1000) + 1)
            self.flush()


# --- the window -------------------------------------------------------------------------------------------

_COLUMNS = 80  # of a terminal of unknown width
_NOTED = 256  # if twice as many events wait, the older half is passed over
_SMALL = 8 * 1024  # an event of more bytes does not wait, but becomes a block at once
_AT_ONCE = 32 * 1024  # characters that are made into rows at once
_KEPT_LINES = tool_calls.WINDOW.changed(blocks=300, size=64 * 1024)  # painted again in another width
_SETTLES_S = 0.15  # a window is often made wider in many steps
_MISSING = "parts are not shown here: see `tmuxagents transcript`"


class StoryWindow:
    """The window of one run: its story, painted as it grows, and again when the width changes.

    Events are only noted when they come. Their rows are made when the window is written, a few times a
    second. Most of a flood is passed over, and the window shows how many events that were.
    """

    __slots__ = (
        *("_afresh_at", "_columns", "_due", "_noted", "_painted_at", "_painter", "_passed_over", "_shown"),
        *("_skips", "_story", "terminal"),
    )

    def __init__(self, terminal: Terminal, environment: Mapping[str, str]) -> None:
        seen = {"TERM": os.environ.get("TERM", ""), "NO_COLOR": environment.get("NO_COLOR", "")}
        colour = styles.is_coloured(seen)
        self.terminal = terminal
        self._story = Story(_KEPT_LINES)
        self._painter = Painter(colour=colour)
        self._noted: list[Event] = []
        self._passed_over = 0
        self._shown = 0  # how many blocks were shown, forgotten ones included
        self._due: dict[Block, float] = {}  # open call -> when it is worth showing
        self._painted_at = 0.0
        self._columns = terminal.columns
        self._skips = 0
        self._afresh_at = NEVER  # when the window is to be painted again

    def head(self, plan: Plan, home: str) -> None:
        """Begin with the facts of the run."""
        self._story.head(plan, home)

    def take(self, event: Event, size: int) -> None:
        """Note an event; `size` is that of its line."""
        if event.type not in NEEDED or not self.terminal.is_ours:
            return
        self._noted.append(event)
        if size > _SMALL:
            self._take_noted()
        elif len(self._noted) >= 2 * _NOTED:
            del self._noted[:_NOTED]
            self._passed_over += _NOTED

    def note(self, words: str) -> None:
        """Show a remark that is no event."""
        self._take_noted()
        self._story.note(words)

    def close(self, verdict: Verdict, seconds: float, state: RunState) -> None:
        """Show how the run ended."""
        self._take_noted()
        self._story.close(verdict, seconds, state)

    def resized(self, now: float) -> None:
        """Plan to paint the window again if its width has changed."""
        if self.terminal.columns != self._columns:
            self._afresh_at = now + _SETTLES_S

    @property
    def has_news(self) -> bool:
        """Say whether there is something to show now."""
        unseen = self._noted or self._shown < self._blocks_so_far() or self._skips != self.terminal.skips
        return bool(unseen) and self.terminal.is_ours and self.terminal.waiting is None

    @property
    def wanted_at(self) -> float:
        """Return when the window has to be written even if nothing new comes."""
        if not self.terminal.is_ours:
            return NEVER
        return min([self._afresh_at, *(due for due in self._due.values() if due > self._painted_at)])

    def painted(self, now: float) -> bytes:
        """Return the text that brings the window up to date."""
        if not self.terminal.is_ours:
            return b""
        self._take_noted()
        self._painted_at = now
        self._due = {block: self._due.get(block, now + WORTH_SHOWING_S) for block in self._story.open}
        long = [block for block, due in self._due.items() if due <= now]
        width = self.terminal.columns or _COLUMNS
        if now >= self._afresh_at or self._skips != self.terminal.skips:
            self._afresh_at, self._skips, self._columns = NEVER, self.terminal.skips, self.terminal.columns
            text = self._painter.paint_afresh(self._story.blocks, long, width=width)
        else:
            text = self._painter.paint(self._new_blocks(), long, width=width)
        self._shown = self._blocks_so_far()
        return text.encode("utf-8", "replace")

    def _blocks_so_far(self) -> int:
        return self._story.forgotten + len(self._story.blocks)

    def _new_blocks(self) -> list[Block]:
        """Return the blocks that were not shown yet; of very many, only the last."""
        blocks = self._story.blocks[max(0, self._shown - self._story.forgotten) :]
        room = _AT_ONCE
        for number in range(len(blocks) - 1, -1, -1):
            room -= blocks[number].size
            if room < 0 and number < len(blocks) - 1:
                return [Block(NOTE, f"… {number + 1:,} {_MISSING}"), *blocks[number + 1 :]]
        return blocks

    def _take_noted(self) -> None:
        if self._passed_over:
            self._story.note(f"… {self._passed_over:,} {_MISSING}")
            self._passed_over = 0
        for event in self._noted:
            self._story.take(event)
        self._noted.clear()
