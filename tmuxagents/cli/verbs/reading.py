"""The verbs that read what runs wrote: output, transcript, events. Joins."""

from __future__ import annotations

import click

from tmuxagents.cli import printing
from tmuxagents.errors import BadRequest, NotPossible
from tmuxagents.registry import lookup, sessions
from tmuxagents.runs import conversation, inspect
from tmuxagents.runs import output as run_output
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.runs.inspect import RunView


def _lines(lines: Iterable[bytes]) -> None:
    for line in lines:
        printing.write(line + b"\n")


@click.command(epilog="Example: tmuxagents output 01a1ee15 > answer.md")
@click.argument("run", default=lookup.LAST)
@click.option("--wait", is_flag=True, help="Wait until the run has ended.")
@click.option("--partial", is_flag=True, help="Print what there is, even while it works.")
@click.option(
    "--max-bytes", type=click.IntRange(min=1), metavar="N", help="Cut the middle out of a long answer."
)
@click.option("--json", "as_json", is_flag=True, help="Print the run as a JSON document.")
def output(*, run: str, wait: bool, partial: bool, max_bytes: int | None, as_json: bool) -> None:
    """Print the last answer of the session that RUN belongs to (default: the newest run).

    Exits with 1 if the run failed, with 4 if it still works.
    """
    caller = lookup.here()
    run_dir = sessions.find(run, caller)[-1]
    if wait:
        from tmuxagents.status.wait import wait_until  # noqa: PLC0415  (only here)

        wait_until([run_dir], lambda run: run.ended)
    found = inspect.inspect(run_dir)
    if as_json:
        printing.document({"v": 1} | sessions.document(found, caller))
        return
    if not (found.ended or found.state.settled or partial):
        message = f"Run {found.run_id} is still {found.standing.status}: it has no answer yet."
        raise NotPossible(
            message, kind="run-running", hint="--wait waits for it, --partial prints what there is"
        )
    text = run_output.answer(found, max_bytes)
    _say_state(found, text)
    print_answer(text)
    if found.ended and found.standing.status != "completed":
        click.get_current_context().exit(1)


def print_answer(text: str | None) -> None:
    """Print an answer, and nothing else."""
    if text:
        shown = safe.text(text) if printing.is_terminal() else text
        printing.write(shown.encode("utf-8", "replace") + (b"" if shown.endswith("\n") else b"\n"))


def _say_state(run: RunView, text: str | None) -> None:
    """Report on stderr what the answer alone does not show."""
    how = run.standing.verdict
    notes = []
    if how is None:
        notes.append("still running" if run.standing.status == "running" else "still queued")
    elif how.status != "completed":
        message = safe.line(how.error_message or "")
        notes.append(f"{how.status} ({how.reason}){': ' if message else ''}{message}")
    if how is not None and not text:
        notes.append("no text output")
    printing.lines(notes, printing.ERR)


@click.command(epilog="Example: tmuxagents transcript -f 01a1ee15")
@click.argument("run", default=lookup.LAST)
@click.option("-f", "--follow", is_flag=True, help="Continue until the run has ended.")
@click.option("--session", "whole", is_flag=True, help="Print it as tools for parents do, with whole answers.")
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON lines instead.")
def transcript(*, run: str, follow: bool, whole: bool, as_json: bool) -> None:
    """Print the readable transcript of all runs of the session that RUN belongs to, and what they used."""
    if whole and (follow or as_json):
        other = "--follow" if follow else "--json"
        raise BadRequest(f"--session and {other} do not go together.", kind="usage", hint="leave one out")
    caller = lookup.here()
    run_dirs = sessions.find(run, caller)
    if as_json:
        for run_dir in run_dirs:
            _lines(run_output.event_lines(run_dir, after=0, follow=follow and run_dir == run_dirs[-1]))
        return
    if whole:
        told = conversation.session_output([*map(run_output.told, run_dirs)])
        _clean([told.encode("utf-8", "replace"), *run_output.used(run_dirs)])
    else:
        _clean(run_output.session_lines(run_dirs, follow=follow))


def _clean(lines: Iterable[bytes]) -> None:
    """Write lines of a transcript, cleaned: the child can write to the file, too."""
    for line in lines:
        printing.write(safe.text(line.decode("utf-8", "replace")).encode("utf-8", "replace") + b"\n")


@click.command(epilog="Example: tmuxagents events --after 12 -f 01a1ee15")
@click.argument("run", default=lookup.LAST)
@click.option("-f", "--follow", is_flag=True, help="Continue until the run has ended.")
@click.option(
    "--after", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Only events after this one."
)
@click.option("--json", is_flag=True, expose_value=False, help="Accepted for consistency; the output is always JSON.")
def events(*, run: str, follow: bool, after: int) -> None:
    """Print the normalised events of RUN as JSON lines."""
    _lines(run_output.event_lines(lookup.find_run(run, lookup.here()), after=after, follow=follow))


VERBS = {"output": output, "transcript": transcript, "logs": transcript, "events": events}
