"""Options of the verbs that launch, and the launch request that they make. Joins."""

from __future__ import annotations

import os

import click

from tmuxagents import records
from tmuxagents.cli import group, printing, values
from tmuxagents.errors import BadRequest
from tmuxagents.launch.launch import Launcher
from tmuxagents.launch.plan import LaunchRequest, parse_on
from tmuxagents.presets.fields import PERMISSIONS
from tmuxagents.registry import lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.runs.prompt import FileSpec


MODEL = click.option("-m", "--model", metavar="MODEL", help="The model to use.")
TIMEOUT = click.option(
    "--timeout", type=values.DURATION, metavar="TIME", help="How long it may work: 90s, 5m, 1h30m."
)
TASKS = click.option(
    "--tasks", "tasks_file", metavar="FILE", help="Run the tasks of a JSON or YAML file (- is stdin)."
)
ATTACH = click.option("--attach", "attaches", is_flag=True, help="Also show its window on this terminal.")
LIVE = click.option(
    "--live/--batch", "live", default=None, help="Live: the agent's own screen, where you can type."
)
launching = values.declaring(  # the options that `launch` and `run` share
    click.argument("task", nargs=-1, metavar="TASK"),
    click.option(
        "-p",
        "--preset",
        metavar="NAME",
        help="A preset (also global:NAME, project:NAME).",
    ),
    MODEL,
    click.option("--agent", metavar="NAME", help="Which agent to run (default: pi)."),
    click.option(
        "--permission",
        type=click.Choice(PERMISSIONS),
        help="What it may do without asking (default: what the agent has).",
    ),
    click.option(
        "--on",
        metavar="HOST",
        help="Run it on another machine (see hosts), or in slurm[:PARTITION].",
    ),
    click.option("--sbatch", multiple=True, metavar="OPTION", help="With --on slurm: an option for sbatch."),
    click.option("--cwd", metavar="DIR", help="The working directory (default: here); with --on, there."),
    click.option("--name", metavar="NAME", help="A name for the run."),
    TIMEOUT,
    LIVE,
    click.option(
        "--file",
        "files",
        multiple=True,
        metavar="SPEC",
        help="Add a file to the prompt, or lines of it: PATH:A-B.",
    ),
    click.option(
        "--after", multiple=True, metavar="RUN", help="Start after this run ({previous}: its answer)."
    ),
    click.option("--task-file", metavar="FILE", help="Read the task from a file (- is stdin)."),
    click.option("--allow-outside", is_flag=True, help="Allow files outside the working directory."),
    click.option(
        "--keep-background", is_flag=True, help="Don't stop processes that the agent leaves running."
    ),
    click.option("--no-project-presets", is_flag=True, help="Ignore the project's presets."),
)


def launcher(*, project_presets: bool = True) -> Launcher:
    """Return the launcher of this command line."""

    def slow() -> None:
        if printing.is_terminal(printing.ERR):
            printing.lines(["starting…"], printing.ERR)

    return Launcher(
        lookup.here(),
        dict(os.environ),
        umask=os.umask(0o077),  # files that we make from here on are private
        socket=group.socket(),
        project_presets=project_presets,
        slow=slow,
    )


def working_directory() -> str:
    """Return the caller's working directory."""
    folder = lookup.working_directory()
    if folder is None:
        message = "Your working directory was removed."
        raise BadRequest(message, kind="bad-cwd", hint="cd somewhere else")
    return folder


def request(by: Launcher, task: str, *, base: str | None = None, mode: str, **wanted: Any) -> LaunchRequest:
    """Return the launch request. A relative `cwd` starts at `base`, by default the caller's folder."""
    start = base or working_directory()
    on = wanted.get("on")
    is_there = on is not None and parse_on(on).host is not None
    cwd = start if wanted["cwd"] is None or is_there else os.path.normpath(os.path.join(start, wanted["cwd"]))
    files: Sequence[FileSpec] = ()
    if wanted["files"]:
        from tmuxagents.launch import prepare  # noqa: PLC0415  (needed only for --file)

        files = prepare.parse_files(wanted["files"], cwd)
    return LaunchRequest(
        task=task,
        cwd=cwd,
        project=by.caller.project,
        preset=wanted["preset"],
        agent=wanted["agent"],
        mode=mode,
        model=wanted["model"],
        name=wanted["name"],
        owner=by.caller.owner,
        timeout=wanted["timeout"],
        files=files,
        after=[os.path.basename(lookup.find_run(run, by.caller)) for run in wanted["after"]],
        allow_outside=wanted["allow_outside"],
        keep_background=wanted["keep_background"],
        driver=driver(live=wanted.get("live")),
        permission=wanted.get("permission"),
        needs_model=False,
        on=wanted.get("on"),
        sbatch=wanted.get("sbatch") or (),
        far_cwd=wanted["cwd"],
    )


def driver(*, live: bool | None) -> str | None:
    """Return the driver that the option --live or --batch names; None without it."""
    return None if live is None else records.LIVE if live else records.BATCH
