"""The verbs that print the texts of runs: output, transcript, export, events. Joins."""

from __future__ import annotations

import click

from tmuxagents import records
from tmuxagents.cli import printing, values
from tmuxagents.errors import BadRequest, NotPossible
from tmuxagents.registry import lookup, sessions
from tmuxagents.runs import conversation, inspect
from tmuxagents.runs import output as run_output
from tmuxagents.status import ending_text
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.registry.lookup import Caller


def see(run_dir: str, caller: Caller) -> None:
    """Record that a person looks at a run, if one is at the terminal."""
    if printing.is_terminal():
        from tmuxagents.attach import seen  # noqa: PLC0415  (programs read more often)

        seen.see(run_dir, caller)


def _lines(lines: Iterable[bytes]) -> None:
    for line in lines:
        printing.write(line + b"\n")


def _or_newest(runs: Sequence[str]) -> Sequence[str]:
    """Return the named runs, or the newest one for a person. Refuse a program that names none."""
    if runs and "" not in runs:
        return runs
    if "" in runs or not printing.is_terminal():
        hint = f"tmuxagents {click.get_current_context().info_name} {lookup.LAST} means the newest run"
        raise BadRequest("Name a run: this one is empty." if runs else "Name a run.", kind="usage", hint=hint)
    return (lookup.LAST,)


@click.command(epilog="Example: tmuxagents output 01a1ee15 > answer.md")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--wait", is_flag=True, help="Wait until the run has ended.")
@click.option("--partial", is_flag=True, help="Print what there is, even while it works.")
@click.option(
    "--max-bytes", type=click.IntRange(min=1), metavar="N", help="Cut the middle out of a long answer."
)
@click.option("--json", "as_json", is_flag=True, help="Print the run as a JSON document.")
def output(*, runs: Sequence[str], wait: bool, partial: bool, max_bytes: int | None, as_json: bool) -> int:
    """Print the answer of RUN, or of the run that continued it last (on a terminal, default: the newest run).

    If the run failed, the first line says why, and the rest is unfinished. Several runs are printed one after
    the other, each below its status. Exits with 1 if a run failed, with 4 if one still works.
    """
    caller = lookup.here()
    run_dirs = [sessions.find(run, caller)[-1] for run in _or_newest(runs)]
    if wait:
        from tmuxagents.status.wait import wait_until  # noqa: PLC0415  (only here)

        wait_until(run_dirs, lambda run: run.ended)
    found = [inspect.inspect(run_dir) for run_dir in run_dirs]
    lookup.mark_answered(caller, (run.run_id for run in found if run.ended))
    if as_json:
        for run in found:
            printing.document({"v": 1} | sessions.document(run, caller))
        return 0
    missing = [run for run in found if not (run.ended or run.state.settled or partial)]
    for run_dir in run_dirs:
        see(run_dir, caller)
    if len(found) == 1 and not missing:
        (run,) = found
        if not run.ended:
            printing.lines([f"still {run.standing.status}"], printing.ERR)
        print_ended(run.document(0.0), run_output.answer(run, max_bytes))
    elif len(found) > 1:
        texts = (None if run in missing else run_output.answer(run) for run in found)
        documents = (run.document(0.0) for run in found)
        print_answer(ending_text.blocks(zip(documents, texts, strict=True), max_bytes))
    if missing:
        message = f"Run {missing[0].run_id} is still {missing[0].standing.status}: it has no answer yet."
        raise NotPossible(
            message, kind="run-running", hint="--wait waits for it, --partial prints what there is"
        )
    return int(any(run.ended and run.standing.status != records.COMPLETED for run in found))


def print_answer(text: str | None) -> None:
    """Print an answer, and nothing else."""
    if text and printing.is_terminal():
        from tmuxagents.cli import rendered  # noqa: PLC0415  (a pipe needs no renderer)

        printing.write(rendered.answer(text).encode("utf-8", "replace"))
    elif text:
        printing.write(text.encode("utf-8", "replace") + (b"" if text.endswith("\n") else b"\n"))


def print_ended(run: Mapping[str, Any], text: str | None) -> None:
    """Print the answer of a run; if the run failed, print first how it ended."""
    if ending_text.has_failed(run):
        printing.lines([ending_text.warning(run, text) or ""])
    elif not text and run["status"] == records.COMPLETED:
        printing.lines([ending_text.NO_TEXT], printing.ERR)
    if run.get("denied"):
        printing.lines([ending_text.state_text(run)], printing.ERR)
    print_answer(text)
    if "code" in run:
        from tmuxagents.machines import refs  # noqa: PLC0415  (most runs work here)

        printing.lines(refs.hints(run["runId"], run["code"]), printing.ERR)


@click.command(epilog="Example: tmuxagents transcript -f 01a1ee15")
@click.argument("run", required=False)
@click.option("-f", "--follow", is_flag=True, help="Continue until the run has ended.")
@click.option("-n", "--lines", "last", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@click.option("-t", "--times", is_flag=True, help="Show the time of day of each entry.")
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

    On a terminal it looks like the run's window, and RUN is the newest one by default. Elsewhere it is the
    plain transcript.log, an entry a line.
    """
    _check_options(follow=follow, last=last, times=times, word=word, whole=whole, as_json=as_json)
    caller = lookup.here()
    if word is not None:
        from tmuxagents.cli import rendered  # noqa: PLC0415  (only for this option)

        found = None if run is None else sessions.find(run, caller)
        return rendered.search(caller, word, found, everywhere=everywhere, as_json=as_json)
    run_dirs = sessions.find(_or_newest([] if run is None else [run])[0], caller)
    see(run_dirs[-1], caller)
    if as_json:
        for run_dir in run_dirs:
            _lines(run_output.event_lines(run_dir, after=0, follow=follow and run_dir == run_dirs[-1]))
    elif whole:
        whole_session = conversation.session_output([*map(run_output.read_messages, run_dirs)])
        _clean([whole_session.encode("utf-8", "replace"), *run_output.used(run_dirs)])
    elif printing.is_terminal():
        from tmuxagents.cli import rendered  # noqa: PLC0415  (a pipe needs no renderer)

        rendered.stories(run_dirs, follow=follow, last=last, times=times)
    else:
        _clean(run_output.session_lines(run_dirs, follow=follow, last=last, times=times))
    return 0


def _check_options(**how: Any) -> None:
    """Refuse options that do not go together."""
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
    """Write lines of a transcript without control sequences, since the child can write to that file."""
    for line in lines:
        printing.write(safe.text(line.decode("utf-8", "replace")).encode("utf-8", "replace") + b"\n")


@click.command(epilog="Example: tmuxagents events --after 12 -f 01a1ee15")
@click.argument("run", required=False)
@click.option("-f", "--follow", is_flag=True, help="Continue until the run has ended.")
@click.option(
    "--after", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Only events after this one."
)
@values.ALWAYS_JSON
def events(*, run: str | None, follow: bool, after: int) -> None:
    """Print the normalised events of RUN as JSON lines (on a terminal, default: the newest run)."""
    run_dir = lookup.find_run(_or_newest([] if run is None else [run])[0], lookup.here())
    _lines(run_output.event_lines(run_dir, after=after, follow=follow))


@click.command(epilog="Example: tmuxagents export finder --html finder.html")
@click.argument("runs", nargs=-1)
@click.option("--html", "path", metavar="FILE", help="Write the page to FILE, not to stdout.")
def export(*, runs: tuple[str, ...], path: str | None) -> None:
    """Write what RUNS and their sessions said and did as one HTML page (default: the newest run).

    The page stands alone and makes no requests. Calls fold; a search opens them.
    """
    if path is None and printing.is_terminal():
        hint = "--html FILE writes it to a file"
        raise BadRequest("A page of HTML is not for a terminal.", kind="usage", hint=hint)
    from tmuxagents.cli import rendered  # noqa: PLC0415  (only here)

    caller = lookup.here()
    named = runs or (lookup.LAST,)
    page = rendered.page(dict.fromkeys(folder for run in named for folder in sessions.find(run, caller)))
    if path is None:
        printing.write(page)
    else:
        rendered.write_page(path, page)


VERBS = {
    "export": export,
    "output": output,
    **dict.fromkeys(("transcript", "logs"), transcript),
    "events": events,
}
