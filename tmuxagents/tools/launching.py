"""The tools subagent and background_agent, and those for background runs: status, stop, send, answer. Joins.

The background runs are those of the calling parent, or without a parent those of the project.
"""

from __future__ import annotations

import os
import time

from tmuxagents import records
from tmuxagents.errors import BadRequest, TmuxAgentsError
from tmuxagents.launch import call as calls
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.launch.prepare import Batch
from tmuxagents.registry import lookup
from tmuxagents.runs import events, output, words
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import poll
from tmuxagents.status.send import Sending
from tmuxagents.status.snapshot import Snapshot, SnapshotBuilder, ensure_watcher, take
from tmuxagents.status.stop import stop
from tmuxagents.status.wait import Waiting
from tmuxagents.tools import answers, check
from tmuxagents.tools.door import Answer, Child, no_cwd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.launch.demands import Faults
    from tmuxagents.launch.prepare import Prepared
    from tmuxagents.registry.database import Registry
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.tools.door import Door

MOST_LISTED = 20
MOST_WAIT_S = 240.0


def background_agent(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Start a child and return at once."""
    faults.refuse()
    launcher = door.launcher()
    launched = launcher.launch(_request(arguments, door, answers.BACKGROUND))
    query = poll.background(door.caller)
    found, _ = lookup.with_registry(
        door.caller, lambda registry: SnapshotBuilder(registry, query, door.caller).snapshot
    )
    run = launched.run.document(time.time())
    text = answers.started(run, _status_line(found))
    return Answer(text, {"run": run, "counts": found.counts}, launched.warnings)


def subagent(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Start one or several children, and wait for them."""
    mode, items = check.tasks_of(arguments, faults)
    launcher = door.launcher()
    prepared = _prepared(Batch(launcher), items, door, mode=mode, faults=faults)
    call = calls.Call(launcher, prepared, most=int(launcher.settings.numbers["maxConcurrency"]))
    children = [Child(task) for task in call.tasks]

    def describe() -> dict[str, Any]:
        runs = [child.document() for child in children]
        details = answers.call_details(mode, runs, ended=False)
        return answers.progress(answers.call_progress(mode, runs), details)

    door.carry_out(call, children, describe)
    ids = [task.run_id for task in call.tasks]
    found = take(poll.named(ids), door.caller)
    found.rows.sort(key=lambda shown: ids.index(shown.run["runId"]))
    runs = [shown.run for shown in found.rows]
    text = answers.blocks((run, output.answer(found.views[run["runId"]])) for run in runs)
    ended = [run["runId"] for run in runs if run["status"] in records.ENDED]
    lookup.mark_answered(door.caller, ended)
    warnings = [warning for task in call.tasks for warning in task.warnings]
    return Answer(text, answers.call_details(mode, runs, ended=True), [*warnings, *found.warnings])


def _prepared(
    batch: Batch, items: Mapping[str, Mapping[str, Any]], door: Door, *, mode: str, faults: Faults
) -> list[Prepared]:
    """Return all planned runs, or refuse the call with all its faults."""
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
        faults.refuse()  # faults of the call are reported before problems of the machine
        raise
    faults.refuse()
    return prepared


def _request(item: Mapping[str, Any], door: Door, mode: str) -> LaunchRequest:
    """Return one task as a launch request. An empty text counts as missing."""
    cwd = item.get("cwd") or door.folder
    if cwd is None:
        raise no_cwd()
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
        permission=item.get("permission"),
        on=item.get("on") or None,
        far_cwd=item.get("cwd") or None,
    )


def background_agent_status(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """List the background runs, or report one run."""
    faults.refuse()
    caller = door.caller
    reference, ended = arguments.get("runId"), arguments.get("includeCompleted") is True
    named = [os.path.basename(door.find(reference))] if reference is not None else []
    over = _wait(named, arguments["wait"], door) if arguments.get("wait") else []

    def ask(registry: Registry) -> tuple[Snapshot, int, int]:
        snapshot, more = _shown(registry, caller, named, over, ended=ended)
        others = 0  # active runs in the project that belong to other parents
        if caller.owner is not None:
            rows = [row for row in registry.open_rows() if row.project == caller.project]
            others = sum(row.owner != caller.owner and row.status not in records.ENDED for row in rows)
        return snapshot, more, others

    (snapshot, more, others), warnings = lookup.with_registry(caller, ask)
    found = ensure_watcher(snapshot, warnings, caller)
    if named and found.rows:
        run = found.views[named[0]]
        text = answers.one(found.rows[0], output.answer(run))
        lookup.mark_answered(caller, named if run.ended else ())
    else:
        text = answers.listed(found.rows, _status_line(found), ended=ended, more=more, others=others)
    runs = [shown.run for shown in found.rows]
    if not named and not arguments.get("verbose"):
        runs = [{"runId": run["runId"], "status": run["status"]} for run in runs]
    return Answer(text, {"counts": found.counts, "runs": runs}, found.warnings)


def _shown(
    registry: Registry, caller: Caller, named: list[str], over: list[str], *, ended: bool
) -> tuple[Snapshot, int]:
    """Return a snapshot of the named runs, else of the background runs, and how many of these it lacks.

    It has the runs that are `over` first, then the active ones and, if wanted, those that have `ended`.
    """
    builder = SnapshotBuilder(registry, poll.background(caller), caller)
    if named:
        return builder.show(named), 0
    found = builder.snapshot
    rows = registry.rows(found.query.scope, limit=MOST_LISTED) if ended else []
    ids = list(dict.fromkeys([*over, *found.active, *(row.run_id for row in rows)]))
    total = max(found.counts["total"] if ended else 0, len(ids))
    ids = ids[:MOST_LISTED]
    return builder.show(ids), total - len(ids)


def _status_line(found: Snapshot) -> str:
    return words.status_line(found.counts, found.waiting, unreachable=found.unreachable)


def _wait(named: list[str], wait_s: float, door: Door) -> list[str]:
    """Wait until the named run or any background run ends; return the ids of the runs that have ended.

    If a background run has ended before, and no caller has seen that, the wait is over at once.
    """
    caller, deadline = door.caller, time.monotonic() + min(wait_s, MOST_WAIT_S)

    def ask(registry: Registry) -> tuple[list[str], list[str]]:
        found = SnapshotBuilder(registry, poll.background(caller), caller).snapshot
        rows = registry.rows(found.query.scope, limit=MOST_LISTED)
        return found.active, [row.run_id for row in rows if row.status in records.ENDED and not row.polled_at]

    active, over = ([], []) if named else lookup.with_registry(caller, ask)[0]
    ids = named or active
    with Waiting(f"{caller.runs}/{run_id}" for run_id in ids) as waiting, door.interrupts as interrupts:
        while waiting.left and not over and time.monotonic() < deadline and not interrupts.came():
            waiting.pause(deadline, interrupts.handle)
            over = [os.path.basename(run_dir) for run_dir in waiting.done()]
    return over


def stop_agent(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Stop a run; a run that has already ended is no error."""
    faults.refuse()
    run_dir = door.find(arguments["runId"])
    before = inspect(run_dir).standing.status
    stop([run_dir])
    run_id = os.path.basename(run_dir)
    found = take(poll.named([run_id]), door.caller)
    run = found.rows[0].run
    lookup.mark_answered(door.caller, [run_id] if run["status"] == records.ABORTED else ())
    return Answer(answers.stopped(run, before=before), {"run": run}, found.warnings)


def send_to_agent(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Send a message to a child, and wait until the child has taken it."""
    faults.refuse()
    message = Sending(door.find(arguments["runId"]))
    run_id = message.send(arguments["text"], arguments.get("mode") or events.STEER).run_id
    found = take(poll.named([run_id]), door.caller)
    details = {"run": found.rows[0].run, "delivered": True}
    return Answer(answers.delivered(run_id), details, found.warnings)


def answer_agent(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Answer a question of a child, and wait until the child has the answer."""
    from tmuxagents.status.send import answer_question  # noqa: PLC0415  (few children ask)

    faults.refuse()
    given = [word for word in (arguments.get("ask"), arguments["answer"]) if word]
    parent = f"parent {door.caller.owner or ''}".strip()
    run, ask, by = answer_question(door.find(arguments["runId"]), given, by=parent)
    found = take(poll.named([run.run_id]), door.caller)
    text = answers.answered(run.run_id, ask["text"], by)
    return Answer(text, {"run": found.rows[0].run}, found.warnings)


TOOLS = {
    "subagent": subagent,
    "background_agent": background_agent,
    "background_agent_status": background_agent_status,
    "stop_agent": stop_agent,
    "send_to_agent": send_to_agent,
    "answer_agent": answer_agent,
}
