"""One member of an object in a person's JSON file: put in and taken out as text; all other bytes stay.

Its place shows what else is ours, so that taking it out gives back the text from before: directly before the
closing brace of an object that was there, or in an object (a file) that we made.

Pure.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\{[ \t]*\r?\n([ \t]+)\"")
_BOM = "\ufeff"
_read = json.JSONDecoder().raw_decode


class CannotEdit(ValueError):
    """A text that cannot be edited; the reason is a sentence without its full stop."""


class _Member(NamedTuple):
    """Where one member is, and its value."""

    key: str
    start: int
    value_start: int
    end: int
    value: Any


class _Object:
    """Where an object is: after its opening brace, its members, at its closing brace."""

    def __init__(self, text: str, start: int) -> None:
        self.open = start + 1
        self.members: list[_Member] = []
        at = _skip(text, self.open)
        while text[at] != "}":
            key, after = _read(text, at)
            value_start = _skip(text, _skip(text, after) + 1)  # after the colon
            value, end = _read(text, value_start)
            self.members.append(_Member(key, at, value_start, end, value))
            at = _skip(text, end)
            at = _skip(text, at + 1) if text[at] == "," else at
        self.close = at

    def get(self, key: str) -> _Member | None:
        """Return a member. Raises CannotEdit if there are several of that name."""
        found = [member for member in self.members if member.key == key]
        if len(found) > 1:
            raise CannotEdit(f'it has "{key}" {len(found)} times')
        return found[0] if found else None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _objects(text: str, group: str) -> tuple[_Object, _Member | None, _Object | None]:
    """Return the object of the whole text, its member `group`, and the object that is its value."""
    start = 1 if text.startswith(_BOM) else 0
    try:
        value = json.loads(text[start:])
    except (ValueError, RecursionError) as error:
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise CannotEdit(f"it is not JSON{where}") from error
    if not isinstance(value, dict):
        raise CannotEdit("it is not a JSON object")
    whole = _Object(text, _skip(text, start))
    member = whole.get(group)
    if member is not None and not isinstance(member.value, dict):
        raise CannotEdit(f'"{group}" in it is not an object')
    return whole, member, member and _Object(text, member.value_start)


def get(text: str, group: str, name: str) -> Any:
    """Return the member `name` of the object `group`, None if there is none. Raises CannotEdit."""
    _, _, inner = _objects(text, group)
    member = inner.get(name) if inner else None
    return member and member.value


def _at(text: str, path: Sequence[str]) -> tuple[_Object, _Member] | None:
    """Return a member by the names on the way to it, and the object that it is in; None if there is none."""
    of, member, _ = _objects(text, path[0])
    for name in path[1:]:
        if member is None or not isinstance(member.value, dict):
            return None
        of = _Object(text, member.value_start)
        member = of.get(name)
    return None if member is None else (of, member)


def put_at(text: str, path: Sequence[str], value: Any) -> str | None:
    """Return a text with another value of a member at any depth, None if there is none. Raises CannotEdit."""
    found = _at(text, path)
    if found is None:
        return None
    plain = json.dumps(value, ensure_ascii=False)
    return text[: found[1].value_start] + plain + text[found[1].end :]


def take_at(text: str, path: Sequence[str]) -> str | None:
    """Return a text without a member at any depth, None if there is none. Raises CannotEdit."""
    found = _at(text, path)
    return found and _without(text, *found)


# --- put in -----------------------------------------------------------------------------------------------


def made(group: str, name: str, value: Any) -> str:
    """Return the text of a file that holds nothing else."""
    return json.dumps({group: {name: value}}, indent=2, ensure_ascii=False) + "\n"


def put(text: str, group: str, name: str, value: Any) -> str:
    """Return a text with this member in it, in the place of one of its name. Raises CannotEdit."""
    whole, _, inner = _objects(text, group)
    plain = json.dumps(value, ensure_ascii=False)
    if inner is None:
        # The space before the brace says that the object is ours, as a line break does.
        own = f"{{{json.dumps(name)}: {plain} }}"
        return _with_member(
            text, whole, group, own if _is_plain(text, whole) else _dumped(text, {name: value}, 1)
        )
    there = inner.get(name)
    if there is None:
        new = plain if _is_plain(text, inner) else _dumped(text, value, 2)
        return _with_member(text, inner, name, new)
    new = _dumped(text, value, 2) if "\n" in text[there.value_start : there.end] else plain
    return text[: there.value_start] + new + text[there.end :]


def _is_plain(text: str, into: _Object) -> bool:
    """Say whether a new member goes into the same line as the one before it, or as the brace."""
    return not into.members or "\n" not in text[into.open : into.members[0].start]


def _with_member(text: str, into: _Object, key: str, value: str) -> str:
    """Put a member after the last one; into an empty object, directly before its closing brace."""
    named = f"{json.dumps(key, ensure_ascii=False)}: {value}"
    if not into.members:
        return text[: into.close] + named + text[into.close :]
    gap = " " if _is_plain(text, into) else text[into.open : into.members[0].start]
    at = into.members[-1].end
    return f"{text[:at]},{gap}{named}{text[at:]}"


def _dumped(text: str, value: Any, depth: int) -> str:
    """Return a value in lines, indented as the file is."""
    found = _INDENT.search(text)
    indent = found[1] if found else "  "
    first, *lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
    return ("\r\n" if "\r\n" in text else "\n").join([first, *(indent * depth + line for line in lines)])


# --- taken out --------------------------------------------------------------------------------------------


def take(text: str, group: str, name: str) -> str | None:
    """Return a text without this member, None where nothing remains but what we made. Raises CannotEdit."""
    whole, outer, inner = _objects(text, group)
    member = inner.get(name) if inner else None
    if outer is None or inner is None or member is None:
        return text
    if len(inner.members) > 1 or member.end == inner.close:
        # The object was there before; a lone member is directly before the closing brace.
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
