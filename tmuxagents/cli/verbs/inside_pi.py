"""The hidden verbs behind our extension of pi: _follow, _agents, _profile. Joins.

The extension keeps stdin open, shows what these verbs print, and asks the person what they ask.
"""

from __future__ import annotations

import os

import click

from tmuxagents.attach import attach, where
from tmuxagents.cli import printing
from tmuxagents.cli.verbs import follow as following
from tmuxagents.cli.verbs import talk
from tmuxagents.cli.verbs.talk import ERROR, WARNING, ParentTalk
from tmuxagents.companion import follow as companion_follow
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.registry import lookup
from tmuxagents.registry.lookup import with_registry
from tmuxagents.runs import output, words
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import table
from tmuxagents.status.snapshot import SnapshotBuilder
from tmuxagents.status.stop import stop
from tmuxagents.text import jsonline
from tmuxagents.tools import answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.registry.database import Registry
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.status.snapshot import Snapshot

_ALONE = click.option("--alone", is_flag=True, help="No person can answer.")


@click.command(hidden=True)
@click.option("--json", "as_json", is_flag=True, help="It is JSON anyway.")
def follow(**options: bool) -> int:
    """Watch the background runs of the session whose entries come on stdin, and report what is new."""
    return following.follow(**options)


@click.command(hidden=True)
@_ALONE
def agents(*, alone: bool) -> None:
    """Show the runs of a session, and attach to one, read or stop it."""
    lead(ParentTalk(alone=alone), lookup.here(), os.environ)


@click.command(hidden=True)
@click.argument("line", default="")
@click.option("--words", "only_words", is_flag=True, help="Print what could be typed.")
@_ALONE
def profile(*, line: str, only_words: bool, alone: bool) -> None:
    """Carry out what a person typed after /profile."""
    if only_words:
        printing.write(jsonline.encode({"words": talk.completions()}))
    else:
        talk.lead(ParentTalk(alone=alone), line)


ATTACH, OUTPUT, STOP = "attach", "output", "stop"
_MOST = 50
_NONE = "This session has launched no runs."


def lead(talk: ParentTalk, caller: Caller, environment: Mapping[str, str]) -> None:
    """Show the runs, let the person choose one, and attach to it, print its answer or stop it."""

    def newest(registry: Registry) -> Snapshot:
        query = companion_follow.everything(caller)
        rows = registry.rows(query.scope, limit=_MOST)
        return SnapshotBuilder(registry, query, caller).show([row.run_id for row in rows], rows)

    found, _ = with_registry(caller, newest)
    head = words.status_line(found.counts, found.waiting, unreachable=found.unreachable)
    header, *rows = table.lines(found.rows, found.at) or [_NONE]
    if talk.alone or not rows:
        talk.say("\n".join([head, header, *rows]))
        return
    row = talk.select(head, rows)
    if row not in rows:
        return
    run_dir = f"{caller.runs}/{found.rows[rows.index(row)].run['runId']}"
    run = inspect(run_dir)
    act = talk.select(row, [ATTACH, OUTPUT, *([] if run.ended else [STOP])])
    if act is None:
        return
    try:
        if act == ATTACH:
            _attach(talk, run, environment)
        elif act == OUTPUT:
            talk.say(output.answer(run) or f"Run {run.run_id} has said nothing yet.")
        else:
            (stopped,) = stop([run_dir])
            now = {"runId": stopped.run_id, "status": stopped.standing.status}
            talk.say(answers.stopped(now, before=run.standing.status))
    except TmuxAgentsError as problem:
        hint = f"\n{problem.hint}" if problem.hint else ""
        talk.say(f"{problem.message}{hint}", ERROR)


def _attach(talk: ParentTalk, run: RunView, environment: Mapping[str, str]) -> None:
    """Switch the person's tmux client to the run's window. A pi outside of tmux keeps its terminal."""
    command = f"tmuxagents attach {words.short_id(run.run_id, ())}"
    target, _ = where.find_window(run)
    if target is None:
        talk.say(f"Its window is gone. In another terminal: {command}", WARNING)
        return
    if not environment.get("TMUX"):
        talk.say(f"pi does not run inside tmux. In another terminal: {command}", WARNING)
        return
    viewer = attach.find_viewer(environment, None, hint=command)
    if attach.show(viewer, target) is not None:
        talk.say(f"In another terminal: {command}", WARNING)


VERBS = {"_follow": follow, "_agents": agents, "_profile": profile}
