"""Verbs that begin runs: launch, retry."""

from __future__ import annotations

import click

from tmuxagents import jsonline
from tmuxagents.cli import options, streams, tasks, words
from tmuxagents.commands import known, poll, sessions
from tmuxagents.commands import retry as retrying
from tmuxagents.core import display, preset_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.commands.arrival import Launched
    from tmuxagents.commands.known import Caller


@click.command(epilog='Example: id=$(tmuxagents launch "Find where sessions are created.")')
@options.launching
@options.ATTACH
@options.JSON
def launch(
    *, task: tuple[str, ...], task_file: str | None, attaches: bool, as_json: bool, **wanted: Any
) -> None:
    """Run TASK in a child agent, in a tmux window of its own, and return at once with the run's id."""
    if attaches:
        from tmuxagents.cli import attaching  # noqa: PLC0415  (a launch is to be quick)

        # Asked first: where nobody can see it, nothing is launched.
        who = attaching.here("tmuxagents launch --attach, or leave out --attach")
    launcher = options.launcher(project_presets=not wanted.pop("no_project_presets"))
    request = options.request(launcher, tasks.read(task, task_file), mode="background", **wanted)
    launched = launcher.launch(request)
    tell(launched, launcher.caller, as_json=as_json)
    if attaches:
        who.warnings = [warning for warning in who.warnings if warning not in launched.warnings]
        attaching.show(launched.run, launcher.caller, who=who)


def tell(launched: Launched, caller: Caller, *, as_json: bool, how: str | None = None) -> None:
    """Print the receipt: for programs the id or a document, for people where the run is.

    `how`: in which way it goes on with a session.
    """
    run_id = launched.run.run_id
    attach = f"tmuxagents attach {display.short_id(run_id, ())}"
    if as_json:
        counts = poll.counts(caller)
        run = sessions.document(launched.run, caller)
        receipt = {"v": 1, "run": run, "counts": counts, "attach": attach}
        warnings = [*([how] if how else []), *launched.warnings]
        streams.write(jsonline.encode(receipt | {"warnings": warnings}))
        return
    words.warn(launched.warnings)
    words.lines([how] if how else [], streams.ERR)
    plan = launched.run.meta
    what = display.receipt_name(plan, preset_plan.origin(plan))
    where = f"{what} in {launched.session}:{launched.window}, attach with: {attach}"
    words.lines([where], streams.ERR)
    words.lines([run_id])


@click.command(epilog="Example: tmuxagents retry --timeout 1200 01a1ee15")
@click.argument("run", metavar="RUN")
@options.MODEL
@options.TIMEOUT
@options.LIVE
@options.JSON
def retry(*, run: str, model: str | None, timeout: float | None, live: bool | None, as_json: bool) -> None:
    """Launch a new run with the task, preset and directory of RUN; one that was resumed is resumed again."""
    launcher = options.launcher()
    run_dir = known.find(run, launcher.caller)
    driver = options.driver(live=live)
    how, launched = retrying.retry(launcher, run_dir, model=model, timeout=timeout, driver=driver)
    tell(launched, launcher.caller, as_json=as_json, how=how)


VERBS = {"launch": launch, "retry": retry}
