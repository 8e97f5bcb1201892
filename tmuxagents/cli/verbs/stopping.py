"""Verbs that a child at work feels: stop and answer. Joins."""

from __future__ import annotations

import click

from tmuxagents import records
from tmuxagents.cli import printing
from tmuxagents.errors import BadRequest
from tmuxagents.registry import lookup
from tmuxagents.runs import words
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import poll
from tmuxagents.status import stop as stopping
from tmuxagents.status.send import Answering
from tmuxagents.status.snapshot import take
from tmuxagents.tools import answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.runs.inspect import RunView
    from tmuxagents.status.snapshot import Snapshot


@click.command(epilog="Example: tmuxagents stop 01a1ee15")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--all", "all_of_them", is_flag=True, help="Stop all active runs of this parent or project.")
@click.option("--others", is_flag=True, help="With --all: also those that other parents launched here.")
@click.option(
    "-A", "--all-projects", "everywhere", is_flag=True, help="With --all: of all projects and parents."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def stop(*, runs: tuple[str, ...], all_of_them: bool, others: bool, everywhere: bool, as_json: bool) -> None:
    """Stop each RUN, gracefully if possible. A run that has ended is left alone."""
    if bool(runs) == all_of_them:
        raise BadRequest("Name a run to stop, or use --all.", kind="usage", hint="tmuxagents poll lists them")
    caller = lookup.here()
    if all_of_them:
        found = take(poll.query_of(caller, (), everywhere=everywhere, others=others), caller)
        ids = found.active
        if found.others is not None and found.others["active"]:
            printing.warn(
                [f"left alone: {found.others['active']} of other parents here; --others stops them, too"]
            )
        if not everywhere and not others and caller.owner is None:
            ids = _own(found)
        folders = _stoppable([f"{caller.runs}/{run_id}" for run_id in ids])
    else:
        folders = list(dict.fromkeys(lookup.find_run(reference, caller) for reference in runs))
    before = [inspect(folder) for folder in folders]
    over = {run.run_id for run in before if run.ended}
    if runs:
        _tell_owners([run for run in before if not run.ended], caller.owner)
    stopped = stopping.stop(folders)
    ids = [run.run_id for run in stopped]
    # Who stops a run knows how it ended; one that had finished before has an answer that is still unread.
    lookup.mark_answered(caller, (run.run_id for run in stopped if run.standing.status == records.ABORTED))
    found = take(poll.named(ids), caller)
    if as_json:
        printing.document(poll.as_document(found, caller))
    else:
        lines = [words.stopped_line(row, was_over=row.run["runId"] in over) for row in found.rows]
        printing.lines(lines or ["nothing to stop"])


def _tell_owners(stopped: Iterable[RunView], owner: str | None) -> None:
    """Warn of runs that do not belong to the caller: it may have meant another run of that name."""
    for run in stopped:
        if run.plan.owner != owner:
            whose = f"another parent session, {run.plan.owner}" if run.plan.owner else "no parent session"
            printing.warn([f"{words.short_id(run.run_id, ())} belonged to {whose}"])


def _own(found: Snapshot) -> list[str]:
    """Return the active runs that no parent owns; name the others, which stay."""
    owned = [row.run for row in found.rows if row.run["owner"] is not None]
    if owned:
        named = (f"{words.short_id(run['runId'], ())} ({answers.label(run)})" for run in owned)
        message = f"left alone, because other parents launched them: {', '.join(named)}"
        printing.warn([f"{message}; stop --all --others stops them, too"])
    left = {run["runId"] for run in owned}
    return [run_id for run_id in found.active if run_id not in left]


def _stoppable(folders: list[str]) -> list[str]:
    """Return the runs that can be stopped from here; warn about the others, raise if there is no such run."""
    refused = {folder: why for folder in folders if (why := stopping.why_not(folder)) is not None}
    if refused and len(refused) == len(folders):
        raise next(iter(refused.values()))
    printing.warn(why.message for why in refused.values())
    return [folder for folder in folders if folder not in refused]


@click.command(epilog="Example: tmuxagents answer 01a1ee15 allow")
@click.argument("run", metavar="RUN")
@click.argument("said", nargs=-1, metavar="[ASK] ANSWER")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def answer(*, run: str, said: tuple[str, ...], as_json: bool) -> None:
    """Answer the question of RUN with allow, deny, one of its options, or a text.

    ASK is the id of the question, needed where RUN asks several things (poll RUN --json lists them).
    """
    if not said:
        hint = f"allow, deny, an option or a text; tmuxagents output {run} prints what the run has answered"
        raise BadRequest("The answer is missing.", kind="usage", hint=hint)
    caller = lookup.here()
    by = f"parent {caller.owner}" if caller.owner else "a person"
    found, ask, who = Answering(lookup.find_run(run, caller), by=by).answer(said)
    if as_json:
        from tmuxagents.registry import sessions  # noqa: PLC0415

        printing.document({"v": 1} | sessions.document(found, caller))
        return
    printing.lines([answers.answered(found.run_id, ask["text"], who)])


VERBS = {"answer": answer, "stop": stop, "kill": stop, "cancel": stop}
