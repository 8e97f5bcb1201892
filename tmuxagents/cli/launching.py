"""Verbs that begin and end runs: launch, retry, stop."""

from __future__ import annotations

import os
import time

import click

from tmuxagents import jsonline
from tmuxagents.cli import calling, server, streams, tasks, words
from tmuxagents.commands import known, poll
from tmuxagents.commands import launch as launching
from tmuxagents.commands import retry as retrying
from tmuxagents.commands import stop as stopping
from tmuxagents.commands.look import Asked, look
from tmuxagents.core import display
from tmuxagents.core.plan import LaunchRequest
from tmuxagents.edges.registry import Scope
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.commands.known import Caller
    from tmuxagents.commands.launch import Launched, Launcher

_JSON = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
_MODEL = click.option("-m", "--model", metavar="MODEL", help="The child's model.")
_TIMEOUT = click.option("--timeout", type=float, metavar="S", help="Seconds that the child may work.")


@click.command(epilog='Example: id=$(tmuxagents launch "Find where sessions are created.")')
@click.argument("task", nargs=-1, metavar="TASK")
@_MODEL
@click.option("--agent", metavar="NAME", help="The brand of the child (default: pi).")
@click.option("--cwd", metavar="DIR", help="Where the child works (default: here).")
@click.option("--name", metavar="NAME", help="A name for the run, besides its id.")
@_TIMEOUT
@click.option("--task-file", metavar="FILE", help="Read the task from a file (- is stdin).")
@_JSON
def launch(  # noqa: PLR0913  (one parameter an option)
    *,
    task: tuple[str, ...],
    model: str | None,
    agent: str | None,
    cwd: str | None,
    name: str | None,
    timeout: float | None,
    task_file: str | None,
    as_json: bool,
) -> None:
    """Run TASK in a child agent, in a tmux window of its own, and return at once with the run's id."""
    here = _here()
    launcher = _launcher()
    request = LaunchRequest(
        task=tasks.read(task, task_file),
        cwd=os.path.normpath(os.path.join(here, cwd)) if cwd is not None else here,
        project=launcher.caller.project,
        agent=agent or "pi",
        model=model,
        name=name,
        owner=launcher.caller.owner,
        timeout=launcher.settings.numbers["timeout"] if timeout is None else timeout,
    )
    _tell(launcher.launch(request), launcher.caller, as_json=as_json)


def _here() -> str:
    folder = calling.folder()
    if folder is None:
        raise BadRequest(
            "The folder that you stand in was removed.", kind="bad-cwd", hint="cd somewhere else"
        )
    return folder


def _launcher() -> Launcher:
    def slow() -> None:
        if streams.is_terminal(streams.ERR):
            words.lines(["starting…"], streams.ERR)

    return launching.Launcher(calling.caller(), dict(os.environ), socket=server.socket(), slow=slow)


def _tell(launched: Launched, caller: Caller, *, as_json: bool) -> None:
    """Print the receipt: for programs the id or a document, for people where the run is."""
    run_id = launched.run.run_id
    attach = f"tmuxagents attach {display.short_id(run_id, ())}"
    if as_json:
        counts = poll.counts(caller)
        receipt = {"v": 1, "run": launched.run.document(time.time()), "counts": counts, "attach": attach}
        streams.write(jsonline.encode(receipt | {"warnings": launched.warnings}))
        return
    words.warn(launched.warnings)
    what = display.receipt_name(launched.run.meta)
    where = f"{what} in {launched.session}:{launched.window}, attach with: {attach}"
    words.lines([where], streams.ERR)
    words.lines([run_id])


@click.command(epilog="Example: tmuxagents retry --timeout 1200 01a1ee15")
@click.argument("run", metavar="RUN")
@_MODEL
@_TIMEOUT
@_JSON
def retry(*, run: str, model: str | None, timeout: float | None, as_json: bool) -> None:
    """Launch a new run with the task, preset and directory of RUN."""
    launcher = _launcher()
    run_dir = known.find(run, launcher.caller)
    request = retrying.request(run_dir, launcher.caller, model=model, timeout=timeout)
    _tell(launcher.launch(request), launcher.caller, as_json=as_json)


@click.command(epilog="Example: tmuxagents stop 01a1ee15")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--all", "all_of_them", is_flag=True, help="Stop all active runs of this parent or project.")
@click.option("-A", "--all-projects", "everywhere", is_flag=True, help="With --all: of everybody.")
@_JSON
def stop(*, runs: tuple[str, ...], all_of_them: bool, everywhere: bool, as_json: bool) -> None:
    """Stop each RUN: gracefully, then hard. A run that has ended stays as it is."""
    if bool(runs) == all_of_them:
        hint = "name them, or give --all"
        raise BadRequest("Which runs are to be stopped?", kind="usage", hint=hint)
    caller = calling.caller()
    if all_of_them:
        ids = look(caller, poll.asked_by(caller, (), everywhere=everywhere)).active
        folders = [f"{caller.runs}/{run_id}" for run_id in ids]
    else:
        folders = list(dict.fromkeys(known.find(reference, caller) for reference in runs))
    ids = [run.run_id for run in stopping.stop(folders)]
    found = look(caller, Asked(Scope("named", *ids), ids=ids, active=False))
    if as_json:
        streams.write(jsonline.encode(poll.document(found, caller)))
    else:
        words.lines(map(display.stopped_line, found.shown))


VERBS = {"launch": launch, "retry": retry, "stop": stop, "kill": stop, "cancel": stop}
