"""One member of an object in a person's JSON file: put in and taken out as text, all other bytes as they are.

Where it was put tells what else is ours, so that taking it out gives back the text from before:
directly before the closing brace of an object that was there, or in an object (a file) of our own making.

Pure.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\{[ \t]*\r?\n([ \t]+)\"")
_BOM = "\ufeff"
_read = json.JSONDecoder().raw_decode


class CannotEdit(ValueError):
    """This text is not what it should be; the reason is a sentence without its end."""


class _Member:
    """Where one member lies: its key, its value, and the value itself."""

    __slots__ = ("end", "key", "start", "value", "value_start")

    def __init__(self, key: str, start: int, value_start: int, end: int, value: Any) -> None:
        self.key = key
        self.start = start
        self.value_start = value_start
        self.end = end
        self.value = value


class _Object:
    """Where an object lies: behind its opening brace, its members, at its closing brace."""

    __slots__ = ("close", "members", "open")

    def __init__(self, text: str, start: int) -> None:
        self.open = start + 1
        self.members: list[_Member] = []
        at = _skip(text, self.open)
        while text[at] != "}":
            key, after = _read(text, at)
            value_start = _skip(text, _skip(text, after) + 1)  # behind the colon
            value, end = _read(text, value_start)
            self.members.append(_Member(key, at, value_start, end, value))
            at = _skip(text, end)
            at = _skip(text, at + 1) if text[at] == "," else at
        self.close = at

    def get(self, key: str) -> _Member | None:
        """Return a member. Raises Malformed if there are several of that name."""
        found = [member for member in self.members if member.key == key]
        if len(found) > 1:
            raise CannotEdit(f'"{key}" stands in it {len(found)} times')
        return found[0] if found else None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _whole(text: str) -> _Object:
    start = 1 if text.startswith(_BOM) else 0
    try:
        value = json.loads(text[start:])
    except (ValueError, RecursionError) as error:
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise CannotEdit(f"it is no JSON{where}") from error
    if not isinstance(value, dict):
        raise CannotEdit("it is no JSON object")
    return _Object(text, _skip(text, start))


def _within(text: str, whole: _Object, group: str) -> tuple[_Member | None, _Object | None]:
    member = whole.get(group)
    if member is None:
        return None, None
    if not isinstance(member.value, dict):
        raise CannotEdit(f'"{group}" in it is no object')
    return member, _Object(text, member.value_start)


def get(text: str, group: str, name: str) -> Any:
    """Return the member `name` of the object `group`, None if there is none. Raises Malformed."""
    _, inner = _within(text, _whole(text), group)
    member = inner.get(name) if inner else None
    return None if member is None else member.value


# --- put in -----------------------------------------------------------------------------------------------


def made(group: str, name: str, value: Any) -> str:
    """Return the text of a file that holds nothing else."""
    return json.dumps({group: {name: value}}, indent=2, ensure_ascii=False) + "\n"


def put(text: str, group: str, name: str, value: Any) -> str:
    """Return a text with this member in it, in the place of one of its name. Raises Malformed."""
    whole = _whole(text)
    _, inner = _within(text, whole, group)
    if inner is None:
        plain = _is_plain(text, whole)
        # The space before the brace says that the object is ours, as a line break does.
        own = f"{{{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)} }}"
        return _with_member(text, whole, group, own if plain else _dumped(text, {name: value}, 1))
    there = inner.get(name)
    if there is None:
        new = json.dumps(value, ensure_ascii=False) if _is_plain(text, inner) else _dumped(text, value, 2)
        return _with_member(text, inner, name, new)
    plain = "\n" not in text[there.value_start : there.end]
    new = json.dumps(value, ensure_ascii=False) if plain else _dumped(text, value, 2)
    return text[: there.value_start] + new + text[there.end :]


def _is_plain(text: str, into: _Object) -> bool:
    """Say whether a new member goes into the same line as the one before it, or as the brace."""
    return not into.members or "\n" not in text[into.open : into.members[0].start]


def _with_member(text: str, into: _Object, key: str, value: str) -> str:
    """Put a member behind the last one; into an empty object, directly before its closing brace."""
    named = f"{json.dumps(key, ensure_ascii=False)}: {value}"
    if not into.members:
        return text[: into.close] + named + text[into.close :]
    gap = " " if _is_plain(text, into) else text[into.open : into.members[0].start]
    at = into.members[-1].end
    return f"{text[:at]},{gap}{named}{text[at:]}"


def _dumped(text: str, value: Any, depth: int) -> str:
    """Return a value in lines, as the file has them; it begins so deep inside of it."""
    indent = _indent(text)
    lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
    return ("\r\n" if "\r\n" in text else "\n").join(
        [lines[0], *(indent * depth + line for line in lines[1:])]
    )


def _indent(text: str) -> str:
    found = _INDENT.search(text)
    return str(found[1]) if found else "  "


# --- taken out --------------------------------------------------------------------------------------------


def take(text: str, group: str, name: str) -> str | None:
    """Return a text without this member, None where nothing but our own making is left. Raises Malformed."""
    whole = _whole(text)
    outer, inner = _within(text, whole, group)
    member = inner.get(name) if inner else None
    if outer is None or inner is None or member is None:
        return text
    if len(inner.members) > 1 or member.end == inner.close:
        # It stood in an object that was there; where it was alone, directly before the closing brace.
        return _without(text, inner, member)
    if text == made(group, name, member.value):
        return None
    return _without(text, whole, outer)


def _without(text: str, of: _Object, member: _Member) -> str:
    number = of.members.index(member)
    if number:
        return text[: of.members[number - 1].end] + text[member.end :]
    after = of.members[1].start if len(of.members) > 1 else member.end
    return text[: member.start] + text[after:]
