"""The verbs poll, wait and statusline as click commands (their bodies are in cli/looks), and top. Joins."""

from __future__ import annotations

import os

import click

from tmuxagents.cli import looks, printing, quick, values
from tmuxagents.errors import Unusable
from tmuxagents.registry import lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TYPES = {
    quick.TIMEOUT: values.DURATION,
    quick.STATUSES: values.STATUSES,
    **dict.fromkeys((quick.MOST, quick.MAX_BYTES), click.IntRange(min=1)),
}


def _takes(options: quick.Options) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Declare the options that cli/quick reads."""

    def declare(verb: Callable[..., int]) -> Callable[..., int]:
        for name, words, metavar, said in reversed(options):
            how: dict[str, Any] = {"metavar": metavar} if metavar else {"is_flag": True}
            verb = click.option(*words, name, help=said, type=_TYPES.get(name), **how)(verb)
        return verb

    return declare


@click.command("poll", epilog="Example: tmuxagents poll --wait --timeout 60 01a1ee15")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@_takes(quick.POLL)
def poll_verb(**options: Any) -> int:
    """List runs and their status; also called `ls`, `ps` and `status`.

    Without RUN it lists the active runs of this parent or project, and those that ended within the last hour;
    --json has the active ones, unless -a or -n asks for more.
    """
    return looks.poll(**options)


@click.command("wait", epilog="Example: tmuxagents wait 01a1ee15 && tmuxagents output 01a1ee15")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@_takes(quick.WAIT)
def wait_verb(**options: Any) -> int:
    """Wait until each RUN has ended; exit with 0 if all completed, 1 if not, 124 if the time is up."""
    return looks.wait(**options)


@click.command("statusline", epilog="Example: set -g status-right '#(tmuxagents statusline)'")
@_takes(quick.STATUSLINE)
def statusline(**options: Any) -> int:
    """Print the status text: of this tmux server's runs, outside tmux of this parent's or project's."""
    return looks.statusline(**options)


_HINT = "tmuxagents poll --follow prints what changes"


@click.command("top", epilog="Example: tmuxagents top --all-projects")
@click.option("-a", "--all", "ended", is_flag=True, help="Show also runs that ended more than an hour ago.")
@click.option("-A", "--all-projects", "everywhere", is_flag=True, help="Of all projects and parents.")
@click.option("--keep", "keeps", is_flag=True, hidden=True)
def top_verb(*, ended: bool, everywhere: bool, keeps: bool) -> None:
    """Watch all runs on the whole screen, with the transcript of the chosen one.

    Enter attaches to it, / searches, ? shows all keys, q leaves.
    """
    has_terminal = printing.is_terminal(printing.IN) and printing.is_terminal(printing.OUT)
    if not has_terminal or os.environ.get("TERM", "dumb") == "dumb":
        raise Unusable("top needs a terminal.", kind="no-tty", hint=_HINT)
    from tmuxagents.top import acts, app, runs, view  # noqa: PLC0415  (textual, for this verb alone)

    caller = lookup.here()
    keep = None
    if keeps:
        from tmuxagents.layouts import opening  # noqa: PLC0415  (in the pane of a layout)

        keeper = opening.keeper(os.environ, caller.folder)
        keep = keeper.keep if keeper is not None else None
    shown = view.TopView(ended=ended, everywhere=everywhere)
    raise SystemExit(app.TopApp(shown, runs.TopRuns(caller), acts.act, keep).show())


VERBS = {
    "poll": poll_verb,
    "status": poll_verb,
    "ps": poll_verb,
    "ls": poll_verb,
    "wait": wait_verb,
    "statusline": statusline,
    "top": top_verb,
}
