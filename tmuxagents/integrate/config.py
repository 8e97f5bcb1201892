"""The settings in pi's files, a person's or a project's: shown with their sources, put in and taken out.

All other bytes of the files stay. Joins.
"""

from __future__ import annotations

import difflib
import json
import os
from typing import NamedTuple

from tmuxagents.errors import BadConfig, BadRequest, Unusable
from tmuxagents.integrate import disk, own_text
from tmuxagents.settings import keys, load
from tmuxagents.settings.rules import Argv, json_or_text
from tmuxagents.system import places
from tmuxagents.system.project import is_really_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.settings.keys import Settings
    from tmuxagents.settings.rules import Rule


class Sourced(NamedTuple):
    """One setting in force, and its source: a file, a variable, or the default."""

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
        found = []
        for key, value, source in keys.rows(settings):
            where = keys.variable_of(key) if source == "environment" else self._paths.get(source)
            found.append(Sourced(key, value, source, where))
        path = self._paths["global"]
        odd = (f"{path}: {one}" for one in oddities(places.read_named(path).text or ""))
        return found, [*settings.warnings, *odd]

    def put(self, key: str, value: Any, source: str) -> str:
        """Write a setting into a file; return the file's path."""
        return self._change(source, lambda text: put(text, key, value))

    def take(self, key: str, source: str) -> str:
        """Take a setting out of a file; return the file's path."""
        return self._change(source, lambda text: None if text is None else take(text, key))

    def text(self, source: str) -> str:
        """Return the text of a file; for an empty or missing one, our section without settings."""
        return self._read(self._path(source))[1] or f'{{\n  "{keys.SECTION}": {{}}\n}}\n'

    def replace(self, source: str, text: str) -> str:
        """Replace a file's text with the one that a person has edited; return the file's path."""

        def checked(_: str | None) -> str:
            own_text.get_member(text, keys.SECTION, "")
            return text

        return self._change(source, checked)

    def _path(self, source: str) -> str:
        path = self._paths[source]
        if source == "project" and self._project and not is_really_inside(path, self._project):
            message = f"{path} leads out of the project."
            raise Unusable(message, kind="no-permission", hint="look where the link .pi leads")
        return path

    def _read(self, path: str) -> tuple[bytes | None, str | None]:
        refused = places.read_named(path).refused
        if refused:
            message = f"{path} is not used: {refused}."
            raise Unusable(message, kind="no-permission", hint=f"correct that first: ls -l {path}")
        content = disk.read(path)
        return content, None if content is None else content.decode("utf-8", "surrogateescape")

    def _change(self, source: str, edit: Callable[[str | None], str | None]) -> str:
        path = self._path(source)
        before, text = self._read(path)
        try:
            edited = edit(text)
        except own_text.CannotEdit as why:
            message = f"{path} cannot be edited: {why}."
            raise BadConfig(message, kind="bad-settings", hint="tmuxagents config edit opens it") from why
        after = None if edited is None else edited.encode("utf-8", "surrogateescape")
        if after != before:
            disk.make(os.path.dirname(path), private=source == "global")
            disk.replace(path, before, after, private=source == "global")
        return path


# --- one setting, as a person types it ---


def rule_of(key: str) -> Rule:
    """Return the rule of a setting. If there is no such setting, raise BadRequest, and name a similar one."""
    if key in keys.KEYS:
        return keys.KEYS[key]
    rule = keys.agent_rule_of(key)
    if rule is not None:
        return rule
    near = difflib.get_close_matches(key, keys.KEYS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else "tmuxagents config list names them all"
    raise BadRequest(f'There is no setting "{key[:60]}".', kind="usage", hint=hint, candidates=near)


def value_of(key: str, words: Sequence[str]) -> Any:
    """Return the value that a person typed for a setting, or raise BadRequest."""
    rule = rule_of(key)
    if isinstance(rule, Argv):
        value: Any = list(words)
        if len(words) == 1 and words[0].startswith("["):
            value = json_or_text(words[0])
    elif len(words) == 1:
        value = rule.literal(words[0])
    else:
        raise BadRequest(f"{key} takes one value, not {len(words)}.", kind="usage", hint="quote it")
    _, complaint = rule.read(value)
    if complaint is not None:
        wanted = complaint.partition(";")[0]
        raise BadRequest(f"{key} {wanted}.", kind="bad-argument", hint="nothing was changed", field=key)
    return value


def refuse_in_project(key: str) -> None:
    """Refuse a setting that a project may not make."""
    if key not in keys.PROJECT_KEYS:
        hint = "leave out --project, to set it for yourself"
        raise BadRequest(f"A project may not set {key}.", kind="bad-argument", hint=hint, field=key)


def oddities(text: str) -> Iterator[str]:
    """Yield a sentence about each unknown key of our section in a file's text."""
    for key in keys.names_in(text):
        try:
            rule_of(key)
        except BadRequest as unknown:
            yield f"{unknown.message.rstrip('.')}: {unknown.hint}"


def shown(value: Any) -> str:
    """Return a value as a person would type it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --- one setting in the text of a file ---


def put(text: str | None, key: str, value: Any) -> str:
    """Return a file's text with this setting. Raises own_text.CannotEdit."""
    if text is None or not text.strip():
        return own_text.made_member(keys.SECTION, key, value)
    changed = False
    for path in _places(key):
        edited = own_text.put_member_at(text, path, value)
        text, changed = edited or text, changed or edited is not None
    return text if changed else own_text.put_member(text, keys.SECTION, key, value)


def take(text: str, key: str) -> str | None:
    """Return a file's text without this setting, None if nothing else is in it. Raises CannotEdit."""
    flat, nested = _places(key)
    if nested != flat:
        text = own_text.take_member_at(text, nested) or text
    return own_text.take_member(text, keys.SECTION, key)


def _places(key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the two ways of writing a setting: `tmux.session` is a member of its own, or one of `tmux`."""
    group, dot, rest = key.partition(".")
    parts = (group, *rest.rsplit(".", 1)) if dot else (key,)
    return (keys.SECTION, key), (keys.SECTION, *parts)
