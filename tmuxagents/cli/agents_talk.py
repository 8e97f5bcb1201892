"""What /agents does inside a parent: the runs of its session, one of them chosen, and what to do with it."""

from __future__ import annotations

import os

from tmuxagents.cli.talk import ERROR, WARNING
from tmuxagents.commands import accompany, attach, reading, whereabouts
from tmuxagents.commands.inspect import inspect
from tmuxagents.commands.known import consult
from tmuxagents.commands.look import look_in
from tmuxagents.commands.shown import show
from tmuxagents.commands.stop import stop
from tmuxagents.core import catalogue_words, display
from tmuxagents.errors import TmuxAgentsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.cli.talk import Talk
    from tmuxagents.commands.inspect import Run
    from tmuxagents.commands.known import Caller
    from tmuxagents.commands.look import Look
    from tmuxagents.edges.registry import Registry

ATTACH, OUTPUT, STOP = "attach", "output", "stop"
_MOST = 50
_WIDTH = 100
_NONE = "This session has launched no runs."


def lead(talk: Talk, caller: Caller, environment: Mapping[str, str]) -> None:
    """Show the runs; let one be chosen, and something be done with it."""
    found, _ = consult(caller, lambda book: _newest(book, caller))
    head = display.status_line(found.counts, found.waiting)
    header, *rows = display.table(found.shown, _WIDTH) or [_NONE]
    if talk.alone or not rows:
        talk.say("\n".join([head, header, *rows]))
        return
    row = talk.select(head, rows)
    if row not in rows:
        return
    run_dir = f"{caller.runs}/{found.shown[rows.index(row)].run['runId']}"
    run = inspect(run_dir)
    act = talk.select(row, [ATTACH, OUTPUT, *([] if run.ended else [STOP])])
    if act is None:
        return
    try:
        _ACTS[act](talk, run, environment)
    except TmuxAgentsError as problem:
        hint = f"\n{problem.hint}" if problem.hint else ""
        talk.say(f"{problem.message}{hint}", ERROR)


def _newest(book: Registry, caller: Caller) -> Look:
    found = look_in(book, caller, accompany.everything(caller))
    rows = book.rows(found.asked.scope, limit=_MOST)
    show(found, caller, book, [row.run_id for row in rows], known_rows=rows)
    return found


def _attach(talk: Talk, run: Run, environment: Mapping[str, str]) -> None:
    """Switch the person's tmux client to the run's window. A pi outside of tmux keeps its terminal."""
    command = f"tmuxagents attach {display.short_id(run.run_id, ())}"
    spot, _ = whereabouts.find_window(run)
    if spot is None:
        talk.say(f"Its window is gone. In another terminal: {command}", WARNING)
        return
    if not environment.get("TMUX"):
        talk.say(f"pi does not run inside tmux. In another terminal: {command}", WARNING)
        return
    who = attach.stand(environment, None, hint=command)
    if attach.show(who, spot) is not None:
        talk.say(f"In another terminal: {command}", WARNING)


def _output(talk: Talk, run: Run, _environment: Mapping[str, str]) -> None:
    answer = reading.answer(run)
    talk.say(answer or f"Run {os.path.basename(run.run_dir)} has said nothing yet.")


def _stop(talk: Talk, run: Run, _environment: Mapping[str, str]) -> None:
    before = run.standing.status
    (stopped,) = stop([run.run_dir])
    talk.say(
        catalogue_words.stopped({"runId": stopped.run_id, "status": stopped.standing.status}, before=before)
    )


_ACTS = {ATTACH: _attach, OUTPUT: _output, STOP: _stop}
