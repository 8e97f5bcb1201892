"""Read the raw JSON of a child. It may hold anything: each value is checked and bounded before use. Pure."""

from __future__ import annotations

from tmuxagents.agents.base import sum_of
from tmuxagents.runs import events
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DENSE_FROM, _DENSE_BRACKETS, _DENSE_COMMAS = 256 * 1024, 50_000, 200_000
_DEEPEST = 500  # half of Python's limit: the code that compares or writes a value is itself some calls deep
_DEEP_FROM = 2 * _DEEPEST  # a shorter line cannot have that many brackets
_WIDE_FROM = 1024 * 1024
_WIDE_MARKS = (b"\\ud", b"\\uD", b"\x7f")  # four-byte characters in ASCII; a byte that becomes six
_WORD_LIMIT = 256
_KEY_LIMIT = 1024  # some providers' call ids have hundreds of characters
_SENTENCE_LIMIT = 4096
_PENDING = 1000


def is_dense(line: bytes) -> bool:
    """Say whether parsing a line would take many times its length in memory."""
    if len(line) < _DENSE_FROM:
        return False
    return line.count(b"{") + line.count(b"[") > _DENSE_BRACKETS or line.count(b",") > _DENSE_COMMAS


def is_wide(line: bytes) -> bool:
    """Say whether a text in a line would take many times its length in memory.

    One character above U+FFFF makes Python use four bytes for each character, in every copy of the text.
    """
    return len(line) > _WIDE_FROM and (not line.isascii() or any(mark in line for mark in _WIDE_MARKS))


def is_value(line: bytes) -> bool:
    """Say whether a line is any JSON value."""
    try:
        jsonline.decode(line.decode("utf-8", "replace"), endless=True)
    except (ValueError, RecursionError):
        return False
    return True


def parse(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line; None if the line is something else or nested too deeply."""
    try:
        return _decoded(line) if len(line) < _DEEP_FROM else _checked(line)
    except RecursionError:
        return None


def parse_cheap(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line; None if the line is something else.

    Raises RecursionError if the object has too many parts or is nested too deeply.
    """
    if len(line) < _DEEP_FROM:  # as nearly all lines are
        return _decoded(line)
    if is_dense(line):
        raise RecursionError("it holds too many parts")
    return _checked(line)


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        raw = jsonline.decode(line.decode("utf-8", "replace"), endless=True)
    except ValueError:
        return None
    return raw if isinstance(raw, dict) else None


def _checked(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line; raise RecursionError if it is nested too deeply."""
    raw = _decoded(line)
    if raw is None or line.count(b"[") + line.count(b"{") <= _DEEPEST:
        return raw
    level: list[Any] = [raw]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return raw
    raise RecursionError("it is nested too deeply")


def count(value: Any) -> int:
    """Return a number as a count that can be added up; 0 for any other value."""
    return int(value) if events.is_figure(value) and value >= 0 else 0


def amount(value: Any) -> float:
    """Return a number that can be added up; 0 for any other value."""
    number: float = value if events.is_figure(value) and value >= 0 else 0
    return number


def table(value: Any) -> dict[str, Any]:
    """Return an object, an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return a list, an empty one for any other value."""
    return value if isinstance(value, list) else []


def blocks(content: Any) -> list[dict[str, Any]]:
    """Return the blocks of a message; plain text is one block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def choices(options: Any) -> list[tuple[str, str]]:
    """Return the labels of a question's options; a label is both id and text."""
    labels = [label for one in blocks(options) if (label := word(one.get("label")))]
    return [(label, label) for label in labels]


def texts(blocks: list[dict[str, Any]], kind: str) -> list[str]:
    """Return the texts of the blocks of one kind."""
    return [block[kind] for block in blocks if block.get("type") == kind and isinstance(block.get(kind), str)]


def text(value: Any) -> str | None:
    """Return a text, None for any other value."""
    return value if isinstance(value, str) else None


def word(value: Any) -> str | None:
    """Return a name, cut to a limit, so that a child cannot bloat our records; None for any other value."""
    return value[:_WORD_LIMIT] or None if isinstance(value, str) else None


def key(value: Any) -> str | None:
    """Return an id, None for any other value. A very long id becomes its beginning and a checksum."""
    if not isinstance(value, str) or not value:
        return None
    if len(value) <= _KEY_LIMIT:
        return value
    return f"{value[:_KEY_LIMIT]}~{sum_of(value.encode('utf-8', 'surrogatepass')):08x}"


def sentence(value: Any) -> str | None:
    """Return a message for people, cut to a limit; None for any other value."""
    return value[:_SENTENCE_LIMIT] if isinstance(value, str) else None


def whole(value: Any) -> int | None:
    """Return an integer from 0 on, None for any other value."""
    return value if type(value) is int and value >= 0 and events.is_figure(value) else None


def remember(book: dict[str, Any], key: str, value: Any) -> None:
    """Store a value as the latest. Drop the oldest of too many: a child may never end its calls."""
    book.pop(key, None)
    book[key] = value
    if len(book) > _PENDING:
        del book[next(iter(book))]


def word_after(text: bytes, key: str, *, last: bool = False) -> str | None:
    """Return the plain value after a key, in a piece of JSON that cannot be parsed as a whole."""
    mark = f'"{key}":'.encode()
    at = text.rfind(mark) if last else text.find(mark)
    if at < 0:
        return None
    value = text[at + len(mark) : at + len(mark) + _SENTENCE_LIMIT].lstrip()
    if value.startswith(b'"'):
        inner = _inside(value)
        try:
            return str(jsonline.decode(b'"%s"' % inner))
        except ValueError:
            return inner.decode("utf-8", "replace")
    bare = value.split(b",", 1)[0].split(b"}", 1)[0].strip().decode("ascii", "replace")
    return None if bare == "null" else bare


def _inside(quoted: bytes) -> bytes:
    """Return the text between a quote and the next unescaped one, or the end."""

    def hides(text: bytes) -> bool:  # its last backslash escapes the next character
        return (len(text) - len(text.rstrip(b"\\"))) % 2 == 1

    end = 1
    while (end := quoted.find(b'"', end)) > 0:
        if not hides(quoted[1:end]):
            return quoted[1:end]
        end += 1
    return quoted[1:-1] if hides(quoted[1:]) else quoted[1:]


def object_after(text: bytes, key: str) -> dict[str, Any] | None:
    """Return the object after the last such key, in a piece of JSON that cannot be parsed as a whole."""
    at = text.rfind(f'"{key}":'.encode())
    try:
        value = jsonline.decode_first(text[at + len(key) + 3 :].decode("utf-8", "replace").lstrip())
    except (ValueError, RecursionError):
        return None
    return value if at >= 0 and isinstance(value, dict) else None
