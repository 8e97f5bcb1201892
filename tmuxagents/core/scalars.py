"""What a plain word of YAML 1.2 means: nothing, true or false, a figure, else the word itself."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST_NUMBER = 64  # digits; what is longer is no figure that anybody counts with
_NULL = re.compile(r"(null|Null|NULL|~|)")
_TRUE = re.compile(r"(true|True|TRUE)")
_FALSE = re.compile(r"(false|False|FALSE)")
_WHOLE = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FRACTION = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NO_NUMBER = re.compile(r"\.(nan|NaN|NAN)")


def typed(text: str) -> Any:
    """Return what a plain scalar means in YAML 1.2."""
    if not text or text[0] in "nN~tTfF":
        for pattern, value in ((_NULL, None), (_TRUE, True), (_FALSE, False)):
            if pattern.fullmatch(text):
                return value
        return text
    return _number(text) if text[0] in "0123456789+-." and len(text) <= _LONGEST_NUMBER else text


def _number(text: str) -> Any:
    if _WHOLE.fullmatch(text):
        return int(text)
    if _OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if _FRACTION.fullmatch(text):
        return float(text)
    infinite = _INFINITE.fullmatch(text)
    if infinite:
        return float(f"{infinite.group(1)}inf")
    return float("nan") if _NO_NUMBER.fullmatch(text) else text
