"""Make any text safe to print: nothing that a terminal would obey is left in it.

The same filter for the window, the transcript, tables and error messages. JSON escapes instead.
"""

from __future__ import annotations

import re

# Strings that a terminal swallows whole (OSC, DCS, SOS, PM, APC), in 7 and 8 bit form. Without an end they
# take the rest of their line: their payload is no text of anybody's. Another beginning ends them, too: else
# many beginnings without an end would be searched through again and again.
_INSIDE = "[^\x07\x1b\x9c\x9d\x90\x98\x9e\x9f"
_STRINGS = f"(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])(?:{_INSIDE}]*+(?:\x07|\x1b\\\\|\x9c)|{_INSIDE}\n]*)"
_CSI = "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
_ESCAPE = "\x1b[ -/]*[0-~]?"
_SEQUENCE = re.compile(f"{_STRINGS}|{_CSI}|{_ESCAPE}")
_LOUD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_ANY = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = re.compile("\r\n?|[\x85\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def text(raw: str) -> str:
    """Return the text without escape sequences and controls; newlines and tabs stay."""
    if not _ANY.search(raw):
        return raw
    plain = _BREAKS.sub("\n", _SEQUENCE.sub("", raw))
    return _SURROGATE.sub("\ufffd", _LOUD.sub("", plain))


def line(raw: str) -> str:
    """Return the text on one line."""
    return " ".join(text(raw).split())


def cut(raw: str, width: int) -> str:
    """Return at most `width` characters, ending in `...` where something was cut."""
    return raw if len(raw) <= width else (raw[: max(0, width - 3)] + "...")[:width]
