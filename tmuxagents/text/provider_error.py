"""The reason for a failure in one sentence: the message in a provider's JSON error. Pure."""

from __future__ import annotations

from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST = 4096  # characters of a message that are searched
_KEYS = ("message", "error", "detail", "error_message", "msg")
_DEEPEST = 5
_CODE = 3  # digits of an HTTP status
_NOISE = ("error", "http", "status", "code", "api")  # these say only that something failed
_MARK = '"message":'
_QUOTE = "\0"  # stands for a quote inside the message; no text on one line has this character
# Shown as "cancelled": the parent may have been the person at the screen.
_CANCELLED = "The parent cancelled the call."


def sentence(message: str) -> str:
    """Return a message on one line. A JSON error is reduced to its own message and its HTTP status.

    `429: {"message": "Quota exceeded."}` becomes `Quota exceeded (429)`.
    """
    if message == _CANCELLED:
        return "cancelled"
    flat = safe.line(message[:_LONGEST])
    at = flat.find("{")
    if at < 0:
        return flat
    try:
        inner = _message(jsonline.decode(flat[at:]), 0)
    except (ValueError, RecursionError):  # cut off: the message may still be there, or its beginning
        rest = flat[at:].partition(_MARK)[2].lstrip().replace('\\"', _QUOTE)
        inner = rest[1:].partition('"')[0].replace(_QUOTE, '"').strip() if rest.startswith('"') else None
    if not inner:
        return flat
    words = safe.line(inner).rstrip(".")
    before = flat[:at].strip(" :-,")
    signs = before.replace(":", " ").replace(",", " ").replace("(", " ").replace(")", " ").split()
    code = next((sign for sign in signs if len(sign) == _CODE and sign.isdecimal()), None)
    context = [sign for sign in signs if sign != code and sign.lower() not in _NOISE]
    text = f"{before}: {words}" if context else words
    return f"{text} ({code})" if code and not context and code not in words else text


def _message(value: Any, depth: int) -> str | None:
    if isinstance(value, str):
        return value.strip() or None
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    found = (_message(value.get(key), depth + 1) for key in _KEYS)
    return next((words for words in found if words), None)
