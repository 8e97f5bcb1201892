"""background_agent_status, stop_agent, send_to_agent: runs that have been launched.

Counted are the background runs of the calling parent; without one, those of the project.
"""

from __future__ import annotations

import os

from tmuxagents.commands import known, poll, reading
from tmuxagents.commands.asked import Asked
from tmuxagents.commands.inspect import inspect
from tmuxagents.commands.look import Look, look, look_in
from tmuxagents.commands.send import Sending
from tmuxagents.commands.shown import show
from tmuxagents.commands.stop import stop
from tmuxagents.commands.tools.door import Answer
from tmuxagents.core import catalogue_words, display
from tmuxagents.edges import inbox, lookout
from tmuxagents.edges.registry import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.commands.known import Caller
    from tmuxagents.commands.tools.door import Door
    from tmuxagents.core.catalogue_check import Faults
    from tmuxagents.edges.registry import Registry

MOST_LISTED = 50


def counts(caller: Caller) -> tuple[dict[str, int], str]:
    """Return how many background runs the caller has, as figures and as a line."""
    found, _ = known.consult(caller, lambda book: look_in(book, caller, poll.background(caller)))
    return found.counts, display.status_line(found.counts, found.waiting)


def background_agent_status(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """List the active runs, or tell of one."""
    faults.refuse()
    caller = door.caller
    reference = arguments.get("runId")
    ended = arguments.get("includeCompleted") is True
    named = [os.path.basename(door.find(reference))] if reference is not None else []
    older = 0

    def ask(book: Registry) -> Look:
        nonlocal older
        found = look_in(book, caller, poll.background(caller))
        ids = named or found.active
        if ended and not named:
            ids = [row.run_id for row in book.rows(found.asked.scope, limit=MOST_LISTED)]
            older = max(0, found.counts["total"] - len(ids))
        show(found, caller, book, ids)
        return found

    found, warnings = known.consult(caller, ask)
    if found.leaves_work():
        lookout.ensure(caller.home)
    if named and found.shown:
        answer = reading.answer(found.runs[named[0]])
        text = catalogue_words.one(found.shown[0], answer)
    else:
        line = display.status_line(found.counts, found.waiting)
        text = catalogue_words.listed(found.shown, line, ended=ended, older=older)
    details = {"counts": found.counts, "runs": [shown.run for shown in found.shown]}
    return Answer(text, details, warnings)


def stop_agent(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Stop a run; that it had ended already is no error."""
    faults.refuse()
    run_dir = door.find(arguments["runId"])
    before = inspect(run_dir).standing.status
    stop([run_dir])
    run_id = os.path.basename(run_dir)
    found = look(door.caller, Asked(Scope("named", run_id), ids=(run_id,), active=False))
    run = found.shown[0].run
    return Answer(catalogue_words.stopped(run, before=before), {"run": run}, found.warnings)


def send_to_agent(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Say something to a live child, and say whether it has taken it."""
    faults.refuse()
    message = Sending(door.find(arguments["runId"]))
    run_id = message.send(arguments["text"], arguments.get("mode") or inbox.STEER).run_id
    found = look(door.caller, Asked(Scope("named", run_id), ids=(run_id,), active=False))
    details = {"run": found.shown[0].run, "delivered": True}
    return Answer(catalogue_words.delivered(run_id), details, found.warnings)
