"""Models: which one a name means, and whether it is available. Pure."""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.errors import BadRequest
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Where a model comes from, the strongest first. The last is the agent's own default, if no model is named.
CALL, PRESET, SETTING, OWN = "call", "preset", "setting", "agent"
INHERIT = "inherit"
NONE = 'no model resolved: give -m MODEL, a preset with "model", or the setting defaultModel'
FACTS = ("name", "contextWindow", "maxTokens", "reasoning", "images")
_THINKING = frozenset({"off", "minimal", "low", "medium", "high", "xhigh", "max"})
_NEAREST = 5
_SHOWN_MODELS = 8
_SHOWN = 100  # letters of a wanted model in a message


def described(model: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model as in documents and in the cache; unknown facts are None."""
    values = {key: facts.get(key) for key in FACTS}
    return {"id": model, "provider": model.partition("/")[0], **values}


class WantedModel(NamedTuple):
    """A requested model and the source of the request; `preset`: the name of the requesting preset."""

    name: str
    source: str
    preset: str | None = None

    @property
    def prefix(self) -> str:
        """Return the beginning of an error message: the source of the name, empty for the call itself."""
        if self.source == PRESET:
            return f'Preset "{self.preset}": ' if self.preset else "The preset: "
        return "The setting defaultModel: " if self.source == SETTING else ""

    @property
    def shown(self) -> str:
        """Return the name on one line, for a message: a name from a clone could hold a second message."""
        return f'"{safe.first_letters(safe.line(self.name), _SHOWN)}"'


class Resolved(NamedTuple):
    """The model of a run, as requested and as the child gets it, with facts about the agent."""

    requested: str | None = None
    resolved: str | None = None
    source: str | None = None
    warnings: Sequence[str] = ()
    agent_command: Sequence[str] = ()
    agent_version: str | None = None
    agent_kind: str | None = None  # of an agent that the user's settings define

    def of_agent(self) -> dict[str, Any]:
        """Return the facts about the agent, by their names in a plan."""
        return {
            "agent_command": self.agent_command,
            "agent_version": self.agent_version,
            "agent_kind": self.agent_kind,
        }


def choose(
    call: str | None, preset: str | None, setting: str | None, *, preset_name: str | None = None
) -> WantedModel | None:
    """Return the requested model of the strongest source; a blank name counts as missing."""
    for name, source in ((call, CALL), (preset, PRESET), (setting, SETTING)):
        if name and name.strip():
            return WantedModel(name.strip(), source, preset=preset_name if source == PRESET else None)
    return None


def none_resolved() -> BadRequest:
    """Return the error for a run without any model."""
    hint = "tmuxagents models lists all models"
    return BadRequest(NONE, kind="no-model", hint=hint, field="model")


def resolve(wanted: WantedModel, available: Sequence[str] | None, environment: Mapping[str, str]) -> str:
    """Return the model that the child gets, or raise BadRequest; `available` None: it is not looked up."""
    if wanted.name == INHERIT:
        provider, model = environment.get("PI_PROVIDER"), environment.get("PI_MODEL")
        if not model:
            message = (
                f'{wanted.prefix}"inherit" takes the model of the parent, and PI_MODEL does not name one.'
            )
            hint = "launch the run from a tool of pi, or name a model"
            raise BadRequest(message, kind="no-model", hint=hint, field="model")
        wanted = wanted._replace(name=f"{provider}/{model}" if provider else model)
    if available is not None:
        return find(wanted, available)
    if wanted.name.startswith("-") or not wanted.name.isprintable():  # an option, or hidden characters
        raise _unknown(wanted, ())
    return wanted.name


def find(wanted: WantedModel, available: Sequence[str]) -> str:
    """Return an available model: by its name, else by its bare id, else by a part that no other name has.

    The name may end with a level of thinking, such as `:high`, which is kept.
    """
    tries = [(wanted.name, "")]
    name, _, level = wanted.name.rpartition(":")
    if name and level in _THINKING:
        tries.append((name, f":{level}"))
    for plain, kept in tries:
        found = _matches(plain, available)
        if len(found) > 1:
            candidates = [model + kept for model in found]
            shown = ", ".join(candidates[:_SHOWN_MODELS])
            more = f" and {len(found) - _SHOWN_MODELS} more" if len(found) > _SHOWN_MODELS else ""
            message = f"{wanted.prefix}{wanted.shown} could be any of {shown}{more}."
            hint = "give more of its name"
            raise BadRequest(message, kind="ambiguous-model", hint=hint, field="model", candidates=candidates)
        if found:
            return found[0] + kept
    raise _unknown(wanted, available)


def _matches(name: str, available: Sequence[str]) -> list[str]:
    """Return the models that match a name, by the strictest comparison that finds any model."""
    lower = name.lower()
    ways = (
        lambda model: model == name,
        lambda model: model.lower() == lower,
        lambda model: _bare(model) == name,
        lambda model: _bare(model).lower() == lower,
        lambda model: not lower.startswith(":") and bool(lower) and lower in model.lower(),
    )
    models = list(dict.fromkeys(available))
    return next((found for way in ways if (found := [model for model in models if way(model)])), [])


def _bare(model: str) -> str:
    return model.partition("/")[2]


def _unknown(wanted: WantedModel, available: Sequence[str]) -> BadRequest:
    near = nearest(wanted.name, available)
    message = f"{wanted.prefix}{'u' if wanted.prefix else 'U'}nknown model: {wanted.shown}."
    hint = f"Did you mean one of {', '.join(near)}? " if near else ""
    listed = f"{hint}tmuxagents models lists them all."
    return BadRequest(message, kind="unknown-model", hint=listed, field="model", candidates=near)


def nearest(name: str, available: Sequence[str]) -> list[str]:
    """Return the five models with the most similar names."""
    from difflib import SequenceMatcher  # noqa: PLC0415  (only for a refusal)

    lower = name[:_SHOWN].lower()

    def likeness(model: str) -> float:
        whole = model.lower()
        return max(SequenceMatcher(None, other, lower).ratio() for other in (whole, _bare(whole)))

    return sorted(dict.fromkeys(available), key=likeness, reverse=True)[:_NEAREST]
