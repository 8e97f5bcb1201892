"""The settings of a person or a project: shown with their sources, and written into their files. Joins."""

from __future__ import annotations

import os
from typing import NamedTuple

from tmuxagents.errors import BadConfig, Unusable
from tmuxagents.integrate import disk, json_member
from tmuxagents.settings import keys, load
from tmuxagents.setup import changes
from tmuxagents.system import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tmuxagents.settings.keys import Settings


class Sourced(NamedTuple):
    """One setting in force, and what says so: a file, a variable, or nothing but the default."""

    key: str
    value: Any
    source: str
    where: str | None


class SettingsFiles:
    """The settings in force in a project, and the two files that hold them."""

    def __init__(self, environment: Mapping[str, str], project: str | None) -> None:
        self._environment = environment
        self._paths = {"global": places.global_path(environment)}
        self._project = project
        if project is not None:
            self._paths["project"] = places.project_path(project)

    def in_force(self) -> tuple[list[Sourced], list[str]]:
        """Return all settings with their sources, and warnings."""
        settings: Settings = load.load(self._environment, self._project)
        found = [self._sourced(*row) for row in keys.rows(settings)]
        path = self._paths["global"]
        odd = (f"{path}: {one}" for one in changes.oddities(places.read_named(path).text or ""))
        return found, [*settings.warnings, *odd]

    def _sourced(self, key: str, value: Any, source: str) -> Sourced:
        where = keys.variable_of(key) if source == "environment" else self._paths.get(source)
        return Sourced(key, value, source, where)

    def put(self, key: str, value: Any, source: str) -> str:
        """Write a setting into a file; return the file's path."""
        return self._change(source, lambda text: changes.put(text, key, value))

    def take(self, key: str, source: str) -> str:
        """Take a setting out of a file; return the file's path."""
        return self._change(source, lambda text: None if text is None else changes.take(text, key))

    def text(self, source: str) -> str:
        """Return what a file says, or what an empty one would."""
        return self._read(self._path(source))[1] or f'{{\n  "{keys.SECTION}": {{}}\n}}\n'

    def replace(self, source: str, text: str) -> str:
        """Write a file anew, as a person has edited it; return its path."""

        def checked(_: str | None) -> str:
            json_member.get(text, keys.SECTION, "")
            return text

        return self._change(source, checked)

    def _path(self, source: str) -> str:
        path = self._paths[source]
        project = f"{os.path.realpath(self._project or '/')}/"
        if source == "project" and not os.path.realpath(path).startswith(project):
            message = f"{path} leads out of the project."
            raise Unusable(message, kind="no-permission", hint="look where the link .pi leads")
        return path

    def _read(self, path: str) -> tuple[bytes | None, str | None]:
        refused = places.read_named(path).refused
        if refused:
            message = f"{path} is not used: {refused}."
            raise Unusable(message, kind="no-permission", hint=f"mend that first: ls -l {path}")
        content = disk.read(path)
        return content, None if content is None else content.decode("utf-8", "surrogateescape")

    def _change(self, source: str, edit: Callable[[str | None], str | None]) -> str:
        path = self._path(source)
        before, text = self._read(path)
        try:
            edited = edit(text)
        except json_member.CannotEdit as why:
            message = f"{path} cannot be edited: {why}."
            raise BadConfig(message, kind="bad-settings", hint="tmuxagents config edit opens it") from why
        after = None if edited is None else edited.encode("utf-8", "surrogateescape")
        if after != before:
            disk.make(os.path.dirname(path), private=source == "global")
            disk.replace(path, before, after, private=source == "global")
        return path
