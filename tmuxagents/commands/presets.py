"""Presets and profiles: survey what there is, choose one by its name. Each file is read once.

What was read is what counts: its text becomes the child's prompt, and its hash stands in the plan.
"""

from __future__ import annotations

from tmuxagents.agents import AGENTS
from tmuxagents.commands import skills as skill_files
from tmuxagents.core import child_flags, preset_choice, preset_plan, skills, tool_scope
from tmuxagents.core.preset_choice import Catalogue
from tmuxagents.core.preset_fields import PROFILE
from tmuxagents.edges import presetfiles, project
from tmuxagents.edges import settings as settings_files
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.core.presets import Preset
    from tmuxagents.core.settings import Settings
    from tmuxagents.core.skills import Skill


class Survey:
    """What can be named in a folder, and what had to be left out."""

    __slots__ = ("catalogue", "refused", "warnings")

    def __init__(self, catalogue: Catalogue, refused: Sequence[presetfiles.Refused]) -> None:
        self.catalogue = catalogue
        self.refused = list(refused)
        self.warnings = [*(f"presets: {one}" for one in refused), *catalogue.warnings]

    @property
    def presets(self) -> list[Preset]:
        """All of them, those that are hidden by another behind that one."""
        return self.catalogue.presets


class Chooser:
    """Chooses presets for the children of one call: files are read once, skills looked for at most once."""

    def __init__(
        self,
        folder: str,
        environment: Mapping[str, str],
        settings: Settings,
        *,
        project_presets: bool = True,
    ) -> None:
        self._folder = folder
        self._environment = environment
        self._settings = settings
        self._skills: dict[str, dict[str, Skill]] = {}
        self.survey = survey(folder, environment, settings, project_presets=project_presets)

    def choose(self, name: str, *, cwd: str | None = None) -> Preset:
        """Return the preset or profile of a name, ready for a child in `cwd`, with what is to be warned of.

        Raises BadRequest (`unknown-preset`, `bad-profile`, `unknown-skill`), and BadConfig for a bad file.
        """
        chosen = self.survey.catalogue.choose(name)
        known = tools_of(chosen, self._settings)
        hiding = preset_choice.hiding(chosen)
        warnings = [
            *self.survey.warnings,
            *chosen.warnings,
            *([hiding] if hiding else []),
            *unknown_tools(chosen, known),
        ]
        _refuse_conflicts(chosen)
        fields = child_flags.apply_exclusions(chosen.fields, known)
        if chosen.kind == PROFILE and skills.are_wanted(fields):
            fields = skills.resolve(fields, self._skills_in(cwd or self._folder))
        return chosen.ready(fields, warnings)

    def _skills_in(self, folder: str) -> dict[str, Skill]:
        if folder not in self._skills:
            home = settings_files.user_home(self._environment)
            of_folder = project.project_of(folder, home)
            self._skills[folder] = skill_files.discover(folder, of_folder, self._environment)
        return self._skills[folder]


def survey(
    folder: str, environment: Mapping[str, str], settings: Settings, *, project_presets: bool = True
) -> Survey:
    """Read all preset and profile files that count in a folder."""
    with_project = project_presets and settings.project_presets
    found = presetfiles.read_all(folder, environment, with_project=with_project)
    skipped = {one.path: str(one) for one in found.refused}
    catalogue = Catalogue(found.files, full_profiles=settings.project_profiles_full, skipped=skipped)
    return Survey(catalogue, found.refused)


def choose(
    name: str,
    folder: str,
    environment: Mapping[str, str],
    settings: Settings,
    *,
    project_presets: bool = True,
) -> Preset:
    """Return the preset or profile of a name for one child that works in the folder itself; see Chooser."""
    return Chooser(folder, environment, settings, project_presets=project_presets).choose(name)


def key_variables(preset: Preset, meta: Mapping[str, Any]) -> tuple[Mapping[str, str], list[str]]:
    """Return the variables that give a child its profile's key, and what is to be warned of."""
    agent = AGENTS.get(meta["agent"])
    if preset.api_key is None or agent is None:
        return {}, []
    model = str(meta["resolvedModel"] or "")
    provider = model.partition("/")[0] if "/" in model else preset.fields.get("provider")
    given = agent.key_variables(preset.api_key, provider)
    if len(given) > 1:
        return given, []
    whose = f"the provider {provider}" if provider else "an unknown provider"
    return given, [
        f"profile {preset.name}: no variable for the key of {whose} is known; {', '.join(given)} is set"
    ]


def _refuse_conflicts(preset: Preset) -> None:
    """Refuse a profile that contradicts itself, before its skills are looked for."""
    faults = list(preset_plan.faults(preset, has_model=True))  # whether it has one, only the call knows
    if faults:
        message, hint = faults[0].message, f"correct {preset.path}"
        raise BadRequest(message, kind=faults[0].kind, faults=faults, hint=hint)


def tools_of(preset: Preset, settings: Settings) -> Sequence[str]:
    """Return the tools that a preset's child has by itself, as far as they are known."""
    agent = AGENTS.get(preset.fields.get("agent") or settings.default_agent)
    return agent.tools if agent is not None else ()


def unknown_tools(preset: Preset, known: Sequence[str]) -> Iterator[str]:
    """Warn of tools that the child does not have by itself: an extension may bring them, or it is a slip."""
    unknown = ", ".join(tool_scope.unknown(preset, known)) if known else ""
    if unknown:
        yield f"{preset.kind} {preset.name}: the child itself has no tool {unknown}; passed on all the same"
