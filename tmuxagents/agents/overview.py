"""What is known of each agent: whether it is installed, its version, what it can do. Joins."""

from __future__ import annotations

from tmuxagents.agents import installed
from tmuxagents.errors import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.settings.keys import Settings


def documents(
    environment: Mapping[str, str], settings: Settings, *, refresh: bool = False
) -> list[dict[str, Any]]:
    """Return a document of each agent, in the order of the table."""
    return [_document(name, environment, settings, refresh=refresh) for name in installed.names(settings)]


def _document(
    name: str, environment: Mapping[str, str], settings: Settings, *, refresh: bool
) -> dict[str, Any]:
    agent = installed.agent_of(name, settings)
    has = agent.capabilities()
    return {
        "name": name,
        "type": settings.agent_kinds.get(name),
        "isDefault": name == settings.default_agent,
        **_found(name, environment, settings, refresh=refresh),
        "howToInstall": agent.how_to_install,
        "howToLogIn": agent.how_to_log_in,
        "oldest": has.oldest,
        "tested": has.tested,
        "seats": list(has.seats),
        "permissions": list(has.permissions),
        "defaultPermission": has.default_permission,
        "takesModel": has.takes_model,
        "listsModels": has.lists_models,
        "takesMessages": has.steer,
        "resumes": has.resume,
        "systemPrompt": list(has.system_prompt),
        "tools": sorted(has.tools),
        "usage": has.usage,
        "cost": has.cost,
        "evidence": has.evidence,
    }


def _found(name: str, environment: Mapping[str, str], settings: Settings, *, refresh: bool) -> dict[str, Any]:
    """Return the program, its version and its login, as far as they can be known without a model call."""
    try:
        known = installed.known(name, environment, settings, refresh=refresh)
    except Unusable as missing:
        nothing = {"installed": False, "command": None, "version": None, "loggedIn": None}
        return {**nothing, "warnings": [missing.message]}
    logged_in = None if known.models is None else bool(known.models)
    facts = {"command": known.command, "version": known.version, "loggedIn": logged_in}
    return {"installed": True, **facts, "warnings": list(known.warnings)}
