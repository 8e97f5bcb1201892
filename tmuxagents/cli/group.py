"""The verbs together, as click knows them: found by name, imported when called; `-L` names the server.

Joins.
"""

from __future__ import annotations

import importlib
import os
import sys

import click

from tmuxagents import __version__
from tmuxagents.cli import EVERYDAY, HIDDEN, PROGRAMS, SET_UP, VERBS, boundary, printing
from tmuxagents.errors import BadRequest
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

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


def completing() -> bool:
    """Say whether a shell asks what could come next."""
    return "_TMUXAGENTS_COMPLETE" in os.environ


class Verbs(click.Group):
    """The verbs, found by name and imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """Return the verbs that people see."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a verb's declaration."""
        module = VERBS[cmd_name][0] if cmd_name in VERBS else HIDDEN.get(cmd_name)
        if module is None:
            return None
        family = importlib.import_module(f"tmuxagents.cli.verbs.{module}")
        command: click.Command = family.VERBS[cmd_name]
        if not command.hidden and SOCKET not in command.params:
            command.params.append(SOCKET)
        if completing():
            from tmuxagents.cli.verbs import completion  # noqa: PLC0415  (for shells that ask)

            completion.offer(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that was asked for; an unknown one names the nearest."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            shown = safe.cut(safe.line(name), 40)
            import difflib  # noqa: PLC0415  (rarely is anybody wrong)

            near = difflib.get_close_matches(name, VERBS, n=1)
            hint = f"did you mean {near[0]}?" if near else "tmuxagents --help lists the verbs"
            raise BadRequest(f'There is no verb "{shown}".', kind="usage", hint=hint, candidates=near)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the verbs in their groups."""
        for group in (EVERYDAY, SET_UP, PROGRAMS):
            rows = [(name, line) for name, (_, of, line) in VERBS.items() if of == group]
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


@click.command(
    cls=Verbs,
    invoke_without_command=True,
    params=[SOCKET],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="tmuxagents")
@click.pass_context
def tmuxagents(context: click.Context) -> Any:
    """Run child agents, each in a tmux window of its own, and never lose sight of them."""
    if context.invoked_subcommand is not None:
        return None
    is_screen = printing.is_terminal(printing.IN) and printing.is_terminal()
    if is_screen and os.environ.get("TERM", "dumb") != "dumb":
        return context.invoke(importlib.import_module("tmuxagents.cli.verbs.top").VERBS["top"])
    printing.lines([context.get_help()])
    return None


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with the documented exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if completing():
            from tmuxagents.cli.verbs import completion  # noqa: PLC0415  (for shells that ask)

            sys.exit(completion.answer(tmuxagents))
        # Standalone mode would turn Ctrl-C into exit code 1 and print errors in click's way.
        code = tmuxagents.main(args=argv, prog_name="tmuxagents", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  (the one boundary: everything becomes a code and a sentence)
        code = boundary.fail(error, argv)
    sys.exit(code if isinstance(code, int) else 0)
