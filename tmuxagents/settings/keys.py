"""Settings: the values that each key may have, their sources, and which source wins. Pure.

The environment wins over the project, the project over the user, and each over the default. A project may set
only display, limits and the default model: a cloned repository must not decide what runs. `agents.NAME.KEY`
comes only from the user's own settings. A bad value gives the default and one warning, and stops nothing.
"""

from __future__ import annotations

from tmuxagents.settings.rules import (
    Age,
    Argv,
    Choice,
    Duration,
    Flag,
    Names,
    Number,
    Text,
    Variables,
    Windows,
    is_socket,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tmuxagents.settings.rules import Rule


# --- of one agent -------------------------------------------------------------------------------------------

AGENT_PREFIX = "agents."
# The types of agents that the user defines. Each needs a command, or a known launch line.
AGENT_TYPES = ("acp", "command")
COMMAND, TYPE, ENV, HOME = "command", "type", "env", "home"
_RULES: dict[str, Rule] = {
    COMMAND: Argv(None),
    TYPE: Choice(*AGENT_TYPES, optional=True),
    ENV: Variables(None),
    HOME: Text(),
}


def agent_rule_of(key: str) -> Rule | None:
    """Return the rule of a key; None if there is no such key."""
    agent, _, name = key.removeprefix(AGENT_PREFIX).rpartition(".")
    return _RULES.get(name) if key.startswith(AGENT_PREFIX) and agent else None


def flatten_agents(agents: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the settings of agents with dotted keys. A malformed agent gets a bad command, for a warning."""
    for name, agent in agents.items():
        if isinstance(agent, dict) and agent:
            yield from ((f"{AGENT_PREFIX}{name}.{key}", value) for key, value in agent.items())
        else:
            yield f"{AGENT_PREFIX}{name}.{COMMAND}", None if agent is None or agent == {} else False


def by_agent(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the value of a key for each agent that has one."""
    ending = f".{name}"
    return {
        key.removeprefix(AGENT_PREFIX).removesuffix(ending): value
        for key, value in values.items()
        if key.startswith(AGENT_PREFIX) and key.endswith(ending) and value
    }


# --- the table ----------------------------------------------------------------------------------------------

SECTION = "subagents"
DEFAULT_AGENT = "pi"
# The first four are older than this project. Their wrong values never gave a warning, and give none now.
NUMBERS = {
    "maxLinesPerWindow": Number(15, 1, warns=False),
    "commandPreviewWidth": Number(160, 20, warns=False),
    "extend_timeout_debounce": Duration(30, 0, 300, warns=False),
    "looping_tool_count": Number(5, 0, 50, warns=False),
    "maxConcurrency": Number(4, 1),
    "maxRunning": Number(16, 1),
    "timeout": Duration(600, 1),
    "askTimeout": Duration(600, 1),
}
KEYS: dict[str, Rule] = {
    **NUMBERS,
    "defaultModel": Text(),
    "defaultAgent": Text(default=DEFAULT_AGENT),
    "driver": Choice("batch", "live"),
    "tmux.socket": Text("the name or the absolute path of a tmux socket", is_socket),
    "tmux.session": Text('"current"', lambda line: line == "current"),  # no other session can be named
    "projectPresets": Flag(True),  # noqa: FBT003  (the default of a flag)
    "projectProfiles": Choice("safe", "full"),
    "presetsFrom": Names(None),
    "keepBackground": Flag(False),  # noqa: FBT003  (its default)
    "keepRuns": Age("30d"),
    "agents.pi.command": Argv(None),
    "onEnd": Argv(None),
    "onAttention": Argv(None),
    "notify": Choice("status", "bell", "message", "desktop", "off"),
    "keepWindows": Windows(300),
}
PROJECT_KEYS = (
    *("maxLinesPerWindow", "commandPreviewWidth", "extend_timeout_debounce", "looping_tool_count"),
    *("timeout", "defaultModel", "maxConcurrency", "keepWindows"),
)
# These come only from the user's settings file, never from an inherited variable.
GLOBAL_ONLY = ("onEnd", "onAttention", "projectProfiles", "presetsFrom")
_VARIABLES = {
    "tmux.socket": "TMUXAGENTS_SOCKET",
    "tmux.session": "TMUXAGENTS_SESSION",
    "agents.pi.command": "TMUXAGENTS_PI",
}
_PREVIEW, _AT_ONCE = "commandPreviewWidth", "maxConcurrency"
_MOST_NAMED = 10  # keys of a file that one warning names


class Settings:
    """The values in force, the source of each, and warnings about ignored ones."""

    def __init__(self) -> None:
        # Each key of the table, with its value as a person writes it.
        self.values: dict[str, Any] = {key: rule.default for key, rule in KEYS.items()}
        self.sources: dict[str, str] = {}
        self.chosen: set[str] = set()  # keys for which a source has a usable value
        self.warnings: list[str] = []
        self.settle()

    def settle(self) -> None:
        """Give each value the form that the program uses."""
        values = self.values
        self.numbers: dict[str, float] = {key: values[key] for key in NUMBERS}
        self.agent_commands: dict[str, list[str]] = by_agent(values, COMMAND)
        self.agent_kinds: dict[str, str] = by_agent(values, TYPE)  # types of agents that the user defines
        self.agent_homes: dict[str, str] = by_agent(values, HOME)
        self.agent_variables: dict[str, dict[str, str]] = by_agent(values, ENV)
        self.keep_background: bool = values["keepBackground"]
        self.project_presets: bool = values["projectPresets"]
        self.project_profiles_full: bool = values["projectProfiles"] == "full"
        self.presets_from: list[str] = values["presetsFrom"] or []  # agents whose own files are presets, too
        self.default_model: str | None = values["defaultModel"]
        self.default_agent: str = values["defaultAgent"]
        self.driver: str = values["driver"]
        self.tmux_socket: str | None = values["tmux.socket"]
        self.tmux_session: str | None = values["tmux.session"]
        self.on_end: list[str] | None = values["onEnd"]
        self.on_attention: list[str] | None = values["onAttention"]
        self.notify: str = values["notify"]
        self.keep_runs_s: float | None = Age.seconds(values["keepRuns"])  # None keeps all
        # How long windows of completed runs stay (None: for ever), and whether those of failed runs close.
        self.keep_windows_s, self.close_failed = Windows.meaning(values["keepWindows"])


def resolve(
    environment: Mapping[str, str],
    *,
    global_text: str | None = None,
    project_text: str | None = None,
    paths: Mapping[str, str] | None = None,
) -> Settings:
    """Merge the sources; `paths` are the files by source, for the warnings."""
    settings = Settings()
    named = {
        source: f"{source} settings ({paths[source]})" if paths and source in paths else f"{source} settings"
        for source in ("global", "project")
    }
    user = _section(settings, global_text, named["global"])
    project = _section(settings, project_text, named["project"])
    foreign = [key for key in project if key not in PROJECT_KEYS]
    if foreign:
        shown = ", ".join(repr(key[:60]) for key in foreign[:_MOST_NAMED])
        more = f" and {len(foreign) - _MOST_NAMED} more" if len(foreign) > _MOST_NAMED else ""
        settings.warnings.append(f"{named['project']}: a project may not set {shown}{more}; ignored")
    for key, rule in KEYS.items():
        _decide(settings, key, rule, _sources_of(key, environment, project, user), named)
    if settings.sources[_AT_ONCE] == "project":
        _let_project_only_lower(settings, _sources_of(_AT_ONCE, environment, {}, user), named)
    for key in user:
        own = None if key in KEYS else agent_rule_of(key)
        if own is not None:
            _decide(settings, key, own, {"global": user[key]}, named)
    settings.settle()
    return settings


def preview_width(settings: Settings, columns: int | None) -> int:
    """Return the width of a command's preview: the setting, else the terminal's width less 4, else 160."""
    if columns is None or _PREVIEW in settings.chosen:
        return int(settings.numbers[_PREVIEW])
    return int(NUMBERS[_PREVIEW].clamped(columns - 4))


def rows(settings: Settings) -> list[tuple[str, Any, str]]:
    """Return key, value and source of every setting, in table order; of variables only the names."""
    found = []
    for key, value in settings.values.items():
        rule = agent_rule_of(key)
        shown = dict.fromkeys(value, rule.hidden) if isinstance(rule, Variables) and value else value
        found.append((key, shown, settings.sources[key] if key in settings.chosen else "default"))
    return found


def variable_of(key: str) -> str:
    """Return the environment variable of a key: `maxRunning` is TMUXAGENTS_MAX_RUNNING."""
    words = "".join(f"_{letter}" if letter.isupper() else letter for letter in key)
    return _VARIABLES.get(key) or f"TMUXAGENTS_{words.upper()}"


# --- the files ----------------------------------------------------------------------------------------------


def _section(settings: Settings, text: str | None, name: str) -> dict[str, Any]:
    """Return our section of a settings file, with dotted keys. A malformed file gives only a warning."""
    if text is None:
        return {}
    import json  # noqa: PLC0415  (most wrappers have no settings to read, and each would pay for it)

    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        settings.warnings.append(f"{name} cannot be read: {why}")
        return {}
    section = document.get(SECTION) if isinstance(document, dict) else None
    flat: dict[str, Any] = {}
    for key, value in section.items() if isinstance(section, dict) else ():
        if key == "tmux" and isinstance(value, dict):
            flat.update((f"tmux.{inner}", inner_value) for inner, inner_value in value.items())
        elif key == "agents" and isinstance(value, dict):
            flat.update(flatten_agents(value))
        else:
            flat[key] = value
    return flat


def names_in(text: str) -> list[str]:
    """Return the names of the settings in a file's text, unknown ones included."""
    return list(_section(Settings(), text, ""))


# --- one key ------------------------------------------------------------------------------------------------


def _sources_of(
    key: str, environment: Mapping[str, str], project: Mapping[str, Any], user: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values of a key by source, the strongest first. An empty variable counts as unset."""
    values: dict[str, Any] = {}
    text = environment.get(variable_of(key))
    if text and key not in GLOBAL_ONLY:
        values["environment"] = KEYS[key].literal(text)
    if key in PROJECT_KEYS and key in project:
        values["project"] = project[key]
    if key in user:
        values["global"] = user[key]
    return values


def _decide(
    settings: Settings, key: str, rule: Rule, values: Mapping[str, Any], named: Mapping[str, str]
) -> None:
    """Settle the value of a key; null and invalid values mean the default."""
    source = next(iter(values), "default")
    value, complaint = (rule.default, None) if values.get(source) is None else rule.read(values[source])
    settings.values[key] = value
    settings.sources[key] = source
    if values.get(source) is not None and (complaint is None or value != rule.default):
        settings.chosen.add(key)
    if complaint and (rule.warns or source == "environment"):
        where = variable_of(key) if source == "environment" else f"{named[source]}: {key[:60]}"
        settings.warnings.append(f"{where} {complaint}")


def _let_project_only_lower(settings: Settings, others: Mapping[str, Any], named: Mapping[str, str]) -> None:
    """Take back the project's `maxConcurrency` if it is above that of the `others`, the other sources."""
    alone = Settings()
    _decide(alone, _AT_ONCE, KEYS[_AT_ONCE], others, named)
    settings.warnings += alone.warnings
    if settings.values[_AT_ONCE] > alone.values[_AT_ONCE]:
        settings.values[_AT_ONCE] = alone.values[_AT_ONCE]
        settings.sources[_AT_ONCE] = alone.sources[_AT_ONCE]
        settings.chosen |= alone.chosen
        settings.warnings.append(f"{named['project']}: a project may only lower {_AT_ONCE}; ignored")
