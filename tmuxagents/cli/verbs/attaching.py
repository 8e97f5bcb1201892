"""The verb attach: a run's window on the person's terminal; without a window, its transcript. Joins."""

from __future__ import annotations

import os

import click

from tmuxagents.attach import attach as attaching
from tmuxagents.attach import choose, rules, seen
from tmuxagents.cli import printing
from tmuxagents.errors import BadRequest, NoSuchRun
from tmuxagents.records import BATCH
from tmuxagents.registry import lookup, sessions
from tmuxagents.runs import words
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import foreground, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from tmuxagents.attach.attach import RunTarget, Viewer
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.inspect import RunView

_COMMAND = "tmuxagents attach"


@click.command(epilog="Example: tmuxagents attach 01a1ee15")
@click.argument("run", required=False, metavar="[RUN]")
@click.option("-r", "--read-only", is_flag=True, help="Look only: no key reaches the window.")
@click.option("--next", "onward", is_flag=True, help="Show the newest run that needs you.")
@click.option("--back", is_flag=True, help="Show what this terminal showed before.")
@click.option(
    "--resume", "reopens", is_flag=True, help="Open the session of an ended RUN again, to go on with it."
)
@click.option("--there", is_flag=True, help="Of a run on another machine: show its window over there.")
@click.option("--json", "as_json", is_flag=True, help="Print the run, once it is shown, as a JSON document.")
def attach(  # noqa: PLR0913  (one parameter an option)
    *, run: str | None, read_only: bool, onward: bool, back: bool, reopens: bool, there: bool, as_json: bool
) -> None:
    """Show the window of RUN on this terminal (default: the only active run; of several you choose).

    Your prefix key, then d (Ctrl-b d) leads back: to your shell or, inside tmux, to the pane you came from.
    If the run has ended and its window is gone, its transcript is shown.
    """
    if (run is not None) + onward + back > 1 or (back and read_only):
        raise BadRequest(
            "Use only one of RUN, --next and --back, and no --read-only with --back.", kind="usage"
        )
    if there and (onward or back or reopens):
        raise BadRequest("Use --there without --next, --back and --resume.", kind="usage")
    if reopens and run is None:
        raise BadRequest("Name a run to resume.", kind="usage", hint="tmuxagents poll -a lists them")
    caller = lookup.here()
    if back:
        attaching.go_back(caller, viewer_here(f"{_COMMAND} --back"))
        return
    if onward:
        viewer = viewer_here(f"{_COMMAND} --next")
        found, target = choose.next_run(caller, viewer)
        seen.see(found.run_dir, caller)
        _show(found, target, viewer, read_only=read_only)
        _print_session(found, caller, as_json=as_json)
        return
    run_dir = lookup.find_run(run, caller) if run is not None else _which(caller, may_ask=not as_json)
    if run_dir is None:
        return
    found = inspect(run_dir)
    if there:
        _show_there(found, caller, read_only=read_only)
    if reopens and found.ended:
        _reopen(found, caller, read_only=read_only, as_json=as_json)
    else:
        show(found, caller, read_only=read_only, as_json=as_json)


def _show_there(run: RunView, caller: Caller, *, read_only: bool) -> NoReturn:
    """Become the ssh process that shows a run's window on another machine."""
    from tmuxagents.machines import requests, ssh  # noqa: PLC0415  (most runs work here)

    if not run.is_far:
        message = f"Run {words.short_id(run.run_id)} has no window on another machine."
        raise BadRequest(message, kind="usage", hint="leave out --there")
    if terminal() is None:
        viewer_here(f"{_COMMAND} --there {words.short_id(run.run_id)}")
    host = requests.host_of(run, os.environ)
    seen.see(run.run_dir, caller)
    verb = ["attach", *(["--read-only"] if read_only else []), run.run_id]
    foreground.become(ssh.command(host, verb, tty=True, environment=os.environ), dict(os.environ))


def _reopen(run: RunView, caller: Caller, *, read_only: bool, as_json: bool) -> None:
    """Open the session of a run again in a new window, and show that window."""
    from tmuxagents.cli import options  # noqa: PLC0415  (plain attach launches nothing)
    from tmuxagents.launch import resume  # noqa: PLC0415  (as above)

    # Checked first: without a viewer, nothing is launched.
    viewer = viewer_here(f"{_COMMAND} --resume {words.short_id(run.run_id)}")
    how, launched = resume.reopen(options.launcher(), run.run_id)
    printing.warn(launched.warnings)
    printing.lines([how], printing.ERR)
    show(launched.run, caller, viewer=viewer, read_only=read_only, as_json=as_json)


def viewer_here(command: str) -> Viewer:
    """Return the viewer on which a run can be shown; raise if there is none."""
    return attaching.find_viewer(os.environ, terminal(), hint=f"in a terminal: {command}")


def show(
    run: RunView,
    caller: Caller,
    *,
    viewer: Viewer | None = None,
    read_only: bool = False,
    as_json: bool = False,
) -> None:
    """Show a run's window. If the run has ended and its window is gone, show the transcript in a pager."""
    target, warnings = attaching.find_window(run)
    printing.warn(warnings)
    if target is not None:
        viewer = viewer or viewer_here(f"{_COMMAND} {words.short_id(run.run_id)}")
        seen.see(run.run_dir, caller)
        _show(run, target, viewer, read_only=read_only)
    elif not as_json:
        argv = None
        if terminal() is not None:
            less = process.find_program("less", os.environ.get("PATH", ""))
            argv = rules.pager(os.environ, has_less=less is not None)
            seen.see(run.run_dir, caller)
        if argv is None or not foreground.page(argv, attaching.transcript(run.run_dir, caller)):
            for line in attaching.transcript(run.run_dir, caller):
                printing.write(line)
    _print_session(run, caller, as_json=as_json)


def _print_session(run: RunView, caller: Caller, *, as_json: bool) -> None:
    if as_json:
        printing.document({"v": 1} | sessions.document(run, caller))


def _show(run: RunView, target: RunTarget, viewer: Viewer, *, read_only: bool) -> None:
    argv = _step(run, target, viewer, read_only=read_only)
    if argv is not None:
        foreground.become(argv, outside())


def way_to(run: RunView, viewer: Viewer) -> list[str] | None:
    """Show a run's window to a tmux client. For a viewer outside tmux, return the program that shows it."""
    target, warnings = attaching.find_window(run)
    printing.warn(warnings)
    return None if target is None else _step(run, target, viewer, read_only=False)


def _step(run: RunView, target: RunTarget, viewer: Viewer, *, read_only: bool) -> list[str] | None:
    printing.warn(viewer.warnings)
    if run.plan.driver == BATCH:
        printing.lines([rules.BATCH_NOTICE], printing.ERR)
    if target.window.dead:
        target.life.look_for_ended()  # else the line that tmux prints at the end may be missing
        attaching.repaint(run, target, viewer, width=printing.columns())
    return attaching.show(viewer, target, read_only=read_only)


def outside() -> dict[str, str]:
    """Return the environment of a tmux client outside tmux: without the variables that tmux sets."""
    return {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}


def terminal() -> str | None:
    """Return the path of the person's terminal. An agent may inherit stdin, so stdout must be one, too."""
    if not printing.has_person():
        return None
    try:
        return os.ttyname(printing.IN)
    except OSError:  # in another mount namespace it has no path, and tmux cannot open it
        return None


# --- which run ---


def _which(caller: Caller, *, may_ask: bool) -> str | None:
    """Return the run directory of the only active run, or of the one that the person chooses, if any."""
    is_person = may_ask and terminal() is not None and os.environ.get("TERM", "dumb") != "dumb"
    try:
        found = attaching.live_runs(caller)
    except NoSuchRun:
        if not is_person:
            raise
    else:
        printing.warn(found.warnings)
        if len(found.rows) == 1:
            return f"{caller.runs}/{found.rows[0].run['runId']}"
        if not is_person:
            raise attaching.ambiguous(found)
    run_id = choose.ask(choose.to_choose(caller))
    return None if run_id is None else f"{caller.runs}/{run_id}"


VERBS = {"attach": attach}
