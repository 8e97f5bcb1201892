"""One JSON document as one line: strict and inert, whatever a child put into its values; and back again.

The codec of events and the files of a run share it. It uses the C parts of the standard library's json as
they are: the package around them would be paid for by every wrapper and every look.

Pure.
"""

from __future__ import annotations

import sys

from tmuxagents.cpython import NOT_JSON, json_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

# Control characters that JSON itself lets through (DEL, C1), line separators and bidi marks: a person may
# look at these files with `cat`.
_LOUD = {
    code: f"\\u{code:04x}"
    for code in (
        *range(0x7F, 0xA0),
        *(0x061C, 0x200E, 0x200F),
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
    )
}
_DEEPEST = 64
_BOTTOM = 900  # deeper than that no Python goes before 3.12, nor every other reader
_BOTTOMLESS = sys.version_info >= (3, 12)  # such a deep value cannot even be compared
_ENOUGH = 2 * _BOTTOM  # the length of that many brackets
_MOST_DIGITS = 10**300
_BLANK = " \t\n\r"
_DENSE_FROM, _MOST_PARTS = 256 * 1024, 300_000


def encode(document: Mapping[str, Any], *, before: str = "{") -> bytes:
    """Return one compact line of strict JSON, newline included.

    `before`: replaces the opening brace, for callers that already have the first members as text.
    """
    try:
        text = "".join(_encoded(document, 0))
        if _BOTTOMLESS and len(text) > _ENOUGH:
            _refuse_depth(text, document)
    except (ValueError, RecursionError):
        text = "".join(_encoded(_tame(document, 0), 0))
    text = before + text[1:]
    # In ASCII only DEL is loud and not escaped yet; that is said at once, and of other text letter by letter.
    if "\x7f" in text if text.isascii() else not text.isprintable():
        text = text.translate(_LOUD)
    # A lone surrogate has no UTF-8; as an escape it is valid JSON and reads back the same.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def with_members(text: str, more: Mapping[str, Any]) -> bytes:
    """Return an encoded object with more members, at its end."""
    return encode(more, before=f"{text.rstrip()[:-1]},")[:-1]


def with_items(document: Mapping[str, Any], name: str, items: Iterable[bytes]) -> bytes:
    """Return a document as `encode` does, but for one list in it, whose items are encoded already."""
    keys = list(document)
    at = keys.index(name)
    head = encode({key: document[key] for key in keys[:at]})[1:-2]
    tail = encode({key: document[key] for key in keys[at + 1 :]})[1:-2]
    members = filter(None, (head, b'"%b":[%b]' % (name.encode(), b",".join(items)), tail))
    return b"{%b}\n" % b",".join(members)


def pretty(text: bytes) -> bytes:
    """Return an encoded document over several lines, for a person, without anything a terminal would obey."""
    import json  # noqa: PLC0415  (for people only)

    found = json.dumps(decode(text), indent=2, ensure_ascii=False)
    signs = (sign if sign == "\n" or sign.isprintable() else json.dumps(sign)[1:-1] for sign in found)
    return ("".join(signs) + "\n").encode("utf-8", "replace")


def decode(line: str | bytes, *, endless: bool = False) -> Any:
    """Return what a JSON text says. Raises ValueError, or RecursionError where it is nested too deeply.

    `endless`: a figure that is longer than Python makes one of is infinite, and no error.
    """
    text = line if isinstance(line, str) else line.decode("utf-8", "surrogatepass")
    if text[:1] in _BLANK:
        text = text.lstrip(_BLANK)
    value, end = _first(text, endless=endless)
    if end != len(text) and text[end:].strip(_BLANK):
        raise ValueError("it says more than one thing")
    return value


def is_dense(text: bytes) -> bool:
    """Say whether decoding a text would take many times its length in memory: it holds too many parts."""
    if len(text) < _DENSE_FROM:
        return False
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"")  # then each quote begins or ends a string
    if bare.count(b'"') > 4 * _MOST_PARTS:
        return True
    import re  # noqa: PLC0415  (hardly any text is so long)

    outside = re.sub(rb'"[^"]*"', b"", bare)
    return sum(outside.count(mark) for mark in (b"[", b"{", b",")) > _MOST_PARTS


def decode_first(text: str) -> Any:
    """Return what a JSON text says that something else follows. Raises as above."""
    return _first(text)[0]


def _first(text: str, *, endless: bool = False) -> tuple[Any, int]:
    try:
        try:
            found = _scanned(text, 0)
        except ValueError as error:
            if not endless or type(error) is not ValueError:  # json.decoder's own
                raise
            found = _scanned_slowly(text, 0)
    except NOT_JSON:
        raise ValueError("it is no JSON") from None
    if _BOTTOMLESS and len(text) > _ENOUGH:
        _refuse_depth(text, found[0])
    return found


def _refuse_depth(text: str, value: Any) -> None:
    """Raise RecursionError for what is nested deeper than we go. Hardly a text has enough brackets."""
    if text.count("[") + text.count("{") <= _BOTTOM:
        return
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(_BOTTOM):
        inner = (each for one in level for each in (one.values() if isinstance(one, dict) else one))
        level = [each for each in inner if isinstance(each, (dict, list))]
        if not level:
            return
    raise RecursionError("it is nested too deeply")


def _unknown(value: object) -> Any:
    raise TypeError(f"JSON cannot say a {type(value).__name__}")


# In json.JSONEncoder's words: no memory of what is being written (what holds itself is nested too deeply),
# text as it is, no indent, compact separators; neither sort_keys nor skipkeys nor allow_nan.
_NO = (False, False, False)
_encode_text, _make_encoder, _make_scanner = json_parts()
_encoded: Callable[[object, int], tuple[str, ...]] = _make_encoder(
    None, _unknown, _encode_text, None, ":", ",", *_NO
)


class _Reading:
    """How the scanner reads: as json.loads does."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int: Callable[[str], int | float] = int
    parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": -float("inf")}.__getitem__


def _figure(digits: str) -> int | float:
    """Return what digits say; of far too many, that there is no end to it."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


class _ReadingSlowly(_Reading):
    """Like it, but one endless number does not hide the values beside it."""

    parse_int = staticmethod(_figure)


def _scanner(how: type[_Reading]) -> Callable[[str, int], tuple[Any, int]]:
    return _make_scanner(how)  # type: ignore[arg-type]  # it wants these names


_scanned, _scanned_slowly = _scanner(_Reading), _scanner(_ReadingSlowly)


def _tame(value: Any, depth: int) -> Any:
    """Replace what JSON cannot say: NaN, infinities, endless figures, nesting deeper than anybody reads."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, int):
        return value if -_MOST_DIGITS < value < _MOST_DIGITS else None
    if isinstance(value, dict):
        if depth >= _DEEPEST:
            return {}
        return {key: _tame(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [] if depth >= _DEEPEST else [_tame(inner, depth + 1) for inner in value]
    return value
