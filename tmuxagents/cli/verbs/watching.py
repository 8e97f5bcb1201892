"""The verbs poll, wait and statusline, as click commands; cli/verbs/looks has their bodies. Joins."""

from __future__ import annotations

import math

import click

from tmuxagents.cli.verbs import looks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _figure(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("that is no number of seconds")
    return value


_TIMEOUT = click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    callback=_figure,
    metavar="S",
    help="Give up after so long (exit code 124).",
)
_ANY = click.option("--any", "any_of_them", is_flag=True, help="Wait for one of them only.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")


@click.command("poll", epilog="Example: tmuxagents poll --wait --timeout 60 01a1ee15")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("-a", "--all", "ended", is_flag=True, help="Show runs that have ended, too.")
@click.option("-A", "--all-projects", "everywhere", is_flag=True, help="Of all projects and parents.")
@click.option("--wait", "waits", is_flag=True, help="Wait until they have ended.")
@_ANY
@_TIMEOUT
@click.option("-f", "--follow", "follows", is_flag=True, help="Print each change until they have ended.")
@click.option("--since", metavar="CURSOR", help="Print what has changed since then (0: what is active).")
@_JSON
def poll_verb(**options: Any) -> int:
    """List runs and their status: counts, and a row for each RUN, or for those of this parent or project."""
    return looks.poll(**options)


@click.command("wait", epilog="Example: tmuxagents wait 01a1ee15 && tmuxagents output 01a1ee15")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@_ANY
@_TIMEOUT
@_JSON
def wait_verb(**options: Any) -> int:
    """Wait until each RUN has ended; exit with 0 if all completed, else with 1."""
    return looks.wait(**options)


@click.command("statusline", epilog="Example: set -g status-right '#(tmuxagents statusline)'")
@click.option("-A", "--all-projects", "everywhere", is_flag=True, help="Count the runs of everybody.")
@_JSON
def statusline(**options: Any) -> int:
    """Print the status text: of this tmux server's runs, outside tmux of this parent's or project's."""
    return looks.statusline(**options)


VERBS = {
    "poll": poll_verb,
    "status": poll_verb,
    "ps": poll_verb,
    "ls": poll_verb,
    "wait": wait_verb,
    "statusline": statusline,
}
