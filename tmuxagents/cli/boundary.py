"""The one place where errors become words and exit codes. Joins."""

from __future__ import annotations

import contextlib
import errno
import os
import time

import click

from tmuxagents import __version__
from tmuxagents.cli import printing
from tmuxagents.errors import BadRequest, Interrupted, TmuxAgentsError, Unusable
from tmuxagents.runs import documents
from tmuxagents.system import identity, places
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.errors import Fault

# Descriptors, processes, memory, a failing disk: no fault of the request, and no bug.
_USED_UP = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)
_MOST_TOLD = 20  # faults of one call: nobody mends more of them at once
# What a group without a verb raises; click 8.1 has no such thing, and prints the page by itself.
_HELP: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
_NO_PLACE = (errno.EROFS, errno.ENAMETOOLONG)
_BROKEN = (errno.EIO, errno.ENOLCK, errno.ESTALE, errno.EUCLEAN)


def fail(error: BaseException, arguments: Sequence[str]) -> int:
    """Say what went wrong with these arguments; return the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return _interrupted(arguments)
    if isinstance(error, BrokenPipeError):
        printing.give_up()
        return 1
    if isinstance(error, _HELP):
        return _show_help(error)
    problem, log = problem_of(error)
    with contextlib.suppress(OSError):
        _say(problem, as_json="--json" in _before_dashes(arguments), log=log)
    if isinstance(error, OSError):
        printing.give_up()
    return problem.exit_code


def _interrupted(arguments: Sequence[str]) -> int:
    """Say so where a program reads a document; a person knows what they have typed."""
    problem = Interrupted("Interrupted.", kind="interrupted")
    if "--json" in _before_dashes(arguments):
        with contextlib.suppress(OSError):
            _say(problem, as_json=True, log=None)
    return problem.exit_code


def _show_help(error: click.UsageError) -> int:
    """Show the page itself, which would be unreadable on the one line of an error."""
    with contextlib.suppress(OSError):
        printing.write(f"{error.format_message()}\n".encode(), printing.ERR)
    return BadRequest.exit_code


def problem_of(error: BaseException) -> tuple[TmuxAgentsError, str | None]:
    """Return an exception as one of our errors; for a bug, also the log about it."""
    problem = _translate(error)
    if problem is not None:
        return problem, None
    log = _log(error)
    words = f"Something went wrong in tmuxagents itself: {type(error).__name__}."
    hint = f"the log to report is {log}" if log else "there was no way to write a log of it"
    return TmuxAgentsError(words, kind="internal", hint=hint), log


def _before_dashes(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _translate(error: BaseException) -> TmuxAgentsError | None:
    """Return our error for an exception that a person can act on."""
    if isinstance(error, TmuxAgentsError):
        return error
    if isinstance(error, click.UsageError):
        verb = error.ctx.command_path if error.ctx else "tmuxagents"
        words = " ".join(error.format_message().split())  # some come as a list over several lines
        return BadRequest(words, kind="usage", hint=f"see {verb} --help")
    return _of_the_machine(error) if isinstance(error, OSError) else None


def _of_the_machine(error: OSError) -> Unusable | None:
    """Return what the machine has refused, if that is what it did."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unusable(f"No space is left on the device: {error}.", kind="no-space", hint="make room: df -h")
    if error.errno in _USED_UP:
        message = f"The machine has run out of something: {error.strerror}."
        return Unusable(message, kind="no-space", hint="what is used up? ulimit -a")
    if error.errno in _BROKEN:
        message = f"The file system does not work: {error}."
        hint = "set TMUXAGENTS_HOME to a folder on a local disk"
        return Unusable(message, kind="no-permission", hint=hint)
    if isinstance(error, (PermissionError, NotADirectoryError)) or error.errno in _NO_PLACE:
        message = f"{error.strerror}: {error.filename or error}."
        hint = "set TMUXAGENTS_HOME to a folder of yours"
        return Unusable(message, kind="no-permission", hint=hint)
    return None


def _say(problem: TmuxAgentsError, *, as_json: bool, log: str | None) -> None:
    if problem.warnings:
        from tmuxagents.cli.printing import warn  # noqa: PLC0415  (few errors come with any)

        warn(problem.warnings)
    if as_json:
        printing.write(jsonline.encode(documents.error(problem, log=log)))
        return
    words = "".join(f"{safe.text(line)}\n" for line in lines_of(problem))
    printing.write(words.encode("utf-8", "replace"), printing.ERR)


def lines_of(problem: TmuxAgentsError) -> list[str]:
    """Return what a person reads: a sentence, a hint, and what else is wrong with the tasks of a call."""
    of_tasks = [fault for fault in problem.faults if (fault.field or "").startswith("tasks[")]
    told = [_with_place(fault) for fault in of_tasks] if problem.faults[0] in of_tasks else []
    lines = [told[0] if told else problem.message, *([f"hint: {problem.hint}"] if problem.hint else [])]
    return lines + [f"also: {words}" for words in told[1:_MOST_TOLD]]


def _with_place(fault: Fault) -> str:
    """Return what is wrong with a task, and with which: not every message says it."""
    return fault.message if fault.message.startswith("tasks[") else f"{fault.field}: {fault.message}"


def _log(error: BaseException) -> str | None:
    """Write the traceback down; return the path."""
    import traceback  # noqa: PLC0415  (only our own bugs have one)

    try:
        folder = f"{places.own_home(os.environ)}/hosts/{identity.host()}/logs"
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = f"{folder}/{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as log:
            log.write(f"tmuxagents {__version__}\n")
            traceback.print_exception(error, file=log)
    except (OSError, TmuxAgentsError):
        return None
    return path
