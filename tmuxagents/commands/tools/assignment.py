"""One task of delegate_to_subagents: what was asked for, checked against sessions and profiles."""

from __future__ import annotations

from tmuxagents.commands import fitness, resume
from tmuxagents.commands import sessions as held_sessions
from tmuxagents.commands.inspect import inspect
from tmuxagents.commands.tools import remembered
from tmuxagents.commands.tools.door import no_room_to_stand
from tmuxagents.core import catalogue_check, catalogue_words, child_flags, filespecs, place, plan, sessions
from tmuxagents.core.continuing import Continued
from tmuxagents.core.plan import LaunchRequest
from tmuxagents.errors import BadConfig, BadRequest, Fault, NotPossible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import ExitStack
    from typing import Any

    from tmuxagents.commands.known import Caller
    from tmuxagents.commands.launch import Launcher
    from tmuxagents.commands.tools.door import Door
    from tmuxagents.core.catalogue_check import Faults

_FIELDS = {"task": "prompt", "preset": "profile"}  # what a field of a launch is called here
_LONGEST_NAME = 32


class Assignment:
    """One task. `fields`: those of its profile; `refusal`: why it ends before it begins."""

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
        """Make the request, and see what is wrong with it whatever its profile may be."""
        task, cwd = self._task, self._task.get("cwd") or door.folder
        self.request = LaunchRequest(
            task=task["prompt"],
            cwd=cwd or "/",
            project=launcher.caller.project,
            preset=self.profile,
            mode=catalogue_words.PARALLEL,
            owner=launcher.caller.owner,
            timeout=task.get("timeout"),
            files=[filespecs.read(file, field="files") for file in task.get("files") or ()],
            needs_model=False,
        )
        try:
            if cwd is None:
                raise no_room_to_stand()
            plan.check(self.request)
            fitness.check_cwd(cwd)
        except BadRequest as refusal:
            faults.add_refusal(refusal, self._place, rename=_FIELDS)
        self.request.name = self._wished_name()

    def _wished_name(self) -> str | None:
        """Return what the run may be called: the name of the task, in the letters that names have."""
        name = place.safe_name(self.name, "", longest=_LONGEST_NAME)
        return name if plan.is_name(name) else None

    # --- the session that it continues --------------------------------------------------------------------

    def take_session(self, caller: Caller, held: ExitStack, faults: Faults, taken: set[str]) -> None:
        """Hold the session that this task continues, and have its transcript."""
        reference = self._task.get("resume")
        if not reference:
            return
        try:
            self.request.continues = self._continued(reference, caller, held, taken)
        except (BadRequest, NotPossible) as refusal:
            for fault in refusal.faults:
                own = Fault(fault.kind, fault.message, field=f"{self._place}.resume")
                faults.add(own, group=catalogue_check.RESUME)

    def _continued(self, reference: str, caller: Caller, held: ExitStack, taken: set[str]) -> Continued:
        run_dirs = remembered.find(reference, caller, sessions.unknown_resume, field="resume")
        latest = inspect(run_dirs[-1])
        session_id = str(latest.meta.get("sessionId") or latest.run_id)
        if session_id in taken:
            message = f'Cannot resume: two tasks of this call continue session "{session_id}".'
            raise BadRequest(message, kind="bad-argument", hint="one after the other, in two calls")
        taken.add(session_id)
        run_dirs = held.enter_context(held_sessions.held(latest.run_id, caller))
        latest = inspect(run_dirs[-1])
        return Continued(
            session_id,
            latest.run_id,
            created_at=float(latest.meta.get("createdAt") or 0.0),
            transcript=resume.transcript(run_dirs[-sessions.MOST_RUNS :]),
        )

    # --- its profile --------------------------------------------------------------------------------------

    def take_profile(self, launcher: Launcher, faults: Faults) -> None:
        """Find its profile. One that contradicts itself is the call's fault, any other trouble its own."""
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
        conflicts = (
            (child_flags.tool_conflict, catalogue_check.TOOLS),
            (child_flags.skill_conflict, catalogue_check.SKILLS),
        )
        for conflict, group in conflicts if chosen.kind == "profile" else ():
            message = conflict(chosen.fields, chosen.name)
            if message is not None and not faults.has(message):
                faults.add(Fault("bad-profile", message, field=field), group=group)
