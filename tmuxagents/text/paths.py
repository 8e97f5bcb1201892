"""Paths and shell commands as text: shortened for people, and whether one path is inside another. Pure.

This module reads nothing from the disk: the caller resolves paths if need be.
"""

from __future__ import annotations

import re

from tmuxagents.text import safe

_WORTH_CLIMBING = 10  # characters that `../` must save, since such a path is harder to read
_DRIVE = re.compile("[A-Za-z]:/")
# A path begins at the start of the text or after one of these. After a colon it would mean something else:
# the right side of a mount, or a path on a host.
_BEFORE = "(?:^|(?<=[\\s\"'`=(<>|&;\\[{,@]))"
_SEGMENT = "[^\\s/\"'`|&;<>()\\[\\]{}$*?!\\\\:,=]"
# Any of these directly after a path may belong to the last segment: a glob, a variable, an escaped space.
_AFTER = "(?![*?$\\[{!\\\\])"
_IN_TEXT = re.compile(
    f"(?P<url>(?<![\\w+.-])[A-Za-z][\\w+.-]{{0,20}}://[^\\s\"'`<>]*)"
    # A lookahead and a reference to it never backtrack. Possessive groups are broken in Python 3.11.2.
    f"|{_BEFORE}(?P<path>(?=(?P<core>(?:/{_SEGMENT}+){{2,}}))(?P=core){_AFTER})"
)


def shorten(path: str, *, cwd: str, home: str) -> str:
    """Return the shortest readable form of a path, seen from `cwd`. This may be the path itself."""
    if path == cwd:  # also if it is no path that we understand
        return "."
    if not path.startswith("/") and not _DRIVE.match(path):
        return path
    steps, base = parts(path), parts(cwd)
    if steps == base:
        return "."
    pairs = list(zip(steps, base, strict=False))
    shared = next((number for number, (one, other) in enumerate(pairs) if one != other), len(pairs))
    kept, home_steps = path, parts(home)
    if home_steps and len(steps) > len(home_steps) and steps[: len(home_steps)] == home_steps:
        kept = "/".join(["~", *steps[len(home_steps) :]]) + ("/" if path.endswith("/") else "")
    if shared == len(base):
        below = "/".join(steps[shared:])
        return below if len(below) < len(kept) else kept  # from above the home, `~` is shorter
    climbing = "/".join([".."] * (len(base) - shared) + steps[shared:])
    return climbing if len(kept) - len(climbing) >= _WORTH_CLIMBING else kept


def shorten_in_text(text: str, *, cwd: str, home: str) -> str:
    """Return a text with short paths instead of absolute ones of two or more segments; URLs stay."""

    def shown(found: re.Match[str]) -> str:
        path = found["path"]
        return found[0] if path is None else shorten(path, cwd=cwd, home=home)

    return _IN_TEXT.sub(shown, text)


def is_inside(resolved: str, folder: str) -> bool:
    """Say whether a path is a folder or inside it. Both are resolved: absolute, without links and dots."""
    return resolved == folder or resolved.startswith(folder.rstrip("/") + "/")


def parts(path: str) -> list[str]:
    """Return the folders of an absolute path and its last name, without `.` and `..`."""
    found: list[str] = []
    for part in path.split("/"):
        if part == "..":
            found = found[:-1]
        elif part not in ("", "."):
            found.append(part)
    return found


def stem(path: str) -> str:
    """Return the name of a file without its endings."""
    return path.rpartition("/")[2].partition(".")[0]


# --- commands ---------------------------------------------------------------------------------------------

_AND = " && "
_CONTINUED = " &&\n│ "
_MARK = len("│ ")  # at the beginning of a continued row
_HERE = "."
_MOST = 4000  # characters that are read: a program in one line must not fill the window


def shown(command: str, *, cwd: str, home: str, first: int, following: int) -> str:
    """Return the first line of a command for reading, in rows of these widths."""
    line = safe.text(command).split("\n", 1)[0].strip()[:_MOST]
    rest = collapse_cd(collapse_cd(line, cwd), f"{cwd}/")
    if rest in ("", _HERE):
        return f"cd {_HERE}"
    return wrap(shorten_in_text(rest, cwd=cwd, home=home), first, following)


def collapse_cd(command: str, cwd: str) -> str:
    """Return a command without a leading `cd` to the working directory; `.` if nothing else is left."""
    words, target = command[:2], command[2:].lstrip()
    if words != "cd" or command[2:] == target or not target.startswith(cwd):
        return command
    behind = target[len(cwd) :]
    if not behind:
        return _HERE
    rest = behind.lstrip()
    return rest[2:].lstrip() if rest != behind and rest.startswith("&&") else command


def wrap(command: str, first: int, following: int | None = None) -> str:
    """Return a command in rows, each with as many `&&` parts as fit. A part that is too long is cut.

    The first part has `first` columns; later rows, and rows of several parts, have `following`.
    """
    if len(command) <= first:
        return command
    following = first if following is None else following
    steps = [step for step in command.split(_AND) if step] or [""]
    rows: list[str] = []
    width, mark, row = first, 0, steps[0]
    for step in steps[1:]:
        if len(row) <= width and mark + len(row) + len(_AND) + len(step) <= following:
            row, width = row + _AND + step, following
            continue
        rows.append(safe.cut(row, width))
        width, mark, row = following, _MARK, step
    return _CONTINUED.join([*rows, safe.cut(row, width)])
