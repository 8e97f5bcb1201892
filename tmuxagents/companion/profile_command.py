"""The `/profile` command of a parent (`/profile show X`): what it answers, and what it does.

Nothing is done here: the answer names the act, and what to ask before it.

Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.presets import describe, editing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Profiles = Mapping[str, Mapping[str, Any]]  # name -> fields

INFO, WARNING, ERROR = "info", "warning", "error"
LIST, SHOW, CREATE, EDIT, DELETE = editing.COMPLETED
_VERBS = {
    **dict.fromkeys(("", "ls"), LIST),
    "new": CREATE,
    **dict.fromkeys(("rm", "remove"), DELETE),
    **{verb: verb for verb in editing.COMPLETED},
}
USAGE = "Usage: /profile [list|show <name>|create <name>|edit <name>|delete <name>]"
_DELETE_TITLE = "Delete profile?"


class Answer(NamedTuple):
    """A note to show at once; or an act with its question before it and the note after it."""

    note: tuple[str, str] | None = None
    act: str | None = None
    name: str | None = None
    question: tuple[str, str] | None = None
    afterwards: tuple[str, str] | None = None


def answer(line: str, profiles: Profiles) -> Answer:
    """Return the answer to the words after `/profile`."""
    word, *names = line.split()[:2] or [""]
    verb = _VERBS.get(word)
    if verb == LIST:
        return Answer((INFO, listing(profiles)))
    if verb is None:
        return _show(word, profiles) if word in profiles else Answer((WARNING, USAGE))
    if not names:
        return Answer((WARNING, editing.USAGE[verb]))
    name = names[0]
    if verb == SHOW:
        return _show(name, profiles)
    if verb == DELETE:  # the question comes first, also for a profile that is not there
        done = (INFO, editing.deleted(name))
        after = done if name in profiles else (ERROR, editing.not_there(name).message)
        return Answer(None, DELETE, name, (_DELETE_TITLE, editing.question(name)), after)
    return _change(verb, name, profiles)


def listing(profiles: Profiles) -> str:
    """Return all profiles, a line each."""
    if not profiles:
        return describe.NOTHING
    summaries = (describe.summary(name, fields) for name, fields in profiles.items())
    return "\n  ".join(("Subagent profiles:", *summaries))


def _show(name: str, profiles: Profiles) -> Answer:
    if name not in profiles:
        return Answer((ERROR, describe.not_found(name, profiles)))
    return Answer((INFO, describe.detail(name, profiles[name])))


def _change(verb: str, name: str, profiles: Profiles) -> Answer:
    if verb == EDIT and name not in profiles:
        return Answer((ERROR, editing.missing(name).message))
    if verb == CREATE and not editing.is_name(name):
        return Answer((WARNING, editing.USAGE[CREATE]))
    if verb == CREATE and name in profiles:
        return Answer((WARNING, editing.exists(name).message))
    return Answer(act=verb, name=name)
