"""The command line: declarations of verbs, and the one place where errors become words and exit codes.

Each family of verbs is a module of its own, imported when one of its verbs is called.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import os
import signal
import sys
import time
import traceback

import click

from tmuxagents import __version__, jsonline
from tmuxagents.cli import server, streams
from tmuxagents.core import documents, sanitize
from tmuxagents.edges import process, settings
from tmuxagents.errors import BadRequest, TmuxAgentsError, Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EVERYDAY, SET_UP, PROGRAMS = "Everyday", "Set-up", "For agents and programs"
# verb -> (where it is declared, its group in the help, one line)
VERBS: dict[str, tuple[str, str, str]] = {
    "launch": ("launching", EVERYDAY, "Run a task in a child, in a tmux window of its own."),
    "poll": ("watching", EVERYDAY, "Show how runs stand."),
    "wait": ("watching", EVERYDAY, "Wait for runs; the exit code tells how they ended."),
    "stop": ("launching", EVERYDAY, "Stop runs: gracefully, then hard."),
    "retry": ("launching", EVERYDAY, "Do the task of a run once more."),
    "output": ("reading", EVERYDAY, "Print the last answer of a run."),
    "transcript": ("reading", EVERYDAY, "Print the readable transcript of a run."),
    "events": ("reading", PROGRAMS, "Print what a run did, as JSON lines."),
    "statusline": ("watching", SET_UP, "Print the text of the status line."),
    "integrate": ("integrate", SET_UP, "Show the runs where you work: in tmux."),
    "schema": ("machine", PROGRAMS, "Print the JSON Schema of a document."),
}
HIDDEN = {
    **dict.fromkeys(("status", "ps", "ls"), "watching"),
    **dict.fromkeys(("kill", "cancel"), "launching"),
    "logs": "reading",
    "_wrap": "machine",
}


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
        family = importlib.import_module(f"tmuxagents.cli.{module}")
        command: click.Command = family.VERBS[cmd_name]
        if not command.hidden and server.SOCKET not in command.params:
            command.params.append(server.SOCKET)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that was asked for; an unknown one names the nearest."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            shown = sanitize.cut(sanitize.line(name), 40)
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


@click.command(cls=Verbs, params=[server.SOCKET], context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tmuxagents")
def tmuxagents() -> None:
    """Run child agents, each in a tmux window of its own, and never lose sight of them."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with the documented exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    try:
        # Standalone mode would turn Ctrl-C into exit code 1 and print errors in click's way.
        code = tmuxagents.main(args=argv, prog_name="tmuxagents", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  (the one boundary: everything becomes a code and a sentence)
        code = _fail(error, as_json="--json" in _before_dashes(argv))
    sys.exit(code if isinstance(code, int) else 0)


def _before_dashes(argv: list[str]) -> list[str]:
    return argv[: argv.index("--")] if "--" in argv else argv


def _fail(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong; return the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return 128 + signal.SIGINT
    if isinstance(error, BrokenPipeError):
        streams.give_up()
        return 1
    log = None
    problem = _translate(error)
    if problem is None:
        log = _log(error)
        words = f"Something went wrong in tmuxagents itself: {type(error).__name__}."
        problem = TmuxAgentsError(words, kind="internal", hint=f"the log to report is {log}")
    with contextlib.suppress(OSError):
        _say(problem, as_json=as_json, log=log)
    if isinstance(error, OSError):
        streams.give_up()
    return problem.exit_code


def _translate(error: BaseException) -> TmuxAgentsError | None:
    """Return an error of ours for one that a person can act on."""
    if isinstance(error, TmuxAgentsError):
        return error
    if isinstance(error, click.UsageError):
        verb = error.ctx.command_path if error.ctx else "tmuxagents"
        return BadRequest(error.format_message(), kind="usage", hint=f"see {verb} --help")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unusable(f"No space is left on the device: {error}.", kind="no-space", hint="make room: df -h")
    if isinstance(error, (PermissionError, NotADirectoryError)) or (
        isinstance(error, OSError) and error.errno == errno.EROFS
    ):
        message = f"{error.strerror}: {error.filename or error}."
        hint = "set TMUXAGENTS_HOME to a folder of yours"
        return Unusable(message, kind="no-permission", hint=hint)
    return None


def _say(problem: TmuxAgentsError, *, as_json: bool, log: str | None) -> None:
    if as_json:
        streams.write(jsonline.encode(documents.error(problem, log=log)))
        return
    lines = [problem.message, *([f"hint: {problem.hint}"] if problem.hint else [])]
    words = "".join(f"{sanitize.text(line)}\n" for line in lines)
    streams.write(words.encode("utf-8", "replace"), streams.ERR)


def _log(error: BaseException) -> str | None:
    """Write the traceback down; return the path."""
    try:
        folder = f"{settings.home(os.environ)}/hosts/{process.host()}/logs"
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = f"{folder}/{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as log:
            log.write(f"tmuxagents {__version__}\n")
            traceback.print_exception(error, file=log)
    except (OSError, TmuxAgentsError):
        return None
    return path
