"""Refuse what an agent cannot do, and join all faults of a call into one error. Pure."""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents import records
from tmuxagents.agents import capabilities as can
from tmuxagents.errors import BadRequest, Fault, NotPossible, TmuxAgentsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tmuxagents.agents.capabilities import Capabilities
    from tmuxagents.launch.plan import LaunchRequest
    from tmuxagents.presets.preset import Preset


_WORDS = {can.ADD: "added to its system prompt", can.REPLACE: "in place of its system prompt"}


class Granted(NamedTuple):
    """What an agent gets for the demands of a run: a permission, and tools under the agent's own names."""

    permission: str | None
    tools: Sequence[str]


def grant(name: str, has: Capabilities, request: LaunchRequest, preset: Preset | None) -> Granted:
    """Return permission and tools for the plan, or refuse with everything that the agent cannot do."""
    faults: list[Fault] = []
    given, default, levels = request.permission, has.default_permission, can.LEVELS
    if given is None:
        given = default if preset is None or preset.permission is None else preset.permission
        # A project's preset can only narrow what the child may do without it.
        if preset is not None and preset.source == "project" and given in levels and default in levels:
            given = min(given, default, key=levels.index)
    if given is not None and given not in has.permissions:
        levels_text = ", ".join(has.permissions)
        message = f"The agent {name} has no permission {given}: it knows {levels_text}."
        if not levels_text:
            message = f"The agent {name} has no permission levels: it may do what its tools can."
        faults.append(Fault("bad-argument", message, field="permission"))
    tools = list(preset.tools or ()) if preset else []
    # An agent may know tools beyond its table, but not by the names in another agent's preset file.
    own = preset is None or preset.brand is None or preset.brand.agent == name
    knows_others = has.reads_tools and (own or not has.tools)
    names = {*has.tools, *has.tools.values()}
    unknown = [] if knows_others else [tool for tool in tools if tool not in names]
    if unknown and not has.tools:
        message = f"The agent {name} cannot be restricted to a list of tools; use permission instead."
        faults.append(Fault("bad-preset", message, field="tools"))
    else:
        for tool in unknown:
            message = f"The agent {name} has no tool {tool}: it has {', '.join(has.tools)}."
            faults.append(Fault("bad-preset", message, field="tools"))
    faults += _other_faults(name, has, request, preset)
    if faults:
        hint = f"leave it out, or choose another agent: tmuxagents agents shows what {name} can do"
        raise BadRequest(faults[0].message, kind=faults[0].kind, hint=hint, faults=faults)
    return Granted(given, [has.tools.get(tool, tool) for tool in tools])


def _other_faults(
    name: str, has: Capabilities, request: LaunchRequest, preset: Preset | None
) -> Iterator[Fault]:
    """Yield what the agent cannot do apart from permission and tools."""
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


# --- the faults of a call: one error has all of them, and the words of the most telling one -----------------

# The most telling fault is the first one in the first of these groups that is not empty.
SHAPE, CWD, REMOVED, RESUME, TOOLS, SKILLS, PRESET, MODEL = range(8)
_GROUPS = {
    "bad-cwd": CWD,
    "removed": REMOVED,
    **dict.fromkeys(("unknown-run", "ambiguous-run", "run-running", "run-busy"), RESUME),
    **dict.fromkeys(("unknown-preset", "bad-preset", "unknown-profile", "bad-profile"), PRESET),
    **dict.fromkeys(("unknown-skill", "unknown-agent"), PRESET),
    **dict.fromkeys(("no-model", "unknown-model", "ambiguous-model"), MODEL),
}
_OF_A_RUN = frozenset(kind for kind, group in _GROUPS.items() if group == RESUME)
MOST_FAULTS = 100  # the most that are reported of one call


class Faults:
    """All that is wrong with a call."""

    def __init__(self) -> None:
        self._found: list[tuple[int, Fault, TmuxAgentsError | None]] = []

    def add(self, fault: Fault, *, group: int | None = None) -> None:
        """Add one fault, to the group of its kind unless another is named."""
        self._found.append((_group(fault) if group is None else group, fault, None))

    def add_all(self, faults: Iterable[Fault]) -> None:
        """Add faults."""
        for fault in faults:
            self.add(fault)

    def add_refusal(
        self, refusal: TmuxAgentsError, place: str = "", *, rename: Mapping[str, str] | None = None
    ) -> None:
        """Add the faults of a refusal by a later step. `place` goes before their fields; some are renamed."""
        for fault in refusal.faults:
            field = (rename or {}).get(fault.field or "", fault.field)
            whole = ".".join(part for part in (place, field) if part) or None
            self._found.append((_group(fault), Fault(fault.kind, fault.message, field=whole), refusal))

    def __bool__(self) -> bool:
        return bool(self._found)

    def is_at(self, place: str) -> bool:
        """Say whether any fault is at a place, or inside it."""
        fields = (fault.field or "" for _, fault, _ in self._found)
        return any(field == place or field.startswith((f"{place}.", f"{place}[")) for field in fields)

    def has(self, message: str) -> bool:
        """Say whether there is a fault with this message."""
        return any(fault.message == message for _, fault, _ in self._found)

    def is_about(self, field: str | None) -> bool:
        """Say whether any fault is about a field itself; None: about the arguments as a whole."""
        return any(fault.field == field for _, fault, _ in self._found)

    def refuse(self) -> None:
        """Raise if there are faults: in the words of the most telling one, with all of them."""
        if not self._found:
            return
        gone = {_beside(fault) for _, fault, _ in self._found if fault.kind == "removed"}

        def rank(entry: tuple[int, Fault, TmuxAgentsError | None]) -> float:
            """Return the rank of a fault. A missing key ranks after a removed key that may be the reason."""
            group, fault, _ = entry
            follows = fault.message.startswith(f"{fault.field} is missing") and _beside(fault) in gone
            return REMOVED + 0.5 if follows else group

        found = sorted(self._found, key=rank)
        _, first, refusal = found[0]
        kind = NotPossible if first.kind in _OF_A_RUN else BadRequest
        raise kind(
            first.message,
            kind=first.kind,
            hint=refusal.hint if refusal else None,
            faults=[fault for _, fault, _ in found[:MOST_FAULTS]],
            candidates=refusal.candidates if refusal else (),
        )


def _group(fault: Fault) -> int:
    return _GROUPS.get(fault.kind, SHAPE)


def _beside(fault: Fault) -> str:
    """Return the object whose key a fault is about."""
    return (fault.field or "").rpartition(".")[0]
