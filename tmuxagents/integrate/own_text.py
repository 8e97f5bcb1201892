"""Put our text into a person's files and options, find it, and take out exactly that text. Pure.

A *block* of lines in a configuration is between two marks. A *file* of our own ends with a mark. The mark has
a digest, so text that a person has changed does not count as ours. The mark also records what else we made: a
line break before the block, the whole file, or folders for it.

A *member* of an object in a JSON file has no room for a mark. The object around a lone member is ours if a
space or a line break precedes its closing brace. Otherwise the person made it.

Our text in an *option* is in front of the person's value, and tmux itself expands it.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


# The outcome of an edit. FOREIGN: another program wrote the file; TAKEN: another entry has our name.
DONE, NOTHING, CHANGED, BROKEN = "done", "nothing", "changed", "broken"
FOREIGN, TAKEN = "foreign", "taken"


class Edited(NamedTuple):
    """The outcome of an edit, and the file's new text (None: no file)."""

    outcome: str
    text: bytes | None


def digest(body: bytes) -> bytes:
    """Return the digest of our text for the mark, which shows later whether a person has changed the text."""
    return hashlib.sha256(body).hexdigest()[:8].encode()


# --- a block of lines -------------------------------------------------------------------------------------

_FIRST = re.compile(
    rb"^# >>> tmuxagents ([0-9a-f]{8})(|, with the line break|, with the file) >>>\n", re.MULTILINE
)
_LAST = b"# <<< tmuxagents <<<\n"
_ANY_MARK = re.compile(rb"^# (>>>|<<<) tmuxagents\b", re.MULTILINE)
PLAIN, BREAK, FILE = b"", b", with the line break", b", with the file"


class _Block(NamedTuple):
    start: int
    end: int
    also: bytes


def put_block(text: bytes | None, lines: Sequence[str]) -> Edited:
    """Put a block at the end of a file's text, or in place of the block that is there."""
    if text is None:
        return Edited(DONE, _written(lines, FILE))
    block = _find(text)
    if isinstance(block, str):
        return Edited(block, text)
    if block is None:
        # A last line without a line break, or one that continues in the next line, would swallow our first.
        open_end = text != b"" and (not text.endswith(b"\n") or text.endswith(b"\\\n"))
        also = BREAK if open_end else PLAIN
        return Edited(DONE, text + (b"\n" if open_end else b"") + _written(lines, also))
    new = text[: block.start] + _written(lines, block.also) + text[block.end :]
    return Edited(NOTHING if new == text else DONE, new)


def take_block(text: bytes | None) -> Edited:
    """Take the block out of a file's text."""
    block = None if text is None else _find(text)
    if text is None or block is None:
        return Edited(NOTHING, text)
    if isinstance(block, str):
        return Edited(block, text)
    before, after = text[: block.start], text[block.end :]
    if block.also == BREAK and not after:
        before = before.removesuffix(b"\n")
    rest = before + after
    return Edited(DONE, None if block.also == FILE and not rest else rest)


def _written(lines: Sequence[str], also: bytes) -> bytes:
    body = "".join(f"{line}\n" for line in lines).encode()
    return b"# >>> tmuxagents " + digest(body) + also + b" >>>\n" + body + _LAST


def _find(text: bytes) -> _Block | str | None:
    """Return the block, None if there is none, or why it must not be touched."""
    marks = _ANY_MARK.findall(text)
    if not marks:
        return None
    first = _FIRST.search(text)
    # An editor may have removed the line break after the last mark.
    end = -1 if first is None else (text if text.endswith(b"\n") else text + b"\n").find(_LAST, first.end())
    if first is None or end < 0 or marks != [b">>>", b"<<<"]:
        return BROKEN
    if first[1] != digest(text[first.end() : end]):
        return CHANGED
    return _Block(first.start(), min(len(text), end + len(_LAST)), first[2])


# --- a whole file -----------------------------------------------------------------------------------------

_MARK = re.compile(rb"\n(<!--|//) tmuxagents ([0-9a-f]{8})(?:, folders (\d(?:,\d)?))?(?: -->)?\n\Z")
MARKDOWN, SCRIPT = (b"\n<!-- ", b" -->\n"), (b"\n// ", b"\n")  # around the mark in a file's last line


def put_file(
    before: bytes | None, text: str, folders: tuple[int, ...] = (), around: tuple[bytes, bytes] = MARKDOWN
) -> Edited:
    """Return a file's new text. A file that another program wrote, or a person changed, stays as it is."""
    if before is not None:
        outcome = _outcome(before)
        if outcome != DONE:
            return Edited(outcome, before)
        folders = folders_of(before)
    body = text.encode("utf-8", "surrogateescape")
    made = b", folders " + ",".join(map(str, folders)).encode() if folders else b""
    sum_ = digest(body + b"\n" if around == MARKDOWN else body)
    new = body + around[0] + b"tmuxagents " + sum_ + made + around[1]
    return Edited(NOTHING if new == before else DONE, new)


def take_file(before: bytes | None) -> Edited:
    """Return the outcome of removing a file. Only our own, unchanged file is removed."""
    if before is None:
        return Edited(NOTHING, None)
    outcome = _outcome(before)
    return Edited(outcome, None if outcome == DONE else before)


def is_marked(text: bytes | None) -> bool:
    """Say whether a file ends with our mark."""
    return _MARK.search(text or b"") is not None


def folders_of(text: bytes | None) -> tuple[int, ...]:
    """Return how many folders were made for our files, one number for each place; () for none."""
    mark = _MARK.search(text or b"")
    return tuple(map(int, mark[3].split(b","))) if mark and mark[3] else ()


def _outcome(text: bytes) -> str:
    mark = _MARK.search(text)
    if mark is None:
        return FOREIGN
    body = text[: mark.start() + (mark[1] == b"<!--")]  # in markdown the digest covers the line break
    return DONE if mark[2] == digest(body) else CHANGED


# --- in front of an option's value ------------------------------------------------------------------------


class InFront(NamedTuple):
    """A text in front of an option's value. `mark`: the part by which it is recognised anywhere."""

    text: str
    mark: str

    def is_in(self, value: str) -> bool:
        """Say whether a value has our mark, anywhere."""
        return self.mark in value

    def joined(self, value: str) -> str:
        """Return a value with our text in front."""
        return self.text + value

    def parted(self, value: str) -> str | None:
        """Return a value without our text; None if the text is not where we put it."""
        rest = value.removeprefix(self.text)
        return None if rest == value or self.is_in(rest) else rest


# --- a member of a JSON file ------------------------------------------------------------------------------

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\{[ \t]*\r?\n([ \t]+)\"")
_BOM = "\ufeff"
_read = json.JSONDecoder().raw_decode


class CannotEdit(ValueError):
    """A text that cannot be edited. The message is the reason, a sentence without its full stop."""


class _Member(NamedTuple):
    """The place and the value of one member."""

    key: str
    start: int
    value_start: int
    end: int
    value: Any


class _Object:
    """Where an object is in a text: `open` is after its first brace, `close` at its last one."""

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


def get_member(text: str, group: str, name: str) -> Any:
    """Return the member `name` of the object `group`, None if there is none. Raises CannotEdit."""
    _, _, inner = _objects(text, group)
    member = inner.get(name) if inner else None
    return member and member.value


def _at(text: str, path: Sequence[str]) -> tuple[_Object, _Member] | None:
    """Return the member at a path of names, with the object around it; None if there is no such member."""
    of, member, _ = _objects(text, path[0])
    for name in path[1:]:
        if member is None or not isinstance(member.value, dict):
            return None
        of = _Object(text, member.value_start)
        member = of.get(name)
    return None if member is None else (of, member)


def put_member_at(text: str, path: Sequence[str], value: Any) -> str | None:
    """Return a text with a new value for a member at any depth; None if it has none. Raises CannotEdit."""
    found = _at(text, path)
    if found is None:
        return None
    plain = json.dumps(value, ensure_ascii=False)
    return text[: found[1].value_start] + plain + text[found[1].end :]


def take_member_at(text: str, path: Sequence[str]) -> str | None:
    """Return a text without a member at any depth; None if it has none. Raises CannotEdit."""
    found = _at(text, path)
    return found and _without(text, *found)


def made_member(group: str, name: str, value: Any) -> str:
    """Return the text of a file that holds only this member."""
    return json.dumps({group: {name: value}}, indent=2, ensure_ascii=False) + "\n"


def put_member(text: str, group: str, name: str, value: Any) -> str:
    """Return a text with this member, which replaces one of the same name. Raises CannotEdit."""
    whole, _, inner = _objects(text, group)
    plain = json.dumps(value, ensure_ascii=False)
    if inner is None:
        # The space before the brace shows that the object is ours, as a line break does.
        own = f"{{{json.dumps(name)}: {plain} }}"
        return _with_member(
            text, whole, group, own if _is_plain(text, whole) else _dumped(text, {name: value}, 1)
        )
    present = inner.get(name)
    if present is None:
        new = plain if _is_plain(text, inner) else _dumped(text, value, 2)
        return _with_member(text, inner, name, new)
    new = _dumped(text, value, 2) if "\n" in text[present.value_start : present.end] else plain
    return text[: present.value_start] + new + text[present.end :]


def _is_plain(text: str, into: _Object) -> bool:
    """Say whether a new member goes onto the line of the member before it, or of the brace."""
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


def take_member(text: str, group: str, name: str) -> str | None:
    """Return a text without this member, None if everything else in it is ours, too. Raises CannotEdit."""
    whole, outer, inner = _objects(text, group)
    member = inner.get(name) if inner else None
    if outer is None or inner is None or member is None:
        return text
    if len(inner.members) > 1 or member.end == inner.close:
        # The object was there before; a lone member is directly before the closing brace.
        return _without(text, inner, member)
    if text == made_member(group, name, member.value):
        return None
    return _without(text, whole, outer)


def _without(text: str, of: _Object, member: _Member) -> str:
    number = of.members.index(member)
    if number:
        return text[: of.members[number - 1].end] + text[member.end :]
    after = of.members[1].start if len(of.members) > 1 else member.end
    return text[: member.start] + text[after:]
