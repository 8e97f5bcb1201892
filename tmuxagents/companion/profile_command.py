"""The `/profile` command of a parent (`/profile show X`): what it answers, and what it does.

Nothing is done here: the answer names the act, and what to ask before it.

Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.presets import describe, editing
from tmuxagents.presets.fields import PRESET, PROFILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from tmuxagents.presets.preset import Preset

    Profiles = Mapping[str, Mapping[str, Any]]  # name -> fields

INFO, WARNING, ERROR = "info", "warning", "error"
COMPLETED = LIST, SHOW, CREATE, EDIT, DELETE = "list", "show", "create", "edit", "delete"
_VERBS = {
    **dict.fromkeys(("", "ls"), LIST),
    "new": CREATE,
    **dict.fromkeys(("rm", "remove"), DELETE),
    **{verb: verb for verb in COMPLETED},
}
USAGE = "Usage: /profile [list|show <name>|create <name>|edit <name>|delete <name>]"
_USAGES = {
    **{verb: f"Usage: /profile {verb} <name>" for verb in (SHOW, EDIT, DELETE)},
    CREATE: "Usage: /profile create <name>  (alphanumeric, hyphens, underscores)",
}
CANCELLED = "Cancelled."
_FOLDERS = {PRESET: "subagents", PROFILE: "agent-profiles"}
_NOTHING = "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or use /profile create."
_DELETE_TITLE = "Delete profile?"


class ProfileAnswer(NamedTuple):
    """A note to show at once; or an act with its question before it and the note after it."""

    note: tuple[str, str] | None = None
    act: str | None = None
    name: str | None = None
    question: tuple[str, str] | None = None
    afterwards: tuple[str, str] | None = None


def answer(line: str, profiles: Profiles) -> ProfileAnswer:
    """Return the answer to the words after `/profile`."""
    word, *names = line.split()[:2] or [""]
    verb = _VERBS.get(word)
    if verb == LIST:
        return ProfileAnswer((INFO, listing(profiles)))
    if verb is None:
        return _show(word, profiles) if word in profiles else ProfileAnswer((WARNING, USAGE))
    if not names:
        return ProfileAnswer((WARNING, _USAGES[verb]))
    name = names[0]
    if verb == SHOW:
        return _show(name, profiles)
    if verb == DELETE:  # the question comes first, also for a profile that is not there
        done = (INFO, f'Profile "{name}" deleted.')
        after = done if name in profiles else (ERROR, f'Profile "{name}" not found.')
        return ProfileAnswer(None, DELETE, name, (_DELETE_TITLE, f'Delete subagent profile "{name}"?'), after)
    return _change(verb, name, profiles)


def completions(prefix: str, names: Iterable[str]) -> list[str] | None:
    """Return the verbs and names that begin so; None if there are none."""
    return [word for word in (*COMPLETED, *names) if word.startswith(prefix)] or None


def saved(preset: Preset) -> str:
    """Return the note on a file that was written."""
    return f'{preset.kind.capitalize()} "{preset.name}" saved to {preset.source} {_FOLDERS[preset.kind]}.'


def listing(profiles: Profiles) -> str:
    """Return all profiles, a line each."""
    if not profiles:
        return _NOTHING
    summaries = (describe.summary(name, fields) for name, fields in profiles.items())
    return "\n  ".join(("Subagent profiles:", *summaries))


def _show(name: str, profiles: Profiles) -> ProfileAnswer:
    if name not in profiles:
        available = ", ".join(profiles) or "(none)"
        return ProfileAnswer((ERROR, f'Profile "{name}" not found. Available: {available}'))
    return ProfileAnswer((INFO, describe.detail(name, profiles[name])))


def _change(verb: str, name: str, profiles: Profiles) -> ProfileAnswer:
    if verb == EDIT and name not in profiles:
        message = f'Profile "{name}" not found. Use /profile create {name} to create it.'
        return ProfileAnswer((ERROR, message))
    if verb == CREATE and not editing.is_name(name):
        return ProfileAnswer((WARNING, _USAGES[CREATE]))
    if verb == CREATE and name in profiles:
        message = f'Profile "{name}" already exists. Use /profile edit {name} to modify it.'
        return ProfileAnswer((WARNING, message))
    return ProfileAnswer(act=verb, name=name)
