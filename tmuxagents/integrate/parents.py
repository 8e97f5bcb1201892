"""Make tmuxagents known to a parent that is a program of others, and unknown again: server and skill. Joins.

First everything is looked at, then it is changed; what is a person's is not changed besides.
"""

from __future__ import annotations

import os
import sys

from tmuxagents.errors import BadConfig
from tmuxagents.integrate import disk, json_member, own_text, parent_config
from tmuxagents.integrate.plan import FILE, Integration, Step, file_step
from tmuxagents.system import places, process, shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tmuxagents.integrate.parent_config import ParentPlace

_WHY = {
    own_text.CHANGED: "what tmuxagents wrote there was changed by hand; remove it by hand, too",
    own_text.BROKEN: "the marks of tmuxagents in it are not whole; remove what is left of them by hand",
    own_text.FOREIGN: "tmuxagents did not write it",
    parent_config.TAKEN: f'a server "{parent_config.SERVER}" stands in it that tmuxagents did not write',
}
_SKILL, _PROMPTS = "SKILL.md", "prompts"


def place(target: str, environment: Mapping[str, str], project: str | None) -> ParentPlace:
    """Return where a parent looks: for this user, or with `project` for everybody who works there."""
    if project is not None:
        return parent_config.of_project(target, project)
    home = os.path.abspath(places.user_home(environment))
    return parent_config.of_user(target, environment, home, _own_command(environment))


def _own_command(environment: Mapping[str, str]) -> str:
    """Return how this program is started from anywhere, by a path that outlives upgrades if there is one."""
    found = process.find_program(parent_config.SERVER, environment.get("PATH", ""))
    beside = os.path.join(os.path.dirname(sys.executable), parent_config.SERVER)
    return os.path.abspath(found) if found else beside if os.path.exists(beside) else parent_config.SERVER


def plan(where: ParentPlace, *, uninstall: bool, with_tools: bool = True) -> Integration:
    """Look at everything, and say what is to be changed. A file that cannot be read as one refuses it all."""
    found = Integration(where.target, uninstall=uninstall)
    if uninstall:
        found.steps = [_config_taken(where), *_files_taken(where)]
        return found
    above, beside = disk.missing(where.skill) - 1, 0
    if with_tools:
        found.steps.append(_config_put(where))
        beside = disk.missing(os.path.dirname(where.config))
    folders = (min(max(0, above), 9), min(beside, 9))
    found.steps.append(_put(f"{where.skill}/{_SKILL}", shipped.skill(), folders if any(folders) else ()))
    for name, text in shipped.prompts().items():
        found.steps.append(_put(f"{where.skill}/{_PROMPTS}/{name}.md", text))
    return found


def _put(path: str, text: str, folders: tuple[int, ...] = ()) -> Step:
    before = disk.read(path)
    return file_step(path, before, own_text.put_file(before, text, folders), _WHY)


def carry_out(found: Integration, where: ParentPlace) -> None:
    """Change what was planned."""
    above = beside = 0
    for step in found.steps:
        if not step.changes:
            continue
        if step.texts[1] is not None:
            disk.make(os.path.dirname(step.path), private=where.private)
        elif step.path == f"{where.skill}/{_SKILL}":
            above, beside = own_text.folders_of(step.texts[0]) or (0, 0)
        disk.replace(step.path, *step.texts, private=where.private)
    if found.uninstall:
        disk.remove(f"{where.skill}/{_PROMPTS}")
        disk.remove(where.skill, above)
        if beside:
            disk.remove(os.path.dirname(where.config), beside - 1)


def _files_taken(where: ParentPlace) -> Iterator[Step]:
    """Plan to remove the files of the skill, also those that only an earlier version had."""
    names = disk.names(f"{where.skill}/{_PROMPTS}")
    for path in (*(f"{where.skill}/{_PROMPTS}/{name}" for name in names), f"{where.skill}/{_SKILL}"):
        before = disk.read(path)
        yield file_step(path, before, own_text.take_file(before), _WHY)


def _config_put(where: ParentPlace) -> Step:
    before = disk.read(where.config)
    try:
        return file_step(where.config, before, parent_config.put(before, where), _WHY)
    except json_member.CannotEdit as why:
        message = f"{where.config} is left as it is: {why}."
        hint = "mend it, or have the skill alone with --no-tools"
        raise BadConfig(message, kind="bad-settings", hint=hint) from why


def _config_taken(where: ParentPlace) -> Step:
    before = disk.read(where.config)
    try:
        return file_step(where.config, before, parent_config.take(before, where), _WHY)
    except json_member.CannotEdit as why:
        step = Step(FILE, where.config)
        step.leave(None, str(why))
        return step
