"""Paths as text: the one shortener for people, and the one answer to "does it lie inside?".

Knows nothing of any disk: what has to be resolved comes here resolved.
"""

from __future__ import annotations

import re

_WORTH_CLIMBING = 10  # characters that `../` has to save: a path that climbs is harder to read
_DRIVE = re.compile("[A-Za-z]:/")
# A path in a text stands at its beginning or behind one of these. Behind a colon it is somebody else's: the
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
