"""The fields of preset and profile files: their valid values, and the part of a plan that they decide. Pure.

Fields are a plain mapping with the keys of the files; an unset field is absent. The text below the header is
`systemPrompt`. presets/catalogue decides which file counts. The plan holds everything for the child's command
line, but no secret: an API key goes through the environment.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.agents.pi import command
from tmuxagents.errors import Fault
from tmuxagents.records import SetUp
from tmuxagents.settings import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from tmuxagents.presets.preset import Preset
    from tmuxagents.text.yaml import Frontmatter

    Fields = dict[str, Any]
    Check = Callable[[Any], str | None]

PRESET, PROFILE = "preset", "profile"
KINDS = (PRESET, PROFILE)
GLOBAL, PROJECT = "global", "project"
NAME, DESCRIPTION, BODY = "name", "description", "systemPrompt"

PROFILE_TEXTS = ("provider", "model", "thinkingLevel", "appendSystemPrompt", "apiKey")
PROFILE_FLAGS = ("noTools", "noExtensions", "noSkills", "noContextFiles")
PROFILE_LISTS = ("tools", "excludeTools", "extensions", "extraArgs", "suggestedSkills", "loadSkills")
PROFILE_KEYS = (*PROFILE_TEXTS, *PROFILE_FLAGS, *PROFILE_LISTS)
PRESET_KEYS = (DESCRIPTION, "model", "tools")
# Our own keys, only for the user's presets: a cloned repository must not decide how a child runs.
OWN_KEYS = ("agent", "driver", "timeout", "keepBackground", "nesting", "on")
ACCOUNT, HOME, ENV = "account", "home", "env"
ACCOUNT_KEYS = (ACCOUNT, HOME, ENV)  # the login that the child uses; also for presets of the user alone
NARROWING = ("permission",)  # our own key for any preset; a project's preset can only narrow it
PERMISSIONS = ("read-only", "edit", "full", "ask")
_WRONG_PERMISSION = f"this must be one of {', '.join(PERMISSIONS)}"
REFUSED_IN_PROJECT = ("apiKey", "extensions", "extraArgs")
THINKING_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
_MOST_NESTING = 3
_WRONG_NESTING = f"this must be 1 to {_MOST_NESTING}"
_TOOL_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:*+-")


class Flaw(NamedTuple):
    """One thing wrong with a file: what, in which line, at which key."""

    message: str
    line: int | None = None
    field: str | None = None

    def words(self) -> str:
        """Return the flaw as a clause: `line 3, description: it is missing`."""
        place = ", ".join(
            part for part in (f"line {self.line}" if self.line else "", self.field or "") if part
        )
        return f"{place}: {self.message}" if place else self.message


class FieldReader:
    """Reads the keys of one header and collects what is wrong with them."""

    def __init__(self, header: Frontmatter) -> None:
        self.header = header
        self.flaws: list[Flaw] = []
        self.notes: list[Flaw] = []  # odd, but the file is used

    def fault(self, field: str, message: str) -> None:
        """Record a flaw that makes the file bad."""
        self.flaws.append(Flaw(message, line=self.header.lines.get(field), field=field))

    def note(self, field: str, message: str) -> None:
        """Record a remark for a person who checks the file."""
        self.notes.append(Flaw(message, line=self.header.lines.get(field), field=field))

    def text(self, key: str) -> str | None:
        """Return a text as it was written; None if the value is missing, blank or no text."""
        value = self.header.fields.get(key)
        if isinstance(value, str) or _is_number(value):
            written: str = self.header.written[key]
            return written if written.strip() else None
        if value is not None:
            self.note(key, "this must be a text; it is ignored")
        return None

    def words(self, key: str) -> list[str] | None:
        """Return the words of a list, or of a text with commas between them; None if there is neither."""
        value = self.header.fields.get(key)
        written: Any = self.header.written.get(key)
        if isinstance(value, list):
            if any(isinstance(item, dict | list) for item in value):
                self.fault(key, "this must be a list of words")
                return None
            return list(written)
        if isinstance(value, str) or _is_number(value):
            if not written.strip():
                return None
            return [word.strip() for word in written.split(",") if word.strip()]
        if value is not None:
            self.note(key, "this must be a list of words; it is ignored")
        return None

    def flag(self, key: str) -> bool:
        """Return whether a key is literally true."""
        value = self.header.fields.get(key)
        if value not in (None, True, False) or _is_number(value):
            self.note(key, "this counts only when it is literally true")
        return value is True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _set(pairs: Iterable[tuple[str, Any]]) -> Fields:
    return {key: value for key, value in pairs if value is not None}


# --- presets ----------------------------------------------------------------------------------------------


def read_preset(reader: FieldReader) -> Fields:
    """Return the fields of a preset."""
    header = reader.header
    description = reader.text(DESCRIPTION)
    if description is None:
        is_there = not isinstance(header.fields.get(DESCRIPTION), str | None)
        missing = "it is missing: say in a few words what the preset is for"
        reader.fault(DESCRIPTION, "this must be a text; put it in quotes" if is_there else missing)
    model = reader.text("model")
    if model is None and not isinstance(header.fields.get("model"), str | None):
        reader.fault("model", "this must be the name of a model")
    texts = [(DESCRIPTION, description), ("model", model), (BODY, header.body or None)]
    fields = _set([*texts, ("tools", _preset_tools(reader)), *_account(reader)])
    for key, check in _CHECKS.items():
        value = header.fields.get(key)
        wrong = None if value is None else check(value)
        if wrong:
            reader.fault(key, wrong)
        elif value is not None:
            fields[key] = rules.seconds(value) if key == "timeout" else value
    return fields


def _preset_tools(reader: FieldReader) -> list[str] | None:
    """Return the tools. A key without tools is a fault: it could mean all tools or none."""
    if "tools" not in reader.header.fields:
        return None
    words = reader.words("tools")
    given = reader.header.fields["tools"]
    if isinstance(given, bool | dict):
        reader.fault("tools", "this must be a list of words")
    if words is None and isinstance(given, bool | dict | list):
        return None
    tools = [tool.strip() for tool in words or () if tool.strip()]
    if not tools:
        reader.fault("tools", "it is empty: name the tools, or leave the key out to restrict none")
    for tool in tools:
        if not _TOOL_LETTERS.issuperset(tool):
            reader.fault("tools", f"{tool[:40]!r} is no name of a tool")
    return tools


def _account(reader: FieldReader) -> Iterator[tuple[str, Any]]:
    """Yield the account's fields: its name, the folder of the agent's settings and login, and variables."""
    given = reader.header.fields
    for key in (ACCOUNT, HOME):
        value = given.get(key)
        if value is not None and not (isinstance(value, str) and _LINE.read(value)[1] is None):
            reader.fault(key, "this must be a line of text")
        yield key, value
    home = given.get(HOME)
    if isinstance(home, str) and not home.startswith(("/", "~")):
        reader.fault(HOME, "this must be an absolute path, or begin with ~/")
    variables = reader.header.written.get(ENV)
    if variables is not None and _VARIABLES.read(variables)[1] is not None:
        reader.fault(ENV, "this must have a name and a text in each line below it")
    yield ENV, variables or None


_LINE, _VARIABLES = rules.Text(), rules.Variables(None)
_CHECKS: dict[str, Check] = {
    "agent": lambda value: None if isinstance(value, str) and value else "this must be the name of an agent",
    "driver": lambda value: None if value in ("batch", "live") else "this must be batch or live",
    "timeout": lambda value: (wrong := rules.time_limit_fault(value)) and f"this {wrong}",
    "permission": lambda value: None if value in PERMISSIONS else _WRONG_PERMISSION,
    "keepBackground": lambda value: None if isinstance(value, bool) else "this must be true or false",
    "on": lambda value: None if isinstance(value, str) and value else "this must be the name of a host",
    "nesting": lambda value: None if type(value) is int and 1 <= value <= _MOST_NESTING else _WRONG_NESTING,
}


# --- profiles ---------------------------------------------------------------------------------------------


def read_profile(reader: FieldReader) -> Fields:
    """Return the fields of a profile."""
    fields = _set((key, reader.text(key)) for key in PROFILE_TEXTS)
    fields |= {key: True for key in PROFILE_FLAGS if reader.flag(key)}
    fields |= _set((key, reader.words(key)) for key in PROFILE_LISTS)
    level = fields.get("thinkingLevel")
    if level is not None and level not in THINKING_LEVELS:
        reader.note("thinkingLevel", f"pi knows {', '.join(THINKING_LEVELS)}")
    return fields | _set([(BODY, reader.header.body or None)])


READERS = {PRESET: read_preset, PROFILE: read_profile}
KNOWN_KEYS = {
    PRESET: frozenset((NAME, *PRESET_KEYS, *OWN_KEYS, *ACCOUNT_KEYS, *NARROWING)),
    PROFILE: frozenset((NAME, *PROFILE_KEYS)),
}


# --- in the plan of a run ---------------------------------------------------------------------------------


def whose(title: str, source: str | None) -> str:
    """Return the origin of a brand's agent file, in words."""
    return f"{title}'s agents" + (" of this project" if source == PROJECT else "")


SYSTEM_PROMPT, APPENDED = "system-prompt.md", "append-system-prompt.md"
# The fields in a plan's `profile`. The others have keys of their own, or a file, or must not be stored.
_FLAG_FIELDS = (
    *("thinkingLevel", "noTools", "tools", "noExtensions", "noSkills", "noContextFiles"),
    *("extensions", "suggestedSkills", "extraArgs"),
)


def faults(preset: Preset, *, has_model: bool) -> Iterator[Fault]:
    """Yield the reasons against a launch. `has_model`: the call may name the model that a profile lacks."""
    if preset.kind != PROFILE:
        return
    fields = preset.fields
    if has_model:
        fields = {key: value for key, value in fields.items() if key != "provider"}
    for message in command.refusals(fields, preset.name):
        yield Fault(command.KIND, message, field="preset")


def set_up(preset: Preset) -> SetUp:
    """Return the part of a plan that a preset decides."""
    texts, profile = files(preset), None
    if preset.kind == PROFILE:
        # `tools` is repeated here, since an empty list in the plan's own `tools` forbids nothing.
        profile = {key: preset.fields[key] for key in _FLAG_FIELDS if key in preset.fields}
    return SetUp(
        preset=preset.name,
        preset_kind=preset.kind,
        preset_source=preset.source,
        preset_path=preset.path,
        preset_hash=preset.hash,
        preset_hides=preset.hides,
        tools=list(preset.tools or ()),
        system_prompt=texts.get(SYSTEM_PROMPT),
        system_prompt_path=SYSTEM_PROMPT if SYSTEM_PROMPT in texts else None,
        append_system_prompt_path=APPENDED if APPENDED in texts else None,
        nesting=preset.nesting or None,
        account=preset.account,
        preset_from=preset.whose,
        profile=profile,
    )


def files(preset: Preset) -> dict[str, str]:
    """Return the prompt files of a run: name and trimmed text."""
    texts = {SYSTEM_PROMPT: preset.fields.get(BODY)}
    if preset.kind == PROFILE:
        texts[APPENDED] = preset.fields.get("appendSystemPrompt")
    return {name: text.strip() for name, text in texts.items() if text and text.strip()}
