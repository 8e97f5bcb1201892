"""Check the arguments of a tool against its JSON Schema, and report all faults of a call at once.

The check knows only the keywords that occur in the catalogue's schemas. It converts no value to another type.

Pure.
"""

from __future__ import annotations

import difflib
import json
import math

from tmuxagents.errors import BadRequest, Fault
from tmuxagents.launch.demands import MOST_FAULTS, Faults
from tmuxagents.runs import prompt
from tmuxagents.text import safe
from tmuxagents.tools import answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from tmuxagents.tools.catalogue import Schema, Tool

_GONE = {  # parameter that was removed -> its replacement
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
_OF_ONE = ("preset", "task", "model", "cwd", "name", "timeout", "permission", "on")  # keys of a single task
_SHOWN = 40
_LARGEST = 10**15  # a larger number is certainly a mistake
_LONG = ("task", "prompt", "text")  # texts for the child; all other strings are names, ids, paths
_LONGEST = 4096


def read(text: str, tool: str) -> Any:
    """Return the arguments from a JSON text."""
    try:
        return json.loads(text, parse_constant=_no_figure)
    except RecursionError as error:
        raise BadRequest(f"The arguments of {tool} are nested too deeply.", kind="bad-argument") from error
    except ValueError as error:
        message = f"The arguments of {tool} are not JSON: {safe.line(str(error))}."
        hint = "one JSON object, in single quotes of a shell, or - to read it from stdin"
        raise BadRequest(message, kind="bad-argument", hint=hint) from error


def _no_figure(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def faults(tool: Tool, arguments: Any) -> Faults:
    """Return the faults of arguments by the schema of a tool."""
    found = Faults()
    found.add_all(_faults(tool.parameters, arguments, "", tool.name))
    return found


def tasks_of(arguments: Mapping[str, Any], faults: Faults) -> tuple[str, Mapping[str, Mapping[str, Any]]]:
    """Return the mode of a call of `subagent` (one task or several), and each task by its place.

    What the schema cannot say is added to the faults. Raises them if they leave no task to look at.
    """
    if faults.is_about(None):
        faults.refuse()
    tasks = arguments.get("tasks")
    if tasks is None:
        for key in ("preset", "task"):
            if arguments.get(key) is None:
                words = "is missing: give preset and task, or tasks" if key == "task" else "is missing"
                faults.add(_fault(f"{key} {words}", key))
        return answers.SINGLE, {"": arguments}
    for key in _OF_ONE:
        if arguments.get(key) is not None:
            faults.add(_fault(f"{key} does not go with tasks: each has its own", key))
    if faults.is_about("tasks"):
        faults.refuse()
    return answers.PARALLEL, {f"tasks[{number}]": item for number, item in enumerate(tasks)}


def _faults(schema: Schema, value: Any, place: str, tool: str) -> Iterator[Fault]:
    """Yield the faults of one value at a place in the arguments of a tool."""
    if "anyOf" in schema:
        yield from _file_faults(value, place)
        return
    words, types = _TYPES[schema["type"]]
    is_right = isinstance(value, types) and (not isinstance(value, bool) or bool in types)
    if not is_right:
        yield _fault(f"{place or f'The arguments of {tool}'} must be {words}", place)
    elif isinstance(value, dict):
        properties, required = schema["properties"], schema.get("required", ())
        for key in [key for key in value if key not in properties][:MOST_FAULTS]:
            yield _stray(key, place, tool, properties)
        for key, of in properties.items():
            inner = f"{place}.{key}" if place else key
            if value.get(key) is not None:
                yield from _faults(of, value[key], inner, tool)
            elif key in required:  # an optional key may also be null
                yield _fault(f"{inner} is missing", inner)
    elif isinstance(value, list):
        yield from _list_faults(schema, value, place, tool)
    else:
        yield from _bounds(schema, value, place)


def _stray(key: str, place: str, tool: str, known: Iterable[str]) -> Fault:
    shown = safe.cut(safe.line(key), _SHOWN)
    field = f"{place}.{shown}" if place else shown
    if key in _GONE:
        return Fault("removed", f'"{shown}" was removed: {_GONE[key]}.', field=field)
    near = difflib.get_close_matches(key[:_SHOWN], known, n=1)
    meant = f", did you mean {near[0]}?" if near else f"; there are {', '.join(known) or 'none'}"
    return _fault(f'{place or tool} has no parameter "{shown}"{meant}', field)


def _list_faults(schema: Schema, value: list[Any], place: str, tool: str) -> Iterator[Fault]:
    least, most = schema.get("minItems", 0), schema.get("maxItems", math.inf)
    if least <= len(value) <= most:
        for number, item in enumerate(value):
            yield from _faults(schema["items"], item, f"{place}[{number}]", tool)
    else:
        span = f"{least} to {most} entries" if "maxItems" in schema else f"at least {least} entry"
        yield _fault(f"{place} must have {span}, not {len(value)}", place)


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
        yield _fault(f"{place} is too large", place)
    elif schema.get("minLength") and not value.strip():
        yield _fault(f"{place} is empty", place)


def _is_unicode(text: str) -> bool:
    """Say whether a text has no lone surrogate, which JSON can express."""
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def _file_faults(value: Any, place: str) -> Iterator[Fault]:
    """Yield the faults of one entry of `files`, the only value that may have two types."""
    try:
        spec = prompt.read(value, field=place)
    except BadRequest as refusal:
        yield from refusal.faults
        return
    if len(spec.path) > _LONGEST:
        yield _fault(f"{place} is too long: {len(spec.path)} characters, at most {_LONGEST}", place)
    elif not _is_unicode(spec.path):
        yield _fault(f"{place} is not valid Unicode", place)


def _fault(message: str, place: str) -> Fault:
    return Fault("bad-argument", message, field=place or None)
