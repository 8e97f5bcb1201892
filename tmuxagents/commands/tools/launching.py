"""subagent and background_agent: children that work by a preset, waited for or not."""

from __future__ import annotations

import time

from tmuxagents.commands import call as calls
from tmuxagents.commands import reading
from tmuxagents.commands.asked import Asked
from tmuxagents.commands.batch import Batch
from tmuxagents.commands.look import look
from tmuxagents.commands.tools import background
from tmuxagents.commands.tools.door import Answer, no_room_to_stand
from tmuxagents.commands.tools.progress import Child, Progress
from tmuxagents.core import answers, catalogue_words
from tmuxagents.core.plan import LaunchRequest
from tmuxagents.edges.registry import Scope
from tmuxagents.errors import BadRequest, Fault, TmuxAgentsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.commands.known import Caller
    from tmuxagents.commands.prepare import Prepared
    from tmuxagents.commands.tools.door import Door
    from tmuxagents.core.catalogue_check import Faults

_OF_ONE = ("preset", "task", "model", "cwd", "name", "timeout")


def background_agent(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Start a child and return at once."""
    faults.refuse()
    launcher = door.launcher()
    launched = launcher.launch(_request(arguments, door, catalogue_words.BACKGROUND))
    counts, status_line = background.counts(door.caller)
    run = launched.run.document(time.time())
    text = catalogue_words.started(run, status_line)
    return Answer(text, {"run": run, "counts": counts}, launched.warnings)


def subagent(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Start one child or several, and wait for them."""
    mode, items = _items(arguments, faults)
    launcher = door.launcher()
    prepared = _prepared(Batch(launcher), items, door, mode=mode, faults=faults)
    call = calls.Call(launcher, prepared, most=int(launcher.settings.numbers["maxConcurrency"]))
    children = [Child(task) for task in call.tasks]

    def describe() -> dict[str, Any]:
        runs = [child.document() for child in children]
        details = catalogue_words.call_details(mode, runs, ended=False)
        return catalogue_words.progress(catalogue_words.call_progress(mode, runs), details)

    progress = Progress(children, describe, door.hear)
    with door.interrupts as interrupts:
        progress.tell()
        call.carry_out(progress.tell, interrupts.handle, interrupts.came)
    progress.finish()
    warnings = [warning for task in call.tasks for warning in task.warnings]
    return _answer(call, mode, door.caller, warnings)


def _items(arguments: Mapping[str, Any], faults: Faults) -> tuple[str, Mapping[str, Mapping[str, Any]]]:
    """Return whether it is one task or several, and what was asked for by its place in the arguments."""
    if faults.is_about(None):
        faults.refuse()
    tasks = arguments.get("tasks")
    if tasks is None:
        for key in ("preset", "task"):
            if arguments.get(key) is None:
                words = "is missing: give preset and task, or tasks" if key == "task" else "is missing"
                faults.add(Fault("bad-argument", f"{key} {words}", field=key))
        return catalogue_words.SINGLE, {"": arguments}
    beside = [key for key in _OF_ONE if arguments.get(key) is not None]
    for key in beside:
        faults.add(Fault("bad-argument", f"{key} does not go with tasks: each has its own", field=key))
    if faults.is_about("tasks"):
        faults.refuse()
    return catalogue_words.PARALLEL, {f"tasks[{number}]": item for number, item in enumerate(tasks)}


def _prepared(
    batch: Batch, items: Mapping[str, Mapping[str, Any]], door: Door, *, mode: str, faults: Faults
) -> list[Prepared]:
    """Return all runs as they are going to be, or refuse the call with all that is wrong."""
    prepared = []
    try:
        batch.launcher.check_surroundings()
        for place, item in items.items():
            if faults.is_at(place) if place else faults:
                continue
            try:
                prepared.append(batch.prepare(_request(item, door, mode)))
            except BadRequest as refusal:
                faults.add_refusal(refusal, place)
    except TmuxAgentsError:
        faults.refuse()  # what is wrong with the call comes before what is wrong with the machine
        raise
    faults.refuse()
    return prepared


def _request(item: Mapping[str, Any], door: Door, mode: str) -> LaunchRequest:
    """Return what is wanted as a request. An empty text names nothing."""
    cwd = item.get("cwd") or door.folder
    if cwd is None:
        raise no_room_to_stand()
    return LaunchRequest(
        task=item["task"],
        cwd=cwd,
        project=door.caller.project,
        preset=item["preset"],
        mode=mode,
        model=item.get("model") or None,
        name=item.get("name") or None,
        owner=door.caller.owner,
        timeout=item.get("timeout"),
    )


def _answer(call: calls.Call, mode: str, caller: Caller, warnings: list[str]) -> Answer:
    ids = [task.run_id for task in call.tasks]
    found = look(caller, Asked(Scope("named", *ids), ids=ids, active=False))
    found.shown.sort(key=lambda shown: ids.index(shown.run["runId"]))
    runs = [shown.run for shown in found.shown]
    whole = [(run, reading.answer(found.runs[run["runId"]])) for run in runs]
    details = catalogue_words.call_details(mode, runs, ended=True)
    return Answer(answers.blocks(whole), details, [*warnings, *found.warnings])
