"""Show presets and profiles: as a line, with all fields, in a table or document; and answer `/profile`.

API keys are masked. `wider` lists the tools that a project's preset allows beyond the user's preset of the
same name.

Pure.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from tmuxagents.presets import fields as preset_fields
from tmuxagents.presets import preset as preset_rules
from tmuxagents.presets.fields import BODY, DESCRIPTION, PRESET, PROFILE
from tmuxagents.text import safe, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.presets.preset import Preset

    Profiles = Mapping[str, Mapping[str, Any]]  # name -> fields

_COLUMN = 19
_MASK = "****"
_SHOWN_ENDS = 4
_LONGEST_HIDDEN = 8  # a key of at most this length is not shown at all
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
_ADDING = ("excludeTools", "extensions", "suggestedSkills", "loadSkills")  # an empty one changes nothing


def mask(key: str) -> str:
    """Return a key as it may be shown."""
    if len(key) <= _LONGEST_HIDDEN:
        return _MASK
    return f"{key[:_SHOWN_ENDS]}{_MASK}{key[-_SHOWN_ENDS:]}"


def summary(name: str, fields: Mapping[str, Any]) -> str:
    """Return one line on a profile."""
    parts = [f"profile: {name}"]
    parts += [f"{key}={fields[key]}" for key in ("model", "provider") if fields.get(key)][:1]
    if fields.get("thinkingLevel"):
        parts.append(f"thinking={fields['thinkingLevel']}")
    if fields.get(BODY):
        parts.append("custom-system-prompt")
    if fields.get("appendSystemPrompt"):
        parts.append("appended-system-prompt")
    if fields.get("noTools"):
        parts.append("no-tools")
    elif fields.get("tools") is not None:
        parts.append(f"tools=[{','.join(fields['tools'])}]")
    elif fields.get("excludeTools"):
        parts.append(f"excludeTools=[{','.join(fields['excludeTools'])}]")
    skills = ("suggestedSkills", "loadSkills")
    parts += [f"{key}=[{','.join(fields[key])}]" for key in skills if fields.get(key)]
    return ", ".join(parts)


def choice(kind: str, name: str, fields: Mapping[str, Any]) -> str:
    """Return one line on a preset or profile, for a parent that chooses one."""
    if kind == PROFILE:
        return safe.line(summary(name, fields))
    line = summary(name, {key: fields.get(key) for key in ("model", "tools")}).replace(PROFILE, PRESET, 1)
    description = fields.get(DESCRIPTION)
    return safe.line(f"{line} — {description}" if description else line)


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
    """Return the table of all presets, with hidden ones marked. It is empty if there are no presets."""
    if not presets:
        return []
    rows: list[tuple[str, ...]] = [HEADER]
    for preset in presets:
        source = f"{preset.source}, {preset.brand.agent}" if preset.brand else preset.source
        source += " (hidden)" if preset.hidden_by else ""
        about = preset.fields.get(DESCRIPTION) or ""
        texts = (preset.name, preset.kind, source, preset.model or "", words(preset), about)
        cells = [safe.line(cell) or "-" for cell in texts]
        rows.append((*(width.fit(cell, _WIDEST_CELL) for cell in cells[:-1]), cells[-1]))
    return [width.fit(line, columns).rstrip() for line in width.table(rows, columns)]


def provenance(preset: Preset) -> list[str]:
    """Return where a preset comes from, in lines below its fields."""
    lines = [f"File: {preset.path} ({preset.source}, sha256 {preset.hash})"]
    lines += [f"From: {preset_fields.whose(preset.whose, preset.source)}"] if preset.whose else []
    lines += [f"Hides: {preset.hides}"] if preset.hides else []
    return lines + ([f"Hidden by: {preset.hidden_by}"] if preset.hidden_by else [])


# --- documents --------------------------------------------------------------------------------------------


def document(preset: Preset) -> dict[str, Any]:
    """Return a preset as JSON: every key of the first version, lists never null, the API key masked."""
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
    if preset.variables:  # only their names
        shape[preset_fields.ENV] = list(preset.variables)
    shape["apiKey"] = mask(fields["apiKey"]) if fields.get("apiKey") else None
    return shape | {"warnings": preset.warnings}


# --- which tools a child keeps ----------------------------------------------------------------------------

DEFAULT, ONLY, EXCEPT, NONE = "default", "only", "except", "none"


class ToolScope(NamedTuple):
    """A rule and the tools that it names."""

    rule: str
    tools: Sequence[str] = ()

    @property
    def is_open(self) -> bool:
        """Whether the scope also allows tools that it does not name. No list of tools can express that."""
        return self.rule in (DEFAULT, EXCEPT)


def scope(preset: Preset) -> ToolScope:
    """Return which tools are allowed. `+name` and `-name` change the default tools."""
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
    """Return the tools that `chosen` allows and `hidden` does not, in words."""
    here, there = scope(chosen), scope(hidden)
    if not there.is_open:
        if here.is_open:
            return f"all but {', '.join(here.tools)}" if here.tools else "all"
        begun = tuple(one[:-1] for one in there.tools if one.endswith("*"))  # patterns end in a star
        more = [tool for tool in here.tools if tool not in there.tools and not tool.startswith(begun)]
    elif here.is_open:
        more = [tool for tool in there.tools if tool not in here.tools]
    else:
        more = [tool for tool in here.tools if tool in there.tools]
    return ", ".join(more) or None


def unknown(preset: Preset, known: Sequence[str]) -> Iterator[str]:
    """Yield the tools that a preset names and `known` lacks. Extensions may bring further tools."""
    for key in ("tools", "excludeTools"):
        for tool in preset.fields.get(key) or ():
            bare = tool.removeprefix("+").removeprefix("-")
            if bare not in known and "*" not in bare and not bare.startswith("mcp__"):
                yield tool


def words(preset: Preset) -> str:
    """Return the tool rule of a preset for a cell of the table."""
    found = scope(preset)
    if found.rule == EXCEPT:
        return f"all but {','.join(found.tools)}"
    return ",".join(preset.tools or ()) if found.rule == ONLY else found.rule


# --- /profile ---------------------------------------------------------------------------------------------

INFO, WARNING, ERROR = "info", "warning", "error"
PROFILE_COMPLETED = LIST, SHOW, CREATE, EDIT, DELETE = "list", "show", "create", "edit", "delete"
_VERBS = {
    **dict.fromkeys(("", "ls"), LIST),
    "new": CREATE,
    **dict.fromkeys(("rm", "remove"), DELETE),
    **{verb: verb for verb in PROFILE_COMPLETED},
}
PROFILE_USAGE = "Usage: /profile [list|show <name>|create <name>|edit <name>|delete <name>]"
_USAGES = {
    **{verb: f"Usage: /profile {verb} <name>" for verb in (SHOW, EDIT, DELETE)},
    CREATE: "Usage: /profile create <name>  (alphanumeric, hyphens, underscores)",
}
PROFILE_CANCELLED = "Cancelled."
_FOLDERS = {PRESET: "subagents", PROFILE: "agent-profiles"}
_NOTHING = "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or use /profile create."
_DELETE_TITLE = "Delete profile?"


class ProfileAnswer(NamedTuple):
    """A note to show at once; or an act, perhaps with a question before it and a note after it."""

    note: tuple[str, str] | None = None
    act: str | None = None
    name: str | None = None
    question: tuple[str, str] | None = None
    afterwards: tuple[str, str] | None = None


def profile_answer(line: str, profiles: Profiles) -> ProfileAnswer:
    """Return the answer to the words after `/profile`."""
    word, *names = line.split()[:2] or [""]
    verb = _VERBS.get(word)
    if verb == LIST:
        return ProfileAnswer((INFO, profile_listing(profiles)))
    if verb is None:
        return _show(word, profiles) if word in profiles else ProfileAnswer((WARNING, PROFILE_USAGE))
    if not names:
        return ProfileAnswer((WARNING, _USAGES[verb]))
    name = names[0]
    if verb == SHOW:
        return _show(name, profiles)
    if verb == DELETE:  # the question comes first, even if there is no such profile
        done = (INFO, f'Profile "{name}" deleted.')
        after = done if name in profiles else (ERROR, f'Profile "{name}" not found.')
        return ProfileAnswer(None, DELETE, name, (_DELETE_TITLE, f'Delete subagent profile "{name}"?'), after)
    fault = None
    if verb == EDIT and name not in profiles:
        fault = (ERROR, f'Profile "{name}" not found. Use /profile create {name} to create it.')
    elif verb == CREATE and not preset_rules.is_new_name(name):
        fault = (WARNING, _USAGES[CREATE])
    elif verb == CREATE and name in profiles:
        fault = (WARNING, f'Profile "{name}" already exists. Use /profile edit {name} to modify it.')
    return ProfileAnswer(fault) if fault else ProfileAnswer(act=verb, name=name)


def profile_completions(prefix: str, names: Iterable[str]) -> list[str] | None:
    """Return the verbs and names that begin with a prefix; None if there are none."""
    return [word for word in (*PROFILE_COMPLETED, *names) if word.startswith(prefix)] or None


def profile_saved(preset: Preset) -> str:
    """Return the note on a file that was written."""
    return f'{preset.kind.capitalize()} "{preset.name}" saved to {preset.source} {_FOLDERS[preset.kind]}.'


def profile_listing(profiles: Profiles) -> str:
    """Return all profiles, a line each."""
    if not profiles:
        return _NOTHING
    summaries = (summary(name, fields) for name, fields in profiles.items())
    return "\n  ".join(("Subagent profiles:", *summaries))


def _show(name: str, profiles: Profiles) -> ProfileAnswer:
    if name not in profiles:
        available = ", ".join(profiles) or "(none)"
        return ProfileAnswer((ERROR, f'Profile "{name}" not found. Available: {available}'))
    return ProfileAnswer((INFO, detail(name, profiles[name])))
