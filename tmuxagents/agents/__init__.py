"""The supported agents: the only table of them. Pure."""

from __future__ import annotations

from tmuxagents.agents.pi import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.agents.base import Agent

AGENTS: dict[str, Agent] = {command.AGENT.name: command.AGENT}
