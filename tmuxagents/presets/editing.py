"""Change a preset or profile as text: allowed names, what `KEY=VALUE` sets, and the file that results. Pure.

A text that is written here is read back the same, word for word.

The `/profile` command of a parent (`/profile show X`): what it answers, and what it does.

Nothing is done here: the answer names the act, and what to ask before it.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from tmuxagents.errors import BadConfig, BadRequest, Fault
from tmuxagents.presets import describe, preset
from tmuxagents.presets import fields as preset_fields
from tmuxagents.presets.fields import BODY, DESCRIPTION, NAME, PRESET, PROFILE
from tmuxagents.text import safe, yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from tmuxagents.presets.preset import Preset, PresetFile

    Profiles = Mapping[str, Mapping[str, Any]]  # name -> fields


_NAME = re.compile("[a-zA-Z0-9_-]+")
_PLAIN = (*preset_fields.PROFILE_FLAGS, "timeout", "keepBackground", "nesting", preset_fields.ENV)
_KEPT = ("timeout",)  # a person's 5m stays 5m, though it is read as 300
_TEMPLATE = f"""---
{NAME}: {{name}}
{DESCRIPTION}: What this preset is for
# Remove the # of a line to set its field. tmuxagents models lists the models.
# model: sonnet
# tools: read, grep, find, ls
# agent: pi
# permission: read-only
# home: ~/.codex-work
# driver: live
# on: build-box
# timeout: 10m
# keepBackground: true
# nesting: 1
---

Instructions that the agent gets in addition to its own system prompt.
"""
_PROFILE_TEMPLATE = f"""---
{NAME}: {{name}}
# Remove the # of a line to set its field. tmuxagents models lists the models.
{{fields}}---

The agent's system prompt. Without a text here it keeps its own.
"""


def is_name(name: str) -> bool:
    """Say whether a new file can have this name."""
    return bool(_NAME.fullmatch(name)) and len(name) <= preset.LONGEST_NAME


def refuse_name(name: str) -> None:
    """Raise BadRequest for a name that a new file cannot have."""
    if not is_name(name):
        message = f'A preset cannot have the name "{safe.line(name[:40])}".'
        hint = f"use letters, digits, - and _, at most {preset.LONGEST_NAME}"
        raise BadRequest(message, kind="bad-argument", field=NAME, hint=hint)


def exists(name: str) -> BadRequest:
    """Return the refusal of a name that something has already."""
    message = f'There is a preset "{name}" already.'
    return BadRequest(message, kind="bad-argument", field=NAME, hint=f"tmuxagents presets edit {name}")


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
    return read.flaws if isinstance(read, preset.BadPreset) else []


def as_written(draft: PresetFile) -> dict[str, Any]:
    """Return the fields of a file that keep their spelling when it is written again."""
    written = yaml.parse(draft.text).fields
    return {key: written[key] for key in _KEPT if key in written}


def compose(name: str, fields: Mapping[str, Any], kind: str) -> str:
    """Return the text of a file with these fields."""
    body = (fields.get(BODY) or "").replace("\r\n", "\n").replace("\r", "\n").strip()
    return text(name, {**fields, BODY: body}, kind)


def template(name: str, kind: str) -> str:
    """Return the text that an editor opens for a new file."""
    if kind == PRESET:
        return _TEMPLATE.format(name=name)
    return _PROFILE_TEMPLATE.format(
        name=name, fields="".join(f"# {key}:\n" for key in preset_fields.PROFILE_KEYS)
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
    reader = preset_fields.FieldReader(header)
    read = preset_fields.READERS[kind](reader).get(key)
    wrong = [flaw.message for flaw in (*reader.flaws, *reader.notes) if flaw.field == key]
    if wrong:
        raise BadRequest(f"{key}: {wrong[0]}", kind="bad-argument", field=key)
    return header.fields[key] if key in _KEPT else read


_KEYS = {
    PRESET: (
        *(*preset_fields.PRESET_KEYS, *preset_fields.OWN_KEYS),
        *(*preset_fields.ACCOUNT_KEYS, *preset_fields.NARROWING),
    ),
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
        if value and all(word and word == word.strip() and "," not in word for word in value):
            return scalar(",".join(value))
        return f"[{', '.join(_quoted(word) for word in value)}]"
    return scalar(value) if isinstance(value, str) else json.dumps(value)


def scalar(value: str) -> str:
    """Return a text as the value of a key, in quotes if it would mean something else without."""
    plain = value and not _NEEDS_QUOTES.search(value) and not _UNPRINTABLE.search(value)
    return value if plain and isinstance(yaml.typed(value), str) else _quoted(value)


def _quoted(value: str) -> str:
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)


INFO, WARNING, ERROR = "info", "warning", "error"
PROFILE_COMPLETED = LIST, SHOW, CREATE, EDIT, DELETE = "list", "show", "create", "edit", "delete"
_VERBS = {
    **dict.fromkeys(("", "ls"), LIST),
    "new": CREATE,
    **dict.fromkeys(("rm", "remove"), DELETE),
    **{verb: verb for verb in PROFILE_COMPLETED},
}
PROFILE_USAGE = "Usage: /profile [list|show <name>|create <name>|edit <name>|delete <name>]"
_USAGES = {
    **{verb: f"Usage: /profile {verb} <name>" for verb in (SHOW, EDIT, DELETE)},
    CREATE: "Usage: /profile create <name>  (alphanumeric, hyphens, underscores)",
}
PROFILE_CANCELLED = "Cancelled."
_FOLDERS = {PRESET: "subagents", PROFILE: "agent-profiles"}
_NOTHING = "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or use /profile create."
_DELETE_TITLE = "Delete profile?"


class ProfileAnswer(NamedTuple):
    """A note to show at once; or an act with its question before it and the note after it."""

    note: tuple[str, str] | None = None
    act: str | None = None
    name: str | None = None
    question: tuple[str, str] | None = None
    afterwards: tuple[str, str] | None = None


def profile_answer(line: str, profiles: Profiles) -> ProfileAnswer:
    """Return the answer to the words after `/profile`."""
    word, *names = line.split()[:2] or [""]
    verb = _VERBS.get(word)
    if verb == LIST:
        return ProfileAnswer((INFO, profile_listing(profiles)))
    if verb is None:
        return _show(word, profiles) if word in profiles else ProfileAnswer((WARNING, PROFILE_USAGE))
    if not names:
        return ProfileAnswer((WARNING, _USAGES[verb]))
    name = names[0]
    if verb == SHOW:
        return _show(name, profiles)
    if verb == DELETE:  # the question comes first, also for a profile that is not there
        done = (INFO, f'Profile "{name}" deleted.')
        after = done if name in profiles else (ERROR, f'Profile "{name}" not found.')
        return ProfileAnswer(None, DELETE, name, (_DELETE_TITLE, f'Delete subagent profile "{name}"?'), after)
    return _change(verb, name, profiles)


def profile_completions(prefix: str, names: Iterable[str]) -> list[str] | None:
    """Return the verbs and names that begin so; None if there are none."""
    return [word for word in (*PROFILE_COMPLETED, *names) if word.startswith(prefix)] or None


def profile_saved(preset: Preset) -> str:
    """Return the note on a file that was written."""
    return f'{preset.kind.capitalize()} "{preset.name}" saved to {preset.source} {_FOLDERS[preset.kind]}.'


def profile_listing(profiles: Profiles) -> str:
    """Return all profiles, a line each."""
    if not profiles:
        return _NOTHING
    summaries = (describe.summary(name, fields) for name, fields in profiles.items())
    return "\n  ".join(("Subagent profiles:", *summaries))


def _show(name: str, profiles: Profiles) -> ProfileAnswer:
    if name not in profiles:
        available = ", ".join(profiles) or "(none)"
        return ProfileAnswer((ERROR, f'Profile "{name}" not found. Available: {available}'))
    return ProfileAnswer((INFO, describe.detail(name, profiles[name])))


def _change(verb: str, name: str, profiles: Profiles) -> ProfileAnswer:
    if verb == EDIT and name not in profiles:
        message = f'Profile "{name}" not found. Use /profile create {name} to create it.'
        return ProfileAnswer((ERROR, message))
    if verb == CREATE and not is_name(name):
        return ProfileAnswer((WARNING, _USAGES[CREATE]))
    if verb == CREATE and name in profiles:
        message = f'Profile "{name}" already exists. Use /profile edit {name} to modify it.'
        return ProfileAnswer((WARNING, message))
    return ProfileAnswer(act=verb, name=name)
