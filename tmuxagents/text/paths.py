"""Paths and shell commands as text: shortened for people, and whether one path lies inside another. Pure.

No disk is asked: what has to be resolved is resolved by the caller.
"""

from __future__ import annotations

import re

from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_WORTH_CLIMBING = 10  # characters that `../` has to save: a path that climbs is harder to read
_DRIVE = re.compile("[A-Za-z]:/")
# A path in a text is at its beginning or after one of these. After a colon it means something else: the
# right side of a mount, a host's.
_BEFORE = "(?:^|(?<=[\\s\"'`=(<>|&;\\[{,@]))"
_SEGMENT = "[^\\s/\"'`|&;<>()\\[\\]{}$*?!\\\\:,=]"
# What follows directly may belong to the last segment: a glob, a variable, an escaped space.
_AFTER = "(?![*?$\\[{!\\\\])"
_IN_TEXT = re.compile(
    f"(?P<url>(?<![\\w+.-])[A-Za-z][\\w+.-]{{0,20}}://[^\\s\"'`<>]*)"
    # A lookahead and what it found: never given back. Python 3.11.2 has possessive groups wrong.
    f"|{_BEFORE}(?P<path>(?=(?P<core>(?:/{_SEGMENT}+){{2,}}))(?P=core){_AFTER})"
)


def shorten(path: str, *, cwd: str, home: str) -> str:
    """Return a path as short as it reads well from `cwd`; what cannot be shortened stays as it is."""
    if path == cwd:  # also where it is written in a way that is not ours to take apart
        return "."
    if not path.startswith("/") and not _DRIVE.match(path):
        return path
    parts, base = _parts(path), _parts(cwd)
    if parts == base:
        return "."
    shared = _shared(parts, base)
    kept = _from_home(path, _parts(home)) or path
    if shared == len(base):
        below = "/".join(parts[shared:])
        return below if len(below) < len(kept) else kept  # from above the home, `~` is the shorter way
    climbing = "/".join([".."] * (len(base) - shared) + parts[shared:])
    return climbing if len(kept) - len(climbing) >= _WORTH_CLIMBING else kept


def shorten_in_text(text: str, *, cwd: str, home: str) -> str:
    """Return a text whose absolute paths of two segments or more are short; addresses stay as they are."""

    def shown(found: re.Match[str]) -> str:
        path = found["path"]
        return found[0] if path is None else shorten(path, cwd=cwd, home=home)

    return _IN_TEXT.sub(shown, text)


def is_inside(resolved: str, folder: str) -> bool:
    """Say whether a path is a folder or lies in it. Both are resolved: absolute, without links and dots."""
    return resolved == folder or resolved.startswith(folder.rstrip("/") + "/")


def _parts(path: str) -> list[str]:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return parts


def _shared(parts: list[str], base: list[str]) -> int:
    for number, (one, other) in enumerate(zip(parts, base, strict=False)):
        if one != other:
            return number
    return min(len(parts), len(base))


def _from_home(path: str, home: list[str]) -> str | None:
    parts = _parts(path)
    if not home or len(parts) <= len(home) or parts[: len(home)] != home:
        return None
    return "/".join(["~", *parts[len(home) :]]) + ("/" if path.endswith("/") else "")


_AND = " && "
_CONTINUED = " &&\n│ "
_MARK = len("│ ")  # of a continued row: it counts where parts are joined to one
_HERE = "."
_MOST = 4000  # characters that are looked at: a program in one line must not fill the window


def shown(command: str, *, cwd: str, home: str, first: int, following: int) -> str:
    """Return the first line of a command for reading, in rows of these widths."""
    line = safe.text(command).split("\n", 1)[0].strip()[:_MOST]
    rest = collapse_cd(collapse_cd(line, cwd), f"{cwd}/")
    if rest in ("", _HERE):
        return f"cd {_HERE}"
    return wrap(shorten_in_text(rest, cwd=cwd, home=home), first, following)


def collapse_cd(command: str, cwd: str) -> str:
    """Return a command without a `cd` to the working directory before it; `.` where that was all of it."""
    words, target = command[:2], command[2:].lstrip()
    if words != "cd" or command[2:] == target or not target.startswith(cwd):
        return command
    behind = target[len(cwd) :]
    if not behind:
        return _HERE
    rest = behind.lstrip()
    return rest[2:].lstrip() if rest != behind and rest.startswith("&&") else command


def wrap(command: str, first: int, following: int | None = None) -> str:
    """Return a command in rows: as many of its `&&` parts a row as fit, a part that is too long cut.

    The first part has `first` columns; another one that begins a row, and a row of several, `following`.
    """
    if len(command) <= first:
        return command
    steps = [step for step in command.split(_AND) if step] or [""]
    return _CONTINUED.join(_rows(steps, first, first if following is None else following))


def _rows(steps: list[str], first: int, following: int) -> Iterator[str]:
    width, mark, row = first, 0, steps[0]
    for step in steps[1:]:
        if len(row) <= width and mark + len(row) + len(_AND) + len(step) <= following:
            row, width = row + _AND + step, following
            continue
        yield safe.cut(row, width)
        width, mark, row = following, _MARK, step
    yield safe.cut(row, width)
