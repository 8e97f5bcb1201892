"""Presets and profiles for people: one line, all fields, a table, a document; which tools a child keeps.

No key is shown whole. The tools are compared to say that a project's preset allows more than the user's of
the same name.

The questions about a new preset or profile, in a fixed order. An empty answer leaves a field out.

Pure.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from tmuxagents.presets import fields as preset_fields
from tmuxagents.presets.fields import BODY, DESCRIPTION, GLOBAL, PRESET, PROFILE, PROJECT, THINKING_LEVELS
from tmuxagents.text import safe, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from tmuxagents.presets.preset import Preset

    class Asker(Protocol):
        """Asks a person the questions; each raises if the person leaves."""

        def text(self, question: str) -> str:
            """Ask for a line, which may be empty."""

        def choice(self, question: str, choices: tuple[str, ...], default: str) -> str:
            """Ask for one of some words; an empty one leaves the field out."""

        def prompt(self, question: str) -> str:
            """Ask for a text of any length."""

        def agrees(self, question: str, text: str) -> bool:
            """Show a text, and ask whether it is right."""

    Step = Callable[[Asker], dict[str, Any]]


_COLUMN = 19
_MASK = "****"
_SHOWN_ENDS = 4
_LONGEST_HIDDEN = 8  # characters up to which a key is not shown at all
_DETAILS = {
    PRESET: (
        *(DESCRIPTION, "model", "tools"),
        *(*preset_fields.OWN_KEYS, *preset_fields.ACCOUNT_KEYS, *preset_fields.NARROWING, BODY),
    ),
    PROFILE: (
        *("provider", "model", "thinkingLevel", BODY, "appendSystemPrompt"),
        *("noTools", "tools", "excludeTools", "extensions", "suggestedSkills", "loadSkills"),
        *("noExtensions", "noSkills", "noContextFiles", "apiKey", "extraArgs"),
    ),
}
HEADER = ("NAME", "KIND", "SOURCE", "MODEL", "TOOLS", "DESCRIPTION")
_WIDEST_CELL = 40  # of a column that is not the last
_LISTS = (*preset_fields.PROFILE_LISTS,)
_ADDING = ("excludeTools", "extensions", "suggestedSkills", "loadSkills")  # lists that say nothing if empty


def mask(key: str) -> str:
    """Return a key as it may be shown."""
    if len(key) <= _LONGEST_HIDDEN:
        return _MASK
    return f"{key[:_SHOWN_ENDS]}{_MASK}{key[-_SHOWN_ENDS:]}"


def summary(name: str, fields: Mapping[str, Any]) -> str:
    """Return one line on a profile."""
    return ", ".join((f"profile: {name}", *_summary_parts(fields)))


def _summary_parts(fields: Mapping[str, Any]) -> Iterator[str]:
    if fields.get("model"):
        yield f"model={fields['model']}"
    elif fields.get("provider"):
        yield f"provider={fields['provider']}"
    if fields.get("thinkingLevel"):
        yield f"thinking={fields['thinkingLevel']}"
    if fields.get(BODY):
        yield "custom-system-prompt"
    if fields.get("appendSystemPrompt"):
        yield "appended-system-prompt"
    lists: tuple[str, ...] = ("tools", "excludeTools", "suggestedSkills", "loadSkills")
    if fields.get("noTools"):
        yield "no-tools"
        lists = lists[2:]
    elif fields.get("tools") is not None:
        yield f"tools=[{','.join(fields['tools'])}]"
        lists = lists[2:]
    for key in lists:
        if fields.get(key):
            yield f"{key}=[{','.join(fields[key])}]"


def detail(name: str, fields: Mapping[str, Any], kind: str = PROFILE, *, aligned: bool = False) -> str:
    """Return the values in force, one line per field. `aligned`: indent all lines of a text."""
    lines = [f"{kind.capitalize()}: {name}"]
    gap = "\n" + " " * (_COLUMN + 2) if aligned else "\n"
    overruled: tuple[str, ...] = () if fields.get("tools") is None else ("excludeTools",)
    if fields.get("noTools"):
        overruled = ("tools", "excludeTools")
    for key in _DETAILS[kind]:
        value = fields.get(key)
        if value not in (None, "", False) and key not in overruled and (value or key not in _ADDING):
            label = f"{key}:".ljust(_COLUMN) + ("" if len(key) < _COLUMN - 1 else " ")
            lines.append(f"  {label}" + _value(key, value).replace("\n", gap))
    return "\n".join(lines)


def _value(key: str, value: Any) -> str:
    if key == "apiKey":
        return mask(value)
    if key == "extraArgs":
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if key == preset_fields.ENV:
        return ", ".join(value)
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return "true" if value is True else str(value)


# --- the table --------------------------------------------------------------------------------------------


def table(presets: Sequence[Preset], columns: int) -> list[str]:
    """Return the table of all presets, those that are hidden by another marked; nothing for none."""
    if not presets:
        return []
    rows = [HEADER, *(_row(preset) for preset in presets)]
    return [width.fit(line, columns).rstrip() for line in width.table(rows, columns)]


def _row(preset: Preset) -> tuple[str, ...]:
    source = f"{preset.source}, {preset.of.agent}" if preset.of else preset.source
    source += " (hidden)" if preset.hidden_by else ""
    about = preset.fields.get(DESCRIPTION) or ""
    said = (preset.name, preset.kind, source, preset.model or "", words(preset), about)
    cells = [safe.line(cell) or "-" for cell in said]
    return (*(width.fit(cell, _WIDEST_CELL) for cell in cells[:-1]), cells[-1])


def provenance(preset: Preset) -> list[str]:
    """Return where a preset comes from, in lines below its fields."""
    lines = [f"File: {preset.path} ({preset.source}, sha256 {preset.hash})"]
    lines += [f"From: {preset_fields.whose(preset.whose, preset.source)}"] if preset.whose else []
    lines += [f"Hides: {preset.hides}"] if preset.hides else []
    return lines + ([f"Hidden by: {preset.hidden_by}"] if preset.hidden_by else [])


# --- documents --------------------------------------------------------------------------------------------


def document(preset: Preset) -> dict[str, Any]:
    """Return a preset as JSON shows it: every key of the first version, lists never null, the key masked."""
    fields = preset.fields
    shape: dict[str, Any] = {
        "name": preset.name,
        "kind": preset.kind,
        "source": preset.source,
        "path": preset.path,
        "hash": preset.hash,
        "hides": preset.hides,
        "hiddenBy": preset.hidden_by,
        "description": fields.get(DESCRIPTION),
        "toolRule": scope(preset).rule,
        BODY: fields.get(BODY),
    }
    shape |= {key: fields.get(key) for key in preset_fields.PROFILE_TEXTS}
    shape |= {key: fields.get(key, False) for key in preset_fields.PROFILE_FLAGS}
    shape |= {key: list(fields.get(key) or ()) for key in _LISTS}
    shape |= {key: fields.get(key) for key in preset_fields.OWN_KEYS if key != "on" or key in fields}
    shape |= {key: fields[key] for key in preset_fields.NARROWING if key in fields}
    shape |= {"from": preset.whose} if preset.whose else {}
    shape |= {key: fields[key] for key in preset_fields.ACCOUNT_KEYS if key in fields}
    if preset.variables:  # names alone
        shape[preset_fields.ENV] = list(preset.variables)
    shape["apiKey"] = mask(fields["apiKey"]) if fields.get("apiKey") else None
    return shape | {"warnings": preset.warnings}


DEFAULT, ONLY, EXCEPT, NONE = "default", "only", "except", "none"
RULES = (DEFAULT, ONLY, EXCEPT, NONE)


class ToolScope(NamedTuple):
    """A rule and the tools that it names."""

    rule: str
    tools: Sequence[str] = ()

    @property
    def is_open(self) -> bool:
        """Whether tools that are not named are allowed: no list can be compared with that."""
        return self.rule in (DEFAULT, EXCEPT)


def scope(preset: Preset) -> ToolScope:
    """Return which tools are allowed. `+name` and `-name` change what is allowed anyway."""
    fields = preset.fields
    if fields.get("noTools"):
        return ToolScope(NONE)
    tools = fields.get("tools")
    if tools is None:
        excluded = fields.get("excludeTools")
        return ToolScope(EXCEPT, list(dict.fromkeys(excluded))) if excluded else ToolScope(DEFAULT)
    tools = list(dict.fromkeys(tools))
    if any(tool.startswith(("+", "-")) for tool in tools):
        without = [tool[1:] for tool in tools if tool.startswith("-")]
        return ToolScope(EXCEPT, without) if without else ToolScope(DEFAULT)
    return ToolScope(ONLY, tools) if tools else ToolScope(NONE)


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
    """Yield the unknown tools that a preset names. Extensions may bring further tools."""
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


# By the answer: the fields that it sets, each to a value or by a further question for a list.
_WAYS: dict[str, dict[str, dict[str, bool | str]]] = {
    "Tools": {
        "none": {"noTools": True},
        "allowlist": {"tools": "Only these"},
        "blacklist": {"excludeTools": "All but these"},
    },
    "Extensions": {"remove": {"noExtensions": True}, "add": {"extensions": "Paths"}},
    "Skills": {
        "remove": {"noSkills": True},
        "add": {"suggestedSkills": "Suggested skills", "loadSkills": "Skills to load"},
    },
}


class Answers(NamedTuple):
    """The answers: global or project, and the fields."""

    source: str
    fields: dict[str, Any]


def ask_for_preset(kind: str, name: str, source: str, asker: Asker) -> Answers | None:
    """Ask for all fields and show them; return None if they are not to be saved."""
    answers = Answers(asker.choice("Scope", (GLOBAL, PROJECT), source), {})
    for step in _STEPS[kind]:
        answers.fields.update({key: value for key, value in step(asker).items() if value})
    shown = safe.text(detail(name, answers.fields, kind))
    return answers if asker.agrees("Save?", shown) else None


def _list(asker: Asker, question: str) -> list[str]:
    answer = asker.text(f"{question} (with commas between)")
    return [word.strip() for word in answer.split(",") if word.strip()]


def _description(asker: Asker) -> dict[str, Any]:
    answer = ""
    while not answer:  # the one field besides the name that a preset must have
        answer = asker.text("Description")
    return {DESCRIPTION: answer}


def _text(key: str, question: str) -> Step:
    return lambda asker: {key: asker.text(question)}


def _prompt(key: str, question: str) -> Step:
    return lambda asker: {key: asker.prompt(question)}


def _one_of(question: str) -> Step:
    def step(asker: Asker) -> dict[str, Any]:
        ways = _WAYS[question]
        chosen = ways.get(asker.choice(question, ("", *ways), ""), {})
        return {key: how if how is True else _list(asker, str(how)) for key, how in chosen.items()}

    return step


_STEPS: dict[str, tuple[Step, ...]] = {
    PRESET: (
        _description,
        _text("model", "Model"),
        _prompt(BODY, "System prompt"),
        lambda asker: {"tools": _list(asker, "Tools")},
    ),
    PROFILE: (
        _text("provider", "Provider"),
        _text("model", "Model"),
        _prompt(BODY, "System prompt"),
        _prompt("appendSystemPrompt", "Text appended to the system prompt"),
        lambda asker: {"thinkingLevel": asker.choice("Thinking", ("", *THINKING_LEVELS), "")},
        *(_one_of("Tools"), _one_of("Extensions"), _one_of("Skills")),
    ),
}
