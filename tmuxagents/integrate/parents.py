"""Make tmuxagents known to Claude Code or Codex, and unknown again: server and skill. Joins.

Everything is read before anything is changed.
"""

from __future__ import annotations

import os
import sys

from tmuxagents.errors import BadConfig
from tmuxagents.integrate import disk, own_text, parent_config
from tmuxagents.integrate.json_member import CannotEdit
from tmuxagents.integrate.parent_config import SERVER, ParentPlace
from tmuxagents.integrate.plan import FILE, Integration, Step, file_step
from tmuxagents.system import places, process, shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SKILL, _PROMPTS = "SKILL.md", "prompts"


def place(target: str, environment: Mapping[str, str], project: str | None) -> ParentPlace:
    """Return where a parent looks: for this user, or with `project` for everyone who works there."""
    if project is not None:
        return parent_config.of_project(target, project)
    # How this program is started from anywhere, by a path that outlives upgrades if there is one.
    found = process.find_program(SERVER, environment.get("PATH", ""))
    beside = os.path.join(os.path.dirname(sys.executable), SERVER)
    command = os.path.abspath(found) if found else beside if os.path.exists(beside) else SERVER
    return parent_config.of_user(target, environment, os.path.abspath(places.user_home(environment)), command)


def plan(where: ParentPlace, *, uninstall: bool, with_tools: bool = True) -> Integration:
    """Read everything, and return what is to be changed. An unreadable file refuses it all."""
    found = Integration(where.target, uninstall=uninstall)
    prompts = f"{where.skill}/{_PROMPTS}"
    if uninstall:
        found.steps.append(_config_step(where, uninstall=True))
        # An earlier version may have had other prompts.
        for path in (*(f"{prompts}/{name}" for name in disk.names(prompts)), f"{where.skill}/{_SKILL}"):
            before = disk.read(path)
            found.steps.append(file_step(path, before, own_text.take_file(before)))
        return found
    above, beside = disk.missing(where.skill) - 1, 0
    if with_tools:
        found.steps.append(_config_step(where, uninstall=False))
        beside = disk.missing(os.path.dirname(where.config))
    folders = (min(max(0, above), 9), min(beside, 9))
    found.steps.append(_put(f"{where.skill}/{_SKILL}", shipped.skill(), folders if any(folders) else ()))
    found.steps += [_put(f"{prompts}/{name}.md", text) for name, text in shipped.prompts().items()]
    return found


def _put(path: str, text: str, folders: tuple[int, ...] = ()) -> Step:
    before = disk.read(path)
    return file_step(path, before, own_text.put_file(before, text, folders))


def _config_step(where: ParentPlace, *, uninstall: bool) -> Step:
    before = disk.read(where.config)
    edit = parent_config.take if uninstall else parent_config.put
    try:
        return file_step(where.config, before, edit(before, where))
    except CannotEdit as why:
        if uninstall:
            step = Step(FILE, where.config)
            step.leave(None, str(why))
            return step
        message = f"{where.config} is left as it is: {why}."
        hint = "mend it, or have the skill alone with --no-tools"
        raise BadConfig(message, kind="bad-settings", hint=hint) from why


def carry_out(found: Integration, where: ParentPlace) -> None:
    """Make the planned changes."""
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
