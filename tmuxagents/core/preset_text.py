"""Presets and profiles as the text of a file: what is written here is read back the same, word for word."""

from __future__ import annotations

import json
import re

from tmuxagents.core import preset_fields, scalars
from tmuxagents.core.preset_fields import BODY, NAME, PRESET, PROFILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_KEYS = {
    PRESET: (*preset_fields.PRESET_KEYS, *preset_fields.OWN_KEYS),
    PROFILE: preset_fields.PROFILE_KEYS,
}
_NEEDS_QUOTES = re.compile("[:#'\"\n]|^-(?:\\s|$)|^[\\s?,\\[\\]{}&*!|>%@`=~]|\\s$")
# What YAML does not print, and what it takes for the end of a line.
_UNPRINTABLE = re.compile(
    "[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def text(name: str, fields: Mapping[str, Any], kind: str = PROFILE) -> str:
    """Return the text of a file. Texts that no file can hold are refused by the caller."""
    lines = [f"{NAME}: {scalar(name)}"]
    lines += [f"{key}: {_value(fields[key])}" for key in _KEYS[kind] if fields.get(key) is not None]
    header = "\n".join(("---", *lines, "---", ""))
    body = fields.get(BODY)
    return f"{header}\n{body}\n" if body else header


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return _list(value)
    return scalar(value) if isinstance(value, str) else json.dumps(value)


def _list(words: Sequence[str]) -> str:
    """Return words with commas between, unless one of them would not survive that."""
    plain = words and all(word and word == word.strip() and "," not in word for word in words)
    if plain:
        return scalar(",".join(words))
    return f"[{', '.join(_quoted(word) for word in words)}]"


def scalar(value: str) -> str:
    """Return a text as it stands behind a key: in quotes where it would mean something else without."""
    plain = value and not _NEEDS_QUOTES.search(value) and not _UNPRINTABLE.search(value)
    return value if plain and isinstance(scalars.typed(value), str) else _quoted(value)


def _quoted(value: str) -> str:
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)
