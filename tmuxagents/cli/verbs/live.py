"""What is seen of a call while it works: a block a child on a terminal, a line a change elsewhere. Joins.

It shows and decides nothing. What cannot be written (a lost connection) is not written, and nothing stops.
"""

from __future__ import annotations

import contextlib
import math
import os
import time

from tmuxagents.cli import printing
from tmuxagents.runs import narration, words
from tmuxagents.runs.inspect import Follower
from tmuxagents.settings import keys as setting_rules
from tmuxagents.text import width
from tmuxagents.tools.answers import label
from tmuxagents.views import board, lines
from tmuxagents.views.lines import TEXT, TOOL, LastLines
from tmuxagents.views.previews import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from tmuxagents.launch.call import Call, Task
    from tmuxagents.runs.events import Event
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.settings.keys import Settings

_ROUND_S = 0.1  # of a screen
_LINES_S = 1.0  # at most one line a second a child
_COLOURS = {
    lines.ADDED: "32",
    lines.REMOVED: "31",
    lines.MUTED: "2",
    board.TITLE: "1",
    board.HEAD: "1",
    board.PROBLEM: "31",
    board.ASIDE: "2",
}


class Silence:
    """Nothing to be seen."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def tell(self) -> float:
        """Return when it wants to tell again: never."""
        return math.inf


class Lines(Silence):
    """A line for each change of what a child does, at most one a second a child."""

    def __init__(self, call: Call) -> None:
        self._children = [_Child(task, call.settings, alone=True) for task in call.tasks]
        self._told: dict[str, tuple[str, str | None]] = {}

    def tell(self) -> float:
        """Tell what is new."""
        for child in self._children:
            run = child.look()
            now = (run.standing.status, run.doing) if run is not None else None
            if run is None or now is None or self._told.get(run.run_id) == now:
                continue
            self._told[run.run_id] = now
            shown = words.SnapshotRow(run.document(time.time()), run.run_id[:8], activity=run.doing)
            _write(f"{words.follow_line(shown, printing.width())}\n{child.news()}")
        return time.monotonic() + _LINES_S


class LiveBlocks(Silence):
    """A block for each child, drawn again and again in one place."""

    def __init__(self, call: Call) -> None:
        alone = len(call.tasks) == 1
        self._children = [_Child(task, call.settings, alone=alone) for task in call.tasks]
        self._height = 0
        self._drawn = ""

    def __exit__(self, *_: object) -> None:
        self._draw(last=True)

    def tell(self) -> float:
        """Draw anew."""
        self._draw()
        return time.monotonic() + _ROUND_S

    def _draw(self, *, last: bool = False) -> None:
        columns, rows = _size()
        lines = self._lines(last=last)
        shown = lines if last else lines[-(rows - 1) :]
        text = "".join(f"\x1b[2K{_coloured(kind, width.fit(line, columns - 1))}\n" for kind, line in shown)
        news = "".join(child.news() for child in self._children)  # stays, above what is drawn again
        if text == self._drawn and not news:
            return
        up = f"\x1b[{self._height}A" if self._height else ""
        clear = "\x1b[0J"
        _write(f"{up}\r{clear if news else ''}{news}{text}{clear}")
        self._drawn, self._height = text, len(shown)

    def _lines(self, *, last: bool) -> list[tuple[str, str]]:
        """Return what is to be seen: at last only how each child ended, since its answer comes next."""
        now_ms = time.time() * 1000
        windows = [window for child in self._children if (window := child.window()) is not None]
        lines = [(board.HEAD, board.header(window["status"] for window in windows))]
        for window in windows:
            block = board.block(window, expanded=False, now_ms=now_ms)
            lines += block[:1] if last else [(board.BLANK, ""), *block]
        return [*lines, (board.BLANK, "")] if last else lines


class _Child:
    """One child of the call, as far as it can be seen."""

    def __init__(self, task: Task, settings: Settings, *, alone: bool) -> None:
        self._task = task
        self._follower: Follower | None = None
        width = setting_rules.preview_width(settings, printing.columns())
        place = Place(cwd=task.prepared.request.cwd, home=os.path.expanduser("~"), width=width)
        self._lines = LastLines(place, int(settings.numbers["maxLinesPerWindow"]))
        self._narrator = narration.Narrator() if alone else None  # one child speaks in phrases
        self._warned = 0

    def look(self) -> RunView | None:
        """Return the current run; None if there is none yet."""
        if self._follower is None:
            if not os.path.isdir(self._task.run_dir):
                return None
            self._follower = Follower(self._task.run_dir, self._take)
        return self._follower.look()

    def news(self) -> str:
        """Return lines for the warnings that were not shown yet."""
        told, self._warned = self._warned, len(self._task.warnings)
        return "".join(f"{printing.warning(text)}\n" for text in self._task.warnings[told:])

    def _take(self, event: Event) -> None:
        if self._narrator is None:
            self._lines.take(event)
            return
        phrase = self._narrator.phrase(event)
        if phrase is not None:
            self._lines.append(phrase, TEXT if event.type == "assistant_text" else TOOL)

    def window(self) -> dict[str, Any] | None:
        """Return the block of this child; None if there is nothing to see yet."""
        run = self.look()
        if run is None:
            return None
        document = run.document(time.time())
        return board.window_document(document, label(document), self._lines)


def _size() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(printing.ERR)
    except OSError:
        return words.WIDTH, 24
    return max(20, size.columns), max(4, size.lines)


def _coloured(kind: str, text: str) -> str:
    if os.environ.get("NO_COLOR"):
        return text
    if kind == TOOL:
        return "".join(_paint(colour, part) for colour, part in lines.spans(text))
    return _paint(kind, text)


def _paint(colour: str, text: str) -> str:
    code = _COLOURS.get(colour)
    return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


def _write(text: str) -> None:
    with contextlib.suppress(OSError):
        printing.write(text.encode("utf-8", "replace"), printing.ERR)
