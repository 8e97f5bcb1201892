"""Choose the model of a run, and report the facts about each agent: its models, its abilities. Joins."""

from __future__ import annotations

from tmuxagents.agents import installed
from tmuxagents.agents import models as rules
from tmuxagents.errors import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.agents.installed import Known
    from tmuxagents.agents.models import Resolved
    from tmuxagents.settings.keys import Settings


def resolve(  # noqa: PLR0913  (the sources of a model, and the surroundings)
    wanted: str | None,
    agent: str,
    environment: Mapping[str, str],
    settings: Settings,
    *,
    cwd: str = "/",
    preset_model: str | None = None,
    preset_name: str | None = None,
    required: bool = True,
    listed: bool = True,
) -> Resolved:
    """Return the model of a run, or refuse. If none is `required`, the agent's own default will do.

    `listed` False: the run has its own API key, so the agent's list without that key proves nothing.
    """
    # The default model belongs to the default agent, and means nothing to another.
    default = settings.default_model if agent == settings.default_agent else None
    asked = rules.choose(wanted, preset_model, default, preset_name=preset_name)
    if asked is None and required and installed.lists_models(agent, settings):
        installed.command(agent, environment, settings)  # a missing agent is the more helpful error
        raise rules.none_resolved()
    known = installed.known(agent, environment, settings)
    if listed and known.models == []:
        raise _no_models(agent, settings)
    ids = known.ids if listed else None
    own = None if asked or not ids else installed.own_model(agent, environment, settings, cwd)
    if asked is not None:
        found = rules.Resolved(asked.name, rules.resolve(asked, ids, environment), asked.source)
    elif own in (ids or ()):
        found = rules.Resolved(None, own, rules.OWN)
    else:
        found = rules.Resolved()
    return found._replace(
        warnings=known.warnings,
        agent_command=known.command,
        agent_version=known.version,
        agent_kind=settings.agent_kinds.get(agent),
    )


def find(agent: str, environment: Mapping[str, str], settings: Settings, *, refresh: bool = False) -> Known:
    """Return the facts about an agent; refuse one that is not installed, or has no models."""
    known = installed.known(agent, environment, settings, refresh=refresh)
    if known.models == []:
        raise _no_models(agent, settings)
    return known


def _no_models(agent: str, settings: Settings) -> Unusable:
    message = f"The agent {agent} has no models: it is not logged in to a provider."
    return Unusable(message, kind="no-models", hint=installed.agent_of(agent, settings).how_to_log_in)


def document(
    agent: str, environment: Mapping[str, str], settings: Settings, *, refresh: bool = False
) -> dict[str, Any]:
    """Return an agent's models as a document. `available`: no launch would be refused for lack of models."""
    shape = {"v": 1, "agent": agent, "agentVersion": None, "available": False, "why": None}
    facts: dict[str, Any] = {"generation": 0, "models": [], "warnings": []}
    try:
        known = installed.known(agent, environment, settings, refresh=refresh)
    except Unusable as error:
        return {**shape, "why": error.message, **facts}
    shape["agentVersion"] = known.version
    facts = {"generation": known.generation, "models": known.models or [], "warnings": known.warnings}
    if known.models == []:
        return {**shape, "why": _no_models(agent, settings).message, **facts}
    return {**shape, "available": True, **facts}


def agent_documents(
    environment: Mapping[str, str], settings: Settings, *, refresh: bool = False
) -> list[dict[str, Any]]:
    """Return a document of each agent, in the order of the table.

    The login of an agent is reported as far as that is possible without a model call.
    """
    documents = []
    for name in installed.names(settings):
        agent = installed.agent_of(name, settings)
        shape: dict[str, Any] = {
            "name": name,
            "type": settings.agent_kinds.get(name),
            "isDefault": name == settings.default_agent,
        }
        try:
            known = installed.known(name, environment, settings, refresh=refresh)
        except Unusable as missing:
            shape |= {"installed": False, "command": None, "version": None, "loggedIn": None}
            shape["warnings"] = [missing.message]
        else:
            shape |= {"installed": True, "command": known.command, "version": known.version}
            shape["loggedIn"] = None if known.models is None else bool(known.models)
            shape["warnings"] = list(known.warnings)
        shape |= {"howToInstall": agent.how_to_install, "howToLogIn": agent.how_to_log_in}
        documents.append(shape | agent.capabilities().document())
    return documents
