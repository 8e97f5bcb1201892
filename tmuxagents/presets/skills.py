"""Skills by name: where they are looked for, which file a name means, and what a profile makes of them. Pure.

A profile names them in `suggestedSkills` (the child learns their paths) and `loadSkills` (their text goes
into its system prompt). That skills must not lie outside is checked with the flags, see agents/pi/command.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.errors import BadRequest
from tmuxagents.text import paths, yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

SUGGESTED, LOADED, APPENDED = "suggestedSkills", "loadSkills", "appendSystemPrompt"
_FOLDERS = (".pi/skills", ".agents/skills")
_LOADED = '<loaded_skill name="{}">\n{}\n</loaded_skill>'


class Skill(NamedTuple):
    """One skill: its name, its file, its instructions; None where they cannot be read."""

    name: str
    path: str
    body: str | None


class SkillFile(NamedTuple):
    """A file that may be a skill: where it lies, the name of its folder, its text if it may be read."""

    path: str
    folder: str
    is_declared: bool  # its name is SKILL.md, which makes it a skill
    text: str | None


def folders(*, cwd: str, project: str, agent_dir: str, home: str) -> list[tuple[str, str | None]]:
    """Return where skills are looked for, and within which folder their texts have to lie.

    Of two with one name the first counts: from the child's folder up to its project, then what the user has
    for all projects, who may keep them anywhere.
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


def index(files: Iterable[SkillFile]) -> dict[str, Skill]:
    """Return the skills by name, in the order in which they were found."""
    known: dict[str, Skill] = {}
    for file in files:
        skill = _skill(file)
        if skill is not None and (skill.name not in known or known[skill.name].body is None):
            known[skill.name] = skill  # one that cannot be read hides none that can
    return known


def _skill(file: SkillFile) -> Skill | None:
    """Return the skill of a file. A loose file in a skills folder is a skill if its header says so."""
    if file.text is None:
        return Skill(file.folder, file.path, None) if file.is_declared else None
    try:
        fields = yaml.parse(file.text).fields
    except yaml.Malformed:
        fields = {}  # a skill with an odd header still has the name of its folder
    name, about = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not name.strip():
        name = file.folder if file.is_declared else ""
    if not file.is_declared and not (isinstance(about, str) and about.strip()):
        return None
    return Skill(name.strip(), file.path, yaml.split(file.text)[1].strip()) if name.strip() else None


def are_wanted(fields: Mapping[str, Any]) -> bool:
    """Say whether a profile names skills: only then are they looked for."""
    return bool(fields.get(SUGGESTED) or fields.get(LOADED))


def resolve(fields: Mapping[str, Any], known: Mapping[str, Skill]) -> dict[str, Any]:
    """Return a profile's fields with the paths of suggested and the texts of loaded skills, or BadRequest."""
    suggested, loaded = fields.get(SUGGESTED) or [], fields.get(LOADED) or []
    _refuse_unknown([*suggested, *loaded], known)
    done = {key: value for key, value in fields.items() if key != LOADED or not value}
    if suggested:
        done[SUGGESTED] = [known[name].path for name in suggested]
    bodies = [_LOADED.format(name, body) for name in dict.fromkeys(loaded) if (body := known[name].body)]
    if bodies:
        done[APPENDED] = "\n\n".join([fields.get(APPENDED) or "", *bodies])
    return done


def _refuse_unknown(names: Iterable[str], known: Mapping[str, Skill]) -> None:
    wanted = list(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        asked, there = ", ".join(f'"{name}"' for name in unknown), ", ".join(known) or "(none)"
        raise BadRequest(f"Unknown skills: {asked}. Available skills: {there}", kind="unknown-skill")
    for name in wanted:
        if known[name].body is None:
            message = f'Could not read skill "{name}": {known[name].path}'
            raise BadRequest(
                message, kind="unknown-skill", hint="a regular UTF-8 file of your own, up to 256 KB"
            )
