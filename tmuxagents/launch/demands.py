"""What a call and its preset demand of an agent: what it cannot do is refused before a run is made. Pure."""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents import records
from tmuxagents.agents import capabilities as can
from tmuxagents.errors import BadRequest, Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tmuxagents.agents.capabilities import Capabilities
    from tmuxagents.launch.plan import LaunchRequest
    from tmuxagents.presets.preset import Preset

_WORDS = {can.ADD: "added to its system prompt", can.REPLACE: "in place of its system prompt"}


class Met(NamedTuple):
    """How the agent meets the demands: with this permission, and these tools by its own names."""

    permission: str | None
    tools: Sequence[str]


def meet(name: str, has: Capabilities, request: LaunchRequest, preset: Preset | None) -> Met:
    """Return what the plan says of permission and tools, or refuse with all that the agent cannot do."""
    faults: list[Fault] = []
    given = _permission(has, request, preset)
    faults += _permission_faults(name, has, given)
    tools = list(preset.tools or ()) if preset else []
    mapped = [has.tools.get(tool, tool) for tool in tools]
    own = preset is None or preset.of is None or preset.of.agent == name
    faults += _tool_faults(name, has, tools, reads=has.reads_tools and (own or not has.tools))
    faults += _other_faults(name, has, request, preset)
    if faults:
        hint = f"leave it out, or choose another agent: tmuxagents agents shows what {name} can do"
        raise BadRequest(faults[0].message, kind=faults[0].kind, hint=hint, faults=faults)
    return Met(given, mapped)


def _permission(has: Capabilities, request: LaunchRequest, preset: Preset | None) -> str | None:
    """Return the permission of a run: the call's, else the preset's, else the agent's default.

    A project's preset can only narrow what the child may do without it.
    """
    default = has.default_permission
    if request.permission is not None:
        return request.permission
    wanted = preset.permission if preset else None
    if preset is None or wanted is None:
        return default
    levels = can.LEVELS
    if preset.source == "project" and wanted in levels and default in levels:
        return min(wanted, default, key=levels.index)
    return wanted


def _permission_faults(name: str, has: Capabilities, given: str | None) -> Iterator[Fault]:
    if given is None or given in has.permissions:
        return
    known = ", ".join(has.permissions)
    message = f"The agent {name} has no permission {given}: it knows {known}."
    if not known:
        message = f"The agent {name} has no permission levels: it may do what its tools can."
    yield Fault("bad-argument", message, field="permission")


def _tool_faults(name: str, has: Capabilities, tools: Sequence[str], *, reads: bool) -> Iterator[Fault]:
    """Yield tools that it has not; `reads`: it also takes names that only it and the user know."""
    if reads:
        return
    if tools and not has.tools:
        message = f"The agent {name} cannot be restricted to a list of tools; use permission instead."
        yield Fault("bad-preset", message, field="tools")
        return
    for tool in tools:
        if tool not in has.tools and tool not in has.tools.values():
            message = f"The agent {name} has no tool {tool}: it has {', '.join(has.tools)}."
            yield Fault("bad-preset", message, field="tools")


def _other_faults(
    name: str, has: Capabilities, request: LaunchRequest, preset: Preset | None
) -> Iterator[Fault]:
    if request.driver == records.LIVE and can.LIVE not in has.seats:
        yield Fault("bad-argument", f"The agent {name} cannot run live.", field="driver")
    if request.model and not has.takes_model:
        yield Fault("bad-argument", f"The agent {name} takes no model.", field="model")
    if preset is None:
        return
    if preset.kind == "profile" and not has.profiles:
        message = f"The agent {name} takes no profiles, which hold flags of another agent; write a preset."
        yield Fault("bad-profile", message, field="preset")
    elif preset.fields.get("systemPrompt") and can.ADD not in has.system_prompt:
        message = f"The agent {name} takes no text {_WORDS[can.ADD]}, and the preset has one."
        yield Fault("bad-preset", message, field="systemPrompt")
