"""Change a preset or profile as text: allowed names, what `KEY=VALUE` sets, and the file that results. Pure.

A text that is written here is read back the same, word for word.
"""

from __future__ import annotations

import json
import re

from tmuxagents.errors import BadConfig, BadRequest, Fault
from tmuxagents.presets import fields as preset_fields
from tmuxagents.presets import preset
from tmuxagents.presets.fields import BODY, DESCRIPTION, NAME, PRESET, PROFILE
from tmuxagents.text import yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.presets.preset import Preset, PresetFile

_NAME = re.compile("[a-zA-Z0-9_-]+")
USAGE = {
    "show": "Usage: /profile show <name>",
    "create": "Usage: /profile create <name>  (alphanumeric, hyphens, underscores)",
    "edit": "Usage: /profile edit <name>",
    "delete": "Usage: /profile delete <name>",
}
COMPLETED = ("list", "show", "create", "edit", "delete")
CANCELLED = "Cancelled."
_PLAIN = (*preset_fields.PROFILE_FLAGS, "timeout", "keepBackground", "nesting")
_FOLDERS = {PRESET: "subagents", PROFILE: "agent-profiles"}
_DEFAULT_DESCRIPTION = "What this preset is for"


def is_name(name: str) -> bool:
    """Say whether a new file can have this name."""
    return bool(_NAME.fullmatch(name)) and len(name) <= preset.LONGEST_NAME


def refuse_name(name: str) -> None:
    """Raise BadRequest for a name that a new file cannot have."""
    if not is_name(name):
        hint = "tmuxagents presets new NAME, of letters, digits, - and _"
        raise BadRequest(USAGE["create"], kind="bad-argument", field=NAME, hint=hint)


def exists(name: str) -> BadRequest:
    """Return the refusal of a name that something has already."""
    message = f'Profile "{name}" already exists. Use /profile edit {name} to modify it.'
    return BadRequest(message, kind="bad-argument", field=NAME, hint=f"tmuxagents presets edit {name}")


def missing(name: str) -> BadRequest:
    """Return the refusal to edit what is not there."""
    message = f'Profile "{name}" not found. Use /profile create {name} to create it.'
    return BadRequest(message, kind="unknown-preset", field=NAME, hint=f"tmuxagents presets new {name}")


def not_there(name: str) -> BadRequest:
    """Return the refusal to remove what is not there."""
    return BadRequest(f'Profile "{name}" not found.', kind="unknown-preset", field=NAME)


def question(name: str) -> str:
    """Return what is asked before anything is removed."""
    return f'Delete subagent profile "{name}"?'


def deleted(name: str) -> str:
    """Return what is said afterwards."""
    return f'Profile "{name}" deleted.'


def saved(preset: Preset) -> str:
    """Return what is said when a file was written."""
    return f'{preset.kind.capitalize()} "{preset.name}" saved to {preset.source} {_FOLDERS[preset.kind]}.'


def completions(prefix: str, names: Iterable[str], verbs: Iterable[str] = COMPLETED) -> list[str] | None:
    """Return verbs and names that begin so; None if there are none."""
    return [word for word in (*verbs, *names) if word.startswith(prefix)] or None


# --- the text of a file -----------------------------------------------------------------------------------


def settled(draft: PresetFile) -> Preset:
    """Return what a draft will be read as, or raise BadConfig for one that is bad."""
    read = preset.parse(draft)
    flaws = flaws_of(draft)
    if isinstance(read, preset.Preset) and not flaws:
        return read
    kind = f"bad-{draft.kind}"
    faults = [Fault(kind, flaw.words(), field=flaw.field) for flaw in flaws]
    message = f"{draft.path}: {flaws[0].words()}"
    raise BadConfig(message, kind=kind, faults=faults, hint="nothing was written")


def flaws_of(draft: PresetFile) -> list[preset_fields.Flaw]:
    """Return what is wrong with a draft."""
    try:
        size = len(draft.text.encode("utf-8"))
    except UnicodeEncodeError:  # of a command line, or of an editor
        return [preset_fields.Flaw("it is not UTF-8")]
    if size > yaml.MOST_BYTES:  # it would be written, and never read
        return [preset_fields.Flaw(f"it is larger than {yaml.MOST_BYTES // 1024} KB")]
    read = preset.parse(draft)
    if read is None:
        return preset.nameless(draft)
    return read.flaws if isinstance(read, preset.Bad) else []


def compose(name: str, fields: Mapping[str, Any], kind: str) -> str:
    """Return the text of a file with these fields."""
    body = (fields.get(BODY) or "").replace("\r\n", "\n").replace("\r", "\n").strip()
    return text(name, {**fields, BODY: body}, kind)


def template(name: str, kind: str) -> str:
    """Return the text that an editor opens for a new file."""
    if kind == PRESET:
        fields = {DESCRIPTION: _DEFAULT_DESCRIPTION, BODY: "Text for the child's system prompt."}
        return compose(name, fields, kind)
    keys = "".join(f"# {key}:\n" for key in preset_fields.PROFILE_KEYS)
    return (
        f"---\n{NAME}: {name}\n{keys}---\n\nThe child's system prompt; without a text here, its usual one.\n"
    )


def assigned(assignments: Iterable[str], kind: str) -> dict[str, Any]:
    """Return the fields that `KEY=VALUE` assignments mean; an empty value takes the field away (None)."""
    fields: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        known = preset_fields.KNOWN_KEYS[kind] - {NAME}
        if not equals or key not in known:
            hint = f"KEY=VALUE, with one of {', '.join(sorted(known))}"
            raise BadRequest(
                f'"{assignment[:60]}" sets nothing.', kind="bad-argument", field="set", hint=hint
            )
        fields[key] = _read(key, value, kind) if value.strip() else None
    return fields


def _read(key: str, value: str, kind: str) -> Any:
    """Return what a value means: what it would mean in a file, but a text needs no quotes."""
    is_plain = key in _PLAIN or (key in preset_fields.PROFILE_LISTS and value.startswith("["))
    try:
        header = yaml.parse(f"---\n{key}: {value if is_plain else scalar(value)}\n---\n")
    except yaml.Malformed as error:
        raise BadRequest(f"{key}: {error.reason}", kind="bad-argument", field=key) from error
    reader = preset_fields.Reader(header)
    read = preset_fields.READERS[kind](reader).get(key)
    wrong = [flaw.message for flaw in (*reader.flaws, *reader.notes) if flaw.field == key]
    if wrong:
        raise BadRequest(f"{key}: {wrong[0]}", kind="bad-argument", field=key)
    return read


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
    return value if plain and isinstance(yaml.typed(value), str) else _quoted(value)


def _quoted(value: str) -> str:
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)
