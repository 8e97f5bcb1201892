"""What the MCP server offers, in the shapes of the protocol: tools, addresses, what it says of itself."""

from __future__ import annotations

from tmuxagents.core import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
INSTRUCTIONS = (
    "Delegate work to child agents (subagents), each in a tmux window of its own that a person can watch. "
    "Short tasks: subagent or delegate_to_subagents. Long ones: background_agent, then "
    "background_agent_status. What runs said and came to are resources, too."
)
_LOOKS_ONLY = (
    "background_agent_status",
    "get_subagent_output",
    "get_subagent_session",
    "list_subagent_profiles",
)


def tools() -> list[dict[str, Any]]:
    """Return the tools of the catalogue."""
    return [_tool(tool) for tool in catalogue.TOOLS]


def _tool(tool: catalogue.Tool) -> dict[str, Any]:
    shape = {"name": tool.name, "title": tool.label, "description": tool.description}
    hints = {"readOnlyHint": tool.name in _LOOKS_ONLY}
    return {**shape, "inputSchema": tool.parameters, "annotations": hints}


def templates() -> list[dict[str, Any]]:
    """Return how the resources of any run are called."""
    kinds = (
        ("output", "Last answer of a run", "text/markdown"),
        ("transcript", "Transcript of a run", "text/plain"),
        ("result", "How a run ended, as JSON", "application/json"),
    )
    return [
        {"uriTemplate": f"tmuxagents://runs/{{runId}}/{kind}", "name": kind, "title": title, "mimeType": mime}
        for kind, title, mime in kinds
    ]
