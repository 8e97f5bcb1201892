"""The brands of children that can be run: the only table of them."""

from __future__ import annotations

from tmuxagents.agents import pi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.agents.base import Agent

AGENTS: dict[str, Agent] = {pi.AGENT.name: pi.AGENT}
