"""The only table of the supported agents. The module of an agent is imported when it is needed.

docs/agents.md, "A new brand is a module or a folder", says what another one needs.

Joins.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tmuxagents.agents.base import Agent

# Each module has an AGENT. The order is that of lists for people.
_MODULES = {
    "pi": "pi.command",
    "claude": "claude.command",
    "codex": "codex.command",
    "opencode": "opencode.command",
    "gemini": "gemini",
    "qwen": "qwen.command",
    "copilot": "copilot.command",
}


class Agents:
    """The table: names in order, and an agent by its name."""

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def __getitem__(self, name: str) -> Agent:
        agent: Agent = __import__(f"tmuxagents.agents.{_MODULES[name]}", fromlist=["AGENT"]).AGENT
        return agent

    def get(self, name: str) -> Agent | None:
        """Return an agent; None if there is none of that name."""
        return self[name] if name in _MODULES else None


AGENTS = Agents()
# The types of agents that the user's settings define.
_KINDS = ("acp", "command")


def find(name: str, kind: str | None = None) -> Agent | None:
    """Return a supported agent, or with `kind` one of the user's settings of that type; None if unknown."""
    if kind not in _KINDS:
        return AGENTS.get(name) if kind is None else None
    agent: Agent = __import__("tmuxagents.agents.configured", fromlist=["KINDS"]).KINDS[kind](name)
    return agent
