"""Plan the runs of a call, from their presets, files and models, or refuse the whole call. Joins.

Nothing is written here, so a call that is refused here leaves no run.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from tmuxagents.agents import installed, resolve
from tmuxagents.errors import BadRequest
from tmuxagents.launch import demands, nesting
from tmuxagents.launch import plan as plans
from tmuxagents.launch.demands import Faults
from tmuxagents.launch.plan import InCall
from tmuxagents.runs import directory, prompt
from tmuxagents.system import prompt_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tmuxagents.agents.models import Resolved
    from tmuxagents.launch.launch import Launcher
    from tmuxagents.launch.nesting import NestingPermission
    from tmuxagents.launch.plan import LaunchRequest, Target
    from tmuxagents.presets.preset import Preset, PresetFile
    from tmuxagents.presets.survey import Chooser
    from tmuxagents.records import Plan
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.prompt import FileSpec
    from tmuxagents.settings.keys import Settings


class Prepared(NamedTuple):
    """A run that is planned but not yet made: its request, its plan, the texts for its directory.

    `variables` go into the child's environment and into no file, since they may hold secrets.
    """

    request: LaunchRequest
    plan: Plan
    texts: Mapping[str, bytes]
    variables: Mapping[str, str]
    warnings: Sequence[str]

    def unnamed(self) -> Prepared:
        """Return the same run without its name."""
        return self._replace(request=self.request._replace(name=None), plan=self.plan.changed(name=None))


class PlanSurroundings(NamedTuple):
    """What a plan depends on besides its request: its call, its window, the child that launches it."""

    call: InCall
    target: Target
    nesting: NestingPermission | None

    def plan(
        self, request: LaunchRequest, *, model: Resolved | None = None, preset: Preset | None = None
    ) -> Plan:
        """Return the plan of a run."""
        set_up = plans.set_up_of(request, preset)
        set_up, root = nesting.bounded(self.call.run_id, set_up, self.nesting)
        return plans.plan_run(
            request,
            call=self.call,
            target=self.target,
            now=time.time(),
            set_up=set_up,
            root=root,
            model=model,
        )


def initiator_here(environment: Mapping[str, str], owner: str | None) -> str:
    """Say who launches from this process."""
    terminal = any(map(os.isatty, (0, 1, 2)))
    return plans.initiator(environment, owner=owner, terminal=terminal)


def new_call() -> InCall:
    """Return a new call's id, and the place of its first run."""
    run_id = os.urandom(8).hex()
    return InCall(run_id, run_id)


class Preparing:
    """Prepares the runs of one caller; reads presets only once."""

    def __init__(
        self,
        caller: Caller,
        environment: Mapping[str, str],
        settings: Settings,
        *,
        project_presets: bool = True,
    ) -> None:
        self._caller = caller
        self._environment = environment
        self._settings = settings
        self._project_presets = project_presets
        self._chooser: Chooser | None = None

    def prepare(self, request: LaunchRequest, around: PlanSurroundings) -> Prepared:
        """Plan a run, or refuse it."""
        preset = None
        if request.preset is not None:
            preset = self.chooser().choose(request.preset, cwd=request.cwd).for_agent(request.agent)
            plans.check_preset(preset, request)
        request = self._filled_in(request, preset)
        model = self._model(request, preset)

        name = request.agent or self._settings.default_agent
        agent = installed.agent_of(name, self._settings)  # it exists: it has just been asked for its models
        granted = demands.grant(name, agent.capabilities(), request, preset)
        plan = around.plan(request._replace(permission=granted.permission), model=model, preset=preset)
        plan = plan.changed(initiator=initiator_here(self._environment, request.owner))
        if preset is not None and list(plan.tools) != granted.tools:
            plan = plan.changed(tools=granted.tools)
        variables, warnings = _variables(plan, self._settings, _keyed(request, preset))

        blocks: list[str] = []
        if request.blocks is not None:
            blocks = list(request.blocks)
        elif request.files and not request.reopens:
            blocks = file_blocks(request.files, request.cwd, allow_outside=request.allow_outside)
        before, text = request.continues, ""
        if not request.reopens:
            transcript = before.transcript if before else None
            text = prompt.compose(request.task, blocks=blocks, transcript=transcript)
        texts = {directory.PROMPT: plans.prompt_bytes(text), **plans.prompt_files(preset)}
        texts |= before.texts if before else {}

        warnings = [
            *(preset.warnings if preset else []),
            *model.warnings,
            *warnings,
            *prompt.left_out(blocks),
        ]
        return Prepared(request, plan, texts, variables, list(dict.fromkeys(warnings)))

    def _model(self, request: LaunchRequest, preset: Preset | None) -> Resolved:
        """Return the model that the call names, else that of the session or run before, else by the rules."""
        before = request.continues
        kept = None if request.model else request.keeps or (before.model if before else None)
        keyed = _keyed(request, preset)
        model = resolve.resolve(
            kept.resolved if kept else request.model,
            request.agent or self._settings.default_agent,
            self._environment,
            self._settings,
            cwd=request.cwd,
            preset_model=preset.model if preset else None,
            preset_name=preset.name if preset else None,
            required=before is None and request.needs_model,
            listed=keyed is None or (keyed.api_key is None and keyed.account is None),
        )
        if kept is not None:
            return model._replace(requested=kept.requested, source=kept.source)
        return model

    def chooser(self) -> Chooser:
        """Return the chooser of presets."""
        from tmuxagents.presets.survey import Chooser  # noqa: PLC0415  (and YAML: few launches have a preset)

        if self._chooser is None:
            self._chooser = Chooser(
                self._caller.folder,
                self._environment,
                self._settings,
                project_presets=self._project_presets,
            )
        return self._chooser

    def take_preset(self, file: PresetFile) -> None:
        """Make a preset that another machine has sent the only one."""
        from tmuxagents.presets.survey import Chooser  # noqa: PLC0415  (as above)

        self._chooser = Chooser(self._caller.folder, self._environment, self._settings, only=file)

    def left_out(self) -> list[str]:
        """Return warnings about presets that could not be read."""
        return self._chooser.survey.warnings if self._chooser else []

    def _filled_in(self, request: LaunchRequest, preset: Preset | None) -> LaunchRequest:
        """Return the request, completed first from the preset and then from the settings."""
        settings = self._settings
        timeout, spared = request.timeout, request.keep_background
        if timeout is None:
            timeout = preset.timeout if preset else None
        # In a session, `keep_background` stays as it was, whatever the settings are now.
        if request.continues is None or preset is not None:
            named = preset.keep_background if preset else None
            spared |= settings.keep_background if named is None else named
        return request._replace(
            agent=request.agent or (preset and preset.agent) or settings.default_agent,
            driver=request.driver or (preset and preset.driver) or settings.driver,
            timeout=settings.numbers["timeout"] if timeout is None else timeout,
            keep_background=spared,
        )


def _keyed(request: LaunchRequest, preset: Preset | None) -> Preset | None:
    """Return the preset whose key and account the child uses: its own, else that of its session."""
    return preset or (request.continues.preset if request.continues else None)


def _variables(plan: Plan, settings: Settings, keyed: Preset | None) -> tuple[dict[str, str], list[str]]:
    """Return the child's variables for another home, account or key, and warnings.

    The preset's variables replace those of the settings.
    """
    variable = installed.agent_of(plan.agent, settings).home_variable
    given = [(settings.agent_homes.get(plan.agent), settings.agent_variables.get(plan.agent))]
    given += [(keyed.home, keyed.variables)] if keyed else []
    found: dict[str, str] = {}
    for home, variables in given:
        found |= {} if home is None else {variable: os.path.expanduser(home)}
        found |= variables or {}
    if keyed is None or keyed.api_key is None:
        return found, []
    from tmuxagents.presets.survey import key_variables  # noqa: PLC0415  (as above)

    of_key, warnings = key_variables(keyed, plan)
    return {**found, **of_key}, warnings


def lacks_log(launcher: Launcher, plan: Plan, session: str, keyed: Preset | None) -> bool:
    """Say whether the agent of a run has kept nothing of its session: it may have been killed too early.

    If even the folder of its sessions is missing, they are in a place that we do not know.
    """
    variables, _ = _variables(plan, launcher.settings, keyed)
    environment = {**launcher.environment, **variables}
    log = installed.agent_of(plan.agent, launcher.settings).session_log(session, environment)
    if log is None or not os.path.isdir(os.path.dirname(os.path.dirname(log))):
        return False
    return not os.path.exists(log)


# --- the runs of one call -------------------------------------------------------------------------------


def prepare(
    launcher: Launcher,
    requests: Sequence[LaunchRequest],
    *,
    listed: bool = True,
    after: Sequence[Sequence[int]] = (),
) -> list[Prepared]:
    """Plan all runs of a call, or refuse the whole call with all its faults.

    `listed`: the requests come from a list, so each fault names a place in it. `after`: for each request, the
    numbers of the earlier requests for which its run waits.
    """
    launcher.check_surroundings()
    batch, faults, prepared = Batch(launcher), Faults(), []
    ids: dict[int, str] = {}
    for number, request in enumerate(requests):
        earlier = [ids[one] for one in (after[number] if after else ()) if one in ids]
        try:
            prepared.append(batch.prepare(request._replace(after=[*request.after, *earlier])))
            ids[number] = prepared[-1].plan.run_id
        except BadRequest as refusal:
            faults.add_refusal(refusal, f"tasks[{number}]" if listed else "")
    with launcher.explaining():
        faults.refuse()
    return prepared


class Batch:
    """The runs of one call while they are prepared. They share a call id, and no two share a name."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self._first = new_call()
        self._names: set[str] = set()
        self._count = 0

    def prepare(self, request: LaunchRequest) -> Prepared:
        """Plan the next run of the call, or refuse it."""
        call = self.next()
        name = request.name
        if name is not None and name in self._names:
            message = f'Two tasks of this call have the name "{name}".'
            raise BadRequest(message, kind="bad-argument", hint="give each its own", field="name")
        self._names.update([name] if name is not None else [])
        return self.launcher.prepare(request, call)

    def next(self, task_name: str | None = None) -> InCall:
        """Return the place of the next run of the call."""
        number, self._count = self._count, self._count + 1
        first = self._first.call_id
        return InCall(first if number == 0 else os.urandom(8).hex(), first, number, task_name)


# --- the files of a prompt ------------------------------------------------------------------------------


def parse_files(words: Iterable[str], cwd: str) -> list[FileSpec]:
    """Parse the `--file` options of a command line. A word that is the name of a file means that file."""
    return [
        prompt.parse(word, is_file=os.path.lexists(os.path.join(cwd, word)), field="--file") for word in words
    ]


def file_blocks(specs: Sequence[FileSpec], cwd: str, *, allow_outside: bool = False) -> list[str]:
    """Return a block for each file. For a file that cannot be read, the block says so; nothing fails."""
    folder = os.path.realpath(cwd)

    def may(resolved: str) -> bool:
        return prompt.may_be_read(resolved, folder, allow_outside=allow_outside)

    found = [
        prompt_file.read(os.path.join(cwd, spec.path), limit=prompt.FILE_LIMIT, may=may) for spec in specs
    ]
    return [prompt.file_block(spec, text) for spec, text in zip(specs, found, strict=True)]
