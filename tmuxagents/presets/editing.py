"""Make or change a preset by hand, through questions, a template or `KEY=VALUE`; and format its text.

The function `text` writes a text from which parsing gets back exactly the same values.

Pure.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from tmuxagents.errors import BadConfig, BadRequest, Fault
from tmuxagents.presets import describe, preset
from tmuxagents.presets import fields as preset_fields
from tmuxagents.presets.fields import BODY, DESCRIPTION, GLOBAL, NAME, PRESET, PROFILE, PROJECT
from tmuxagents.text import safe, yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Protocol

    from tmuxagents.presets.preset import Preset, PresetFile

    class Asker(Protocol):
        """Asks a person. Each method raises if the person leaves."""

        def text(self, question: str) -> str:
            """Ask for a line, which may be empty."""

        def choice(self, question: str, choices: tuple[str, ...], default: str) -> str:
            """Ask for one of some words; an empty one leaves the field out."""

        def prompt(self, question: str) -> str:
            """Ask for a text of any length."""

        def agrees(self, question: str, text: str) -> bool:
            """Show a text, and ask whether it is right."""


_PLAIN = (*preset_fields.PROFILE_FLAGS, "timeout", "keepBackground", "nesting", preset_fields.ENV)
_TOOLS, _THINKING, _APPENDED = "tools", "thinkingLevel", "appendSystemPrompt"
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


def refuse_name(name: str) -> None:
    """Raise BadRequest for a name that a new file cannot have."""
    if not preset.is_new_name(name):
        message = f'A preset cannot have the name "{safe.line(name[:40])}".'
        hint = f"use letters, digits, - and _, at most {preset.LONGEST_NAME}"
        raise BadRequest(message, kind="bad-argument", field=NAME, hint=hint)


def exists(name: str) -> BadRequest:
    """Return the error for a name that is taken."""
    message = f'There is a preset "{name}" already.'
    return BadRequest(message, kind="bad-argument", field=NAME, hint=f"tmuxagents presets edit {name}")


# --- the text of a file -----------------------------------------------------------------------------------


def checked(draft: PresetFile) -> Preset:
    """Return the preset that a draft contains. Raises BadConfig for a bad draft."""
    read = preset.parse(draft)
    flaws = flaws_of(draft)
    if isinstance(read, preset.Preset) and not flaws:
        return read
    kind = f"bad-{draft.kind}"
    faults = [Fault(kind, flaw.words(), field=flaw.field) for flaw in flaws]
    message = f"{draft.path}: {flaws[0].words()}"
    raise BadConfig(message, kind=kind, faults=faults, hint="nothing was written")


def flaws_of(draft: PresetFile) -> list[preset_fields.Flaw]:
    """Return the flaws of a draft."""
    try:
        size = len(draft.text.encode("utf-8"))
    except UnicodeEncodeError:  # the text came from a command line or an editor
        return [preset_fields.Flaw("it is not UTF-8")]
    if size > yaml.MOST_BYTES:  # the file could be written, but not read again
        return [preset_fields.Flaw(f"it is larger than {yaml.MOST_BYTES // 1024} KB")]
    read = preset.parse(draft)
    if read is None:
        return preset.nameless(draft)
    return read.flaws if isinstance(read, preset.BadPreset) else []


def as_written(draft: PresetFile) -> dict[str, Any]:
    """Return the fields whose spelling stays when a file is written again."""
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
    """Return the fields that `KEY=VALUE` assignments set. An empty value becomes None: remove the field."""
    fields: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        keys = preset_fields.KNOWN_KEYS[kind] - {NAME}
        if not equals or key not in keys:
            hint = f"KEY=VALUE, with one of {', '.join(sorted(keys))}"
            raise BadRequest(
                f'"{assignment[:60]}" sets nothing.', kind="bad-argument", field="set", hint=hint
            )
        if not value.strip():
            fields[key] = None
            continue
        # A value means what it would mean in a file, except that a text needs no quotes here.
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
        fields[key] = header.fields[key] if key in _KEPT else read
    return fields


_KEYS = {
    PRESET: (
        *(*preset_fields.PRESET_KEYS, *preset_fields.OWN_KEYS),
        *(*preset_fields.ACCOUNT_KEYS, *preset_fields.NARROWING),
    ),
    PROFILE: preset_fields.PROFILE_KEYS,
}
_NEEDS_QUOTES = re.compile("[:#'\"\n]|^-(?:\\s|$)|^[\\s?,\\[\\]{}&*!|>%@`=~]|\\s$")
# Characters that YAML does not print, or takes for the end of a line.
_UNPRINTABLE = re.compile(
    "[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def text(name: str, fields: Mapping[str, Any], kind: str = PROFILE) -> str:
    """Return the text of a file. The caller refuses texts that no file can hold."""
    lines = [f"{NAME}: {scalar(name)}"]
    for key in _KEYS[kind]:
        value = fields.get(key)
        if value is None:
            continue
        if isinstance(value, list):
            is_plain = value and all(word and word == word.strip() and "," not in word for word in value)
            shown = scalar(",".join(value)) if is_plain else f"[{', '.join(map(_quoted, value))}]"
        else:
            shown = scalar(value) if isinstance(value, str) else _quoted(value)
        lines.append(f"{key}: {shown}")
    header = "\n".join(("---", *lines, "---", ""))
    body = fields.get(BODY)
    return f"{header}\n{body}\n" if body else header


def scalar(value: str) -> str:
    """Return a text as the value of a key, in quotes if it would mean something else without them."""
    plain = value and not _NEEDS_QUOTES.search(value) and not _UNPRINTABLE.search(value)
    return value if plain and isinstance(yaml.typed(value), str) else _quoted(value)


def _quoted(value: Any) -> str:
    """Return a value as JSON that YAML reads in the same way: YAML knows no pairs of surrogates."""
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)


# --- questions --------------------------------------------------------------------------------------------

# In the order in which they are asked. For a question without a key, _WAYS lists what each answer sets.
_QUESTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    PRESET: ((DESCRIPTION, "Description"), ("model", "Model"), (BODY, "System prompt"), (_TOOLS, "Tools")),
    PROFILE: (
        ("provider", "Provider"),
        ("model", "Model"),
        (BODY, "System prompt"),
        (_APPENDED, "Text appended to the system prompt"),
        (_THINKING, "Thinking"),
        *(("", "Tools"), ("", "Extensions"), ("", "Skills")),
    ),
}
# The fields that each answer sets: to True, or to a list that a further question asks for.
_WAYS: dict[str, dict[str, dict[str, bool | str]]] = {
    "Tools": {
        "none": {"noTools": True},
        "allowlist": {"tools": "Only these"},
        "blacklist": {"excludeTools": "All but these"},
    },
    "Extensions": {"remove": {"noExtensions": True}, "add": {"extensions": "Paths"}},
    "Skills": {
        "remove": {"noSkills": True},
        "add": {"suggestedSkills": "Suggested skills", "loadSkills": "Skills to load"},
    },
}


class Answers(NamedTuple):
    """The answers: global or project, and the fields."""

    source: str
    fields: dict[str, Any]


def ask_for_preset(kind: str, name: str, source: str, asker: Asker) -> Answers | None:
    """Ask for all fields and show them; return None if they are not to be saved.

    An empty answer leaves its field out.
    """
    answers = Answers(asker.choice("Scope", (GLOBAL, PROJECT), source), {})
    for key, question in _QUESTIONS[kind]:
        given: dict[str, Any] = {}
        if not key:
            ways = _WAYS[question]
            chosen = ways.get(asker.choice(question, ("", *ways), ""), {})
            for field, how in chosen.items():
                given[field] = how if how is True else _ask_for_list(asker, str(how))
        elif key == _TOOLS:
            given[key] = _ask_for_list(asker, question)
        elif key == _THINKING:
            given[key] = asker.choice(question, ("", *preset_fields.THINKING_LEVELS), "")
        elif key in (BODY, _APPENDED):
            given[key] = asker.prompt(question)
        else:
            given[key] = asker.text(question)
            while not given[key] and key == DESCRIPTION:  # besides its name, a preset must have this field
                given[key] = asker.text(question)
        answers.fields.update({field: value for field, value in given.items() if value})
    shown = safe.text(describe.detail(name, answers.fields, kind))
    return answers if asker.agrees("Save?", shown) else None


def _ask_for_list(asker: Asker, question: str) -> list[str]:
    answer = asker.text(f"{question} (with commas between)")
    return [word.strip() for word in answer.split(",") if word.strip()]
