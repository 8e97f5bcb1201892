"""List the presets, profiles and skills that can be named in a folder, and choose one by its name. Pure.

Among files with the same name, a project's file wins over the user's. Within each, a preset wins over a
profile. A warning names the hidden file.

A profile names skills in `suggestedSkills` (the child learns their paths) and in `loadSkills` (their text
goes into the child's system prompt). presets/survey decides which texts may be read; a skill without one is
refused.
"""

from __future__ import annotations

import difflib
from typing import NamedTuple

from tmuxagents.errors import BadRequest
from tmuxagents.presets import describe, preset
from tmuxagents.presets.fields import GLOBAL, PRESET, PROJECT
from tmuxagents.presets.preset import LONGEST_NAME, BadPreset, Preset
from tmuxagents.text import paths, yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from tmuxagents.presets.preset import PresetFile


_NEAR = 3
_TASK = "-p names a preset; the task is an argument: tmuxagents launch TASK, or launch -p PRESET TASK"


class Catalogue:
    """All presets and profiles that can be named in a folder; the winner of a name comes before the others.

    `skipped`: the files and folders that are not trusted, by path, each with a one-line reason.
    """

    def __init__(
        self,
        files: Iterable[PresetFile],
        *,
        full_profiles: bool = False,
        skipped: Mapping[str, str] | None = None,
    ) -> None:
        self._skipped = skipped or {}
        self.presets: list[Preset] = []
        self.bad: list[BadPreset] = []
        for file in files:
            read = preset.parse(file, full_profiles=full_profiles)
            if isinstance(read, Preset):
                self.presets.append(read)
            elif read is not None:
                self.bad.append(read)
        # Of files with the same rank the last one counts: the last file of a folder, or of the last folder.
        # So the order is reversed first: the sort then leaves the last one before the others.
        self.presets.reverse()
        self.presets.sort(key=lambda one: (one.name, one.rank))
        # Many agent files of a brand cannot be used as presets. Only the list of presets warns of these.
        self.warnings = [bad.warning() for bad in self.bad if bad.brand is None]
        self.unread = [bad.warning() for bad in self.bad if bad.brand is not None]
        for name in self.names():
            same = [one for one in self.presets if one.name == name]
            for place, one in enumerate(same):
                behind = same[place + 1 :]
                one.hidden_by = same[0].path if place else None
                one.hidden = next((other for other in behind if other.source == GLOBAL), None)
                if behind and behind[0].rank == one.rank:
                    both = f"{behind[0].path} and {one.path}"
                    self.warnings.append(f'two files have the name "{name}": {both}; the last one counts')

    def names(self) -> list[str]:
        """Return all names, in order."""
        return list(dict.fromkeys(one.name for one in self.presets))

    def choose(self, wanted: str, *, refuse: Callable[[str], BadRequest] | None = None) -> Preset:
        """Return the preset or profile of a name; raise for a bad file or an unknown name (by `refuse`)."""
        source, name = scoped(wanted)
        found = [one for one in self.presets if one.name == name and source in (None, one.source)]
        bad = [one for one in self.bad if source in (None, one.source)]
        for one in sorted(bad, key=lambda one: one.rank):
            before = not found or one.rank <= found[0].rank
            is_nameless = not found and one.name is None and paths.stem(one.path) == name
            if (one.name == name and before) or is_nameless:
                raise one.refusal()
        if not found:
            raise (refuse or self.unknown)(wanted)
        return found[0]

    def unknown(self, wanted: str, word: str = PRESET) -> BadRequest:
        """Return the error for a name that no file has."""
        names, (source, name) = self.names(), scoped(wanted)
        near = difflib.get_close_matches(name[:LONGEST_NAME], names, n=_NEAR)
        if source is not None and name in names:
            near, hint = [name], f"there is one that is not {source}: {name}"
        else:
            asked = f"Did you mean {near[0]}?" if near else None
            # The file with this name, or its whole folder, may have been skipped.
            files = [line for path, line in self._skipped.items() if paths.stem(path) == name]
            folders = [line for path, line in self._skipped.items() if not path.endswith(".md")]
            default = asked or (_TASK if " " in name else "tmuxagents presets list shows what there is")
            hint = next(iter([*files, *folders]), default)
        message = f'Unknown {word}: "{wanted}". Available {word}s: {", ".join(names) or "(none)"}'
        return BadRequest(message, kind=f"unknown-{word}", field=word, hint=hint, candidates=near)


def scoped(wanted: str) -> tuple[str | None, str]:
    """Split `global:NAME` or `project:NAME` into source and name. Other texts are names without a source."""
    source, colon, name = wanted.partition(":")
    return (source, name) if colon and source in (GLOBAL, PROJECT) else (None, wanted)


def hiding(preset: Preset) -> str | None:
    """Return a warning, with the tools that are added, if a project's file hides one of the user's."""
    if preset.hidden is None or preset.source != PROJECT:
        return None
    more = describe.wider(preset, preset.hidden)
    words = f"{preset.kind} {preset.name}: project file hides {preset.hidden.path}"
    return f"{words} and allows more tools ({more})" if more else words


# --- skills -----------------------------------------------------------------------------------------------

SUGGESTED, LOADED, APPENDED = "suggestedSkills", "loadSkills", "appendSystemPrompt"
_FOLDERS = (".pi/skills", ".agents/skills")
_LOADED = '<loaded_skill name="{}">\n{}\n</loaded_skill>'


class Skill(NamedTuple):
    """One skill: its name, its file, and its instructions (None if they cannot be read)."""

    name: str
    path: str
    body: str | None


class SkillFile(NamedTuple):
    """A file that may be a skill: its path, the name of its folder, and its text if it may be read."""

    path: str
    folder: str
    is_declared: bool  # its name is SKILL.md, which makes it a skill
    text: str | None


def skill_folders(*, cwd: str, project: str, agent_dir: str, home: str) -> list[tuple[str, str | None]]:
    """Return the folders to search for skills, each with the folder that must hold the texts (None: any).

    Of two skills with one name the first counts. The child's folder and those up to its project come first,
    then the user's own folders, whose texts may lie anywhere.
    """
    near = [cwd]
    while near[-1] != project and paths.is_inside(near[-1], project):
        near.append(near[-1].rpartition("/")[0] or "/")
    inside = cwd if near[-1] != project else project  # a child may work outside its project
    own = [f"{agent_dir}/skills", f"{home}/.agents/skills"]
    return [
        *((f"{folder.rstrip('/')}/{name}", inside) for folder in near for name in _FOLDERS),
        *((folder, None) for folder in own),
    ]


def index_skills(files: Iterable[SkillFile]) -> dict[str, Skill]:
    """Return the skills by name, in the order in which they were found."""
    skills: dict[str, Skill] = {}
    for file in files:
        try:
            fields = yaml.parse(file.text or "").fields
        except yaml.Malformed:
            fields = {}  # a skill with an odd header still has the name of its folder
        described = (fields.get("name"), fields.get("description"))
        name, about = (text.strip() if isinstance(text, str) else "" for text in described)
        if not file.is_declared and not (name and about):
            continue  # a loose file in a skills folder is a skill only if its header has both
        name = name or file.folder.strip()
        if not name:
            continue
        body = None if file.text is None else yaml.split(file.text)[1].strip()
        if name not in skills or skills[name].body is None:  # an unreadable skill hides no readable one
            skills[name] = Skill(name, file.path, body)
    return skills


def skills_are_wanted(fields: Mapping[str, Any]) -> bool:
    """Say whether a profile names skills. Skills are searched only for such a profile."""
    return bool(fields.get(SUGGESTED) or fields.get(LOADED))


def resolve_skills(fields: Mapping[str, Any], skills: Mapping[str, Skill]) -> dict[str, Any]:
    """Return a profile's fields, suggested skills as paths, loaded ones as texts. Raises BadRequest."""
    suggested, loaded = fields.get(SUGGESTED) or [], fields.get(LOADED) or []
    wanted = list(dict.fromkeys([*suggested, *loaded]))
    unknown = [name for name in wanted if name not in skills]
    if unknown:
        asked, available = ", ".join(f'"{name}"' for name in unknown), ", ".join(skills) or "(none)"
        raise BadRequest(f"Unknown skills: {asked}. Available skills: {available}", kind="unknown-skill")
    for name in wanted:
        if skills[name].body is None:
            message = f'Could not read skill "{name}": {skills[name].path}'
            hint = "it must be a regular UTF-8 file of your own, up to 256 KB"
            raise BadRequest(message, kind="unknown-skill", hint=hint)
    done = {key: value for key, value in fields.items() if key != LOADED or not value}
    if suggested:
        done[SUGGESTED] = [skills[name].path for name in suggested]
    bodies = [_LOADED.format(name, body) for name in dict.fromkeys(loaded) if (body := skills[name].body)]
    if bodies:
        done[APPENDED] = "\n\n".join([fields.get(APPENDED) or "", *bodies])
    return done
