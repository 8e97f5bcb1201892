"""Read the presets, profiles and skills that can be named in a folder, and choose one preset. Joins.

Each file is read once, so that the plan has the hash of the very text that the child gets. Skills are
searched only if a profile names any, and at most once for each folder in a call. A folder with a SKILL.md is
one skill and is not searched further. Only regular files that no other user could have written are read. A
project's file is not read if it really lies outside the project, since a link in a cloned repository could
point to any of our files.
"""

from __future__ import annotations

import os

from tmuxagents.agents import AGENTS, find
from tmuxagents.agents.pi import command
from tmuxagents.errors import BadRequest
from tmuxagents.presets import catalogue, describe, disk
from tmuxagents.presets import fields as preset_fields
from tmuxagents.presets.catalogue import Catalogue
from tmuxagents.presets.fields import PROFILE
from tmuxagents.system import places, project, prompt_file
from tmuxagents.text import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tmuxagents.presets.catalogue import Skill
    from tmuxagents.presets.preset import Preset, PresetFile
    from tmuxagents.records import Plan
    from tmuxagents.settings.keys import Settings


class Survey:
    """The presets that can be named in a folder, and the files that had to be left out."""

    __slots__ = ("catalogue", "refused", "warnings")

    def __init__(self, catalogue: Catalogue, refused: Sequence[disk.RefusedFile]) -> None:
        self.catalogue = catalogue
        self.refused = list(refused)
        self.warnings = [*(f"presets: {one}" for one in refused), *catalogue.warnings]

    @property
    def presets(self) -> list[Preset]:
        """All presets and profiles. Hidden ones come after the one that hides them."""
        return self.catalogue.presets


class Chooser:
    """Chooses presets for the children of one call. Files are read once, skills once for each folder."""

    def __init__(
        self,
        folder: str,
        environment: Mapping[str, str],
        settings: Settings,
        *,
        project_presets: bool = True,
        only: PresetFile | None = None,
    ) -> None:
        self._folder = folder
        self._environment = environment
        self._settings = settings
        self._skills: dict[str, dict[str, Skill]] = {}
        if only is not None:
            self.survey = Survey(Catalogue([only], full_profiles=settings.project_profiles_full), [])
            return
        self.survey = survey(folder, environment, settings, project_presets=project_presets)

    def choose(self, name: str, *, cwd: str | None = None) -> Preset:
        """Return the preset or profile of a name, ready for a child in `cwd`, with warnings.

        Raises BadRequest (`unknown-preset`, `bad-profile`, `unknown-skill`), and BadConfig for a bad file.
        """
        chosen = self.survey.catalogue.choose(name)
        known = tools_of(chosen, self._settings)
        hiding = catalogue.hiding(chosen)
        warnings = [
            *self.survey.warnings,
            *chosen.warnings,
            *([hiding] if hiding else []),
            *unknown_tools(chosen, known),
        ]
        faults = list(preset_fields.faults(chosen, has_model=True))  # the call may name a model
        if faults:
            raise BadRequest(
                faults[0].message, kind=faults[0].kind, faults=faults, hint=f"correct {chosen.path}"
            )
        fields = command.apply_exclusions(chosen.fields, known)
        if chosen.kind == PROFILE and catalogue.skills_are_wanted(fields):
            folder = cwd or self._folder
            if folder not in self._skills:
                home = places.user_home(self._environment)
                self._skills[folder] = discover(folder, project.project_of(folder, home), self._environment)
            fields = catalogue.resolve_skills(fields, self._skills[folder])
        return chosen.ready(fields, warnings)


def survey(
    folder: str, environment: Mapping[str, str], settings: Settings, *, project_presets: bool = True
) -> Survey:
    """Read all preset and profile files that count in a folder."""
    foreign, unknown = [], []
    if settings.presets_from:
        having = {name: files for name in AGENTS if (files := AGENTS[name].agent_files()) is not None}
    for place, name in enumerate(settings.presets_from):
        files = having.get(name)
        if files is None:
            unknown.append(f"presetsFrom: no agent {name} has agent files; these have: {', '.join(having)}")
            continue
        variable, home = AGENTS[name].home_variable, places.user_home(environment)
        if not files.own.startswith("."):
            home += f"/.{name}"
        if variable != "HOME":
            home = environment.get(variable) or home
        home = os.path.expanduser(settings.agent_homes.get(name) or home)
        own = [f"{home}/{one}" for one in files.own.split(",")]
        foreign.append(disk.ForeignFiles(files, own, place))
    with_project = project_presets and settings.project_presets
    found = disk.read_all(folder, environment, with_project=with_project, foreign=foreign)
    skipped = {one.path: str(one) for one in found.refused}
    catalogue = Catalogue(found.files, full_profiles=settings.project_profiles_full, skipped=skipped)
    catalogue.warnings += unknown
    return Survey(catalogue, found.refused)


def key_variables(preset: Preset, plan: Plan) -> tuple[Mapping[str, str], list[str]]:
    """Return the variables that give a child its profile's key, and warnings."""
    agent = find(plan.agent, plan.agent_kind)
    if preset.api_key is None or agent is None:
        return {}, []
    model = plan.resolved_model or ""
    provider = model.partition("/")[0] if "/" in model else preset.fields.get("provider")
    given = agent.key_variables(preset.api_key, provider)
    if len(given) > 1:
        return given, []
    whose = f"the provider {provider}" if provider else "an unknown provider"
    return given, [
        f"profile {preset.name}: no variable for the key of {whose} is known; {', '.join(given)} is set"
    ]


def tools_of(preset: Preset, settings: Settings) -> Sequence[str]:
    """Return the built-in tools of a preset's child, under its names and ours; none if they are unknown."""
    name = preset.fields.get("agent") or settings.default_agent
    agent = find(name, settings.agent_kinds.get(name))
    if agent is None or not agent.tools:
        return ()
    own = preset.brand.own_tools if preset.brand else ()
    return list(dict.fromkeys((*agent.tools, *agent.capabilities().tools, *own)))


def unknown_tools(preset: Preset, known: Sequence[str]) -> Iterator[str]:
    """Warn of tools that the child itself lacks. An extension may bring them, or the name is misspelt."""
    unknown = ", ".join(describe.unknown(preset, known)) if known else ""
    if unknown:
        yield f"{preset.kind} {preset.name}: the child itself has no tool {unknown}; passed on all the same"


def discover(cwd: str, project: str, environment: Mapping[str, str]) -> dict[str, Skill]:
    """Return the skills by name: the nearest first, then the user's own."""
    folders = catalogue.skill_folders(
        cwd=cwd,
        project=project,
        agent_dir=places.agent_dir(environment),
        home=places.user_home(environment),
    )
    return catalogue.index_skills(file for folder, within in folders for file in scan(folder, within))


# --- skills -----------------------------------------------------------------------------------------------

DECLARED = "SKILL.md"
MOST_BYTES = 256 * 1024
_DEEPEST = 8
_MOST_FOLDERS = 2000
_NOT_SEARCHED = ("node_modules",)


def scan(folder: str, within: str | None = None) -> Iterator[catalogue.SkillFile]:
    """Yield the files of a skills folder, sorted by name. A missing folder has none.

    Links to folders may lead anywhere. `within`: the folder in which a text must lie to be read.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [(folder, 0)]
    while waiting and len(seen) < _MOST_FOLDERS:
        here, depth = waiting.pop(0)
        try:
            facts = os.stat(here)
            names = sorted(name for name in os.listdir(here) if not name.startswith("."))
        except OSError:
            continue
        if (facts.st_dev, facts.st_ino) in seen:  # links may lead in circles
            continue
        seen.add((facts.st_dev, facts.st_ino))
        if DECLARED in names:
            yield _read(here, DECLARED, within)
            continue
        if depth == 0:
            yield from (_read(here, name, within) for name in names if name.endswith(".md"))
        if depth < _DEEPEST:
            inside = [f"{here}/{name}" for name in names if name not in _NOT_SEARCHED]
            waiting[:0] = [(path, depth + 1) for path in inside if os.path.isdir(path)]


def _read(folder: str, name: str, within: str | None) -> catalogue.SkillFile:
    bounds = None if within is None else os.path.realpath(within)

    def may(real: str) -> bool:
        if bounds is not None and not paths.is_inside(real, bounds):
            return False
        return _is_ours(real) and _is_ours(os.path.dirname(real))

    found = prompt_file.read(f"{folder}/{name}", limit=MOST_BYTES, may=may)
    text = found.text if found.problem is None else None
    path, folder = f"{folder}/{name}", os.path.basename(folder)
    return catalogue.SkillFile(path, folder, is_declared=name == DECLARED, text=text)


def _is_ours(path: str) -> bool:
    try:
        return places.only_we_write(os.lstat(path))
    except OSError:
        return False
