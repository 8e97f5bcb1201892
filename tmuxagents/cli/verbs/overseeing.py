"""The verbs about runs at work: poll, wait, statusline, top, send, answer and stop. Joins."""

from __future__ import annotations

import os

import click

from tmuxagents import records
from tmuxagents.cli import listing, printing, quick, values
from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.registry import lookup, sessions
from tmuxagents.runs import events, words
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import poll
from tmuxagents.status import stop as stopping
from tmuxagents.status.send import Sending, answer_question
from tmuxagents.status.snapshot import take
from tmuxagents.tools import answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tmuxagents.registry.lookup import Caller

_TYPES = {
    quick.TIMEOUT: values.DURATION,
    quick.STATUSES: values.STATUSES,
    **dict.fromkeys((quick.MOST, quick.MAX_BYTES), click.IntRange(min=1)),
}


def _takes(table: quick.Options) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Declare the options that cli/quick reads."""
    options = []
    for name, spellings, metavar, help_line in table:
        how: dict[str, Any] = {"metavar": metavar} if metavar else {"is_flag": True}
        options.append(click.option(*spellings, name, help=help_line, type=_TYPES.get(name), **how))
    return values.declaring(*options)


@click.command("poll", epilog="Example: tmuxagents poll --wait --timeout 60 01a1ee15")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@_takes(quick.POLL)
def poll_verb(**how: Any) -> int:
    """List runs and their status; also called `ls`, `ps` and `status`.

    Without RUN it lists the active runs of this parent or project, and those that ended within the last hour;
    --json has the active ones, unless -a or -n asks for more.
    """
    return listing.poll(**how)


@click.command("wait", epilog="Example: tmuxagents wait 01a1ee15 && tmuxagents output 01a1ee15")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@_takes(quick.WAIT)
def wait_verb(**how: Any) -> int:
    """Wait until each RUN has ended; exit with 0 if all completed, 1 if not, 124 if the time is up."""
    return listing.wait(**how)


@click.command("statusline", epilog="Example: set -g status-right '#(tmuxagents statusline)'")
@_takes(quick.STATUSLINE)
def statusline(**how: Any) -> int:
    """Print the status text: in tmux that of its server, elsewhere that of this parent or project."""
    return listing.statusline(**how)


_HINT = "tmuxagents poll --follow prints what changes"


@click.command("top", epilog="Example: tmuxagents top --all-projects")
@click.option("-a", "--all", "ended", is_flag=True, help="Also show runs that ended more than an hour ago.")
@click.option("-A", "--all-projects", "everywhere", is_flag=True, help="Of all projects and parents.")
@click.option("--keep", "keeps", is_flag=True, hidden=True)
def top_verb(*, ended: bool, everywhere: bool, keeps: bool) -> None:
    """Watch all runs on the whole screen, with the transcript of the chosen one.

    Enter attaches to it, / searches, ? shows all keys, q leaves.
    """
    if not printing.has_person() or os.environ.get("TERM", "dumb") == "dumb":
        raise Unusable("top needs a terminal.", kind="no-tty", hint=_HINT)
    from tmuxagents.top import app, runs, view  # noqa: PLC0415  (textual, for this verb alone)

    caller = lookup.here()
    keep = None
    if keeps:
        from tmuxagents.layouts import opening  # noqa: PLC0415  (in the pane of a layout)

        tiles = opening.run_tiles(os.environ, caller.folder)
        keep = tiles.keep if tiles is not None else None
    shown = view.TopView(ended=ended, everywhere=everywhere)
    raise SystemExit(app.TopApp(shown, runs.TopRuns(caller), keep).show())


# --- send, answer, stop ---


@click.command(epilog='Example: tmuxagents send 01a1ee15 "Look into src/ only."')
@click.argument("run", metavar="RUN")
@click.argument("text", metavar="TEXT")
@click.option(
    "--steer", "kind", flag_value=events.STEER, default=True, help="Between two of its steps (the default)."
)
@click.option("--follow-up", "kind", flag_value=events.FOLLOW_UP, help="When its current work is done.")
@click.option("--wait", "waits", is_flag=True, help="Wait for the reply, and print it.")
@click.option(
    "--timeout", type=values.DURATION, metavar="TIME", help="With --wait: stop waiting after this time."
)
@values.JSON
def send(  # noqa: PLR0913  (one parameter an option)
    *, run: str, text: str, kind: str, waits: bool, timeout: float | None, as_json: bool
) -> int:
    """Say TEXT to the child of RUN (- reads stdin). It is delivered once the child has taken it.

    Live runs take messages, and batch runs of some agents: see `tmuxagents agents`.
    """
    from tmuxagents.cli.verbs import reading  # noqa: PLC0415  (only for a reply)

    if timeout is not None and not waits:
        raise BadRequest("--timeout says how to wait.", kind="usage", hint="add --wait")
    caller = lookup.here()
    message = Sending(lookup.find_run(run, caller))
    found = message.send(values.read_text(text), kind)
    later = message.wait(timeout) if waits else found
    if as_json:
        printing.document({"v": 1} | sessions.document(later or found, caller))
    elif not waits:
        printing.lines([answers.delivered(found.run_id)])
    elif later is not None:
        printing.lines([] if message.reply else ["no reply"], printing.ERR)
        reading.print_answer(message.reply)
    if later is None:
        return listing.TIMED_OUT
    return 0 if not waits or message.went_well(later) else 1


@click.command(epilog="Example: tmuxagents answer 01a1ee15 allow")
@click.argument("run", metavar="RUN")
@click.argument("reply", nargs=-1, metavar="[ASK] ANSWER")
@values.JSON
def answer(*, run: str, reply: tuple[str, ...], as_json: bool) -> None:
    """Answer the question of RUN with allow, deny, one of its options, or a text.

    ASK is the id of the question, needed where RUN asks several things (poll RUN --json lists them).
    """
    if not reply:
        hint = f"allow, deny, an option or a text; tmuxagents output {run} prints what the run has answered"
        raise BadRequest("The answer is missing.", kind="usage", hint=hint)
    caller = lookup.here()
    by = f"parent {caller.owner}" if caller.owner else "a person"
    found, ask, answered_by = answer_question(lookup.find_run(run, caller), reply, by=by)
    if as_json:
        printing.document({"v": 1} | sessions.document(found, caller))
        return
    printing.lines([answers.answered(found.run_id, ask["text"], answered_by)])


@click.command(epilog="Example: tmuxagents stop 01a1ee15")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--all", "all_of_them", is_flag=True, help="Stop all active runs of this parent or project.")
@click.option("--others", is_flag=True, help="With --all: also those that other parents launched here.")
@click.option(
    "-A", "--all-projects", "everywhere", is_flag=True, help="With --all: of all projects and parents."
)
@values.JSON
def stop(*, runs: tuple[str, ...], all_of_them: bool, others: bool, everywhere: bool, as_json: bool) -> None:
    """Stop each RUN, gracefully if possible. A run that has ended is left alone."""
    if bool(runs) == all_of_them:
        raise BadRequest("Name a run to stop, or use --all.", kind="usage", hint="tmuxagents poll lists them")
    caller = lookup.here()
    if all_of_them:
        folders = _active(caller, everywhere=everywhere, others=others)
    else:
        folders = list(dict.fromkeys(lookup.find_run(reference, caller) for reference in runs))
    before = [inspect(folder) for folder in folders]
    over = {run.run_id for run in before if run.ended}
    for run in before if runs else ():
        if not run.ended and run.plan.owner != caller.owner:  # the caller may have meant another run
            whose = f"another parent session, {run.plan.owner}" if run.plan.owner else "no parent session"
            printing.warn([f"{words.short_id(run.run_id)} belonged to {whose}"])
    stopped = stopping.stop(folders)
    ids = [run.run_id for run in stopped]
    # The caller knows the ending of a run that it stops. A run that had finished before has an unread answer.
    lookup.mark_answered(caller, (run.run_id for run in stopped if run.standing.status == records.ABORTED))
    found = take(poll.named(ids), caller)
    if as_json:
        printing.document(poll.as_document(found, caller))
    else:
        lines = [words.stopped_line(row, was_over=row.run["runId"] in over) for row in found.rows]
        printing.lines(lines or ["nothing to stop"])


def _active(caller: Caller, *, everywhere: bool, others: bool) -> list[str]:
    """Return the active runs that --all stops, and warn about the others. Raise if none can be stopped."""
    found = take(poll.query_of(caller, everywhere=everywhere, others=others), caller)
    if found.others is not None and found.others["active"]:
        printing.warn(
            [f"left alone: {found.others['active']} of other parents here; --others stops them, too"]
        )
    owned = []
    if not everywhere and not others and caller.owner is None:
        owned = [row.run for row in found.rows if row.run["owner"] is not None]
    if owned:
        named = (f"{words.short_id(run['runId'])} ({answers.label(run)})" for run in owned)
        message = f"left alone, because other parents launched them: {', '.join(named)}"
        printing.warn([f"{message}; stop --all --others stops them, too"])
    left = {run["runId"] for run in owned}
    folders = [f"{caller.runs}/{run_id}" for run_id in found.active if run_id not in left]
    refused = {folder: why for folder in folders if (why := stopping.why_not(folder)) is not None}
    if refused and len(refused) == len(folders):
        raise next(iter(refused.values()))
    printing.warn(why.message for why in refused.values())
    return [folder for folder in folders if folder not in refused]


VERBS = {
    **dict.fromkeys(("poll", "status", "ps", "ls"), poll_verb),
    "wait": wait_verb,
    "statusline": statusline,
    "top": top_verb,
    "send": send,
    "answer": answer,
    **dict.fromkeys(("stop", "kill", "cancel"), stop),
}
