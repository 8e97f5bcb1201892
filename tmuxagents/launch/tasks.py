"""A tasks file: JSON or YAML text becomes items, or all that is wrong with it becomes one refusal. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple

from tmuxagents.errors import BadRequest, Fault
from tmuxagents.settings import rules
from tmuxagents.text import safe, yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

REMOVED = {
    "agent": "name a preset instead",
    "chain": "use several launches and --after",
    "agentScope": "write -p global:NAME or -p project:NAME",
    "confirmProjectAgents": "presets of a project need no confirmation",
    "step": "use several launches and --after",
}
_DELEGATE = ("prompt", "profile", "resume")
_DELEGATE_HINT = "tmuxagents call delegate_to_subagents takes prompt, profile and resume"
_EXAMPLE = "like this: - {preset: repo-scout, task: Find the tests}"
_DEEPEST = 5  # files of a task are a list in a mapping in a list in a mapping
_TEXTS = ("preset", "task", "model", "cwd", "name")
# The order in which the first fault speaks for all.
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


def parse(text: str, source: str) -> list[Item]:
    """Return the items of a tasks file, or raise BadRequest with all faults."""
    document = _document(text, source)
    faults: list[Fault] = []
    if isinstance(document, dict):
        faults += [_key_fault(key, "") for key in document if key != "tasks"]
        document = document.get("tasks")
    if not isinstance(document, list) or not document:
        if not any(fault.kind == "removed" for fault in faults):  # else that key is in its place
            faults.insert(0, Fault("bad-tasks", f"{source} holds no list of tasks.", field="tasks"))
        raise _refusal(faults, source)
    for number, item in enumerate(document):
        faults += item_faults(item, f"tasks[{number}]")
    if faults:
        raise _refusal(faults, source)
    return [Item(**{**item, "files": item.get("files") or ()}) for item in document]


def _document(text: str, source: str) -> Any:
    """Read a text: as JSON where it can be, since that knows no limits of size."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass  # YAML has braces, too; if it is neither, its reader says where
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


def _key_fault(key: Any, place: str) -> Fault:
    shown = safe.cut(safe.line(str(key)), 40)
    field = f"{place}.{shown}" if place else shown
    if key in REMOVED:
        return Fault("removed", f'"{shown}" was removed: {REMOVED[key]}.', field=field)
    return Fault("bad-tasks", f'{place or "The file"} has an unknown key "{shown}".', field=field)


def item_faults(item: Any, place: str) -> Iterator[Fault]:
    """Yield what is wrong with one item, which is at `place`."""
    if not isinstance(item, dict):
        yield Fault("bad-tasks", f"{place} is not a list of key and value.", field=place)
        return
    yield from (_key_fault(key, place) for key in item if key not in Item._fields)
    for key in _TEXTS:
        value = item.get(key)
        if value is not None and not isinstance(value, str):
            yield Fault("bad-tasks", f"{place}.{key} must be a text.", field=f"{place}.{key}")
    task = item.get("task")
    if task is None:
        yield Fault("bad-tasks", f"{place} has no task.", field=f"{place}.task")
    elif isinstance(task, str) and not task.strip():
        yield Fault("empty-task", f"{place}: the task is empty.", field=f"{place}.task")
    wrong = None if item.get("timeout") is None else rules.time_limit_fault(item["timeout"])
    if wrong:
        yield Fault("bad-tasks", f"{place}.timeout {wrong}.", field=f"{place}.timeout")
    files = item.get("files")
    if files is not None and not (isinstance(files, list) and all(isinstance(file, str) for file in files)):
        yield Fault("bad-tasks", f"{place}.files must be a list of texts.", field=f"{place}.files")
