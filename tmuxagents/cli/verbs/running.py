"""The verb run: children in the foreground. Progress goes to stderr, answers go to stdout. Joins.

With --attach the terminal shows the child's own window, and the call's picture once the person is back.
"""

from __future__ import annotations

import os
import select
import time

import click

from tmuxagents import records
from tmuxagents.cli import options, printing
from tmuxagents.cli.interrupts import SignalInterrupts
from tmuxagents.cli.verbs import attaching, reading, tasks
from tmuxagents.cli.verbs.live import Lines, LivePicture, Silence
from tmuxagents.errors import BadRequest, TmuxAgentsError
from tmuxagents.launch import tasks as task_files
from tmuxagents.launch.call import Call
from tmuxagents.launch.prepare import prepare
from tmuxagents.runs import output, words
from tmuxagents.runs.endings import PARENT
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import poll
from tmuxagents.status.snapshot import take
from tmuxagents.system import foreground
from tmuxagents.text import safe
from tmuxagents.tools import answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from tmuxagents.attach.attach import Viewer
    from tmuxagents.launch.launch import Launcher
    from tmuxagents.launch.plan import LaunchRequest
    from tmuxagents.registry.lookup import Caller

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
    """Run TASK, wait for it and print the answer. Ctrl-C stops it; the exit code says how it ended."""
    if tasks_file is not None:
        _refuse_beside({"TASK": task, "--task-file": task_file, "--attach": attaches}, wanted)
    # Checked first: without a viewer, nothing is launched.
    viewer = attaching.here("tmuxagents run --attach, or leave out --attach") if attaches else None
    launcher = options.launcher(project_presets=not wanted.pop("no_project_presets"))
    if tasks_file is None:
        text = tasks.read(task, task_file)
        requests = [options.request(launcher, text, mode=SINGLE, **wanted)]
    else:
        requests = _from_file(launcher, tasks_file, **wanted)
    most = int(launcher.settings.numbers["maxConcurrency"])
    call = Call(launcher, prepare(launcher, requests, listed=tasks_file is not None), most=most)
    with SignalInterrupts() as interrupts:
        view = (
            Silence() if as_json else LivePicture(call) if printing.is_terminal(printing.ERR) else Lines(call)
        )
        with Attached(call, viewer, interrupts, view) if viewer else view as seen:
            call.carry_out(seen.tell, interrupts.handle, interrupts.came)
    went_well = _print(call, launcher.caller, as_json=as_json)
    if call.cancelled:
        return 128 + interrupts.number
    return 0 if went_well else 1


def _refuse_beside(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Refuse options that each task of a file has for itself, and those for one child only."""
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
    """Return the requests of a tasks file. Options apply to the tasks that do not override them."""
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
    """Print the answers, in the order of the tasks; return whether all went well."""
    ids = [task.run_id for task in call.tasks]
    found = take(poll.named(ids), caller)
    found.rows.sort(key=lambda shown: ids.index(shown.run["runId"]))
    untold = [warning for task in call.tasks for warning in task.warnings] if as_json else []
    printing.warn(dict.fromkeys([*untold, *found.warnings]))
    went_well = len(found.rows) == len(ids) and poll.went_well(found, ids, caller)
    if as_json:
        printing.document(poll.as_document(found, caller))
        return went_well
    told = [(shown.run, output.answer(found.views[shown.run["runId"]])) for shown in found.rows]
    if len(call.tasks) == 1:
        for _, answer in told:
            reading.print_answer(answer)
    else:
        blocks = (_block(number, run, answer) for number, (run, answer) in enumerate(told, 1))
        text = "\n\n".join(blocks)
        printing.lines([safe.text(text) if printing.is_terminal() else text])
    used = words.line([run["usage"] for run, _ in told])
    if used and not printing.is_terminal(printing.ERR):  # the picture has shown it
        printing.lines([used], printing.ERR)
    return went_well


def _block(number: int, run: Mapping[str, Any], answer: str | None) -> str:
    """Return how one of several tasks has ended, and its answer if it is finished."""
    head = f"[{number}] {words.title(run['name'], run['task'])}: {run['status']}"
    end = f"(run {run['runId']})"
    if run["status"] != records.COMPLETED and not run["settled"]:
        why = "cancelled" if run["reason"] == PARENT.reason else safe.line(run["errorMessage"] or "")
        return f"{head} ({run['reason']}){': ' if why else ''}{why} {end}"
    return f"{head} {end}\n\n{answers.cut(answer, run['runId'])}" if answer else f"{head} {end}"


_LOOK_S = 0.2  # between two looks whether the person is back


class Attached(Silence):
    """Shows the first child's window as soon as it exists. `after`: what shows the call otherwise."""

    def __init__(self, call: Call, viewer: Viewer, interrupts: SignalInterrupts, after: Silence) -> None:
        self._first = call.tasks[0]
        self._viewer: Viewer | None = viewer
        self._interrupts = interrupts
        self._after = after
        self._client: foreground.Lent | None = None

    def __enter__(self) -> Self:
        self._after.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the person to come back, unless they cancel the call."""
        while self._client is not None and not self._client.is_over:
            select.select([self._interrupts.handle], [], [], _LOOK_S)
            if self._interrupts.came():
                self._client.end()
        self._after.__exit__()

    def tell(self) -> float:
        """Show the window once it exists; until then, and while it has the terminal, write nothing."""
        if self._viewer is not None and self._first.is_there:
            viewer, self._viewer = self._viewer, None
            self._show(viewer)
        shows = self._client is not None and not self._client.is_over
        return time.monotonic() + _LOOK_S if shows or self._viewer is not None else self._after.tell()

    def _show(self, viewer: Viewer) -> None:
        try:
            viewer.warnings = [warning for warning in viewer.warnings if warning not in self._first.warnings]
            argv = attaching.way_to(inspect(self._first.run_dir), viewer)
            self._client = foreground.Lent(argv, attaching.outside()) if argv else None
        except (TmuxAgentsError, OSError) as error:  # the children continue all the same
            printing.warn([f"not attached: {error}"])


VERBS = {"run": run}
