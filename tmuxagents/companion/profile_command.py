"""The profile command as a parent's people type it (`/profile show X`): what is answered, and what is to do.

Nothing is done here: the answer names the act, and what to ask before it.

Pure.
"""

from __future__ import annotations

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


class Answer:
    """What is said at once; what is asked; what is done then, and what is said when it is done."""

    __slots__ = ("act", "afterwards", "name", "note", "question")

    def __init__(
        self,
        note: tuple[str, str] | None = None,
        *,
        act: str | None = None,
        name: str | None = None,
        question: tuple[str, str] | None = None,
        afterwards: tuple[str, str] | None = None,
    ) -> None:
        self.note = note
        self.act = act
        self.name = name
        self.question = question
        self.afterwards = afterwards


def answer(line: str, profiles: Profiles) -> Answer:
    """Return the answer to the words after `/profile`."""
    word, *names = line.split()[:2] or [""]
    verb = _VERBS.get(word)
    if verb == LIST:
        return Answer((INFO, listing(profiles)))
    if verb is None:
        return _show(word, profiles) if word in profiles else Answer((WARNING, USAGE))
    if not names:
        return Answer((WARNING, editing.usage(verb)))
    return _ANSWERS[verb](names[0], profiles)


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


def _create(name: str, profiles: Profiles) -> Answer:
    if not editing.is_name(name):
        return Answer((WARNING, editing.usage(CREATE)))
    if name in profiles:
        return Answer((WARNING, editing.exists(name).message))
    return Answer(act=CREATE, name=name)


def _edit(name: str, profiles: Profiles) -> Answer:
    if name not in profiles:
        return Answer((ERROR, editing.missing(name).message))
    return Answer(act=EDIT, name=name)


def _delete(name: str, profiles: Profiles) -> Answer:
    """Ask first, whatever there is: what became of it is said afterwards."""
    done = (INFO, editing.deleted(name))
    return Answer(
        act=DELETE,
        name=name,
        question=(_DELETE_TITLE, editing.question(name)),
        afterwards=done if name in profiles else (ERROR, editing.not_there(name).message),
    )


_ANSWERS = {SHOW: _show, CREATE: _create, EDIT: _edit, DELETE: _delete}
