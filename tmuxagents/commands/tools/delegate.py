"""delegate_to_subagents: many tasks at once, each in a session of its own or one that it continues.

What is wrong with the call starts nothing. What is wrong with one task alone ends that task, as a run like
any other, and the rest go on.
"""

from __future__ import annotations

import contextlib
import time

from tmuxagents.commands import call as calls
from tmuxagents.commands.batch import Batch
from tmuxagents.commands.tools import remembered
from tmuxagents.commands.tools.assignment import Assignment
from tmuxagents.commands.tools.door import Answer
from tmuxagents.commands.tools.progress import Child, Progress
from tmuxagents.core import catalogue_words, delegates, preset_words, settings
from tmuxagents.core.endings import NOT_SPAWNED, Cause, misconfigured
from tmuxagents.core.previews import Place
from tmuxagents.core.window import KEPT, Window
from tmuxagents.errors import BadConfig, BadRequest, TmuxAgentsError, Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.commands.call import Task
    from tmuxagents.commands.launch import Launcher
    from tmuxagents.commands.prepare import Prepared
    from tmuxagents.commands.tools.door import Door
    from tmuxagents.core.catalogue_check import Faults
    from tmuxagents.core.events import Event

DONE = "done"
_SHOWN_MEANWHILE = 100  # lines of a child in each line of progress; all that is kept comes at the end


def delegate_to_subagents(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Carry out all tasks and tell how each has ended."""
    if faults.is_about(None) or faults.is_about("tasks"):
        faults.refuse()
    with contextlib.ExitStack() as held:  # the sessions that are continued, until they have their next run
        launcher, assignments = _accepted(arguments, door, faults, held)
        prepared, doomed = _prepared(launcher, assignments)
        most = int(launcher.settings.numbers["maxConcurrency"])
        call = calls.Call(launcher, prepared, most=most, doomed=doomed, named=False)
        return _carried_out(call, assignments, launcher, door)


def _accepted(
    arguments: Mapping[str, Any], door: Door, faults: Faults, held: contextlib.ExitStack
) -> tuple[Launcher, list[Assignment]]:
    """Return the tasks, each with what is known of its profile and session; or refuse the whole call."""
    try:
        launcher = door.launcher()
        launcher.check_surroundings()
    except TmuxAgentsError:
        faults.refuse()  # what is wrong with the call comes before what is wrong with the machine
        raise
    common = None if faults.is_about("profile") else arguments.get("profile")
    assignments = [
        Assignment(number, task, common or None)
        for number, task in enumerate(arguments["tasks"])
        if not faults.is_at(f"tasks[{number}]")
    ]
    taken: set[str] = set()
    for assignment in assignments:
        assignment.check(launcher, door, faults)
        assignment.take_session(launcher.caller, held, faults, taken)
        assignment.take_profile(launcher, faults)
    faults.refuse()
    return launcher, assignments


def _prepared(
    launcher: Launcher, assignments: Sequence[Assignment]
) -> tuple[list[Prepared], dict[int, Cause]]:
    """Return all runs as they are going to be, and why some of them end before they begin."""
    batch = Batch(launcher)
    prepared: list[Prepared] = []
    doomed: dict[int, Cause] = {}
    names: set[str] = set()
    for assignment in assignments:
        keys = batch.keys() | {remembered.TASK_NAME: assignment.name}
        request = assignment.request
        if request.name in names:
            request.name = None
        try:
            prepared.append(_prepare(launcher, assignment, keys))
        except (BadRequest, BadConfig) as refusal:
            doomed[assignment.number] = misconfigured(refusal.message)
        except Unusable as unfit:
            if unfit.kind != "agent-missing":
                raise
            doomed[assignment.number] = NOT_SPAWNED
        if assignment.number in doomed:
            request.name = None
            prepared.append(launcher.sketch(request, **keys))
        names.update([request.name] if request.name else [])
    return prepared, doomed


def _prepare(launcher: Launcher, assignment: Assignment, keys: Mapping[str, Any]) -> Prepared:
    """Return one run as it is going to be. Its name is only wished for."""
    if assignment.refusal is not None:
        raise assignment.refusal
    try:
        return launcher.prepare(assignment.request, **keys)
    except BadRequest as refusal:
        if assignment.request.name is None or refusal.faults[0].field != "name":
            raise
    assignment.request.name = None
    return launcher.prepare(assignment.request, **keys)


# --- while it works, and at its end -----------------------------------------------------------------------


class _View(Child):
    """One child with the lines of its window."""

    def __init__(self, task: Task, assignment: Assignment, launcher: Launcher) -> None:
        numbers = launcher.settings.numbers
        place = Place(
            cwd=task.prepared.request.cwd,
            home=launcher.environment.get("HOME") or "/",
            width=settings.preview_width(launcher.settings, None),
        )
        self.lines = Window(place, int(numbers["maxLinesPerWindow"]))
        self.assignment = assignment
        super().__init__(task, self._take_line)

    def _take_line(self, event: Event) -> None:
        self.lines.take(event)

    def window(self, most: int) -> dict[str, Any]:
        """Return its entry of `details.windows`, with at most so many of all its lines."""
        given = self.assignment
        shape = delegates.window_document(self.document(), given.name, self.lines, given.fields)
        own = {"profileName": given.profile, "profileInfo": self.summary}
        return {**shape, **own, "allMessages": shape["allMessages"][-most:]}

    @property
    def summary(self) -> str | None:
        """Return its profile in one line, if there is such a profile."""
        given = self.assignment
        if given.profile is None or given.fields is None:
            return None
        return preset_words.summary(given.profile, given.fields)

    def outcome(self) -> str:
        """Return how it has ended, as a line."""
        run = self.document()
        return delegates.outcome_line(
            self.assignment.name,
            run["status"],
            run["sessionId"],
            message=run["errorMessage"],
            profile=self.summary or self.assignment.profile,
        )


def _carried_out(
    call: calls.Call, assignments: Sequence[Assignment], launcher: Launcher, door: Door
) -> Answer:
    views = [_View(task, one, launcher) for task, one in zip(call.tasks, assignments, strict=True)]
    most_lines = int(launcher.settings.numbers["maxLinesPerWindow"])

    def details(status: str, most: int) -> dict[str, Any]:
        windows = [view.window(most) for view in views]
        sessions = [window["sessionId"] for window in windows]
        shape = {"globalStatus": status, "maxLinesPerWindow": most_lines}
        return {**shape, "sessionIds": sessions, "windows": windows}

    def describe() -> dict[str, Any]:
        shape = details(delegates.RUNNING, _SHOWN_MEANWHILE)
        text = delegates.progress_text(window["status"] for window in shape["windows"])
        view = delegates.view_text(shape["windows"], now_ms=time.time() * 1000)
        return catalogue_words.progress(text, shape, view=view)

    progress = Progress(views, describe, door.hear)
    with door.interrupts as interrupts:
        progress.tell()
        call.carry_out(progress.tell, interrupts.handle, interrupts.came)
    progress.finish()
    text = "\n".join(view.outcome() for view in views)
    warnings = [
        f"{one.name}: {warning}"
        for one, task in zip(assignments, call.tasks, strict=True)
        for warning in task.warnings
    ]
    return Answer(text, details(DONE, KEPT), warnings)
