"""All verbs as one click group. The module of a verb is imported when the verb is called. Joins."""

from __future__ import annotations

import importlib
import os
import sys
from itertools import chain

import click

from tmuxagents import __version__
from tmuxagents.cli import EVERYDAY, HIDDEN, PROGRAMS, SET_UP, VERBS, boundary, meant, printing, quick
from tmuxagents.errors import BadRequest
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_SOCKET, _JSON = "tmuxagents.socket", "tmuxagents.json"
# The hint for a word that resembles no verb.
_FIRST = ("launch", "run", "poll", "wait", "output", "send", "resume", "stop")
_AS_NEAR = 0.75  # the least similarity of a misspelt verb to a known one
# Other names of verbs, as the help shows them.
_ALIASES = {"poll": ("ls", "ps", "status"), "transcript": ("logs",)}


def _keep(context: click.Context, option: click.Parameter, value: str | bool | None) -> None:  # noqa: FBT001  (click's)
    """Keep the value of a given option for the whole command line."""
    if value not in (None, False):
        context.meta[f"tmuxagents.{option.name}"] = value


# The command and every verb have this option, so it works before and after the verb.
SOCKET = click.Option(
    ["-L", "--socket"],
    metavar="NAME",
    expose_value=False,
    callback=_keep,
    help="The tmux server, by name or path, as for tmux itself.",
)


def socket() -> str | None:
    """Return the tmux server that `-L` names."""
    named: str | None = click.get_current_context().meta.get(_SOCKET)
    return named


def completing() -> bool:
    """Say whether a shell asks for completions."""
    return quick.COMPLETION in os.environ


class Verbs(click.Group):
    """The verbs, found by name and imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """Return the verbs that help and completion show."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  (click's signature)
        """Return a verb's declaration."""
        module = VERBS[cmd_name][0] if cmd_name in VERBS else HIDDEN.get(cmd_name)
        if module is None:
            return None
        family = importlib.import_module(f"tmuxagents.cli.verbs.{module}")
        command: click.Command = family.VERBS[cmd_name]
        if not command.hidden and SOCKET not in command.params:
            command.params.append(SOCKET)
        for part in command.commands.values() if isinstance(command, click.Group) else ():
            part.short_help = part.short_help or (part.help or "").partition("\n\n")[0]  # click cuts its own
        if completing():
            from tmuxagents.cli.verbs import explaining  # noqa: PLC0415  (for shells that ask)

            explaining.offer(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of a verb; refuse an unknown one with the nearest."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise unknown(*args)
        found = super().resolve_command(ctx, args)
        command = found[1]
        if ctx.meta.get(_JSON) and command is not None:  # the verb prints JSON, as with its own --json
            wanted = command
            if isinstance(command, click.Group):
                below = [command.get_command(ctx, word) for word in args[1:]]
                if args[1:] and not args[1].startswith("-"):  # it may be the name of a preset
                    below.append(command.get_command(ctx, getattr(command, "verb_of_a_name", "")))
                wanted = next(filter(None, below), command)
            flag = next((param for param in wanted.params if "--json" in param.opts), None)
            if flag is None:
                hint = f"see tmuxagents {name} --help"
                raise BadRequest(f"{name} has no --json.", kind="usage", hint=hint)
            flag.default = True
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  (click's signature)
        """Write the verbs in their groups."""
        for group in (EVERYDAY, SET_UP, PROGRAMS):
            verbs = [(name, line) for name, (_, of, line) in VERBS.items() if of == group]
            rows = [(", ".join((name, *_ALIASES.get(name, ()))), line) for name, line in verbs]
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


def unknown(name: str, *arguments: str) -> BadRequest:
    """Return the error for an unknown verb. It hints at the meaning in other tools, else at a near name."""
    import difflib  # noqa: PLC0415  (rare)

    way = meant.verb((name, *arguments), (*VERBS, *HIDDEN))
    if way is None:
        known = [*meant.VERBS, *VERBS, *chain(*_ALIASES.values())]
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=_AS_NEAR)
        way = meant.VERBS.get(near[0], near[0]) if near else None
    hint = (
        f"{', '.join(_FIRST)}; tmuxagents --help lists all verbs" if way is None else f"did you mean {way}?"
    )
    message = f'There is no verb "{safe.cut(safe.line(name), 40)}".'
    return BadRequest(message, kind="usage", hint=hint, candidates=[] if way is None else [way.split()[0]])


@click.command(
    cls=Verbs,
    invoke_without_command=True,
    params=[
        SOCKET,
        click.Option(
            ["--json"], is_flag=True, expose_value=False, callback=_keep, help="Let the verb print JSON."
        ),
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="tmuxagents help VERB explains a verb.",
)
@click.version_option(__version__, "-V", "--version", prog_name="tmuxagents")
@click.pass_context
def tmuxagents(context: click.Context) -> Any:
    """Run coding agents in parallel, each in its own tmux window, and keep track of them."""
    if context.invoked_subcommand is not None:
        return None
    if context.meta.get(_JSON):
        hint = "as in: tmuxagents --json poll"
        raise BadRequest("--json needs a verb.", kind="usage", hint=hint)
    if printing.has_person() and os.environ.get("TERM", "dumb") != "dumb":
        return context.invoke(importlib.import_module("tmuxagents.cli.verbs.overseeing").VERBS["top"])
    printing.lines([context.get_help()])
    return None


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with the documented exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if completing():
            from tmuxagents.cli.verbs import explaining  # noqa: PLC0415  (for shells that ask)

            sys.exit(explaining.answer(tmuxagents))
        # Standalone mode would turn Ctrl-C into exit code 1 and print errors in click's way.
        code = tmuxagents.main(args=argv, prog_name="tmuxagents", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  (the boundary: every error becomes a sentence and an exit code)
        code = boundary.fail(error, argv)
    sys.exit(code if isinstance(code, int) else 0)
