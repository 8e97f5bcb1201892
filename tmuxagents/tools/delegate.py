"""The tool delegate_to_subagents: many tasks at once, each in a new or a continued session. Joins.

A fault in the arguments refuses the call, and nothing starts. A task that cannot start for another reason,
such as an unknown profile, gets a failed run, and the other tasks go on.
"""

from __future__ import annotations

import contextlib
import time

from tmuxagents.agents import models
from tmuxagents.agents.pi import command
from tmuxagents.errors import BadConfig, BadRequest, Fault, NotPossible, TmuxAgentsError, Unusable
from tmuxagents.launch import call as calls
from tmuxagents.launch import checks, continued, demands, plan, resume
from tmuxagents.launch.continued import Continued
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.launch.prepare import Batch
from tmuxagents.presets import describe
from tmuxagents.registry import sessions
from tmuxagents.runs import prompt, words
from tmuxagents.runs.endings import NOT_SPAWNED, Cause, misconfigured
from tmuxagents.runs.inspect import inspect
from tmuxagents.settings import keys
from tmuxagents.tmux import place
from tmuxagents.tools import answers, retrieval
from tmuxagents.tools.door import Answer, Child, no_cwd
from tmuxagents.views import board
from tmuxagents.views.lines import KEPT, LastLines
from tmuxagents.views.previews import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack
    from typing import Any

    from tmuxagents.launch.call import Task
    from tmuxagents.launch.demands import Faults
    from tmuxagents.launch.launch import Launcher
    from tmuxagents.launch.plan import InCall
    from tmuxagents.launch.prepare import Prepared
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.tools.door import Door

DONE = "done"
_OWN_MODEL = "no model chosen: the child uses its own default"
_SHOWN_MEANWHILE = 100  # lines of a child in each progress document; the answer has all that are kept


def delegate_to_subagents(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Carry out all tasks and report the ending of each."""
    if faults.is_about(None) or faults.is_about("tasks"):
        faults.refuse()
    with contextlib.ExitStack() as held:  # holds each continued session until it has its next run
        launcher, assignments = _accepted(arguments, door, faults, held)
        prepared, failed = _prepared(launcher, assignments)
        numbers = launcher.settings.numbers
        most = int(numbers["maxConcurrency"])
        call = calls.Call(launcher, prepared, most=most, failed=failed, named=False)
        views = [_View(task, one, launcher) for task, one in zip(call.tasks, assignments, strict=True)]
        report = _Report(views, most_lines=int(numbers["maxLinesPerWindow"]))
        door.carry_out(call, views, report.progress)
    warnings = [
        f"{one.name}: {warning}"
        for one, task in zip(assignments, call.tasks, strict=True)
        for warning in task.warnings
    ]
    return Answer("\n".join(view.outcome() for view in views), report.details(DONE, KEPT), warnings)


def _accepted(
    arguments: Mapping[str, Any], door: Door, faults: Faults, held: contextlib.ExitStack
) -> tuple[Launcher, list[Assignment]]:
    """Return a launcher and the tasks, each with its profile and session; or refuse the whole call."""
    try:
        launcher = door.launcher()
        launcher.check_surroundings()
    except TmuxAgentsError:
        faults.refuse()  # faults of the call are reported before problems of the machine
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
        assignment.take_profile(launcher, faults)
        assignment.take_session(launcher.caller, held, faults, taken)
    faults.refuse()
    return launcher, assignments


def _prepared(
    launcher: Launcher, assignments: Sequence[Assignment]
) -> tuple[list[Prepared], dict[int, Cause]]:
    """Return all planned runs; and by number of the task, why a run fails before it starts."""
    batch = Batch(launcher)
    prepared: list[Prepared] = []
    failed: dict[int, Cause] = {}
    names: set[str] = set()
    for assignment in assignments:
        call, request = batch.next(assignment.name), assignment.request
        if request.name in names:
            request = request._replace(name=None)
        cause = None
        try:
            one = assignment.prepare(launcher, request, call)
        except (BadRequest, BadConfig) as refusal:
            cause = misconfigured(refusal.message)
        except Unusable as unfit:
            if unfit.kind != "agent-missing":
                raise
            cause = NOT_SPAWNED
        if cause is not None:
            failed[assignment.number] = cause
            one = launcher.sketch(request._replace(name=None), call)
        elif one.plan.resolved_model is None or one.plan.model_source == models.OWN:
            one = one._replace(warnings=[*one.warnings, _OWN_MODEL])
        prepared.append(one)
        names.update([one.request.name] if one.request.name else [])
    return prepared, failed


# --- while it works, and at its end -----------------------------------------------------------------------


class _View(Child):
    """One child, with the last lines of its transcript."""

    def __init__(self, task: Task, assignment: Assignment, launcher: Launcher) -> None:
        numbers = launcher.settings.numbers
        place = Place(
            cwd=task.prepared.request.cwd,
            home=launcher.environment.get("HOME") or "/",
            width=keys.preview_width(launcher.settings, None),
        )
        self.lines = LastLines(place, int(numbers["maxLinesPerWindow"]))
        self.assignment = assignment
        super().__init__(task, self.lines.take)

    def window(self, most: int) -> dict[str, Any]:
        """Return the child's entry in `details.windows`, with at most `most` lines."""
        given = self.assignment
        shape = board.window_document(self.document(), given.name, self.lines, given.fields)
        own = {"profileName": given.profile, "profileInfo": self.summary}
        return {**shape, **own, "allMessages": shape["allMessages"][-most:]}

    @property
    def summary(self) -> str | None:
        """Return the child's profile in one line, if that profile exists."""
        given = self.assignment
        if given.profile is None or given.fields is None:
            return None
        return describe.summary(given.profile, given.fields)

    def outcome(self) -> str:
        """Return the child's ending as a line."""
        run = self.document()
        return board.outcome_line(
            self.assignment.name,
            run["status"],
            run["sessionId"],
            message=run["errorMessage"],
            profile=self.summary or self.assignment.profile,
        )


class _Report:
    """All children of the call in one document, while they work and at the end."""

    def __init__(self, views: Sequence[_View], *, most_lines: int) -> None:
        self._views = views
        self._most_lines = most_lines  # the limit of the settings

    def details(self, status: str, most: int) -> dict[str, Any]:
        """Return the `details` of the answer, with at most `most` lines of each child."""
        windows = [view.window(most) for view in self._views]
        return {
            "globalStatus": status,
            "maxLinesPerWindow": self._most_lines,
            "sessionIds": [window["sessionId"] for window in windows],
            "windows": windows,
        }

    def progress(self) -> dict[str, Any]:
        """Return a progress document."""
        details = self.details(words.RUNNING, _SHOWN_MEANWHILE)
        text = board.progress_text(window["status"] for window in details["windows"])
        view = board.view_text(details["windows"], now_ms=time.time() * 1000)
        return answers.progress(text, details, view=view)


# --- one task ---------------------------------------------------------------------------------------------

_FIELDS = {"task": "prompt", "preset": "profile"}  # field of a launch -> the parameter of this tool
_LONGEST_NAME = 32


class Assignment:
    """One task of the call. `fields`: those of its profile; `refusal`: why its run fails before it starts."""

    def __init__(self, number: int, task: Mapping[str, Any], profile: str | None) -> None:
        self.number = number
        self.name: str = task["name"]
        self.profile: str | None = task.get("profile") or profile
        self.fields: Mapping[str, Any] | None = None
        self.refusal: BadRequest | BadConfig | None = None
        self.request: LaunchRequest
        self._task = task
        self._place = f"tasks[{number}]"

    def check(self, launcher: Launcher, door: Door, faults: Faults) -> None:
        """Make the request of the task, and collect the faults that do not depend on the profile."""
        task, cwd = self._task, self._task.get("cwd") or door.folder
        self.request = LaunchRequest(
            task=task["prompt"],
            cwd=cwd or "/",
            project=launcher.caller.project,
            preset=self.profile,
            mode=answers.PARALLEL,
            owner=launcher.caller.owner,
            timeout=task.get("timeout"),
            files=[prompt.read(file, field="files") for file in task.get("files") or ()],
            needs_model=False,
        )
        try:
            if cwd is None:
                raise no_cwd()
            plan.check(self.request)
            checks.check_cwd(cwd)
        except BadRequest as refusal:
            faults.add_refusal(refusal, self._place, rename=_FIELDS)
        name = place.safe_name(self.name, "", longest=_LONGEST_NAME)
        self.request = self.request._replace(name=name if plan.is_name(name) else None)

    def take_session(self, caller: Caller, held: ExitStack, faults: Faults, taken: set[str]) -> None:
        """Hold the session that this task continues, if any, and read its transcript."""
        reference, field = self._task.get("resume"), f"{self._place}.resume"
        if not reference:
            return
        try:
            run_dirs = retrieval.find(reference, caller, sessions.unknown_resume, field="resume")
            latest = inspect(run_dirs[-1])
            session_id = latest.plan.session_id
            if session_id in taken:
                message = f'Cannot resume: two tasks of this call continue session "{session_id}".'
                faults.add(Fault("bad-argument", message, field=field), group=demands.RESUME)
                return
            taken.add(session_id)
            run_dirs = held.enter_context(sessions.held(latest.run_id, caller))
            latest = inspect(run_dirs[-1])
            # A profile that has a model decides; otherwise the child continues with the session's model.
            chosen = self.fields and (self.fields.get("model") or self.fields.get("provider"))
            continues = Continued(
                session_id,
                latest.run_id,
                created_at=latest.plan.created_at or 0.0,
                transcript=resume.transcript(run_dirs[-retrieval.MOST_RUNS :]),
                model=None if chosen else continued.model(latest.plan, latest.state.model),
            )
            self.request = self.request._replace(continues=continues)
        except (BadRequest, NotPossible) as refusal:
            for fault in refusal.faults:
                faults.add(Fault(fault.kind, fault.message, field=field), group=demands.RESUME)

    def take_profile(self, launcher: Launcher, faults: Faults) -> None:
        """Find the task's profile.

        A profile that contradicts itself refuses the call. One that cannot be used at all makes the run fail.
        """
        if self.profile is None:
            return
        catalogue = launcher.preparing.chooser().survey.catalogue
        try:
            chosen = catalogue.choose(self.profile, refuse=lambda name: catalogue.unknown(name, "profile"))
        except (BadRequest, BadConfig) as refusal:
            self.refusal = refusal
            return
        self.fields = chosen.fields
        field = f"{self._place}.profile" if self._task.get("profile") else "profile"
        conflicts = ((command.tool_conflict, demands.TOOLS), (command.skill_conflict, demands.SKILLS))
        for conflict, group in conflicts if chosen.kind == "profile" else ():
            message = conflict(chosen.fields, chosen.name)
            if message is not None and not faults.has(message):
                faults.add(Fault("bad-profile", message, field=field), group=group)

    def prepare(self, launcher: Launcher, request: LaunchRequest, call: InCall) -> Prepared:
        """Plan the run of a request for this task. If its name is taken, the run has no name."""
        if self.refusal is not None:
            raise self.refusal
        try:
            return launcher.prepare(request, call)
        except BadRequest as refusal:
            if request.name is None or refusal.faults[0].field != "name":
                raise
        return launcher.prepare(request._replace(name=None), call)
