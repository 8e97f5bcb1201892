"""One JSON document as one line: strict and inert, whatever a child put into its values.

Shared by the codec of events and by the files of a run; like `records`, it knows nothing else.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Control characters that JSON itself lets through (DEL, C1), line separators and bidi marks: a person may
# look at these files with `cat`.
_LOUD = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_DEEPEST = 64
_MOST_DIGITS = 10**300


def encode(document: Mapping[str, Any]) -> bytes:
    """Return one compact line of strict JSON, newline included."""
    try:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError):
        text = json.dumps(_tame(document, 0), ensure_ascii=False, separators=(",", ":"))
    if _LOUD.search(text):
        text = _LOUD.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    # A lone surrogate has no UTF-8; as an escape it is valid JSON and reads back the same.
    return text.encode("utf-8", "backslashreplace") + b"\n"


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
