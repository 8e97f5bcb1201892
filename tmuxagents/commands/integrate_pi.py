"""Make pi load our extension, and no longer: one file of ours where pi looks; nothing else is changed."""

from __future__ import annotations

import os
import sys

from tmuxagents.core import block, ownfile, pi_loader
from tmuxagents.core.integration import FILE, Integration, Step
from tmuxagents.edges import dotfile, ownfolder, settings, shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TARGET = "pi"
# -P: else a folder `tmuxagents` in the project where pi works would be taken for this program.
_COMMAND = ("-P", "-m", "tmuxagents")
_WHY = {
    block.CHANGED: "it was changed by hand; remove it by hand, too",
    ownfile.FOREIGN: "tmuxagents did not write it",
}


def path_of(environment: Mapping[str, str]) -> str:
    """Return where the file lies that makes pi load our extension."""
    home = os.path.abspath(settings.user_home(environment))
    return f"{pi_loader.agent_dir(environment, home)}/{pi_loader.NAME}"


def plan(environment: Mapping[str, str], *, uninstall: bool, with_tools: bool = True) -> Integration:
    """Look at everything, and say what is to be changed."""
    found = Integration(TARGET, uninstall=uninstall)
    path = path_of(environment)
    before = dotfile.read(path)
    if uninstall:
        edited = pi_loader.take(before)
    else:
        command, extension = (sys.executable, *_COMMAND), str(shipped.pi_extension())
        loading = pi_loader.Loading(path, extension=extension, command=command, tools=with_tools)
        folders = min(9, ownfolder.missing(os.path.dirname(path)))
        edited = pi_loader.put(before, loading, folders=folders)
    step = Step(FILE, path)
    if edited.outcome == block.DONE:
        step.texts = (before, edited.text)
        step.change(None, *(None if text is None else text.decode("utf-8", "replace") for text in step.texts))
    elif edited.outcome in _WHY:
        step.leave(None, _WHY[edited.outcome])
    found.steps.append(step)
    return found


def carry_out(found: Integration) -> None:
    """Change what was planned."""
    for step in found.steps:
        if not step.changes:
            continue
        before, after = step.texts
        folder = os.path.dirname(step.path)
        if after is not None:
            ownfolder.make(folder, private=True)
        dotfile.replace(step.path, before, after, private=True)
        made = pi_loader.folders_of(before) if after is None else 0
        if made:
            ownfolder.remove(folder, made - 1)
