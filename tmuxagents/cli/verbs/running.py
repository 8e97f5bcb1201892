"""The verb run: children in the foreground. Progress goes to stderr, answers go to stdout.

While a call works, a terminal shows a picture of it. Any other stderr gets a line whenever one of several
children ends; with --progress, a line for each change. With --attach the terminal first shows the child's own
window, and the picture once the person is back. If stderr cannot be written, the text is dropped.

Joins.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import time

import click

from tmuxagents.cli import options, printing, values
from tmuxagents.cli.rendered import Picture
from tmuxagents.cli.verbs import attaching, launching, reading
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.launch.call import Call
from tmuxagents.launch.prepare import prepare
from tmuxagents.registry import lookup
from tmuxagents.runs import narration, output, words
from tmuxagents.runs.endings import PARENT
from tmuxagents.runs.inspect import Follower, inspect
from tmuxagents.settings import keys as setting_rules
from tmuxagents.status import ending_text, poll, table
from tmuxagents.status.snapshot import take
from tmuxagents.system import foreground
from tmuxagents.system.lifeline import SignalInterrupts
from tmuxagents.text import figures
from tmuxagents.views import lines as call_view
from tmuxagents.views.lines import TEXT, TOOL, LastLines
from tmuxagents.views.previews import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from tmuxagents.attach.attach import Viewer
    from tmuxagents.launch.call import Task
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.events import Event
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.settings.keys import Settings
    from tmuxagents.status.snapshot import Snapshot
    from tmuxagents.views.lines import ChildView

SINGLE, PARALLEL = "single", "parallel"
_ROUND_S = 0.1  # between two pictures
_LINES_S = 1.0  # at most one line per second and child
_LOOK_S = 0.2  # between two checks whether the person is back


@click.command(epilog='Example: tmuxagents run "Find where sessions are created."')
@options.launching
@options.TASKS
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="With --tasks: run N at once.")
@click.option("--progress", is_flag=True, help="Off a terminal: print each change, not only how it ended.")
@click.option(
    "--max-bytes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep head and tail of longer answers (default: 4000 bytes each of several, on a terminal all).",
)
@options.ATTACH
@values.JSON
def run(  # noqa: PLR0913  (one parameter an option)
    *,
    task: tuple[str, ...],
    task_file: str | None,
    tasks_file: str | None,
    concurrency: int | None,
    progress: bool,
    max_bytes: int | None,
    attaches: bool,
    as_json: bool,
    **wanted: Any,
) -> int:
    """Run TASK, wait for it and print the answer. Ctrl-C stops it; the exit code says how it ended."""
    if tasks_file is not None:
        launching.refuse_beside({"TASK": task, "--task-file": task_file, "--attach": attaches}, wanted)
    # Without a viewer, nothing is launched.
    viewer = attaching.viewer_here("tmuxagents run --attach, or leave out --attach") if attaches else None
    launcher = options.launcher(project_presets=not wanted.pop("no_project_presets"))
    if tasks_file is None:
        values.refuse_odd_task(task, wanted["after"])
        text = values.read_task(task, task_file)
        asked = launching.TaskRequests([options.request(launcher, text, mode=SINGLE, **wanted)], [], None)
    else:
        asked = launching.requests_of(launcher, tasks_file, mode=PARALLEL, **wanted)
    most = concurrency or asked.concurrency or int(launcher.settings.numbers["maxConcurrency"])
    prepared = prepare(launcher, asked.requests, listed=tasks_file is not None, after=asked.after)
    call = Call(launcher, prepared, most=most)
    with SignalInterrupts() as interrupts:
        view = Silence()
        if not as_json:
            is_drawn = printing.is_terminal(printing.ERR)
            view = LivePicture(call) if is_drawn else Lines(call, ends_only=not progress)
        with Attached(call, viewer, interrupts, view) if viewer else view as seen:
            call.carry_out(seen.tell, interrupts.handle, interrupts.came)
    found = _print(call, launcher.caller, max_bytes, as_json=as_json)
    if call.cancelled:
        name = signal.Signals(interrupts.number).name
        aborted = sum(row.run["reason"] == PARENT.reason for row in found.rows)
        notice = f"{name}: aborted {aborted} of {figures.counted(len(call.tasks), 'run')}"
        printing.lines([notice], printing.ERR)
        return 128 + interrupts.number
    ids = [task.run_id for task in call.tasks]
    lookup.mark_answered(launcher.caller, ids)
    return 0 if len(found.rows) == len(ids) and poll.went_well(found, ids, launcher.caller) else 1


def _print(call: Call, caller: Caller, max_bytes: int | None, *, as_json: bool) -> Snapshot:
    """Print the answers, in the order of the tasks, or a document; return the runs.

    A program gets head and tail of long answers if there are several.
    """
    ids = [task.run_id for task in call.tasks]
    found = take(poll.named(ids), caller)
    found.rows.sort(key=lambda shown: ids.index(shown.run["runId"]))
    untold = [warning for task in call.tasks for warning in task.warnings] if as_json else []
    printing.warn(dict.fromkeys([*untold, *found.warnings]))
    if as_json:
        printing.document(poll.as_document(found, caller))
        return found
    answers = [(shown.run, output.answer(found.views[shown.run["runId"]])) for shown in found.rows]
    if len(answers) == 1:
        run, text = answers[0]
        reading.print_ended(run, text and ending_text.cut(text, run["runId"], max_bytes))
    else:
        most = max_bytes or (None if printing.is_terminal() else ending_text.MOST_BYTES)
        reading.print_answer(ending_text.blocks(answers, most))
    used = words.line([run["usage"] for run, _ in answers])
    if used and not printing.is_terminal(printing.ERR):  # the picture has shown it
        printing.lines([used], printing.ERR)
    return found


# --- the views of a call at work ---


class Silence:
    """The view that shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def tell(self) -> float:
        """Return the (monotonic) time of the next report: never."""
        return math.inf


class _Children(Silence):
    """A view of all children. It prints each warning once."""

    def __init__(self, call: Call) -> None:
        self._tasks = call.tasks
        self._alone = len(call.tasks) == 1
        self._warned: set[str] = set()

    def _new_warnings(self) -> str:
        """Return lines for the warnings that were not printed yet."""
        found = dict.fromkeys(text for task in self._tasks for text in task.warnings)
        new = [text for text in found if text not in self._warned]
        self._warned.update(new)
        return "".join(f"{printing.warning(text)}\n" for text in new)


class Lines(_Children):
    """A line for each change of a child's activity, at most one per second and child.

    `ends_only`: only a line for each end, and only if there are several children.
    """

    def __init__(self, call: Call, *, ends_only: bool) -> None:
        super().__init__(call)
        self._children = [_Child(task) for task in call.tasks]
        self._ends_only = ends_only
        self._printed: dict[str, tuple[str, str | None]] = {}

    def tell(self) -> float:
        """Print the changes; return the time of the next report."""
        _write(self._new_warnings())
        for child in self._children:
            run = child.look()
            if run is None or (self._ends_only and (self._alone or not run.ended)):
                continue
            now = (run.standing.status, run.doing)
            if self._printed.get(run.run_id) == now:
                continue
            self._printed[run.run_id] = now
            shown = words.SnapshotRow(run.document(time.time()), run.run_id[:8], activity=run.doing)
            _write(f"{words.follow_line(shown, printing.width())}\n")
        return time.monotonic() + _LINES_S


class LivePicture(_Children):
    """All children in one picture, which is redrawn in place. Warnings scroll away above it."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self._children = [_DrawnChild(task, call.settings, alone=self._alone) for task in call.tasks]
        self._picture = Picture(printing.ERR)

    def __exit__(self, *_: object) -> None:
        self._draw(last=True)

    def tell(self) -> float:
        """Draw the picture again; return the time of the next one."""
        self._draw(last=False)
        return time.monotonic() + _ROUND_S

    def _draw(self, *, last: bool) -> None:
        """Draw all children. The last picture shows only how each has ended, since the answers follow it."""
        columns, rows = self._picture.size()
        views = [view for child in self._children if (view := child.view()) is not None]
        if last:
            found = [call_view.call_summary(views)] if len(views) > 1 else []
            found += map(call_view.call_title, views)
        else:
            found = call_view.call_picture(views, rows - 1)
        paints = printing.paints(printing.ERR)
        lines = [
            table.painted(line if paints else [("", text) for _, text in line], columns - 1) for line in found
        ]
        self._picture.draw(lines, self._new_warnings())


class _Child:
    """One child of the call. Its events go to `take`."""

    def __init__(self, task: Task, take: Callable[[Event], None] | None = None) -> None:
        self._task = task
        self._take = take
        self._follower: Follower | None = None

    def look(self) -> RunView | None:
        """Return the current run; None if there is none yet."""
        if self._follower is None:
            if not os.path.isdir(self._task.run_dir):
                return None
            self._follower = Follower(self._task.run_dir, self._take)
        return self._follower.look()


class _DrawnChild(_Child):
    """A child with the lines that show its work: phrases if it is alone, else previews."""

    def __init__(self, task: Task, settings: Settings, *, alone: bool) -> None:
        super().__init__(task, self._add)
        width = setting_rules.preview_width(settings, printing.columns())
        place = Place(cwd=task.prepared.request.cwd, home=os.path.expanduser("~"), width=width)
        self._lines = LastLines(place, int(settings.numbers["maxLinesPerWindow"]))
        self._narrator = narration.Narrator() if alone else None

    def _add(self, event: Event) -> None:
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


class Attached(Silence):
    """The first child's window, as soon as it exists. `after` shows the call once the person is back."""

    def __init__(self, call: Call, viewer: Viewer, interrupts: SignalInterrupts, after: Silence) -> None:
        self._first = call.tasks[0]
        self._viewer: Viewer | None = viewer
        self._interrupts = interrupts
        self._after = after
        self._client: foreground.Beside | None = None

    def __enter__(self) -> Self:
        self._after.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the person to come back, unless they cancel the call."""
        while self._client is not None and not self._client.is_over:
            select.select([self._interrupts.handle], [], [], _LOOK_S)
            if self._interrupts.came():
                self._client.end()
        self._after.__exit__()

    def tell(self) -> float:
        """Show the window once it exists; until then, and while it has the terminal, write nothing."""
        if self._viewer is not None and self._first.is_there:
            viewer, self._viewer = self._viewer, None
            known = self._first.warnings
            viewer.warnings = [warning for warning in viewer.warnings if warning not in known]
            try:
                argv = attaching.way_to(inspect(self._first.run_dir), viewer)
                self._client = foreground.Beside(argv, attaching.outside(), reads=True) if argv else None
            except (TmuxAgentsError, OSError) as error:  # the children continue all the same
                printing.warn([f"not attached: {error}"])
        shows = self._client is not None and not self._client.is_over
        return time.monotonic() + _LOOK_S if shows or self._viewer is not None else self._after.tell()


VERBS = {"run": run}
