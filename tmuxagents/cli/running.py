"""The verb run: children in the foreground. What they do goes to stderr, what they came to to stdout."""

from __future__ import annotations

import os

import click

from tmuxagents import jsonline
from tmuxagents.cli import options, streams, tasks, words
from tmuxagents.cli.interrupts import Interrupts
from tmuxagents.cli.live import Lines, Screen, Silence
from tmuxagents.commands import poll, reading
from tmuxagents.commands.asked import Asked
from tmuxagents.commands.batch import prepare
from tmuxagents.commands.call import Call
from tmuxagents.commands.look import look
from tmuxagents.core import answers, sanitize, usage
from tmuxagents.core import tasks as task_files
from tmuxagents.edges.registry import Scope
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.commands.attach import Stand
    from tmuxagents.commands.known import Caller
    from tmuxagents.commands.launch import Launcher
    from tmuxagents.core.plan import LaunchRequest

SINGLE, PARALLEL = "single", "parallel"


@click.command(epilog='Example: tmuxagents run "Find where sessions are created."')
@options.launching
@click.option(
    "--tasks", "tasks_file", metavar="FILE", help="Run the tasks of a JSON or YAML file (- is stdin)."
)
@options.ATTACH
@options.JSON
def run(
    *,
    task: tuple[str, ...],
    task_file: str | None,
    tasks_file: str | None,
    attaches: bool,
    as_json: bool,
    **wanted: Any,
) -> int:
    """Run TASK in a child agent and wait for it; Ctrl-C stops it. The exit code tells how it ended."""
    if tasks_file is not None:
        _refuse_beside({"TASK": task, "--task-file": task_file, "--attach": attaches}, wanted)
    who = _who_looks() if attaches else None
    launcher = options.launcher(project_presets=not wanted.pop("no_project_presets"))
    if tasks_file is None:
        text = tasks.read(task, task_file)
        requests = [options.request(launcher, text, mode=SINGLE, **wanted)]
    else:
        requests = _from_file(launcher, tasks_file, **wanted)
    most = int(launcher.settings.numbers["maxConcurrency"])
    call = Call(launcher, prepare(launcher, requests, listed=tasks_file is not None), most=most)
    with Interrupts() as interrupts:
        view = Silence() if as_json else Screen(call) if streams.is_terminal(streams.ERR) else Lines(call)
        with _beside(call, who, interrupts, view) if who else view as seen:
            call.carry_out(seen.tell, interrupts.handle, interrupts.came)
    went_well = _print(call, launcher.caller, as_json=as_json)
    if call.cancelled:
        return 128 + interrupts.number
    return 0 if went_well else 1


def _who_looks() -> Stand:
    """Return who is to see the child; raise where nobody can, before anything is launched."""
    from tmuxagents.cli import attaching  # noqa: PLC0415  (few calls attach)

    return attaching.here("tmuxagents run --attach, or leave out --attach")


def _beside(call: Call, who: Stand, interrupts: Interrupts, view: Silence) -> Silence:
    from tmuxagents.cli.beside import Attached  # noqa: PLC0415  (as above)

    return Attached(call, who, interrupts, view)


def _refuse_beside(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Refuse what a tasks file says for each of its tasks, and what is for one child alone."""
    given |= {"-p": wanted["preset"], "-m": wanted["model"], "--name": wanted["name"]}
    given |= {"--file": wanted["files"]}
    beside = [name for name, value in given.items() if value]
    if beside == ["--attach"]:
        message = "--attach does not go with --tasks: a terminal shows one window."
        raise BadRequest(message, kind="usage", hint="attach to one of them: tmuxagents attach RUN")
    if beside:
        message = f"{beside[0]} does not go with --tasks: each task of the file has its own."
        raise BadRequest(message, kind="usage", hint="leave it out, or put it into the file")


def _from_file(launcher: Launcher, file: str, **wanted: Any) -> list[LaunchRequest]:
    """Return the requests of a tasks file. Options are for all of its tasks that say nothing else."""
    source = "stdin" if file == tasks.STDIN else file
    items = task_files.parse(tasks.content(file, "tasks"), source)
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


def _print(call: Call, caller: Caller, *, as_json: bool) -> bool:
    """Print what the call came to, in the order in which it was asked for; say whether all went well."""
    ids = [task.run_id for task in call.tasks]
    found = look(caller, Asked(Scope("named", *ids), ids=ids, active=False))
    found.shown.sort(key=lambda shown: ids.index(shown.run["runId"]))
    unsaid = [warning for task in call.tasks for warning in task.warnings] if as_json else []
    words.warn(dict.fromkeys([*unsaid, *found.warnings]))
    went_well = len(found.shown) == len(ids) and poll.went_well(found, ids, caller)
    if as_json:
        streams.write(jsonline.encode(poll.document(found, caller)))
        return went_well
    whole = [(shown.run, reading.answer(found.runs[shown.run["runId"]])) for shown in found.shown]
    text = answers.blocks(whole)
    used = usage.line([run["usage"] for run, _ in whole])
    words.lines([sanitize.text(text) if streams.is_terminal() else text, *(["", used] if used else [])])
    return went_well


VERBS = {"run": run}
