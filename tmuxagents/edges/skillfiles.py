"""Folders of skills: finds the files in one, and reads them, bounded. What they mean is decided elsewhere.

A folder with a SKILL.md is one skill and is not searched further. No text is taken from what is no regular
file, from what somebody else could have written, and from what a project only links to: a clone could link to
any file of ours.
"""

from __future__ import annotations

import os

from tmuxagents.edges import promptfiles, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DECLARED = "SKILL.md"
MOST_BYTES = 256 * 1024
_DEEPEST = 8
_MOST_FOLDERS = 2000
_NOT_SEARCHED = ("node_modules",)


class SkillFile:
    """A file that may be a skill: where it lies, the name of its folder, its text if it may be read."""

    __slots__ = ("folder", "is_declared", "path", "text")

    def __init__(self, path: str, folder: str, *, is_declared: bool, text: str | None) -> None:
        self.path = path
        self.folder = folder
        self.is_declared = is_declared
        self.text = text


def scan(folder: str, within: str | None = None) -> Iterator[SkillFile]:
    """Yield the files of a skills folder, by name; a folder that is not there has none.

    Links may lead anywhere, but for texts: those lie `within` that folder, if one is named.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [(folder, 0)]
    while waiting and len(seen) < _MOST_FOLDERS:
        here, depth = waiting.pop(0)
        if not _is_new(here, seen):
            continue
        names = _names(here)
        if DECLARED in names:
            yield _read(here, DECLARED, within)
            continue
        if depth == 0:
            yield from (_read(here, name, within) for name in names if name.endswith(".md"))
        if depth < _DEEPEST:
            inside = [f"{here}/{name}" for name in names if name not in _NOT_SEARCHED]
            waiting[:0] = [(path, depth + 1) for path in inside if os.path.isdir(path)]


def _is_new(folder: str, seen: set[tuple[int, int]]) -> bool:
    """Say whether a folder has not been searched: links may lead in circles."""
    try:
        facts = os.stat(folder)
    except OSError:
        return False
    known = (facts.st_dev, facts.st_ino)
    if known in seen:
        return False
    seen.add(known)
    return True


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return []


def _read(folder: str, name: str, within: str | None) -> SkillFile:
    bounds = None if within is None else promptfiles.resolve(within)

    def may(real: str) -> bool:
        if bounds is not None and not f"{real}/".startswith(f"{bounds.rstrip('/')}/"):
            return False
        return _is_ours(real) and _is_ours(os.path.dirname(real))

    found = promptfiles.read(f"{folder}/{name}", limit=MOST_BYTES, may=may)
    text = found.text if found.problem is None else None
    return SkillFile(f"{folder}/{name}", os.path.basename(folder), is_declared=name == DECLARED, text=text)


def _is_ours(path: str) -> bool:
    try:
        return settings.only_we_write(os.lstat(path))
    except OSError:
        return False
