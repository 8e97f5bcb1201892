"""Carry out a tool of the catalogue: arguments in, text and details out. A refusal is raised.

The module of a tool is imported only when a call needs it.

Joins.
"""

from __future__ import annotations

import difflib

from tmuxagents.errors import BadRequest
from tmuxagents.launch import nesting
from tmuxagents.settings import load
from tmuxagents.text import safe
from tmuxagents.tools import catalogue, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.registry.lookup import Caller
    from tmuxagents.tools.catalogue import Tool
    from tmuxagents.tools.door import Answer, Door


_NAMED = 12  # candidates in a hint


def refusal(caller: Caller, environment: Mapping[str, str]) -> BadRequest | None:
    """Return the refusal for a caller that may not use the tools, as most children may not; else None."""
    try:
        nesting.check(environment, caller.runs)
    except BadRequest as nested:
        return nested
    return None


def check_name(name: str, caller: Caller, environment: Mapping[str, str]) -> None:
    """Refuse an unknown tool, and every tool to a child that may not launch children."""
    nesting.check(environment, caller.runs)
    if name in catalogue.BY_NAME:
        return
    shown = safe.cut(safe.line(name), 40)
    near = difflib.get_close_matches(shown, catalogue.BY_NAME, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(catalogue.BY_NAME)}"
    message = f'There is no tool "{shown}".'
    raise BadRequest(message, kind="unknown-tool", hint=hint, field="tool", candidates=near)


def call(name: str, arguments: Any, door: Door) -> Answer:
    """Carry out a tool, or refuse the call."""
    check_name(name, door.caller, door.environment)
    try:
        faults = check.faults(catalogue.BY_NAME[name], arguments)
        if name == "delegate_to_subagents":
            from tmuxagents.tools import delegate  # noqa: PLC0415  (a call needs one of three)

            return delegate.delegate_to_subagents(arguments, door, faults)
        if name in ("get_subagent_output", "get_subagent_session", "list_subagent_profiles"):
            from tmuxagents.tools import retrieval  # noqa: PLC0415  (as above)

            return retrieval.TOOLS[name](arguments, door, faults)
        from tmuxagents.tools import launching  # noqa: PLC0415  (as above)

        return launching.TOOLS[name](arguments, door, faults)
    except BadRequest as refusal:
        _name_candidates(refusal, door, catalogue.BY_NAME[name])
        raise


def _name_candidates(refusal: BadRequest, door: Door, tool: Tool) -> None:
    """Name the existing presets or models in the hint of a refusal that is about one of them."""
    about_preset = any((fault.field or "").rpartition(".")[2] == "preset" for fault in refusal.faults)
    takes_preset = "preset" in tool.parameters["properties"]
    settings = load.load(door.environment, door.caller.project)
    if refusal.kind == "bad-argument" and about_preset and takes_preset and refusal.hint is None:
        from tmuxagents.presets import survey  # noqa: PLC0415  (only this refusal needs YAML)

        found = survey.survey(door.caller.folder, door.environment, settings)
        names = [preset.name for preset in found.presets if preset.hidden_by is None]
        refusal.hint = f"presets: {_some(names)}" if names else "there are no presets: tmuxagents presets new"
    elif refusal.kind in ("no-model", "unknown-model"):
        from tmuxagents.agents import installed  # noqa: PLC0415  (only for a refusal)

        models = installed.known(settings.default_agent, door.environment, settings).ids or []
        refusal.hint = f"models: {_some(models)}" if models else refusal.hint


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def document(caller: Caller, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the catalogue, whether its tools can be used now, and why not. A child gets no tools."""
    refused = refusal(caller, environment)
    if refused is not None:
        return catalogue.document(available=False, why=refused.message, offered=False)
    from tmuxagents.agents import resolve  # noqa: PLC0415  (a call needs none of it)

    settings = load.load(environment, caller.project)
    offered = resolve.document(settings.default_agent, environment, settings)
    return catalogue.document(available=offered["available"], why=offered["why"])
