"""Check preset and profile files: what makes each bad, and what is only odd about it. Changes nothing."""

from __future__ import annotations

import os

from tmuxagents.commands import presets as reading
from tmuxagents.core import child_flags, preset_choice, presets
from tmuxagents.core.preset_fields import GLOBAL, PRESET, PROFILE, PROJECT, Flaw
from tmuxagents.core.presets import Bad
from tmuxagents.edges import presetfiles
from tmuxagents.errors import BadConfig, Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.commands.presets import Survey
    from tmuxagents.core.presets import Preset
    from tmuxagents.core.settings import Settings
    from tmuxagents.edges.presetfiles import File


class Checked:
    """What was found out about one file."""

    __slots__ = ("flaws", "kind", "name", "notes", "path", "source")

    def __init__(
        self, path: str, kind: str, source: str, *, name: str | None = None, flaws: Sequence[Flaw] = ()
    ) -> None:
        self.path = path
        self.kind = kind
        self.source = source
        self.name = name
        self.flaws = list(flaws)
        self.notes: list[str] = []

    def document(self) -> dict[str, Any]:
        """Return it as JSON shows it."""
        return {
            "path": self.path,
            "kind": self.kind,
            "source": self.source,
            "name": self.name,
            "faults": [{name: getattr(flaw, name) for name in Flaw.__slots__} for flaw in self.flaws],
            "notes": self.notes,
        }


class Checker:
    """Checks files that somebody names, by path or by the name of a preset, or all that there are."""

    def __init__(self, folder: str, environment: Mapping[str, str], settings: Settings) -> None:
        self._folder = folder
        self._environment = environment
        self._settings = settings
        self._survey: Survey | None = None

    def check(self, wanted: Sequence[str]) -> list[Checked]:
        """Check what is wanted, or all; raise BadRequest for a name that nothing has."""
        if not wanted:
            return list(self._all())
        return [checked for one in wanted for checked in self._one(one)]

    @property
    def survey(self) -> Survey:
        """All files that count here."""
        if self._survey is None:
            self._survey = reading.survey(self._folder, self._environment, self._settings)
        return self._survey

    def _all(self) -> Iterator[Checked]:
        for refused in self.survey.refused:
            kind, source = self._place_of(refused.path)
            yield Checked(refused.path, kind, source, flaws=[Flaw(refused.why)])
        yield from map(self._read, self._files())

    def _files(self) -> list[Preset | Bad]:
        return [*self.survey.catalogue.bad, *self.survey.presets]

    def _one(self, wanted: str) -> Iterator[Checked]:
        source, name = preset_choice.scoped(wanted)
        named = [one for one in self._files() if one.name == name and source in (None, one.source)]
        if named:
            yield from map(self._read, named)
        elif "/" in wanted or wanted.endswith(".md"):
            yield self._file(os.path.join(self._folder, wanted))
        else:
            raise self.survey.catalogue.unknown(wanted)

    def _file(self, path: str) -> Checked:
        kind, source = self._place_of(path)
        try:
            file = presetfiles.read_file(path, kind, source)
        except presetfiles.Refused as error:
            return Checked(error.path, kind, source, flaws=[Flaw(error.why)])
        return self._parsed(file)

    def _parsed(self, file: File) -> Checked:
        read = presets.parse(file, full_profiles=self._settings.project_profiles_full)
        if read is None:
            return Checked(file.path, file.kind, file.source, flaws=presets.nameless(file))
        return self._read(read)

    def _read(self, read: Preset | Bad) -> Checked:
        checked = Checked(read.path, read.kind, read.source, name=read.name)
        if isinstance(read, Bad):
            checked.flaws = read.flaws
            return checked
        if read.kind == PROFILE:
            checked.flaws = [Flaw(message) for message in child_flags.refusals(read.fields, read.name)]
        known = reading.tools_of(read, self._settings)
        hiding = preset_choice.hiding(read)
        checked.notes = [
            *read.warnings,
            *([hiding] if hiding else []),
            *reading.unknown_tools(read, known),
            *(note.words() for note in read.notes),
        ]
        return checked

    def _place_of(self, path: str) -> tuple[str, str]:
        """Return the kind and the source that a file has by the folder it lies in."""
        folder = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path))
        for kind, name in presetfiles.FOLDERS:
            if folder == os.path.realpath(presetfiles.global_folder(self._environment, kind)):
                return kind, GLOBAL
            if os.path.basename(folder) == name:
                is_project = folder == presetfiles.project_folder(
                    os.path.dirname(folder)[: -len("/.pi")], kind
                )
                return kind, PROJECT if is_project else GLOBAL
        return PRESET, GLOBAL


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
