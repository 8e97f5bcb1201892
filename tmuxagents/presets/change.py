"""Make, change, remove and check preset and profile files. A bad file is never written.

Joins.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tmuxagents.agents.pi import command
from tmuxagents.errors import BadConfig, BadRequest, Fault
from tmuxagents.presets import catalogue, disk, editing, preset, survey
from tmuxagents.presets.fields import GLOBAL, PRESET, PROFILE, PROJECT, Flaw
from tmuxagents.presets.preset import BadPreset, PresetFile
from tmuxagents.settings import load
from tmuxagents.system import places, project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.presets.preset import Preset
    from tmuxagents.presets.survey import Survey
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.settings.keys import Settings


class Checked(NamedTuple):
    """The result of checking one file."""

    path: str
    kind: str
    source: str
    name: str | None = None
    flaws: Sequence[Flaw] = ()
    notes: Sequence[str] = ()

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "path": self.path,
            "kind": self.kind,
            "source": self.source,
            "name": self.name,
            "faults": [flaw._asdict() for flaw in self.flaws],
            "notes": [*self.notes],
        }


class PresetShelf:
    """The files that a caller can change and check, with the settings in force for that caller."""

    def __init__(self, caller: Caller, environment: Mapping[str, str]) -> None:
        self.settings: Settings = load.load(environment, caller.project)
        self._folder = caller.folder
        self._environment = environment
        self._survey: Survey | None = None

    @property
    def survey(self) -> Survey:
        """All preset and profile files that count in the caller's folder."""
        if self._survey is None:
            self._survey = survey.survey(self._folder, self._environment, self.settings)
        return self._survey

    def named(self, wanted: str) -> list[Preset | BadPreset]:
        """Return all files of a name, the one that counts before those it hides."""
        source, name = catalogue.scoped(wanted)
        found = [one for one in self._files() if one.name == name and source in (None, one.source)]
        return sorted(found, key=lambda one: one.rank)

    def _files(self) -> list[Preset | BadPreset]:
        return [*self.survey.catalogue.bad, *self.survey.presets]

    def place(self, name: str, *, kind: str, source: str) -> PresetFile:
        """Return the record of a new file, without text. Raises BadRequest for an invalid or taken name."""
        editing.refuse_name(name)
        if any(one.brand is None for one in self.named(name)):
            raise editing.exists(name)
        folder = disk.global_folder(self._environment, kind)
        if source == PROJECT:
            home = places.user_home(self._environment)
            place = project.project_of(self._folder, home)
            if place not in project.upwards(self._folder, home):
                message = f"{place} cannot be a project, so it cannot have presets of its own."
                raise BadRequest(message, kind="bad-argument", field="project", hint="leave --project out")
            folder = disk.project_folder(place, kind)
        return PresetFile(kind=kind, source=source, path=f"{folder}/{name}.md", text="")

    def check(self, wanted: Sequence[str]) -> list[Checked]:
        """Check the wanted files, or all if none are named. Raises BadRequest for a name that no file has."""
        found: list[Checked] = []
        for one in wanted:
            if named := self.named(one):
                found += map(self._read, named)
            elif "/" in one or one.endswith(".md"):
                found.append(self._file(os.path.join(self._folder, one)))
            else:
                raise self.survey.catalogue.unknown(one)
        if not wanted:
            for file in self.survey.refused:
                found.append(Checked(file.path, *self._place_of(file.path), flaws=[Flaw(file.why)]))
            found += map(self._read, self._files())
        return found

    def _file(self, path: str) -> Checked:
        for one in self._files():
            if one.brand is not None and os.path.realpath(one.path) == os.path.realpath(path):
                return self._read(one)
        kind, source = self._place_of(path)
        try:
            file = disk.read_file(path, kind, source)
        except disk.RefusedFile as error:
            return Checked(error.path, kind, source, flaws=[Flaw(error.why)])
        read = preset.parse(file, full_profiles=self.settings.project_profiles_full)
        if read is None:
            return Checked(file.path, file.kind, file.source, flaws=preset.nameless(file))
        return self._read(read)

    def _read(self, read: Preset | BadPreset) -> Checked:
        if isinstance(read, BadPreset):
            return Checked(read.path, read.kind, read.source, read.name, read.flaws)
        refusals = command.refusals(read.fields, read.name) if read.kind == PROFILE else ()
        hiding = catalogue.hiding(read)
        notes = [
            *read.warnings,
            *([hiding] if hiding else []),
            *survey.unknown_tools(read, survey.tools_of(read, self.settings)),
            *(note.words() for note in read.notes),
        ]
        flaws = [Flaw(message) for message in refusals]
        return Checked(read.path, read.kind, read.source, read.name, flaws, notes)

    def _place_of(self, path: str) -> tuple[str, str]:
        """Return the kind and source of a file, which its folder decides."""
        folder = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path))
        for kind, name in disk.FOLDERS:
            if folder == os.path.realpath(disk.global_folder(self._environment, kind)):
                return kind, GLOBAL
            if os.path.basename(folder) == name:
                is_project = folder == disk.project_folder(os.path.dirname(folder)[: -len("/.pi")], kind)
                return kind, PROJECT if is_project else GLOBAL
        return PRESET, GLOBAL


def create(draft: PresetFile) -> Preset:
    """Write a new file. Return the preset that it now contains."""
    made = editing.checked(draft)
    try:
        disk.write_new(draft.path, draft.text, shared=draft.source == PROJECT)
    except FileExistsError as error:
        raise editing.exists(made.name) from error
    except disk.RefusedFile as error:
        folder = os.path.dirname(draft.path)
        raise BadRequest(f"{folder}: {error.why}", kind="bad-argument", hint="nothing was written") from error
    return editing.checked(text_of(draft))


def text_of(one: Preset | BadPreset | PresetFile) -> PresetFile:
    """Read a file again before a change. Raises BadRequest for a brand's file, or one that cannot be read."""
    _refuse_foreign(one)
    try:
        return disk.read_file(one.path, one.kind, one.source)
    except disk.RefusedFile as error:
        raise BadRequest(str(error), kind="bad-argument") from error


def change(draft: PresetFile, fields: Mapping[str, Any]) -> tuple[Preset, list[str]]:
    """Change fields of a file (None removes one). Return the new preset, and the remarks on dropped keys."""
    # It is read as the user's own: this keeps the keys that a project's file may not set.
    whole = draft._replace(source=GLOBAL)
    before = editing.checked(whole)
    given = {**before.fields, **editing.as_written(whole), **fields}
    now = {key: value for key, value in given.items() if value is not None}
    lost = [note.words() for note in before.notes]
    return rewrite(draft._replace(text=editing.compose(before.name, now, draft.kind))), lost


def rewrite(draft: PresetFile) -> Preset:
    """Replace a file by its draft, unless the file has changed meanwhile; return the new preset."""
    editing.checked(draft)
    if text_of(draft).hash != draft.hash:
        message = f"{draft.path} was changed meanwhile."
        raise BadRequest(message, kind="bad-argument", hint="nothing was written: edit it again")
    disk.replace(draft.path, draft.text)
    return editing.checked(text_of(draft))


def remove(files: list[Preset | BadPreset]) -> list[str]:
    """Remove files; return their paths."""
    ours = [one for one in files if one.brand is None]
    if not ours:
        _refuse_foreign(files[0])
    for one in ours:
        disk.remove(one.path)
    return [one.path for one in ours]


def _refuse_foreign(one: Preset | BadPreset | PresetFile) -> None:
    if one.brand is not None:
        message = f"{one.path} is an agent file of {one.brand.title}, which tmuxagents only reads."
        raise BadRequest(message, kind="bad-argument", hint="change it there, or make a preset of that name")


def refusal(checked: Sequence[Checked]) -> BadConfig | None:
    """Return the error for the files that are bad; None if all are good."""
    faults = [
        Fault(f"bad-{one.kind}", f"{one.path}: {flaw.words()}", field=flaw.field)
        for one in checked
        for flaw in one.flaws
    ]
    if not faults:
        return None
    first = faults[0]
    hint = "correct it and check again; tmuxagents presets show NAME shows what is read"
    return BadConfig(first.message, kind=first.kind, hint=hint, faults=faults)
