"""Which part of which file goes into a prompt: `PATH`, `PATH:A-B`, `PATH:head=N`, or objects in JSON.

Text in, record out; whether a file is there is somebody else's to find out.
"""

from __future__ import annotations

import re

from tmuxagents.errors import BadRequest, Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SLICE = re.compile(
    r"(?P<path>.+):(?:(?P<start>[0-9]+)-(?P<end>[0-9]+)?|-(?P<until>[0-9]+)"
    r"|head=(?P<head>[0-9]+)|tail=(?P<tail>[0-9]+))",
    re.DOTALL,
)
_NUMBERS = ("start", "end", "head", "tail")
_MOST_DIGITS = 15  # no file has more lines
_HINT = "PATH, PATH:A-B, PATH:A-, PATH:-B, PATH:head=N or PATH:tail=N; lines count from 1"


class FileSpec:
    """One file and the lines wanted of it: from `start` to `end`, or the first or last so many, or all."""

    __slots__ = ("end", "head", "path", "start", "tail")

    def __init__(
        self,
        path: str,
        *,
        start: int | None = None,
        end: int | None = None,
        head: int | None = None,
        tail: int | None = None,
    ) -> None:
        self.path = path  # as the caller wrote it
        self.start = start
        self.end = end
        self.head = head
        self.tail = tail

    def document(self) -> str | dict[str, Any]:
        """Return the JSON value of it, as it stands in `files`."""
        wanted = {key: getattr(self, key) for key in _NUMBERS if getattr(self, key) is not None}
        return {"path": self.path, **wanted} if wanted else self.path


def parse(spec: str, *, is_file: bool, field: str = "file") -> FileSpec:
    """Read a word of a command line. `is_file`: there is a file of just this name, which then is meant."""
    found = None if is_file else _SLICE.fullmatch(spec)
    if found is None:
        return _checked(FileSpec(spec), field)
    digits = {name: found[name] for name in (*_NUMBERS, "until") if found[name] is not None}
    numbers = {name: int(word.lstrip("0")[:_MOST_DIGITS] or "0") for name, word in digits.items()}
    if "until" in numbers:
        numbers["end"] = numbers.pop("until")
    return _checked(FileSpec(found["path"], **numbers), field)


def read(value: Any, *, field: str) -> FileSpec:
    """Read one entry of `files` in JSON; raise BadRequest for what is none."""
    if isinstance(value, str):
        return _checked(FileSpec(value), field)
    if not isinstance(value, dict) or not isinstance(value.get("path"), str):
        raise _refused("must be a path, or an object with a path", field)
    unknown = sorted(set(value) - {"path", *_NUMBERS})
    if unknown:
        raise _refused(f"has an unknown key {unknown[0][:40]!r}", field)
    numbers = {key: value[key] for key in _NUMBERS if value.get(key) is not None}
    for key, number in numbers.items():
        if isinstance(number, float) and number.is_integer():
            numbers[key] = int(number)  # JSON has one kind of numbers
        elif type(number) is not int:
            raise _refused(f"has no whole number as {key}", field)
    return _checked(FileSpec(value["path"], **numbers), field)


def _checked(spec: FileSpec, field: str) -> FileSpec:
    wanted = spec.document()
    keys = set(wanted) - {"path"} if isinstance(wanted, dict) else set()
    if not spec.path:
        raise _refused("has an empty path", field)
    if "\0" in spec.path:
        raise _refused("has a NUL character in its path", field)
    for key in sorted(keys):
        if getattr(spec, key) < 1:
            raise _refused(f"needs {key} to be 1 or more: lines count from 1", field)
    if len(keys) > 1 and keys not in ({"start", "end"}, {"head", "tail"}):  # of the latter the tail counts
        raise _refused(f"asks for {' and '.join(sorted(keys))} at once", field)
    return spec


def _refused(what: str, field: str) -> BadRequest:
    message = f"{field} {what}"
    return BadRequest(
        message, kind="bad-argument", hint=_HINT, faults=[Fault("bad-argument", message, field=field)]
    )
