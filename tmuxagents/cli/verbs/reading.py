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
    from typing import Any

    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView


def see(run_dir: str, caller: Caller) -> None:
    """Record that a person looks at a run, if one is at the terminal."""
    if printing.is_terminal():
        from tmuxagents.attach import seen  # noqa: PLC0415  (programs read more often)

        seen.see(run_dir, caller)


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
    see(run_dir, caller)
    _say_state(found, text)
    print_answer(text)
    if found.ended and found.standing.status != "completed":
        click.get_current_context().exit(1)


def print_answer(text: str | None) -> None:
    """Print an answer, and nothing else."""
    if text and printing.is_terminal():
        from tmuxagents.cli import rendered  # noqa: PLC0415  (a pipe needs no renderer)

        printing.write(rendered.answer(text).encode("utf-8", "replace"))
    elif text:
        printing.write(text.encode("utf-8", "replace") + (b"" if text.endswith("\n") else b"\n"))


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
@click.argument("run", required=False)
@click.option("-f", "--follow", is_flag=True, help="Continue until the run has ended.")
@click.option("-n", "--lines", "last", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@click.option("-t", "--times", is_flag=True, help="Say at what time of day each thing happened.")
@click.option("--grep", "word", metavar="WORD", help="Only lines with WORD; without RUN, those of all runs.")
@click.option("-A", "--all-projects", "everywhere", is_flag=True, help="With --grep: search all projects.")
@click.option(
    "--session", "whole", is_flag=True, help="Print it as tools for parents do, with whole answers."
)
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON lines instead.")
def transcript(  # noqa: PLR0913  (a parameter for each option)
    *,
    run: str | None,
    follow: bool,
    last: int | None,
    times: bool,
    word: str | None,
    everywhere: bool,
    whole: bool,
    as_json: bool,
) -> int:
    """Show what all runs of the session that RUN belongs to have said and done, and what they used.

    On a terminal it looks like the run's window. Elsewhere it is the plain transcript.log, an entry a line.
    """
    _check_options(follow=follow, last=last, times=times, word=word, whole=whole, as_json=as_json)
    caller = lookup.here()
    if word is not None:
        from tmuxagents.cli import search  # noqa: PLC0415  (only for this option)

        found = None if run is None else sessions.find(run, caller)
        return search.search(caller, word, found, everywhere=everywhere, as_json=as_json)
    run_dirs = sessions.find(run or lookup.LAST, caller)
    see(run_dirs[-1], caller)
    if as_json:
        for run_dir in run_dirs:
            _lines(run_output.event_lines(run_dir, after=0, follow=follow and run_dir == run_dirs[-1]))
    elif whole:
        told = conversation.session_output([*map(run_output.told, run_dirs)])
        _clean([told.encode("utf-8", "replace"), *run_output.used(run_dirs)])
    elif printing.is_terminal():
        from tmuxagents.cli import rendered  # noqa: PLC0415  (a pipe needs no renderer)

        rendered.stories(run_dirs, follow=follow, last=last, times=times)
    else:
        _clean(run_output.session_lines(run_dirs, follow=follow, last=last, times=times))
    return 0


def _check_options(**how: Any) -> None:
    """Refuse options that mean nothing together."""
    given = {"--follow": how["follow"], "--lines": how["last"] is not None, "--times": how["times"]}
    given |= {"--json": how["as_json"], "--session": how["whole"]}
    alone: str | None
    if how["word"] is not None:
        alone, fits = "--grep", {"--json"}
    elif how["whole"]:
        alone, fits = "--session", {"--session"}
    else:
        alone, fits = "--json" if how["as_json"] else None, {"--follow", "--json"}
    other = next((name for name, is_given in given.items() if is_given and name not in fits), None)
    if alone is not None and other is not None:
        raise BadRequest(f"{alone} and {other} do not go together.", kind="usage", hint="leave one out")


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
@click.option(
    "--json", is_flag=True, expose_value=False, help="Accepted for consistency; the output is always JSON."
)
def events(*, run: str, follow: bool, after: int) -> None:
    """Print the normalised events of RUN as JSON lines."""
    _lines(run_output.event_lines(lookup.find_run(run, lookup.here()), after=after, follow=follow))


VERBS = {"output": output, "transcript": transcript, "logs": transcript, "events": events}
