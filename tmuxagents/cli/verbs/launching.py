"""The verbs that start a child in the background: launch, retry and resume. Joins."""

from __future__ import annotations

import os
from typing import NamedTuple

import click

from tmuxagents import records
from tmuxagents.cli import options, printing, values
from tmuxagents.errors import BadRequest
from tmuxagents.launch import plan as plans
from tmuxagents.registry import lookup
from tmuxagents.runs import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.launch.arrival import Launched
    from tmuxagents.launch.launch import Launcher
    from tmuxagents.launch.plan import LaunchRequest
    from tmuxagents.registry.lookup import Caller


@click.command(epilog='Example: id=$(tmuxagents launch "Find where sessions are created.")')
@options.launching
@options.TASKS
@options.ATTACH
@values.JSON
def launch(
    *,
    task: tuple[str, ...],
    task_file: str | None,
    tasks_file: str | None,
    attaches: bool,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Give TASK to an agent in a tmux window of its own, and return at once with the run's id."""
    if tasks_file is not None:
        refuse_beside({"TASK": task, "--task-file": task_file, "--attach": attaches}, wanted)
    if attaches:
        from tmuxagents.cli.verbs import attaching  # noqa: PLC0415  (a launch is to be quick)

        # Without a viewer, nothing is launched.
        viewer = attaching.viewer_here("tmuxagents launch --attach, or leave out --attach")
    launcher = options.launcher(project_presets=not wanted.pop("no_project_presets"))
    if tasks_file is not None:
        from tmuxagents.launch.prepare import prepare  # noqa: PLC0415  (for files only)

        asked = requests_of(launcher, tasks_file, mode="background", **wanted)
        if asked.concurrency is not None:
            printing.warn(["concurrency is for run; background runs are limited by the setting maxRunning"])
        for prepared in prepare(launcher, asked.requests, after=asked.after):
            print_receipt(launcher.start(prepared), launcher.caller, as_json=as_json)
        return
    values.refuse_odd_task(task, wanted["after"])
    request = options.request(launcher, values.read_task(task, task_file), mode="background", **wanted)
    launched = launcher.launch(request)
    print_receipt(launched, launcher.caller, as_json=as_json)
    if attaches:
        viewer.warnings = [warning for warning in viewer.warnings if warning not in launched.warnings]
        attaching.show(launched.run, launcher.caller, viewer=viewer)


class TaskRequests(NamedTuple):
    """The requests of a tasks file, the others that each one waits for, and how many may run at once."""

    requests: Sequence[LaunchRequest]
    after: Sequence[Sequence[int]]
    concurrency: int | None


def requests_of(launcher: Launcher, file: str, *, mode: str, **wanted: Any) -> TaskRequests:
    """Return the requests of a tasks file. Options apply to the tasks that do not override them."""
    from tmuxagents.launch import tasks as task_files  # noqa: PLC0415  (YAML)

    source = "stdin" if file == values.STDIN else file
    found = task_files.parse(values.read_content(file, "tasks"), source)
    start = options.working_directory()
    base = start if file == values.STDIN else os.path.dirname(os.path.join(start, file))
    made, after = [], []
    for item, (inside, others) in zip(found.items, task_files.dependencies(found.items), strict=True):
        own = {key: getattr(item, key) for key in ("preset", "model", "name", "files")}
        own |= {key: getattr(item, key) or wanted[key] for key in ("agent", "permission", "on", "timeout")}
        own |= {"cwd": item.cwd if item.cwd is not None else wanted["cwd"]}
        own |= {"after": (*wanted["after"], *others)}
        where = base if item.cwd is not None else start
        made.append(options.request(launcher, item.task, base=where, mode=mode, **(wanted | own)))
        after.append(inside)
    return TaskRequests(made, after, found.concurrency)


def refuse_beside(given: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse options that each task of a file sets itself, and options that fit only a single child."""
    own = {"-p": "preset", "-m": "model", "--name": "name", "--file": "files"}
    given = {**given, **{name: wanted[key] for name, key in own.items()}}
    beside = [name for name, value in given.items() if value]
    if beside == ["--attach"]:
        message = "--attach does not go with --tasks: a terminal shows one window."
        raise BadRequest(message, kind="usage", hint="attach to one of them: tmuxagents attach RUN")
    if beside:
        message = f"{beside[0]} does not go with --tasks: each task of the file has its own."
        raise BadRequest(message, kind="usage", hint="leave it out, or put it into the file")


def print_receipt(launched: Launched, caller: Caller, *, as_json: bool, how: str | None = None) -> None:
    """Print the receipt: the id or a document for programs, and for people how to watch the run.

    `how`: how the run continues a session.
    """
    run_id, plan = launched.run.run_id, launched.run.plan
    attach = f"tmuxagents attach {words.short_id(run_id)}"
    if as_json:
        from tmuxagents.registry import sessions  # noqa: PLC0415  (a launch is to be quick)
        from tmuxagents.status import poll  # noqa: PLC0415  (as above)

        counts = poll.counts(caller)
        run = sessions.document(launched.run, caller)
        receipt = {"v": 1, "run": run, "counts": counts, "attach": attach}
        warnings = [*([how] if how else []), *launched.warnings]
        printing.document(receipt | {"warnings": warnings})
        return
    printing.warn(launched.warnings)
    printing.lines([how] if how else [], printing.ERR)
    called = plan.name if plan.name and plan.name.isascii() else words.short_id(run_id)
    made = launched.run
    is_there = made.is_far and (made.machine or {}).get("state") == records.SUBMITTED
    status = records.RUNNING if is_there else made.standing.status
    started = plans.receipt(plan, status, host=made.host)
    printing.lines([started, f"Watch it: tmuxagents attach {called}"], printing.ERR)
    printing.lines([run_id])


@click.command(epilog="Example: tmuxagents retry --timeout 1200 01a1ee15")
@click.argument("run", metavar="RUN")
@options.MODEL
@options.TIMEOUT
@options.LIVE
@values.JSON
def retry(*, run: str, model: str | None, timeout: float | None, live: bool | None, as_json: bool) -> None:
    """Launch a new run with the task, preset and directory of RUN; one that was resumed is resumed again."""
    from tmuxagents.launch import resume as resuming  # noqa: PLC0415  (a launch is to be quick)

    launcher = options.launcher()
    run_dir = lookup.find_run(run, launcher.caller)
    driver = options.driver(live=live)
    wanted = resuming.WantedRun(model=model, timeout=timeout, driver=driver)
    how, launched = resuming.retry(launcher, run_dir, wanted)
    print_receipt(launched, launcher.caller, as_json=as_json, how=how)


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
    "--replay", is_flag=True, help="Put the earlier conversation into the prompt of a new child session."
)
@click.option("--cwd", metavar="DIR", help="With --replay: where the child works (default: as before).")
@values.JSON
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
    from tmuxagents.launch import resume as resuming  # noqa: PLC0415  (a launch is to be quick)

    if cwd is not None and not replay:
        hint = "a session continues in its own folder; --replay can continue it in another one"
        raise BadRequest("--cwd is only for --replay.", kind="usage", hint=hint, field="cwd")
    launcher = options.launcher()
    wanted = resuming.WantedRun(
        values.read_task(task, None),
        model=model,
        timeout=timeout,
        driver=options.driver(live=live),
        name=name,
        files=files,
        replay=replay,
        cwd=None if cwd is None else os.path.normpath(os.path.join(options.working_directory(), cwd)),
    )
    how, launched = resuming.resume(launcher, run, wanted)
    print_receipt(launched, launcher.caller, as_json=as_json, how=how)


VERBS = {"launch": launch, "retry": retry, "resume": resume}
