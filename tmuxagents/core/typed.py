"""What a person has typed, as names of keys: the bytes of a terminal, read."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SEQUENCES = {
    **{f"\x1b[{letter}": name for letter, name in zip("ABHF", ("up", "down", "home", "end"), strict=True)},
    **{f"\x1bO{letter}": name for letter, name in zip("ABHF", ("up", "down", "home", "end"), strict=True)},
    "\x1b[5~": "page-up",
    "\x1b[6~": "page-down",
    "\x1b[1~": "home",
    "\x1b[4~": "end",
}
_LETTERS = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace"}


def keys(typed: bytes) -> Iterator[str]:
    """Yield the names of the keys that were typed; letters stand for themselves, all else is left out."""
    text = typed.decode("utf-8", "ignore")
    at = 0
    while at < len(text):
        if text[at] == "\x1b":
            end = _sequence_end(text, at)
            name = _SEQUENCES.get(text[at:end], "escape" if end == at + 1 else "")
        else:
            end = at + 1
            name = _LETTERS.get(text[at], text[at] if text[at].isprintable() else "")
        if name:
            yield name
        at = end


def _sequence_end(text: str, start: int) -> int:
    """Return where the escape sequence ends that begins there."""
    opener = text[start + 1 : start + 2]
    if opener == "O":
        return min(len(text), start + 3)
    if opener != "[":
        return start + 1
    end = start + 2
    while end < len(text) and not "@" <= text[end] <= "~":
        end += 1
    return min(len(text), end + 1)
