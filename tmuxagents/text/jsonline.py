"""Encode a JSON document as one strict line that is safe to print, whatever a child puts into it; decode one.

The JSON files of a run, including its events, are written with this module. It uses the C parts of the
standard library's json directly: importing the package around them would delay each wrapper and each `poll`.

Pure.
"""

from __future__ import annotations

import sys

from tmuxagents.cpython import NOT_JSON, json_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

# Characters that JSON itself lets through: DEL, C1 controls, line separators and bidi marks. They are
# escaped, because a person may print these files with `cat`.
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
_BOTTOM = 900  # Python before 3.12 and some other readers go no deeper
_BOTTOMLESS = sys.version_info >= (3, 12)  # it decodes deeper values, which even == cannot compare
_ENOUGH = 2 * _BOTTOM  # the length of that many pairs of brackets
_MOST_DIGITS = 10**300
_BLANK = " \t\n\r"
_DENSE_FROM, _MOST_PARTS = 256 * 1024, 300_000
_SEPARATORS = (b"[", b"{", b",")


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
    # In ASCII, only DEL can be left unescaped, which is quick to find. Other text needs a full check.
    if "\x7f" in text if text.isascii() else not text.isprintable():
        text = text.translate(_LOUD)
    # A lone surrogate has no UTF-8; its escape is valid JSON and reads back the same.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def with_members(text: str, more: Mapping[str, Any]) -> bytes:
    """Return an encoded object with more members, at its end."""
    return encode(more, before=f"{text.rstrip()[:-1]},")[:-1]


def with_items(document: Mapping[str, Any], name: str, items: Iterable[bytes]) -> bytes:
    """Encode a document as `encode` does, but fill one of its lists with items that are already encoded."""
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
    """Return the value of a JSON text. Raises ValueError, or RecursionError if it is nested too deeply.

    `endless`: a number with more digits than Python accepts is infinite instead of an error.
    """
    text = line if isinstance(line, str) else line.decode("utf-8", "surrogatepass")
    if text[:1] in _BLANK:
        text = text.lstrip(_BLANK)
    value, end = _first(text, endless=endless)
    if end != len(text) and text[end:].strip(_BLANK):
        raise ValueError("it has more than one value")
    return value


def is_dense(text: bytes) -> bool:
    """Say whether a text has too many parts: decoding it would take many times its length in memory."""
    if len(text) < _DENSE_FROM:
        return False
    if text.count(b'"') <= 4 * _MOST_PARTS and sum(map(text.count, _SEPARATORS)) <= _MOST_PARTS:
        return False  # few, even counting those inside strings
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"")  # then each quote begins or ends a string
    if bare.count(b'"') > 4 * _MOST_PARTS:
        return True
    import re  # noqa: PLC0415  (few texts are that long)

    outside = re.sub(rb'"[^"]*"', b"", bare)
    return sum(map(outside.count, _SEPARATORS)) > _MOST_PARTS


def decode_first(text: str) -> Any:
    """Return the first value of a text, whatever follows it. Raises as `decode` does."""
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
    """Raise RecursionError if a value is nested deeper than we allow. Few texts have enough brackets."""
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
    raise TypeError(f"JSON has no {type(value).__name__}")


# The arguments of json.JSONEncoder: no markers (a value that contains itself is nested too deeply), text as
# it is, no indent, compact separators; no sort_keys, skipkeys or allow_nan.
_NO = (False, False, False)
_encode_text, _make_encoder, _make_scanner = json_parts()
_encoded: Callable[[object, int], tuple[str, ...]] = _make_encoder(
    None, _unknown, _encode_text, None, ":", ",", *_NO
)


class _Reading:
    """The scanner's settings: those of json.loads."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int: Callable[[str], int | float] = int
    parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": -float("inf")}.__getitem__


def _int_or_infinity(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


class _ReadingSlowly(_Reading):
    """The same, but an integer with too many digits becomes infinite."""

    parse_int = staticmethod(_int_or_infinity)


_scanned: Callable[[str, int], tuple[Any, int]] = _make_scanner(_Reading)  # type: ignore[arg-type]  # the C scanner reads these attributes alone
_scanned_slowly: Callable[[str, int], tuple[Any, int]] = _make_scanner(_ReadingSlowly)  # type: ignore[arg-type]  # the C scanner reads these attributes alone


def _tame(value: Any, depth: int) -> Any:
    """Replace what JSON lacks: NaN, infinities, endless numbers, nesting that is too deep for readers."""
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
