"""Parse the text of one preset or profile file into a record, or into a list of its flaws. Pure.

A project's preset may set only the keys in `_SHARED_KEYS`. A project's profile may not set `apiKey`,
`extensions` or `extraArgs`, unless the user's settings allow it. Forbidden keys are dropped with a warning.
presets/fields defines the fields, and presets/catalogue decides which of several files counts. The caller
reads the files.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tmuxagents.errors import BadConfig, Fault
from tmuxagents.presets import fields as preset_fields
from tmuxagents.presets.fields import BODY, GLOBAL, NAME, PRESET, PROFILE, PROJECT, Flaw
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.agents.capabilities import AgentFiles
    from tmuxagents.presets.fields import FieldReader, Fields
    from tmuxagents.text.yaml import Frontmatter


LONGEST_NAME = 100
_NEW_NAME = re.compile("[a-zA-Z0-9_-]+")
_AWKWARD_NAME = re.compile(r"^-|[\s/\\:]")  # looks like an option, two words, a path or a scope
_LOUD = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_RANKS = {
    (source, kind): rank
    for rank, (source, kind) in enumerate(
        ((PROJECT, PRESET), (PROJECT, PROFILE), (GLOBAL, PRESET), (GLOBAL, PROFILE))
    )
}
_SHARED_KEYS = frozenset((NAME, *preset_fields.PRESET_KEYS, *preset_fields.NARROWING))
_REFUSED = (
    'Warning: Refusing to load {key} from project-local profile "{name}" in {path}. Move the profile to the '
    "global directory (~/.pi/agent/agent-profiles/) or use environment variables."
)


SENT = ("kind", "source", "path", "text", "hash")  # to another machine


class PresetFile(NamedTuple):
    """A file that was read or will be written: its path, its text, and the hash of its bytes."""

    kind: str
    source: str
    path: str
    text: str = ""
    hash: str = ""
    brand: AgentFiles | None = None  # the brand whose agent file it is; None: it is our own
    place: int = 0  # the brand's place in the user's setting

    def document(self) -> dict[str, str]:
        """Return the JSON form that goes to another machine."""
        document = {name: getattr(self, name) for name in SENT}
        return document if self.brand is None else {**document, "of": self.brand.agent}

    @property
    def rank(self) -> int:
        """Of files with one name, the one of the lowest rank counts. Our own come before a brand's."""
        if self.brand is None:
            return _RANKS[self.source, self.kind]
        return len(_RANKS) + 2 * self.place + (self.source == GLOBAL)


def _field(key: str) -> Any:
    """Return a property that reads a field; None where it is not set."""
    return property(lambda preset: preset.fields.get(key))


class _FromFile:
    """The facts about a preset, good or bad, that its file gives."""

    def __init__(self, file: PresetFile) -> None:
        self.kind = file.kind
        self.source = file.source
        self.path = file.path
        self.rank = file.rank  # the lower one wins
        self.brand = file.brand


class Preset(_FromFile):
    """How a child is set up: the fields of one file, and where they come from."""

    def __init__(self, file: PresetFile, name: str, fields: Fields) -> None:
        super().__init__(file)
        self.file = file
        self.hash = file.hash
        self.name = name
        self.fields = fields
        self.hidden: Preset | None = None  # the user's preset of the same name that this one hides
        self.hidden_by: str | None = None
        self.warnings: list[str] = []
        self.notes: list[Flaw] = []

    tools: list[str] | None = _field("tools")  # None: no list restricts the tools
    # Only the user's own preset may set these.
    agent: str | None = _field("agent")
    driver: str | None = _field("driver")
    timeout: float | None = _field("timeout")
    keep_background: bool | None = _field("keepBackground")
    nesting: int | None = _field("nesting")
    on: str | None = _field("on")
    permission: str | None = _field("permission")  # also a project's, which can only narrow
    api_key: str | None = _field("apiKey")  # never in an argument, never in a file of a run

    home: str | None = _field(preset_fields.HOME)
    variables: dict[str, str] | None = _field(preset_fields.ENV)  # like the key, never in a file of a run

    @property
    def account(self) -> str | None:
        """The name of the account that the child uses; None for the agent's usual account."""
        if self.home is None and self.variables is None:
            return None
        named: str | None = self.fields.get(preset_fields.ACCOUNT)
        return named or self.name

    @property
    def hides(self) -> str | None:
        """The user's file of the same name that this one hides."""
        return self.hidden.path if self.hidden else None

    @property
    def whose(self) -> str | None:
        """The brand whose agent file it is, as people call the brand; None for our own presets."""
        return self.brand.title if self.brand else None

    @property
    def model(self) -> str | None:
        """The wanted model, with its provider if the file names that in a key of its own."""
        model: str | None = self.fields.get("model")
        provider = self.fields.get("provider")
        if model is None or provider is None or model.startswith(f"{provider}/"):
            return model
        return f"{provider}/{model}"

    def for_agent(self, agent: str | None) -> Preset:
        """Return the preset for a run of an agent. A brand's model is dropped for any other agent."""
        model = self.fields.get("model")
        if self.brand is None or agent in (None, self.brand.agent) or model is None:
            return self
        fields = {key: value for key, value in self.fields.items() if key != "model"}
        belongs = f"the model {model} is one of {self.brand.title}, and {agent} gets its own"
        warning = f"preset {self.name}: {belongs}"
        return self.ready(fields, [*self.warnings, warning])

    def ready(self, fields: Fields, warnings: Sequence[str]) -> Preset:
        """Return a copy with the fields and warnings of a launch; this preset stays as it was read."""
        made = Preset(self.file, self.name, fields)
        made.hidden, made.hidden_by = self.hidden, self.hidden_by
        made.warnings, made.notes = list(warnings), self.notes
        return made

    def __repr__(self) -> str:
        return f"<{self.source} {self.kind} {self.name!r}>"  # no prompt, no key in a log


class BadPreset(_FromFile):
    """A file that cannot be used, and why."""

    def __init__(self, file: PresetFile, name: str | None, flaws: Sequence[Flaw]) -> None:
        super().__init__(file)
        self.name = name
        self.flaws = list(flaws)

    def warning(self) -> str:
        """Return the flaws as one line."""
        flaws = "; ".join(flaw.words() for flaw in self.flaws)
        return f"Failed to load {self.kind} from {self.path}: {flaws}"

    def refusal(self) -> BadConfig:
        """Return the error for a request that names this file."""
        kind = f"bad-{self.kind}"
        faults = [Fault(kind, f"{self.path}: {flaw.words()}", field=flaw.field) for flaw in self.flaws]
        other = f", or ask for {GLOBAL}:NAME" if self.source == PROJECT else ""
        return BadConfig(self.warning(), kind=kind, faults=faults, hint=f"correct the file{other}")


def is_new_name(name: str) -> bool:
    """Say whether a new file can have this name."""
    return bool(_NEW_NAME.fullmatch(name)) and len(name) <= LONGEST_NAME


# --- one file ---------------------------------------------------------------------------------------------


def parse(file: PresetFile, *, full_profiles: bool = False) -> Preset | BadPreset | None:
    """Read one file. A file without a name is no preset at all, and gives None.

    `full_profiles` lets a profile of a project keep all its fields.
    """
    from tmuxagents.text import yaml  # noqa: PLC0415  (a launch without a preset parses none)

    foreign: list[Flaw] = []
    try:
        if file.brand is None:
            header: Frontmatter | None = yaml.parse(file.text)
        else:
            from tmuxagents.presets import foreign as others  # noqa: PLC0415  (only the user's setting has them)

            header, foreign = others.header_of(file.text, file.path, file.brand)
    except yaml.Malformed as error:
        return BadPreset(file, None, [Flaw(error.reason, line=error.line, field=error.field)])
    if header is None:
        return None
    if yaml.is_unclosed(file.text):
        return BadPreset(file, None, [Flaw("the header is not closed: a line `---` is missing", line=1)])
    name = header.fields.get(NAME)
    if not isinstance(name, str) or (not name and file.kind == PROFILE):
        return None
    reader = preset_fields.FieldReader(header)
    fields = preset_fields.READERS[file.kind](reader)
    _check_name(reader, name)
    preset = Preset(file, name, fields)
    dropped = _drop_refused(preset, reader, full_profiles=full_profiles) if file.source == PROJECT else set()
    flaws = [*foreign, *(flaw for flaw in reader.flaws if flaw.field not in dropped)]
    if flaws:
        return BadPreset(file, name, flaws)
    if file.brand is not None:
        fields["agent"] = file.brand.agent
    _note_unknown(preset, reader)
    return preset


def nameless(file: PresetFile) -> list[Flaw]:
    """Return the flaw that makes a file no preset, for a person who named the file."""
    from tmuxagents.text import yaml  # noqa: PLC0415  (as above)

    header = yaml.parse(file.text)
    if not header.fields:
        return [Flaw("it has no header: the file must begin with a line `---`", line=1)]
    name = header.fields.get(NAME)
    if name is None:
        return [Flaw("it is missing", line=1, field=NAME)]
    if isinstance(name, str):
        return [Flaw("it is empty", line=header.lines.get(NAME), field=NAME)]
    return [Flaw("the name must be a text; put it in quotes", line=header.lines.get(NAME), field=NAME)]


def _check_name(reader: FieldReader, name: str) -> None:
    if not name.strip():
        reader.fault(NAME, "it is empty")
    elif len(name) > LONGEST_NAME:
        reader.fault(NAME, f"it is longer than {LONGEST_NAME} characters")
    elif _LOUD.search(name):
        reader.fault(NAME, "it holds a control character")


def _drop_refused(preset: Preset, reader: FieldReader, *, full_profiles: bool) -> set[str]:
    """Remove the fields that a project's file may not set; return their keys."""
    if preset.kind == PROFILE:
        dropped: tuple[str, ...] = () if full_profiles else preset_fields.REFUSED_IN_PROJECT
        words = _REFUSED
    else:
        dropped = tuple(key for key in reader.header.fields if key not in _SHARED_KEYS)
        words = "{path}: a project's preset may not set {key}; it is ignored"
    for key in dropped:
        if preset.kind == PRESET or key in preset.fields:
            shown = safe.first_letters(key, LONGEST_NAME)
            preset.warnings.append(words.format(key=shown, name=preset.name, path=preset.path))
        if key != BODY:  # the text below the header has the same name, and stays
            preset.fields.pop(key, None)
    return set(dropped)


def _note_unknown(preset: Preset, reader: FieldReader) -> None:
    # A cloned repository may use letters that only look like those of one of the user's names.
    plain = preset.name.isascii() if preset.source == PROJECT else preset.name.isprintable()
    if not plain or _AWKWARD_NAME.search(preset.name):
        preset.warnings.append(
            f"{preset.kind} {preset.name!r} in {preset.path}: a name should be made of letters, digits, "
            '".", "_" and "-", and begin with a letter or digit'
        )
    known_keys = preset_fields.KNOWN_KEYS[preset.kind]
    if preset.kind == PRESET and preset.source == PROJECT:
        known_keys |= set(reader.header.fields)  # _drop_refused has warned of these
    for key in reader.header.fields:
        if key == BODY:
            reader.note(key, "the text below the header is the prompt; this key is ignored")
        elif key not in known_keys:
            reader.note(key, f"a {preset.kind} has no such key; it is ignored")
    preset.notes = reader.notes
