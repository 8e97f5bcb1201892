"""Make any text safe to print: remove everything that a terminal would obey. Pure.

Windows, transcripts, tables and error messages share this filter. JSON output escapes these characters
instead.
"""

from __future__ import annotations

from tmuxagents.text import figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable


class _Expressions:
    """The compiled expressions. Most text needs none of them."""

    def __init__(self) -> None:
        import re  # noqa: PLC0415  (4 ms, too much for `poll`)

        # Strings that a terminal swallows whole (OSC, DCS, SOS, PM, APC), in 7 and 8 bit form. Without an end
        # they take the rest of their line, since their payload is not text. Another beginning ends them,
        # too: otherwise a text with many beginnings and no end would take very long.
        inside = "[^\x07\x1b\x9c\x9d\x90\x98\x9e\x9f"
        strings = (
            f"(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])(?:{inside}]*+(?:\x07|\x1b\\\\|\x9c)|{inside}\n]*)"
        )
        csi, escape = "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?", "\x1b[ -/]*[0-~]?"
        loud = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
        self.sequence: re.Pattern[str] = re.compile(f"{strings}|{csi}|{escape}")
        self.loud = re.compile(f"[{loud}]")
        self.any = re.compile(f"[{loud}\ud800-\udfff]")
        self.breaks = re.compile("\r\n?|[\x85\u2028\u2029]")
        self.surrogate = re.compile("[\ud800-\udfff]")


_compiled: _Expressions | None = None


def text(raw: str) -> str:
    """Return the text without escape sequences and controls; newlines and tabs stay."""
    global _compiled  # noqa: PLW0603  (compiled once)
    if raw.isprintable() or raw.replace("\n", "").replace("\t", "").isprintable():
        return raw  # what we remove is never printable
    if _compiled is None:
        _compiled = _Expressions()
    found = _compiled
    if not found.any.search(raw):
        return raw
    plain = found.breaks.sub("\n", found.sequence.sub("", raw))
    return found.surrogate.sub("\ufffd", found.loud.sub("", plain))


def line(raw: str) -> str:
    """Return the text on one line."""
    return " ".join((raw if raw.isprintable() else text(raw)).split())


def cut(raw: str, width: int) -> str:
    """Return at most `width` characters, ending in `...` if something was cut."""
    return raw if len(raw) <= width else (raw[: max(0, width - 3)] + "...")[:width]


def first_letters(raw: str, most: int) -> str:
    """Return the first `most` characters, with an ellipsis if there are more."""
    return raw if len(raw) <= most else f"{raw[:most]}…"


# --- long texts -------------------------------------------------------------------------------------------


def size_of(raw: str) -> int:
    """Return the length of a text in bytes."""
    return len(raw.encode("utf-8", "replace"))


def first_bytes(raw: str, limit: int) -> str:
    """Return as many whole characters from the beginning as fit into `limit` bytes."""
    if len(raw) * 4 <= limit:
        return raw
    encoded = raw.encode("utf-8", "replace")
    return raw if len(encoded) <= limit else encoded[:limit].decode("utf-8", "ignore")


def head_and_tail(pieces: Iterable[bytes], limit: int, hint: str = "") -> str:
    """Return a text; if it has more bytes than `limit`, only its beginning and its end."""
    kept, size, half = bytearray(), 0, limit // 2
    for piece in pieces:
        size += len(piece)
        kept += piece
        if len(kept) > 4 * limit:  # more would be too much for the memory
            del kept[limit - half : len(kept) - half]
    if size <= limit:
        return kept.decode("utf-8", "replace")
    head, tail = (part.decode("utf-8", "ignore") for part in (kept[: limit - half], kept[len(kept) - half :]))
    left_out = size - size_of(head) - size_of(tail)
    return f"{head}\n[... {figures.counted(left_out, 'byte')} left out{hint} ...]\n{tail}"
