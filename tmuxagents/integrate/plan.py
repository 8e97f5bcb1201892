"""The changes of an integration, before and after: one shape for tmux and for every parent. Pure."""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from tmuxagents.integrate.own_text import BROKEN, CHANGED, DONE, FOREIGN, TAKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from tmuxagents.integrate.own_text import Edited

FILE, SERVER = "file", "server"
_WHY = {
    CHANGED: "what tmuxagents wrote there was changed by hand; remove it by hand, too",
    BROKEN: "the marks of tmuxagents in it are not whole; remove what is left of them by hand",
    FOREIGN: "tmuxagents did not write it",
    TAKEN: 'it has a server "tmuxagents" that tmuxagents did not write',
}


class Change(NamedTuple):
    """One change of a whole file, or of the option `name` of a running server. None: no file or value."""

    where: str
    path: str
    name: str | None = None
    before: str | None = None
    after: str | None = None


class LeftAlone(NamedTuple):
    """One thing that stays as it is, and why."""

    where: str
    path: str
    name: str | None
    why: str


class Step:
    """The changes in one place."""

    __slots__ = ("changes", "left", "lines", "path", "texts", "where")

    def __init__(self, where: str, path: str) -> None:
        self.where = where
        self.path = path
        self.changes: list[Change] = []
        self.left: list[LeftAlone] = []
        self.texts: tuple[bytes | None, bytes | None] = (None, None)  # of a file: its bytes before and after
        self.lines: Sequence[str] = ()  # of a server: the bindings of keys

    def change(self, name: str | None, before: str | None, after: str | None) -> None:
        """Plan a change."""
        self.changes.append(Change(self.where, self.path, name, before, after))

    def leave(self, name: str | None, why: str) -> None:
        """Plan to leave something alone."""
        self.left.append(LeftAlone(self.where, self.path, name, why))


class Integration:
    """All planned changes, everywhere."""

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
        """Return the things that are left alone."""
        return [one for step in self.steps for one in step.left]

    def document(self, *, dry_run: bool) -> dict[str, Any]:
        """Return the integration as a document."""
        return {
            "v": 1,
            "target": self.target,
            "uninstall": self.uninstall,
            "dryRun": dry_run,
            "changes": [change._asdict() for change in self.changes],
            "left": [one._asdict() for one in self.left],
            "warnings": self.warnings,
        }


def file_step(path: str, before: bytes | None, edited: Edited) -> Step:
    """Return the step that gives a file its new text, or leaves it alone."""
    step = Step(FILE, path)
    if edited.outcome in _WHY:
        step.leave(None, _WHY[edited.outcome])
    elif edited.outcome == DONE and before != edited.text:
        step.texts = (before, edited.text)
        step.change(None, *(None if text is None else text.decode("utf-8", "replace") for text in step.texts))
    return step


# --- messages -------------------------------------------------------------------------------------------


def diff(changes: Iterable[Change]) -> Iterator[str]:
    """Return the changes as the lines of a diff."""
    last = None
    for change in changes:
        texts = (change.before, change.after)
        if change.where == FILE:
            old, new = (change.path if text is not None else "/dev/null" for text in texts)
            # A last line without its line break differs from the same line with it.
            before, after = (re.findall("[^\\n]*\\n|[^\\n]+", text or "") for text in texts)
            for line in difflib.unified_diff(before, after, old, new):
                yield line.removesuffix("\n")
                if not line.endswith("\n"):
                    yield "\\ No newline at end of file"
        else:
            if change.path != last:
                yield from (f"{sign} tmux server {change.path}" for sign in ("---", "+++"))
            yield from (
                f"{sign}{change.name} {text}"
                for sign, text in zip("-+", texts, strict=True)
                if text is not None
            )
        last = change.path


def done_line(change: Change) -> str:
    """Return a change that was made, as one line."""
    if change.where == SERVER:
        how = "unset" if change.after is None else "set"
        return f"{how} {change.name} on the tmux server at {change.path}"
    if change.before is None:
        return f"made {change.path}"
    return f"removed {change.path}" if change.after is None else f"changed {change.path}"


def left_line(one: LeftAlone) -> str:
    """Return one thing that was left alone, and why, as one line."""
    what = one.path if one.where == FILE else f"{one.name} on the tmux server at {one.path}"
    return f"left {what} alone: {one.why}"
