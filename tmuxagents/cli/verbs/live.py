"""What a call shows while it works: a picture on a terminal, a line per change elsewhere. Joins.

It decides nothing. Text that cannot be written, since a connection is lost, is dropped, and nothing stops.
"""

from __future__ import annotations

import contextlib
import math
import os
import time

from tmuxagents.cli import printing
from tmuxagents.cli.picture import Picture
from tmuxagents.runs import narration, words
from tmuxagents.runs.inspect import Follower
from tmuxagents.settings import keys as setting_rules
from tmuxagents.status import table
from tmuxagents.views import call as call_view
from tmuxagents.views.lines import TEXT, TOOL, LastLines
from tmuxagents.views.previews import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from tmuxagents.launch.call import Call, Task
    from tmuxagents.runs.events import Event
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.settings.keys import Settings
    from tmuxagents.views.call import ChildView

_ROUND_S = 0.1  # of a picture
_LINES_S = 1.0  # at most one line per second and child


class Silence:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def tell(self) -> float:
        """Return when it wants to tell again: never."""
        return math.inf


class Lines(Silence):
    """A line for each change of what a child does, at most one per second and child.

    `ends_only`: a line for the end of each of several children.
    """

    def __init__(self, call: Call, *, ends_only: bool = False) -> None:
        self._ends_only = ends_only
        self._alone = len(call.tasks) == 1
        self._children = [_Child(task, call.settings, alone=True) for task in call.tasks]
        self._warnings = _Warnings(call.tasks)
        self._told: dict[str, tuple[str, str | None]] = {}

    def tell(self) -> float:
        """Tell what is new."""
        _write(self._warnings.new())
        for child in self._children:
            run = child.look()
            if run is None or (self._ends_only and (self._alone or not run.ended)):
                continue
            now = (run.standing.status, run.doing)
            if self._told.get(run.run_id) == now:
                continue
            self._told[run.run_id] = now
            shown = words.SnapshotRow(run.document(time.time()), run.run_id[:8], activity=run.doing)
            _write(f"{words.follow_line(shown, printing.width())}\n")
        return time.monotonic() + _LINES_S


class LivePicture(Silence):
    """All children in one picture, drawn again and again in one place; warnings scroll away above it."""

    def __init__(self, call: Call) -> None:
        alone = len(call.tasks) == 1
        self._children = [_Child(task, call.settings, alone=alone) for task in call.tasks]
        self._warnings = _Warnings(call.tasks)
        self._picture = Picture(printing.ERR)

    def __exit__(self, *_: object) -> None:
        self._draw(last=True)

    def tell(self) -> float:
        """Draw anew."""
        self._draw(last=False)
        return time.monotonic() + _ROUND_S

    def _draw(self, *, last: bool) -> None:
        """Draw all children, at last only how each of them has ended: its answer comes next."""
        columns, rows = self._picture.size()
        views = [view for child in self._children if (view := child.view()) is not None]
        if last:
            found = [call_view.summary(views)] if len(views) > 1 else []
            found += map(call_view.title, views)
        else:
            found = call_view.picture(views, rows - 1)
        paints = printing.paints(printing.ERR)
        lines = [
            table.painted(line if paints else [("", text) for _, text in line], columns - 1) for line in found
        ]
        self._picture.draw(lines, self._warnings.new())


class _Warnings:
    """The warnings of all tasks of a call, each of them told once."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._told: set[str] = set()

    def new(self) -> str:
        """Return lines for those that were not told yet."""
        found = dict.fromkeys(
            text for task in self._tasks for text in task.warnings if text not in self._told
        )
        self._told |= found.keys()
        return "".join(f"{printing.warning(text)}\n" for text in found)


class _Child:
    """One child of the call, as far as it can be seen."""

    def __init__(self, task: Task, settings: Settings, *, alone: bool) -> None:
        self._task = task
        self._follower: Follower | None = None
        width = setting_rules.preview_width(settings, printing.columns())
        place = Place(cwd=task.prepared.request.cwd, home=os.path.expanduser("~"), width=width)
        self._lines = LastLines(place, int(settings.numbers["maxLinesPerWindow"]))
        self._narrator = narration.Narrator() if alone else None  # one child speaks in phrases

    def look(self) -> RunView | None:
        """Return the current run; None if there is none yet."""
        if self._follower is None:
            if not os.path.isdir(self._task.run_dir):
                return None
            self._follower = Follower(self._task.run_dir, self._take)
        return self._follower.look()

    def _take(self, event: Event) -> None:
        if self._narrator is None:
            self._lines.take(event)
            return
        phrase = self._narrator.phrase(event)
        if phrase is not None:
            self._lines.append(phrase, TEXT if event.type == "assistant_text" else TOOL)

    def view(self) -> ChildView | None:
        """Return the view of this child; None if there is nothing to see yet."""
        run = self.look()
        return None if run is None else call_view.ChildView(run.document(time.time()), self._lines.lines)


def _write(text: str) -> None:
    with contextlib.suppress(OSError):
        printing.write(text.encode("utf-8", "replace"), printing.ERR)
