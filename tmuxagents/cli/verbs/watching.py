"""The verbs poll, wait and statusline as click commands, with their bodies in cli/looks. Joins."""

from __future__ import annotations

import click

from tmuxagents.cli import looks, quick, values

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

    Without RUN it lists the active runs of this parent or project, and those that ended within the last hour.
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


VERBS = {
    "poll": poll_verb,
    "status": poll_verb,
    "ps": poll_verb,
    "ls": poll_verb,
    "wait": wait_verb,
    "statusline": statusline,
}
