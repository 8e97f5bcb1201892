"""Continue the session of a run that has ended, or repeat a run, by launching a new run. Joins.

A session continues natively if it can, with a copy of the child's session file; else the prompt has a
transcript, and the receipt says why. The set-up comes from the session's latest plan or, if that has no seal,
from the preset as it is now. A key or account comes from the preset's file, because runs store no secrets.
The receipt warns if the preset has changed since the plan; with another account, the launch is refused.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tmuxagents import records
from tmuxagents.agents import find
from tmuxagents.agents.base import ChildSession
from tmuxagents.errors import BadRequest, NoSuchRun, NotPossible
from tmuxagents.launch import checks, continued, prepare
from tmuxagents.launch.continued import Continued
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.presets import disk
from tmuxagents.records import BATCH, LIVE
from tmuxagents.registry import sessions
from tmuxagents.runs import conversation, directory, output, prompt, seal
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import prompt_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tmuxagents.launch.arrival import Launched
    from tmuxagents.launch.launch import Launcher
    from tmuxagents.launch.plan import InCall
    from tmuxagents.presets.preset import Preset
    from tmuxagents.records import Plan, SetUp
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.runs.seal import Sealed
    from tmuxagents.settings.keys import Settings

SESSION_LIMIT = 64 * 1024 * 1024
_PROFILE = "profile"
_PROBLEMS = {
    records.MISSING: "is missing",
    records.TOO_LARGE: f"is larger than {SESSION_LIMIT // 1024 // 1024} MB",
    records.OUTSIDE: "is a link to somewhere else",
}


class WantedRun(NamedTuple):
    """The caller's wishes for the new run. None: as before. `cwd` is for a replay only."""

    task: str = ""
    model: str | None = None
    timeout: float | None = None
    name: str | None = None
    files: Sequence[str] = ()  # as on a command line
    replay: bool = False
    cwd: str | None = None
    driver: str | None = None
    blocks: Sequence[str] | None = None  # files that another machine has read already


def resume(
    launcher: Launcher, reference: str, wanted: WantedRun, call: InCall | None = None
) -> tuple[str, Launched]:
    """Launch a run that continues a session; return how it continues, and what was launched."""
    return _go_on(launcher, reference, wanted, call=call)


def reopen(launcher: Launcher, reference: str) -> tuple[str, Launched]:
    """Open the child's own session again, live and without a prompt; return how, and what was launched."""
    return _go_on(launcher, reference, WantedRun(continued.REOPENED, driver=LIVE), reopens=True)


def retry(
    launcher: Launcher, run_dir: str, wanted: WantedRun, call: InCall | None = None
) -> tuple[str | None, Launched]:
    """Repeat a run as a new one; return how that continues a session, if it does, and what was launched.

    If the run continued a session, the new one continues it from the same point. A warning says that the
    child does not know what was said in the session since then. The task in `wanted` does not count.
    """
    run = inspect(run_dir)
    if run.is_far:
        from tmuxagents.launch import far  # noqa: PLC0415  (most runs work here)

        return far.again(launcher, run, wanted._replace(task=run.plan.task), retries=True)
    plan = launched_with(run).plan or run.plan
    if plan.reopens:
        message = f"Run {run.run_id} had no task: a person opened its session again."
        hint = f"tmuxagents attach --resume {run.run_id[:8]} opens it once more"
        raise BadRequest(message, kind="bad-argument", hint=hint)
    wanted = wanted._replace(task=plan.task)
    if plan.resumes is not None:
        return _go_on(launcher, run.run_id, wanted, again=run_dir, call=call)
    request = _request_like(plan, wanted, launcher.caller)._replace(
        preset=continued.preset(plan),
        keeps=continued.model(plan, run.state.model),
        needs_model=False,
        files=[prompt.read(value, field="files") for value in plan.files],
        after=plan.after,
        allow_outside=plan.allow_outside,
        **continued.place(run.machine),
    )
    name = plan.name if run.ended else None  # an active run keeps its name
    request, warnings = checks.keep_name(launcher.caller, request, name)
    launched = launcher.launch(request, call)
    launched.warnings[:0] = warnings
    return None, launched


def _request_like(plan: Plan, wanted: WantedRun, caller: Caller) -> LaunchRequest:
    """Return the request for a run like an earlier one, except for what the caller wants to differ.

    The preset, the files and the session are left out.
    """
    return LaunchRequest(
        task=wanted.task,
        cwd=plan.cwd,
        project=plan.project or caller.project,
        agent=plan.agent,
        model=wanted.model,
        owner=caller.owner,
        timeout=plan.timeout if wanted.timeout is None else wanted.timeout,
        keep_background=plan.keep_background,
        driver=wanted.driver or (LIVE if plan.driver == LIVE else BATCH),
        permission=plan.permission,
    )


def _go_on(  # noqa: PLR0913  (which session, and how it continues)
    launcher: Launcher,
    reference: str,
    wanted: WantedRun,
    *,
    again: str | None = None,
    reopens: bool = False,
    call: InCall | None = None,
) -> tuple[str, Launched]:
    """Launch a run in a session; hold the session until the new run's wrapper has answered."""
    with sessions.held(reference, launcher.caller) as run_dirs:
        newest = inspect(run_dirs[-1])
        if newest.is_far:
            from tmuxagents.launch import far  # noqa: PLC0415  (as above)

            return far.again(launcher, newest, wanted, reopens=reopens)
        launcher.check_surroundings()
        turn = _Turn(run_dirs, launcher, wanted, again=again)
        if reopens:
            turn.refuse_replay()
        place = {} if reopens else continued.place(newest.machine)
        request = turn.request()._replace(reopens=reopens, blocks=wanted.blocks, **place)
        launched = launcher.start(launcher.prepare(request, call))
    launched.warnings[:0] = turn.warnings
    return turn.how, launched


def transcript(run_dirs: Iterable[str]) -> str:
    """Return the conversation of a session, for the prompt of a run that continues it."""
    return conversation.resume_text(conversation.previous(map(output.read_messages, run_dirs)))


class _Turn:
    """The next run of a session, before it is planned. `again`: the run that it repeats, if any.

    The child continues after the run `_before`, and is set up like the run `_like`. Both are the session's
    latest run, unless a run is repeated: then `_like` is that run, and `_before` the one it continued.
    """

    def __init__(
        self, run_dirs: Sequence[str], launcher: Launcher, wanted: WantedRun, *, again: str | None = None
    ) -> None:
        self._launcher = launcher
        self._wanted = wanted
        self._newest = run_dirs[-1]
        self._again = again is not None
        self._like = inspect(again or run_dirs[-1])
        sealed = launched_with(self._like)
        self._plan = sealed.plan or self._like.plan
        self._set_up = LastSetUp(self._plan, sealed, launcher.settings)
        self.warnings = list(self._set_up.warnings)
        self._run_dirs = run_dirs if again is None else self._until_before(run_dirs)
        self._before = inspect(self._run_dirs[-1])
        why = continued.ASKED if wanted.replay else None
        if self._again and self._plan.replayed is not None:
            why = continued.AS_BEFORE
        self._child = ChildSession(problem=why) if why else self._own_session()

    def _until_before(self, run_dirs: Sequence[str]) -> Sequence[str]:
        """Return the runs of the session up to the one that the repeated run continued."""
        ids = [os.path.basename(run_dir) for run_dir in run_dirs]
        before = str(self._plan.resumes)
        if before not in ids:
            message = f"Run {before[:8]}, which run {self._like.run_id[:8]} continued, is gone."
            hint = f"continue without it: tmuxagents resume {self._like.run_id[:8]} TASK"
            raise NoSuchRun(message, kind="unknown-run", hint=hint)
        since = [run_id[:8] for run_id in ids[ids.index(self._like.run_id) + 1 :]]
        if since:
            self.warnings.append(f"the child does not know what was said since, in {', '.join(since)}")
        return run_dirs[: ids.index(before) + 1]

    @property
    def how(self) -> str:
        """Return in which way the session continues."""
        run_id, problem = self._before.run_id, self._child.problem
        way = continued.natively(run_id) if problem is None else continued.replayed(run_id, problem)
        return f"does run {self._like.run_id[:8]} again, {way}" if self._again else way

    def refuse_replay(self) -> None:
        """Refuse a session that only a replay could continue."""
        if self._child.problem is not None:
            message = f"The session cannot be opened again: {self._child.problem}."
            hint = f"tmuxagents transcript {self._before.run_id[:8]}"
            raise NotPossible(message, kind="no-window", hint=hint)

    def request(self) -> LaunchRequest:
        """Return the request for the run."""
        plan, wanted, set_up, child = self._plan, self._wanted, self._set_up, self._child
        before, newest = self._before, directory.read_plan(self._newest)
        cwd = self._cwd()
        native = child.problem is None
        has_file = native and child.id is None
        session = {directory.SESSION: child.text.encode("utf-8")} if has_file else {}
        continues = Continued(
            plan.session_id,
            before.run_id,
            created_at=newest.created_at or 0.0 if newest else 0.0,
            transcript=None if native else transcript(self._run_dirs),
            set_up=set_up.recorded,
            texts={**set_up.texts, **session},
            model=continued.model(plan, self._like.state.model),
            preset=set_up.keyed,
            child_session=child.id,
            baseline=continued.baseline(before.plan, before.state) if child.id else None,
        )
        if self._again:
            specs = [prompt.read(value, field="files") for value in plan.files]
        else:
            specs = prepare.parse_files(wanted.files, cwd)
        caller = self._launcher.caller
        request = _request_like(plan, wanted, caller)._replace(
            cwd=cwd,
            preset=set_up.preset,
            name=wanted.name,
            files=specs,
            allow_outside=self._again and plan.allow_outside,
            continues=continues,
        )
        request, warnings = checks.keep_name(caller, request, plan.name)
        self.warnings += warnings
        return request

    def _own_session(self) -> ChildSession:
        """Return the child's own session after the run before, or why no child could continue it."""
        run_id = self._before.run_id
        agent = find(self._before.plan.agent, self._before.plan.agent_kind)
        if agent is not None and agent.keeps_sessions:
            plan, state = self._before.plan, self._before.state
            kept = continued.kept_session(plan, state, keeps_unanswered=agent.keeps_unanswered)
            lost = kept.id and prepare.lacks_log(self._launcher, plan, kept.id, self._set_up.keyed)
            return ChildSession(problem=continued.not_kept(run_id)) if lost else kept
        own = f"{os.path.realpath(self._launcher.caller.runs)}/{run_id}/{directory.SESSION}"
        # Like a file for a prompt, it is read up to a limit, and no other file is read in its place.
        found = prompt_file.read(own, limit=SESSION_LIMIT, may=lambda there: there == own)
        if found.problem is not None or agent is None:
            problem = _PROBLEMS.get(found.problem or "", "cannot be read")
            return ChildSession(problem=continued.file_problem(run_id, problem))
        child = agent.session(found.text)
        if child.problem is None and not os.path.isdir(child.cwd):
            child.problem = f"belongs to a folder that is gone: {child.cwd}"
        if child.problem is not None:
            child.problem = continued.file_problem(run_id, child.problem)
        return child

    def _cwd(self) -> str:
        """Return the working directory: that of the session, unless a replay names another one."""
        recorded = self._plan.cwd
        if self._wanted.cwd is not None:
            return self._wanted.cwd
        # A child works in the folder that its session names, even if the plan's path leads elsewhere by now.
        if self._child.problem is None and os.path.realpath(recorded) != os.path.realpath(self._child.cwd):
            there = self._child.cwd
            self.warnings.append(f"the child works in {there}, as its own session says, not in {recorded}")
            return there
        if not os.path.isdir(recorded):
            message = f"The working directory of the session is gone: {recorded}."
            raise BadRequest(message, kind="bad-cwd", hint="give --replay --cwd DIR", field="cwd")
        return recorded


# --- how the last run was set up --------------------------------------------------------------------------


def launched_with(run: RunView) -> Sealed:
    """Return what a run was launched with; raise NotPossible if its seal and its directory differ."""
    sealed = seal.sealed(run.run_dir)
    if sealed.changed:
        hint = f"see what it did: tmuxagents transcript {run.run_id[:8]}; then launch it anew"
        raise NotPossible(continued.changed(run.run_id, sealed.changed), kind="run-changed", hint=hint)
    return sealed


class LastSetUp:
    """The set-up of an earlier run's child: `recorded` in the plan, with its `texts`, and warnings.

    Without a seal, the plan is not trusted: nothing is recorded, and `preset` names the one to be read anew.
    `keyed` is the preset whose key or account the child uses.
    """

    __slots__ = ("keyed", "preset", "recorded", "texts", "warnings")

    def __init__(self, plan: Plan, sealed: Sealed, settings: Settings) -> None:
        self.recorded: SetUp | None = continued.set_up(plan) if sealed.sealed else None
        self.preset = None if sealed.sealed else continued.preset(plan)
        self.texts: Mapping[str, bytes] = {}
        self.warnings: list[str] = []
        self.keyed: Preset | None = None
        if self.preset is not None:
            self.warnings.append(continued.unsealed(plan.run_id, self.preset))
        if self.recorded is None:
            return
        names = [directory.SYSTEM_PROMPT] if plan.system_prompt_path else []
        names += [directory.APPEND_SYSTEM_PROMPT] if plan.append_system_prompt_path else []
        self.texts = {name: sealed.texts[name] for name in names}
        if plan.preset_path:
            self._look_at_file(plan, settings)
        if plan.account != (self.keyed.account if self.keyed else None):
            message = f"The account {plan.account} of the session is no longer that of {plan.preset_path}."
            raise NotPossible(message, kind="run-changed", hint="give the preset its account again")

    def _look_at_file(self, plan: Plan, settings: Settings) -> None:
        """Take a key or an account from the preset's file, and warn if the file has changed."""
        kind, path = str(plan.preset_kind), str(plan.preset_path)
        whose = f"{kind} {plan.preset}"
        goes_on = "the session keeps the set-up that it began with"
        try:
            file = disk.read_file(path, kind, str(plan.preset_source))
        except disk.RefusedFile as refused:
            self.warnings.append(f"{whose} cannot be read now ({path}: {refused.why}): {goes_on}")
            return
        if file.hash != plan.preset_hash:
            self.warnings.append(f"{whose} has been changed since ({path}): {goes_on}")
        if kind == _PROFILE or plan.account is not None:
            from tmuxagents.presets import preset  # noqa: PLC0415  (YAML with it, which few sessions need)

            found = preset.parse(file, full_profiles=settings.project_profiles_full)
            if isinstance(found, preset.Preset) and found.name == plan.preset:
                self.keyed = found
