"""Which tmux server is meant: `-L` before or after the verb."""

from __future__ import annotations

import click

_SOCKET = "tmuxagents.socket"


def _keep(context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.find_root().meta[_SOCKET] = value


# On the command itself and on every verb: it works before and after the verb, as people type it.
SOCKET = click.Option(
    ["-L", "--socket"],
    metavar="NAME",
    expose_value=False,
    callback=_keep,
    help="The tmux server, by name or path, as for tmux itself.",
)


def socket() -> str | None:
    """Return the tmux server that was asked for."""
    named: str | None = click.get_current_context().find_root().meta.get(_SOCKET)
    return named
