"""Whether the arguments of a tool are what its JSON Schema says, and all that is wrong with a call at once.

Only what the catalogue's schemas use is understood. Texts stay as they are; nothing is coerced.
"""

from __future__ import annotations

import difflib
import json

from tmuxagents.core import filespecs, sanitize
from tmuxagents.errors import BadRequest, Fault, NotPossible, TmuxAgentsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from tmuxagents.core.catalogue import Schema, Tool

# Which fault speaks for the whole call: of the first of these groups that has any.
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
_GONE = {
    "agent": "name a preset",
    "chain": "call the tool once a step",
    "step": "call the tool once a step",
    "agentScope": "write global:NAME or project:NAME as preset",
    "confirmProjectAgents": "presets of a project need no confirmation",
}
_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "object": ("an object", (dict,)),
    "array": ("a list", (list,)),
    "string": ("a text", (str,)),
    "boolean": ("true or false", (bool,)),
    "number": ("a number", (int, float)),
    "integer": ("a whole number", (int,)),
}
_SHOWN = 40
_LARGEST = 10**15  # of a figure: what is larger counts nothing that there is
_CANDIDATES = 3
_LONG = ("task", "prompt", "text")  # what a child reads; all else is a name, an id, a path
_LONGEST = 4096
_MOST_FAULTS = 100  # are told of one call: nobody mends more of them at once


class Faults:
    """What is wrong with a call."""

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
        """Add what a later step refuses; its fields are those of the task at a place, some renamed."""
        for fault in refusal.faults:
            field = (rename or {}).get(fault.field or "", fault.field)
            whole = ".".join(part for part in (place, field) if part) or None
            self._found.append((_group(fault), Fault(fault.kind, fault.message, field=whole), refusal))

    def __bool__(self) -> bool:
        return bool(self._found)

    def is_at(self, place: str) -> bool:
        """Say whether any of them is at a place, or inside of it."""
        fields = (fault.field or "" for _, fault, _ in self._found)
        return any(field == place or field.startswith((f"{place}.", f"{place}[")) for field in fields)

    def has(self, message: str) -> bool:
        """Say whether this was found already."""
        return any(fault.message == message for _, fault, _ in self._found)

    def is_about(self, field: str | None) -> bool:
        """Say whether any of them is about a field itself; None: about all of the arguments."""
        return any(fault.field == field for _, fault, _ in self._found)

    def refuse(self) -> None:
        """Raise if there are any: in the words of the first, with all of them."""
        if not self._found:
            return
        gone = {_beside(fault) for _, fault, _ in self._found if fault.kind == "removed"}
        found = sorted(self._found, key=lambda entry: _rank(entry[0], entry[1], gone))
        _, first, refusal = found[0]
        kind = NotPossible if first.kind in _OF_A_RUN else BadRequest
        raise kind(
            first.message,
            kind=first.kind,
            hint=refusal.hint if refusal else None,
            faults=[fault for _, fault, _ in found[:_MOST_FAULTS]],
            candidates=refusal.candidates if refusal else (),
        )


def _group(fault: Fault) -> int:
    return _GROUPS.get(fault.kind, SHAPE)


def _rank(group: int, fault: Fault, gone: set[str]) -> float:
    """Return where a fault comes: what may be missing for a removed key's sake comes behind that one."""
    follows = fault.message.startswith(f"{fault.field} is missing") and _beside(fault) in gone
    return REMOVED + 0.5 if follows else group


def _beside(fault: Fault) -> str:
    """Return the object whose key a fault is about."""
    return (fault.field or "").rpartition(".")[0]


def read(text: str, tool: str) -> Any:
    """Return the arguments that a JSON text says."""
    try:
        return json.loads(text, parse_constant=_no_figure)
    except RecursionError as error:
        raise BadRequest(f"The arguments of {tool} are nested too deeply.", kind="bad-argument") from error
    except ValueError as error:
        message = f"The arguments of {tool} are no JSON: {sanitize.line(str(error))}."
        hint = "one JSON object, in single quotes of a shell, or - to read it from stdin"
        raise BadRequest(message, kind="bad-argument", hint=hint) from error


def _no_figure(word: str) -> None:
    raise ValueError(f"{word} is no number")


def faults(tool: Tool, arguments: Any) -> Faults:
    """Return all that the schema of a tool says against arguments."""
    found = Faults()
    found.add_all(_faults(tool.parameters, arguments, "", tool.name))
    return found


def _faults(schema: Schema, value: Any, place: str, whole: str) -> Iterator[Fault]:
    """Yield the faults of one value; `whole` is what it is called if it has no place."""
    if "anyOf" in schema:
        yield from _file_faults(value, place)
        return
    words, types = _TYPES[schema["type"]]
    name = place or f"The arguments of {whole}"
    if not _is(value, types):
        yield _fault(f"{name} must be {words}", place)
    elif schema["type"] == "object":
        yield from _object_faults(schema, value, place, whole)
    elif schema["type"] == "array":
        yield from _list_faults(schema, value, place, whole)
    else:
        yield from _bounds(schema, value, place)


def _is(value: Any, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and (not isinstance(value, bool) or bool in types)


def _object_faults(schema: Schema, value: Mapping[str, Any], place: str, whole: str) -> Iterator[Fault]:
    properties, required = schema["properties"], schema.get("required", ())
    for key in [key for key in value if key not in properties][:_MOST_FAULTS]:
        yield _stray(key, place, whole, properties)
    for key, of in properties.items():
        inner = f"{place}.{key}" if place else key
        if value.get(key) is not None:
            yield from _faults(of, value[key], inner, whole)
        elif key in required:  # what may be left out may be null, too
            yield _fault(f"{inner} is missing", inner)


def _stray(key: str, place: str, whole: str, known: Iterable[str]) -> Fault:
    shown = sanitize.cut(sanitize.line(key), _SHOWN)
    field = f"{place}.{shown}" if place else shown
    if key in _GONE:
        return Fault("removed", f'"{shown}" was removed: {_GONE[key]}.', field=field)
    near = difflib.get_close_matches(key[:_SHOWN], known, n=1)
    meant = f", did you mean {near[0]}?" if near else f"; there are {', '.join(known) or 'none'}"
    return _fault(f'{place or whole} has no parameter "{shown}"{meant}', field)


def _list_faults(schema: Schema, value: list[Any], place: str, whole: str) -> Iterator[Fault]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < least or (most is not None and len(value) > most):
        span = f"{least} to {most} entries" if most is not None else f"at least {least} entry"
        yield _fault(f"{place} must have {span}, not {len(value)}", place)
        return
    for number, item in enumerate(value):
        yield from _faults(schema["items"], item, f"{place}[{number}]", whole)


def _bounds(schema: Schema, value: Any, place: str) -> Iterator[Fault]:
    if isinstance(value, str) and not _is_unicode(value):
        yield _fault(f"{place} is not valid Unicode", place)
    elif isinstance(value, str) and len(value) > _LONGEST and place.rpartition(".")[2] not in _LONG:
        yield _fault(f"{place} is too long: {len(value)} characters, at most {_LONGEST}", place)
    elif "enum" in schema and value not in schema["enum"]:
        yield _fault(f"{place} must be {' or '.join(map(json.dumps, schema['enum']))}", place)
    elif "minimum" in schema and not value >= schema["minimum"]:
        yield _fault(f"{place} must be at least {schema['minimum']}", place)
    elif "minimum" in schema and value > _LARGEST:
        yield _fault(f"{place} is larger than anything that it could count", place)
    elif schema.get("minLength") and not value.strip():
        yield _fault(f"{place} is empty", place)


def _is_unicode(text: str) -> bool:
    """Say whether it is no half of a character, as JSON can hold one."""
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def _file_faults(value: Any, place: str) -> Iterator[Fault]:
    """Yield what is wrong with one entry of `files`: the one place where a value may be of two types."""
    try:
        spec = filespecs.read(value, field=place)
    except BadRequest as refusal:
        yield from refusal.faults
        return
    if len(spec.path) > _LONGEST:
        yield _fault(f"{place} is too long: {len(spec.path)} characters, at most {_LONGEST}", place)
    elif not _is_unicode(spec.path):
        yield _fault(f"{place} is not valid Unicode", place)


def _fault(message: str, place: str) -> Fault:
    return Fault("bad-argument", message, field=place or None)
