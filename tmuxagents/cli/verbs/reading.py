"""Verbs that read what runs wrote: output, transcript, replay, export, events. Joins."""

from __future__ import annotations

import click

from tmuxagents.cli import printing
from tmuxagents.errors import BadRequest, NotPossible
from tmuxagents.registry import lookup, sessions
from tmuxagents.runs import conversation, inspect
from tmuxagents.runs import output as run_output
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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
@click.option("--partial", is_flag=True, help="While it works, print what there is.")
@click.option(
    "--max-bytes", type=click.IntRange(min=1), metavar="N", help="Keep head and tail of a long answer."
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
        printing.write(jsonline.encode(sessions.document(found, caller)))
        return
    if not (found.ended or found.state.settled or partial):
        message = f"Run {found.run_id} is still {found.standing.status}: it has no answer yet."
        raise NotPossible(
            message, kind="run-running", hint="--wait waits for it, --partial prints what there is"
        )
    text = run_output.answer(found, max_bytes)
    see(run_dir, caller)
    _say_state(found, text)
    if text and printing.is_terminal():
        from tmuxagents.cli import rendered  # noqa: PLC0415  (a pipe needs no renderer)

        printing.write(rendered.answer(text).encode("utf-8", "replace"))
    elif text:
        printing.write(text.encode("utf-8", "replace") + (b"" if text.endswith("\n") else b"\n"))
    if found.ended and found.standing.status != "completed":
        click.get_current_context().exit(1)


def _say_state(run: RunView, text: str | None) -> None:
    """Say on stderr what the answer alone does not tell."""
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
@click.option("-f", "--follow", is_flag=True, help="Go on until the run has ended.")
@click.option("-n", "--lines", "last", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@click.option("-t", "--times", is_flag=True, help="Say at what time of day each thing happened.")
@click.option("--session", "whole", is_flag=True, help="Print it as a parent's tools do, with whole answers.")
@click.option("--json", "as_json", is_flag=True, help="Print the events instead, as JSON lines.")
def transcript(  # noqa: PLR0913  (a parameter for each option)
    *, run: str, follow: bool, last: int | None, times: bool, whole: bool, as_json: bool
) -> None:
    """Show what all runs of the session that RUN belongs to have said and done, and what they used.

    On a terminal it looks like the run's window. Elsewhere it is the plain transcript.log, an entry a line.
    """
    _check_options(follow=follow, last=last, times=times, whole=whole, as_json=as_json)
    caller = lookup.here()
    run_dirs = sessions.find(run, caller)
    see(run_dirs[-1], caller)
    if as_json:
        for run_dir in run_dirs:
            _lines(run_output.event_lines(run_dir, after=0, follow=follow and run_dir == run_dirs[-1]))
        return
    if whole:
        told = conversation.session_output([*map(run_output.told, run_dirs)])
        _clean([told.encode("utf-8", "replace"), *run_output.used(run_dirs)])
    elif printing.is_terminal():
        from tmuxagents.cli import rendered  # noqa: PLC0415  (a pipe needs no renderer)

        rendered.stories(run_dirs, follow=follow, last=last, times=times)
    else:
        _clean(run_output.session_lines(run_dirs, follow=follow, last=last, times=times))


def _check_options(*, follow: bool, last: int | None, times: bool, whole: bool, as_json: bool) -> None:
    """Refuse options that mean nothing together."""
    given = {"--follow": follow, "--lines": last is not None, "--times": times, "--json": as_json}
    alone = "--session" if whole else "--json" if as_json else None
    fits = {"--follow", "--json"} if not whole else set()
    other = next((name for name, is_given in given.items() if is_given and name not in fits), None)
    if alone is not None and other is not None:
        raise BadRequest(f"{alone} and {other} do not go together.", kind="usage", hint="leave one out")


def _clean(lines: Iterable[bytes]) -> None:
    """Write lines of a transcript. Ours are clean; but they lie where the child can write, too."""
    for line in lines:
        printing.write(safe.text(line.decode("utf-8", "replace")).encode("utf-8", "replace") + b"\n")


@click.command(epilog="Example: tmuxagents events --after 12 -f 01a1ee15")
@click.argument("run", default=lookup.LAST)
@click.option("-f", "--follow", is_flag=True, help="Go on until the run has ended.")
@click.option(
    "--after", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Only events after this one."
)
@click.option("--json", is_flag=True, expose_value=False, help="They are JSON lines anyway.")
def events(*, run: str, follow: bool, after: int) -> None:
    """Print the normalised events of RUN as JSON lines."""
    _lines(run_output.event_lines(lookup.find_run(run, lookup.here()), after=after, follow=follow))


@click.command(epilog="Example: tmuxagents export finder --html finder.html")
@click.argument("runs", nargs=-1)
@click.option("--html", "path", metavar="FILE", help="Write the page to FILE, not to stdout.")
def export(*, runs: tuple[str, ...], path: str | None) -> None:
    """Write what the sessions of RUNS have said and done as one page of HTML (default: the newest run).

    The page needs nothing else and asks nothing of the network. Calls fold; a search opens them.
    """
    if path is None and printing.is_terminal():
        hint = "--html FILE writes it to a file"
        raise BadRequest("A page of HTML is not for a terminal.", kind="usage", hint=hint)
    from tmuxagents.cli import exporting  # noqa: PLC0415  (only here)

    caller = lookup.here()
    named = runs or (lookup.LAST,)
    page = exporting.page(dict.fromkeys(folder for run in named for folder in sessions.find(run, caller)))
    if path is None:
        printing.write(page)
    else:
        exporting.write(path, page)


@click.command(epilog="Example: tmuxagents replay finder --speed 4")
@click.argument("run", default=lookup.LAST)
@click.option(
    "--speed", type=click.FloatRange(min=1 / 64, max=4096), default=1.0, metavar="N", help="Times as fast."
)
def replay(*, run: str, speed: float) -> None:
    """Show again what RUN said and did, in its own time.

    Space pauses, s goes to the next step, + and - change the speed, q leaves.
    """
    from tmuxagents.cli import replaying  # noqa: PLC0415  (only here)

    replaying.replay(lookup.find_run(run, lookup.here()), speed)


VERBS = {
    "export": export,
    "replay": replay,
    "output": output,
    "transcript": transcript,
    "logs": transcript,
    "events": events,
}
