"""Choose the run to show: a person picks it from a list, or it is the next one that needs a person. Joins."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import termios
import time

from tmuxagents import tmux
from tmuxagents.attach import attach, rules, seen
from tmuxagents.attach.attach import live_runs
from tmuxagents.attach.rules import LEAVE, RunChooser
from tmuxagents.errors import NoSuchRun, NotPossible, Unusable
from tmuxagents.records import FAILED
from tmuxagents.registry import lookup
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import poll, table
from tmuxagents.status.snapshot import take
from tmuxagents.system import foreground, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType
    from typing import Any, Self

    from tmuxagents.attach.attach import RunTarget, Viewer
    from tmuxagents.registry.database import Row
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.runs.words import SnapshotRow

_NEWEST = 30  # runs among which failed ones are looked for
_QUESTION = "Attach to which run?"
_IN, _OUT = 0, 1
_TAKEN = b"\x1b[?1049h\x1b[?25l\x1b[2J"  # another screen, without a cursor, empty
_GIVEN_BACK = b"\x1b[0m\x1b[?25h\x1b[?1049l"
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_PIECE = 4096
_LOCAL_FLAGS, _INPUT_FLAGS = 3, 0
_UNFINISHED = re.compile(rb"\x1b(?:O|\[[^@-~]*)?\Z")  # the first part of an escape sequence, or Escape
_REST_S = 0.05  # how long the rest of a sequence may take
_KEY = re.compile(r"\x1b(?:O.?|\[[^@-~]*[@-~]?)?|.", re.DOTALL)  # an escape sequence, or a letter
_SEQUENCES = {
    **{f"\x1b[{letter}": name for letter, name in zip("ABHF", ("up", "down", "home", "end"), strict=True)},
    **{f"\x1bO{letter}": name for letter, name in zip("ABHF", ("up", "down", "home", "end"), strict=True)},
    "\x1b[5~": "page-up",
    "\x1b[6~": "page-down",
    "\x1b[1~": "home",
    "\x1b[4~": "end",
}
_LETTERS = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace"}


def to_choose(caller: Caller) -> list[SnapshotRow]:
    """Return active runs and the latest failures of the caller's scope, those that need a person first."""
    order = rules.following(_order(caller), None)
    rows = {shown.run["runId"]: shown for shown in take(poll.named(order), caller).rows}
    return [rows[run_id] for run_id in order if run_id in rows]


def ask(rows: Sequence[SnapshotRow]) -> str | None:
    """Let a person choose one of these runs on the terminal; None if they leave."""
    with FullScreen() as terminal:
        chooser = RunChooser(_QUESTION)
        while True:
            size = terminal.size()
            header, *lines = table.lines(rows, time.time(), width=size[0])
            chooser.take(header, lines)
            terminal.draw(chooser.draw(*size))
            typed = terminal.typed(60.0)
            if typed is None:
                return None
            for key in keys(typed):
                number = chooser.press(key)
                if number is not None:
                    return None if number == LEAVE else str(rows[number].run["runId"])


def next_run(caller: Caller, viewer: Viewer) -> tuple[RunView, RunTarget]:
    """Return the next run that needs a person: the newest unseen one, then waiting and working ones.

    A run whose window cannot be reached is skipped.
    """
    fault: NotPossible | Unusable = NoSuchRun("No run is active here any more.", kind="unknown-run")
    for run_id in rules.following(_order(caller), viewer.seat.shown.run_id if viewer.seat else None):
        try:
            run = inspect(f"{caller.runs}/{run_id}")
            target, _ = attach.find_window(run)
        except tmux.Unanswered:
            raise
        except (NotPossible, Unusable) as why:
            fault = why
            continue
        if target is not None:
            return run, target
    raise fault


def _order(caller: Caller) -> list[rules.Key]:
    """Return the runs of the caller's scope that may need a person; raise if there are none."""
    try:
        found = live_runs(caller)
    except NoSuchRun:
        if not _failed(caller):
            raise
        live = []
    else:
        live = [found.registry_rows[run_id] for run_id in found.active]
    ranked = [(rules.WAITING if row.needs_input else rules.WORKING, row) for row in live]
    ranked += [(rules.SEEN, row) for row in _failed(caller)]
    return [
        (
            rules.UNSEEN if seen.is_unseen(row, caller.runs) else rank,
            seen.needs_since(row) or row.created_at,
            row.run_id,
        )
        for rank, row in ranked
    ]


def _failed(caller: Caller) -> list[Row]:
    """Return the failed runs; call it after a snapshot, which has found the latest endings."""
    scope = poll.query_of(caller).scope
    newest, _ = lookup.with_registry(caller, lambda book: book.rows(scope, limit=_NEWEST))
    return [row for row in newest if row.status == FAILED]


# --- the terminal ---


class FullScreen:
    """The terminal on our stdin and stdout, taken over by `with`.

    The terminal is restored after an error, Ctrl-C, TERM or a lost connection; only KILL prevents it.
    """

    def __init__(self) -> None:
        self.is_new = True  # the screen is empty: draw everything
        self._is_ours = False
        self._before: list[Any] = []
        self._handlers: dict[int, Any] = {}
        self._wake, self._waker = -1, -1
        self._rows: list[str] = []

    def __enter__(self) -> Self:
        self._wake, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before = termios.tcgetattr(_IN)
        ours: dict[int, Callable[[int, FrameType | None], None]] = dict.fromkeys(_ENDING, foreground.leave)
        ours |= {signal.SIGTSTP: self._pause, signal.SIGWINCH: self._resized}
        self._handlers = {number: signal.signal(number, ours[number]) for number in ours}
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._wake)
        os.close(self._waker)

    def size(self) -> tuple[int, int]:
        """Return columns and rows."""
        size = os.get_terminal_size(_OUT)
        return size.columns or 80, size.lines or 24  # some terminals report no size

    def draw(self, rows: Sequence[str]) -> None:
        """Draw the rows that have changed; draw all on a screen that is new or has another size."""
        if self.is_new:
            self._rows = []
            places.write_all(_OUT, b"\x1b[2J")
        changed = [
            f"\x1b[{number};1H{row}\x1b[0m\x1b[K"
            for number, row in enumerate(rows, 1)
            if number > len(self._rows) or self._rows[number - 1] != row
        ]
        self._rows, self.is_new = list(rows), False
        if changed:
            places.write_all(_OUT, "".join(changed).encode("utf-8", "replace"))

    def typed(self, limit_s: float) -> bytes | None:
        """Wait for keys and return them; b"" if the time is up or the size changed, None if none can come."""
        ready, _, _ = select.select([_IN, self._wake], [], [], limit_s)
        if self._wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake, _PIECE)
        if _IN not in ready:
            return b""
        try:
            piece = os.read(_IN, _PIECE)
            while _UNFINISHED.search(piece) and select.select([_IN], [], [], _REST_S)[0]:
                rest = os.read(_IN, _PIECE)
                if not rest:
                    break
                piece += rest
        except OSError:
            return None
        return piece or None

    def _take(self) -> None:
        now = [*self._before]
        now[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)
        now[_INPUT_FLAGS] &= ~(termios.IXON | termios.ICRNL)
        termios.tcsetattr(_IN, termios.TCSADRAIN, now)
        places.write_all(_OUT, _TAKEN)
        self.is_new = self._is_ours = True

    def _give_back(self) -> None:
        if not self._is_ours:
            return
        self._is_ours = False
        with contextlib.suppress(OSError):
            places.write_all(_OUT, _GIVEN_BACK)
        with contextlib.suppress(termios.error):
            termios.tcsetattr(_IN, termios.TCSADRAIN, self._before)

    def _resized(self, *_: object) -> None:
        self.is_new = True
        with contextlib.suppress(BlockingIOError):
            os.write(self._waker, b"\0")

    def _pause(self, *_: object) -> None:
        """Stop as Ctrl-Z demands, and take the screen again when we continue."""
        was_ours = self._is_ours
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        if was_ours:
            self._take()
            self._resized()


def keys(typed: bytes) -> Iterator[str]:
    """Yield the names of the keys that were typed; letters name themselves, all else is left out."""
    for found in _KEY.findall(typed.decode("utf-8", "ignore")):
        if found.startswith("\x1b"):
            name = _SEQUENCES.get(found, "escape" if found == "\x1b" else "")
        else:
            name = _LETTERS.get(found, found if found.isprintable() else "")
        if name:
            yield name
