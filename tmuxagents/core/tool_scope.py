"""Which tools a preset or profile leaves a child, as far as that can be said without asking the child.

Used to say in words that a project's file allows more than the user's own of the same name.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tmuxagents.core.presets import Preset

DEFAULT, ONLY, EXCEPT, NONE = "default", "only", "except", "none"
RULES = (DEFAULT, ONLY, EXCEPT, NONE)


class Scope:
    """A rule and the tools that it names."""

    __slots__ = ("rule", "tools")

    def __init__(self, rule: str, tools: Iterable[str] = ()) -> None:
        self.rule = rule
        self.tools = list(dict.fromkeys(tools))

    @property
    def is_open(self) -> bool:
        """Whether tools that are not named are allowed: no list can be compared with that."""
        return self.rule in (DEFAULT, EXCEPT)


def scope(preset: Preset) -> Scope:
    """Return which tools are allowed. `+name` and `-name` change what is allowed anyway."""
    fields = preset.fields
    if fields.get("noTools"):
        return Scope(NONE)
    tools = fields.get("tools")
    if tools is None:
        excluded = fields.get("excludeTools")
        return Scope(EXCEPT, excluded) if excluded else Scope(DEFAULT)
    if any(tool.startswith(("+", "-")) for tool in tools):
        without = [tool[1:] for tool in tools if tool.startswith("-")]
        return Scope(EXCEPT, without) if without else Scope(DEFAULT)
    return Scope(ONLY, tools) if tools else Scope(NONE)


def wider(chosen: Preset, hidden: Preset) -> str | None:
    """Return which tools the first allows and the second does not, in words."""
    here, there = scope(chosen), scope(hidden)
    if not there.is_open:
        if here.is_open:
            return f"all but {', '.join(here.tools)}" if here.tools else "all"
        more = [tool for tool in here.tools if not _covers(there.tools, tool)]
    elif here.is_open:
        more = [tool for tool in there.tools if tool not in here.tools]
    else:
        more = [tool for tool in here.tools if tool in there.tools]
    return ", ".join(more) or None


def _covers(tools: Sequence[str], tool: str) -> bool:
    """Say whether a list allows a tool, by name or by a pattern that ends in a star."""
    return any(tool == one or (one.endswith("*") and tool.startswith(one[:-1])) for one in tools)


def unknown(preset: Preset, known: Sequence[str]) -> Iterator[str]:
    """Yield the tools that a preset names and nobody knows of. Extensions bring tools of their own."""
    for key in ("tools", "excludeTools"):
        for tool in preset.fields.get(key) or ():
            bare = tool.removeprefix("+").removeprefix("-")
            if bare not in known and "*" not in bare and not bare.startswith("mcp__"):
                yield tool


def words(preset: Preset) -> str:
    """Return the rule for one cell of a table."""
    found = scope(preset)
    if found.rule == EXCEPT:
        return f"all but {','.join(found.tools)}"
    return ",".join(preset.tools or ()) if found.rule == ONLY else found.rule
