"""The verb run: children in the foreground. What they do goes to stderr, what they came to to stdout."""

from __future__ import annotations

import os

import click

from tmuxagents import jsonline
from tmuxagents.cli import options, streams, tasks, words
from tmuxagents.cli.interrupts import Interrupts
from tmuxagents.cli.live import Lines, Screen, Silence
from tmuxagents.commands import poll, reading
from tmuxagents.commands.call import Call, prepare
from tmuxagents.commands.inspect import inspect
from tmuxagents.commands.look import Asked, look
from tmuxagents.core import answers, sanitize
from tmuxagents.core import tasks as task_files
from tmuxagents.edges.registry import Scope
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.commands.known import Caller
    from tmuxagents.commands.launch import Launcher
    from tmuxagents.core.plan import LaunchRequest

SINGLE, PARALLEL = "single", "parallel"


@click.command(epilog='Example: tmuxagents run "Find where sessions are created."')
@options.launching
@click.option(
    "--tasks", "tasks_file", metavar="FILE", help="Run the tasks of a JSON or YAML file (- is stdin)."
)
@options.JSON
def run(
    *, task: tuple[str, ...], task_file: str | None, tasks_file: str | None, as_json: bool, **wanted: Any
) -> int:
    """Run TASK in a child agent and wait for it; Ctrl-C stops it. The exit code tells how it ended."""
    launcher = options.launcher(project_presets=not wanted.pop("no_project_presets"))
    if tasks_file is None:
        text = tasks.read(task, task_file)
        requests = [options.request(launcher, text, mode=SINGLE, **wanted)]
    else:
        _refuse_beside(task, task_file, wanted)
        requests = _from_file(launcher, tasks_file, **wanted)
    most = int(launcher.settings.numbers["maxConcurrency"])
    call = Call(launcher, prepare(launcher, requests), most=most)
    view = Silence() if as_json else Screen(call) if streams.is_terminal(streams.ERR) else Lines(call)
    with Interrupts() as interrupts, view:
        call.carry_out(view.tell, interrupts.handle, interrupts.came)
    _print(call, launcher.caller, as_json=as_json)
    if call.cancelled:
        return 128 + interrupts.number
    return 0 if all(inspect(one.run_dir).standing.status == "completed" for one in call.tasks) else 1


def _refuse_beside(task: tuple[str, ...], task_file: str | None, wanted: dict[str, Any]) -> None:
    """Refuse what a tasks file says for each of its tasks."""
    given = {"TASK": task, "--task-file": task_file, "-p": wanted["preset"]}
    given |= {"-m": wanted["model"], "--name": wanted["name"], "--file": wanted["files"]}
    beside = [name for name, value in given.items() if value]
    if beside:
        message = f"{beside[0]} does not go with --tasks: each task of the file has its own."
        raise BadRequest(message, kind="usage", hint="leave it out, or put it into the file")


def _from_file(launcher: Launcher, file: str, **wanted: Any) -> list[LaunchRequest]:
    """Return the requests of a tasks file. Options are for all of its tasks that say nothing else."""
    source = "stdin" if file == tasks.STDIN else file
    items = task_files.parse(tasks.content(file), source)
    start = options.here()
    base = start if file == tasks.STDIN else os.path.dirname(os.path.join(start, file))
    made = []
    for item in items:
        own = {"model": item.model, "name": item.name, "timeout": item.timeout or wanted["timeout"]}
        own |= {"cwd": item.cwd if item.cwd is not None else wanted["cwd"]}
        own |= {"preset": item.preset, "files": item.files}
        where = base if item.cwd is not None else start
        made.append(options.request(launcher, item.task, base=where, mode=PARALLEL, **(wanted | own)))
    return made


def _print(call: Call, caller: Caller, *, as_json: bool) -> None:
    """Print what the call came to, in the order in which it was asked for."""
    ids = [task.run_id for task in call.tasks]
    found = look(caller, Asked(Scope("named", *ids), ids=ids, active=False))
    found.shown.sort(key=lambda shown: ids.index(shown.run["runId"]))
    words.warn(dict.fromkeys(found.warnings))
    if as_json:
        streams.write(jsonline.encode(poll.document(found, caller)))
        return
    whole = [(shown.run, reading.answer(found.runs[shown.run["runId"]])) for shown in found.shown]
    text = answers.blocks(whole)
    words.lines([sanitize.text(text) if streams.is_terminal() else text])


VERBS = {"run": run}
