"""Settings: what each key may hold, where it may come from, and which source wins.

Environment over project over global over default. A project may set display and limits, nothing else: a clone
must not decide what runs. So far the keys that a wrapper asks for; others join the table with their feature.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SECTION = "subagents"


class Number:
    """A figure with a range; out of range it is clamped, and what is no figure is the default."""

    __slots__ = ("default", "least", "most")

    def __init__(self, default: float, least: float, most: float | None = None) -> None:
        self.default = default
        self.least = least
        self.most = most

    def read(self, value: Any) -> float:
        """Return the value to use."""
        if type(value) not in (int, float) or value - value != 0:
            return self.default
        at_least: float = max(value, self.least)
        return at_least if self.most is None else min(at_least, self.most)


NUMBERS = {
    "extend_timeout_debounce": Number(30, 0, 300),
    "looping_tool_count": Number(5, 0, 50),
    "commandPreviewWidth": Number(160, 20),
    "maxLinesPerWindow": Number(15, 1),
    "maxRunning": Number(16, 1),
}
_GLOBAL_ONLY = ("maxRunning",)
_PROJECT_KEYS = {*NUMBERS, "timeout", "defaultModel", "maxConcurrency", "keepWindows"} - {*_GLOBAL_ONLY}


_PREVIEW = "commandPreviewWidth"


class Settings:
    """The values in force, the source of each, and what had to be ignored."""

    def __init__(self) -> None:
        self.numbers: dict[str, float] = {}
        self.keep_background = False
        self.agent_commands: dict[str, list[str]] = {}
        self.sources: dict[str, str] = {}
        self.warnings: list[str] = []


def resolve(
    environment: Mapping[str, str], *, global_text: str | None = None, project_text: str | None = None
) -> Settings:
    """Merge the sources."""
    settings = Settings()
    user = _section(settings, global_text, "global")
    project = _section(settings, project_text, "project")
    for key in project:
        if key not in _PROJECT_KEYS:
            settings.warnings.append(f"project settings: a project may not set {key[:60]!r}; it is ignored")
    for key, number in NUMBERS.items():
        value, source = _pick(key, environment, {} if key in _GLOBAL_ONLY else project, user)
        settings.numbers[key] = number.read(value)
        settings.sources[key] = source
    keep, source = _pick("keepBackground", environment, {}, user)
    settings.keep_background = keep is True or keep == 1
    settings.sources["keepBackground"] = source
    agents = user.get("agents")
    for name, agent in agents.items() if isinstance(agents, dict) else ():
        command = agent.get("command") if isinstance(agent, dict) else None
        if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
            settings.agent_commands[name] = command
    return settings


def preview_width(settings: Settings, columns: int | None) -> int:
    """Return the width of a command's preview: the setting, else what the terminal has less 4, else 160."""
    if columns is None or settings.sources[_PREVIEW] != "default":
        return int(settings.numbers[_PREVIEW])
    return int(NUMBERS[_PREVIEW].read(columns - 4))


def _section(settings: Settings, text: str | None, source: str) -> dict[str, Any]:
    """Return our part of a settings file; a malformed file is one warning and no more."""
    if text is None:
        return {}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        settings.warnings.append(f"{source} settings cannot be read: {error}")
        return {}
    section = document.get(SECTION) if isinstance(document, dict) else None
    return section if isinstance(section, dict) else {}


def _pick(
    key: str, environment: Mapping[str, str], project: Mapping[str, Any], user: Mapping[str, Any]
) -> tuple[Any, str]:
    variable = variable_of(key)
    if variable in environment:
        return _literal(environment[variable]), "environment"
    if key in project:
        return project[key], "project"
    if key in user:
        return user[key], "global"
    return None, "default"


def variable_of(key: str) -> str:
    """Return the environment variable of a key: `maxRunning` is TMUXAGENTS_MAX_RUNNING."""
    key = key.removeprefix("tmux.").replace(".", "_")
    words = "".join(f"_{letter}" if letter.isupper() else letter for letter in key)
    return f"TMUXAGENTS_{words.upper()}"


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
