"""What an integration changes, told before and after: the same shape for tmux and for each parent. Pure."""

from __future__ import annotations

import difflib

from tmuxagents.integrate.own_text import DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.integrate.own_text import Edited

FILE, SERVER = "file", "server"
_NO_FILE = "/dev/null"
_OPEN_END = "\\ No newline at end of file"


class Change:
    """One thing that is changed: a whole file, or an option (`name`) of a running server.

    `before` and `after` are its content, None where there is none.
    """

    __slots__ = ("after", "before", "name", "path", "where")

    def __init__(
        self, where: str, path: str, *, before: str | None, after: str | None, name: str | None = None
    ) -> None:
        self.where = where
        self.path = path
        self.name = name
        self.before = before
        self.after = after

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {key: getattr(self, key) for key in ("where", "path", "name", "before", "after")}


class LeftAlone:
    """One thing that is left as it is, and why."""

    __slots__ = ("name", "path", "where", "why")

    def __init__(self, where: str, path: str, why: str, *, name: str | None = None) -> None:
        self.where = where
        self.path = path
        self.name = name
        self.why = why

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {key: getattr(self, key) for key in ("where", "path", "name", "why")}


class Step:
    """What is to be changed in one place."""

    __slots__ = ("changes", "left", "lines", "path", "texts", "where")

    def __init__(self, where: str, path: str) -> None:
        self.where = where
        self.path = path
        self.changes: list[Change] = []
        self.left: list[LeftAlone] = []
        self.texts: tuple[bytes | None, bytes | None] = (None, None)  # of a file, as they are on the disk
        self.lines: Sequence[str] = ()  # of a server: the bindings of keys

    def change(self, name: str | None, before: str | None, after: str | None) -> None:
        """Plan a change."""
        self.changes.append(Change(self.where, self.path, name=name, before=before, after=after))

    def leave(self, name: str | None, why: str) -> None:
        """Plan to leave something alone."""
        self.left.append(LeftAlone(self.where, self.path, why, name=name))


class Integration:
    """All that is to be changed, everywhere."""

    __slots__ = ("steps", "target", "uninstall", "warnings")

    def __init__(self, target: str, *, uninstall: bool) -> None:
        self.target = target
        self.uninstall = uninstall
        self.steps: list[Step] = []
        self.warnings: list[str] = []

    @property
    def changes(self) -> list[Change]:
        """Return the changes."""
        return [change for step in self.steps for change in step.changes]

    @property
    def left(self) -> list[LeftAlone]:
        """Return what is left alone."""
        return [one for step in self.steps for one in step.left]

    def document(self, *, dry_run: bool) -> dict[str, Any]:
        """Return the document."""
        return {
            "v": 1,
            "target": self.target,
            "uninstall": self.uninstall,
            "dryRun": dry_run,
            "changes": [change.document() for change in self.changes],
            "left": [one.document() for one in self.left],
            "warnings": self.warnings,
        }


def file_step(path: str, before: bytes | None, edited: Edited, why: Mapping[str, str]) -> Step:
    """Return the step that gives a file its new text, or leaves it alone for one of the reasons."""
    step = Step(FILE, path)
    if edited.outcome in why:
        step.leave(None, why[edited.outcome])
    elif edited.outcome == DONE and before != edited.text:
        step.texts = (before, edited.text)
        step.change(None, *(None if text is None else text.decode("utf-8", "replace") for text in step.texts))
    return step


# --- said -----------------------------------------------------------------------------------------------


def diff(changes: Iterable[Change]) -> Iterator[str]:
    """Return the lines of what would change, in the form of a diff."""
    last = None
    for change in changes:
        if change.where == FILE:
            yield from _file(change)
        else:
            if change.path != last:
                yield from (f"{sign} tmux server {change.path}" for sign in ("---", "+++"))
            yield from _option(change)
        last = change.path


def _file(change: Change) -> Iterator[str]:
    before, after = (_lines(text or "") for text in (change.before, change.after))
    was, will_be = (change.path if text is not None else _NO_FILE for text in (change.before, change.after))
    for line in difflib.unified_diff(before, after, was, will_be):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield _OPEN_END


def _lines(text: str) -> list[str]:
    """Return lines with their ends: a last line without one is another than the same with it."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _option(change: Change) -> Iterator[str]:
    for sign, value in (("-", change.before), ("+", change.after)):
        if value is not None:
            yield f"{sign}{change.name} {value}"


def said(change: Change) -> str:
    """Return what was done, as one line."""
    if change.where == SERVER:
        how = "unset" if change.after is None else "set"
        return f"{how} {change.name} on the tmux server at {change.path}"
    if change.before is None:
        return f"made {change.path}"
    return f"removed {change.path}" if change.after is None else f"changed {change.path}"


def left(one: LeftAlone) -> str:
    """Return what was left, and why, as one line."""
    what = one.path if one.where == FILE else f"{one.name} on the tmux server at {one.path}"
    return f"left {what} alone: {one.why}"
