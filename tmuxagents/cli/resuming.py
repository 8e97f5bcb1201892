"""The verb that goes on with a session: resume."""

from __future__ import annotations

import os

import click

from tmuxagents.cli import launching, options, tasks
from tmuxagents.commands import resume as resuming
from tmuxagents.errors import BadRequest

_FILE = click.option(
    "--file", "files", multiple=True, metavar="SPEC", help="A file for the prompt, as in launch."
)


@click.command(epilog='Example: tmuxagents resume 01a1ee15 "Now write the tests, too."')
@click.argument("run", metavar="RUN")
@click.argument("task", nargs=-1, metavar="TASK")
@options.MODEL
@options.TIMEOUT
@options.LIVE
@_FILE
@click.option("--name", metavar="NAME", help="A name for the new run (default: the one of the run before).")
@click.option(
    "--replay", is_flag=True, help="Tell what was said before in the prompt, in a new child session."
)
@click.option("--cwd", metavar="DIR", help="With --replay: where the child works (default: as before).")
@options.JSON
def resume(  # noqa: PLR0913  (one parameter an option)
    *,
    run: str,
    task: tuple[str, ...],
    model: str | None,
    timeout: float | None,
    live: bool | None,
    files: tuple[str, ...],
    name: str | None,
    replay: bool,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Give the session that RUN belongs to another TASK: its child knows what was said and done before."""
    if cwd is not None and not replay:
        hint = "a child goes on where its session works; add --replay to have it told again elsewhere"
        raise BadRequest("--cwd is only for --replay.", kind="usage", hint=hint, field="cwd")
    launcher = options.launcher()
    wanted = resuming.Wanted(
        tasks.read(task, None),
        model=model,
        timeout=timeout,
        driver=options.driver(live=live),
        name=name,
        files=files,
        replay=replay,
        cwd=None if cwd is None else os.path.normpath(os.path.join(options.here(), cwd)),
    )
    how, launched = resuming.resume(launcher, run, wanted)
    launching.tell(launched, launcher.caller, as_json=as_json, how=how)


VERBS = {"resume": resume}
