"""Parse a tasks file: its JSON or YAML becomes items, or one refusal with all faults. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple

from tmuxagents.errors import BadRequest, Fault
from tmuxagents.presets.fields import PERMISSIONS
from tmuxagents.settings import rules
from tmuxagents.text import safe, yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

IN_LAYOUTS = ("preset", "task", "model", "cwd", "name", "timeout", "files")  # keys of a task in a layout
KEYS = (*IN_LAYOUTS, "agent", "permission", "on", "after")
_OF_ONE = ("task", "name", "after")  # keys that `defaults` may not have
_OF_FILE = ("tasks", "defaults", "concurrency")
# A key is reported as removed only where it is not allowed.
_REMOVED = {
    "agent": "name a preset instead",
    "chain": "give tasks names and use after",
    "agentScope": "write -p global:NAME or -p project:NAME",
    "confirmProjectAgents": "presets of a project need no confirmation",
    "step": "give tasks names and use after",
}
_DELEGATE = ("prompt", "profile", "resume")
_DELEGATE_HINT = "tmuxagents call delegate_to_subagents takes prompt, profile and resume"
_EXAMPLE = "like this: - {preset: repo-scout, task: Find the tests}; tmuxagents schema tasks has all keys"
_DEEPEST = 5  # files of a task are a list in a mapping in a list in a mapping
_TEXTS = ("preset", "task", "model", "cwd", "name", "agent", "permission", "on")
# The refusal has the message of the fault that is first in this order.
_ORDER = {"bad-tasks": 0, "bad-argument": 0, "empty-task": 0, "bad-cwd": 1, "removed": 2}


class Item(NamedTuple):
    """One task of a file, as it was written."""

    preset: str | None = None
    task: str = ""
    model: str | None = None
    cwd: str | None = None
    name: str | None = None
    timeout: float | None = None
    files: Sequence[str] = ()
    agent: str | None = None
    permission: str | None = None
    on: str | None = None
    after: Sequence[str] = ()


class TasksFile(NamedTuple):
    """The tasks of a file, each with the defaults filled in, and how many may run at once."""

    items: Sequence[Item]
    concurrency: int | None = None


def parse(text: str, source: str) -> TasksFile:
    """Parse a tasks file, or raise BadRequest with all faults."""
    document = _document(text, source)
    faults: list[Fault] = []
    defaults: Any = {}
    concurrency = None
    if isinstance(document, dict):
        faults += [_key_fault(key, "", _OF_FILE) for key in document if key not in _OF_FILE]
        defaults, concurrency = document.get("defaults") or {}, document.get("concurrency")
        faults += _default_faults(defaults)
        if concurrency is not None and (type(concurrency) is not int or concurrency < 1):
            faults.append(
                Fault("bad-tasks", "concurrency must be a whole number, at least 1.", field="concurrency")
            )
        document = document.get("tasks")
    if not isinstance(document, list) or not document:
        if not any(fault.kind == "removed" for fault in faults):  # else that key replaces it
            faults.insert(0, Fault("bad-tasks", f"{source} holds no list of tasks.", field="tasks"))
        raise _refusal(faults, source)
    for number, item in enumerate(document):
        faults += item_faults(item, f"tasks[{number}]", KEYS)
    if faults:
        raise _refusal(faults, source)
    items = []
    for item in document:
        fields = {**defaults, **item}
        after, limit = fields.get("after") or (), rules.seconds(fields.get("timeout"))
        names = (after,) if isinstance(after, str) else tuple(after)
        items.append(Item(**{**fields, "timeout": limit, "files": fields.get("files") or (), "after": names}))
    return TasksFile(items, concurrency)


def dependencies(items: Sequence[Item]) -> list[tuple[list[int], list[str]]]:
    """Return, for each task, the tasks of the file that it waits for, and the other runs that it names.

    A task may name only tasks above it, so no task waits for itself.
    """
    numbers: dict[str, int] = {}
    found = []
    later = {item.name: number for number, item in enumerate(items) if item.name}
    for number, item in enumerate(items):
        wrong = next((name for name in item.after if name in later and name not in numbers), None)
        if wrong is not None:
            field = f"tasks[{number}].after"
            message = f'{field} names "{wrong}", which is not above it.'
            hint = "put the task that others wait for above them"
            raise BadRequest(message, kind="bad-tasks", hint=hint, field=field)
        inside = [numbers[name] for name in item.after if name in numbers]
        found.append((inside, [name for name in item.after if name not in numbers]))
        if item.name:
            numbers[item.name] = number
    return found


def _default_faults(defaults: Any) -> Iterator[Fault]:
    if not isinstance(defaults, dict):
        yield Fault("bad-tasks", "defaults is not a list of key and value.", field="defaults")
        return
    allowed = tuple(key for key in KEYS if key not in _OF_ONE)
    for key in defaults:
        if key in _OF_ONE:
            yield Fault("bad-tasks", f"{key} is for each task, not for defaults.", field=f"defaults.{key}")
        elif key not in allowed:
            yield _key_fault(key, "defaults", allowed)
    shared = {key: defaults[key] for key in allowed if key in defaults}
    yield from item_faults({**shared, "task": "any"}, "defaults", KEYS)


def _document(text: str, source: str) -> Any:
    """Read a text, as JSON if possible, since our YAML reader has limits of size."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass  # YAML has braces, too; if the text is neither, the YAML reader says where
    try:
        return yaml.load(text, deepest=_DEEPEST).value
    except yaml.Malformed as error:
        where = f", line {error.line}" if error.line else ""
        message = f"{source}{where}: {error.reason}."
        raise BadRequest(message, kind="bad-tasks", hint=_EXAMPLE, field="tasks") from error


def _refusal(faults: list[Fault], source: str) -> BadRequest:
    faults.sort(key=lambda fault: _ORDER.get(fault.kind, 0))
    first = faults[0]
    key = (first.field or "").rpartition(".")[2]
    hint = _DELEGATE_HINT if key in _DELEGATE else f"in {source}" if first.kind == "removed" else _EXAMPLE
    return BadRequest(first.message, kind=first.kind, hint=hint, faults=faults)


def _key_fault(key: Any, place: str, keys: Sequence[str]) -> Fault:
    """Return the fault of a wrong key; the message names the right ones."""
    shown = safe.cut(safe.line(str(key)), 40)
    field = f"{place}.{shown}" if place else shown
    if not place and key in KEYS:
        where = "in a task" if key in _OF_ONE else "in defaults, or in a task"
        return Fault("bad-tasks", f'"{shown}" belongs {where}.', field=field)
    if key in _REMOVED:
        return Fault("removed", f'"{shown}" was removed: {_REMOVED[key]}.', field=field)
    wrong = f'{place or "The file"} has an unknown key "{shown}"'
    return Fault("bad-tasks", f"{wrong}; the keys are {', '.join(keys)}.", field=field)


def item_faults(item: Any, place: str, keys: Sequence[str] = IN_LAYOUTS) -> Iterator[Fault]:
    """Yield the faults of one task, which is at `place` and may have these keys."""
    if not isinstance(item, dict):
        yield Fault("bad-tasks", f"{place} is not a list of key and value.", field=place)
        return
    yield from (_key_fault(key, place, keys) for key in item if key not in keys)
    for key in _TEXTS:
        value = item.get(key)
        if value is not None and not isinstance(value, str):
            yield Fault("bad-tasks", f"{place}.{key} must be a text.", field=f"{place}.{key}")
    task = item.get("task")
    if task is None:
        yield Fault("bad-tasks", f"{place} has no task.", field=f"{place}.task")
    elif isinstance(task, str) and not task.strip():
        yield Fault("empty-task", f"{place}: the task is empty.", field=f"{place}.task")
    permission = item.get("permission")
    if isinstance(permission, str) and permission not in PERMISSIONS:
        message = f"{place}.permission must be one of {', '.join(PERMISSIONS)}."
        yield Fault("bad-tasks", message, field=f"{place}.permission")
    wrong = None if item.get("timeout") is None else rules.time_limit_fault(item["timeout"])
    if wrong:
        yield Fault("bad-tasks", f"{place}.timeout {wrong}.", field=f"{place}.timeout")
    after = item.get("after")
    if "after" in keys and not (
        after is None
        or isinstance(after, str)
        or (isinstance(after, list) and all(isinstance(name, str) for name in after))
    ):
        yield Fault("bad-tasks", f"{place}.after must be a name or a list of names.", field=f"{place}.after")
    files = item.get("files")
    if files is not None and not (isinstance(files, list) and all(isinstance(file, str) for file in files)):
        yield Fault("bad-tasks", f"{place}.files must be a list of texts.", field=f"{place}.files")
