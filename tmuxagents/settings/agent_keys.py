"""Settings of one agent, `agents.NAME.KEY`: they come from the user's own settings alone. Pure."""

from __future__ import annotations

from tmuxagents.settings.rules import Argv, OptionalChoice, Text, Variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tmuxagents.settings.rules import Rule

PREFIX = "agents."
TYPES = ("acp", "command")  # of agents that the user defines; each needs a command, or a known launch line
COMMAND, TYPE, ENV, HOME = "command", "type", "env", "home"
_RULES: dict[str, Rule] = {
    COMMAND: Argv(None),
    TYPE: OptionalChoice(*TYPES),
    ENV: Variables(None),
    HOME: Text(None),
}


def rule_of(key: str) -> Rule | None:
    """Return the rule of a key; None if there is no such key."""
    agent, _, name = key.removeprefix(PREFIX).rpartition(".")
    return _RULES.get(name) if key.startswith(PREFIX) and agent else None


def flat(agents: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the settings of agents as dotted keys."""
    for name, agent in agents.items():
        if isinstance(agent, dict) and agent:
            yield from ((f"{PREFIX}{name}.{key}", value) for key, value in agent.items())
        else:
            yield f"{PREFIX}{name}.{COMMAND}", None if agent is None or agent == {} else False


def hidden(key: str, value: Any) -> Any:
    """Return a value as it may be shown."""
    rule = rule_of(key)
    return dict.fromkeys(value, rule.hidden) if isinstance(rule, Variables) and value else value


def by_agent(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what a key says for each agent for which it is set."""
    ending = f".{name}"
    return {
        key.removeprefix(PREFIX).removesuffix(ending): value
        for key, value in values.items()
        if key.startswith(PREFIX) and key.endswith(ending) and value
    }
