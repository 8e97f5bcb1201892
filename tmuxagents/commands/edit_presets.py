"""Make, change and remove preset and profile files. What is written was read before: it is never bad."""

from __future__ import annotations

import os

from tmuxagents.commands import presets as reading
from tmuxagents.core import preset_choice, preset_edit
from tmuxagents.core.preset_edit import Draft
from tmuxagents.core.preset_fields import GLOBAL, PROJECT
from tmuxagents.edges import presetfiles, presetsaving, project
from tmuxagents.edges import settings as settings_files
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.core.presets import Bad, Preset
    from tmuxagents.core.settings import Settings


class Shelf:
    """The files that can be changed from a folder."""

    def __init__(self, folder: str, environment: Mapping[str, str], settings: Settings) -> None:
        self._folder = folder
        self._environment = environment
        self.survey = reading.survey(folder, environment, settings)

    def named(self, wanted: str) -> list[Preset | Bad]:
        """Return all files of a name, the one that counts before those it hides."""
        source, name = preset_choice.scoped(wanted)
        files: list[Preset | Bad] = [*self.survey.catalogue.bad, *self.survey.presets]
        found = [one for one in files if one.name == name and source in (None, one.source)]
        return sorted(found, key=lambda one: one.rank)

    def place(self, name: str, *, kind: str, source: str) -> Draft:
        """Return where a new file goes, without a text; raise BadRequest for a name that it cannot have."""
        preset_edit.refuse_name(name)
        if self.named(name):
            raise preset_edit.exists(name)
        folder = presetfiles.global_folder(self._environment, kind)
        if source == PROJECT:
            folder = presetfiles.project_folder(self._project(), kind)
        return Draft(kind=kind, source=source, path=f"{folder}/{name}.md", text="")

    def _project(self) -> str:
        home = settings_files.user_home(self._environment)
        place = project.project_of(self._folder, home)
        if place not in project.upwards(self._folder, home):
            message = f"{place} can be no project, so it can have no presets of its own."
            raise BadRequest(message, kind="bad-argument", field="project", hint="leave --project out")
        return place


def create(draft: Draft) -> Preset:
    """Write a new file; return what it will be read as."""
    made = preset_edit.settled(draft)
    try:
        presetsaving.write_new(draft.path, draft.text, shared=draft.source == PROJECT)
    except FileExistsError as error:
        raise preset_edit.exists(made.name) from error
    except presetfiles.Refused as error:
        folder = os.path.dirname(draft.path)
        raise BadRequest(f"{folder}: {error.why}", kind="bad-argument", hint="nothing was written") from error
    return preset_edit.settled(text_of(draft))


def text_of(one: Preset | Bad | Draft) -> Draft:
    """Return a file as it stands, to be changed."""
    try:
        file = presetfiles.read_file(one.path, one.kind, one.source)
    except presetfiles.Refused as error:
        raise BadRequest(str(error), kind="bad-argument") from error
    return Draft(kind=file.kind, source=file.source, path=file.path, text=file.text, hash=file.hash)


def change(draft: Draft, fields: Mapping[str, Any]) -> tuple[Preset, list[str]]:
    """Change fields of a file (None takes one away); return what it is now, and what was lost with that."""
    # As one of the user's own: what a project's file may not decide is no reason to lose it.
    whole = Draft(kind=draft.kind, source=GLOBAL, path=draft.path, text=draft.text)
    before = preset_edit.settled(whole)
    now = {key: value for key, value in {**before.fields, **fields}.items() if value is not None}
    lost = [note.words() for note in before.notes]
    draft.text = preset_edit.compose(before.name, now, draft.kind)
    return rewrite(draft), lost


def rewrite(draft: Draft) -> Preset:
    """Put a draft in the place of its file, unless that has changed meanwhile; return what it is now."""
    preset_edit.settled(draft)
    if text_of(draft).hash != draft.hash:
        message = f"{draft.path} was changed meanwhile."
        raise BadRequest(message, kind="bad-argument", hint="nothing was written: edit it again")
    presetsaving.replace(draft.path, draft.text)
    return preset_edit.settled(text_of(draft))


def remove(files: list[Preset | Bad]) -> list[str]:
    """Remove files; return their paths."""
    for one in files:
        presetsaving.remove(one.path)
    return [one.path for one in files]
