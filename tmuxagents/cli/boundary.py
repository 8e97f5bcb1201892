"""The one place where errors of a command become messages and exit codes. Joins."""

from __future__ import annotations

import contextlib
import errno
import os
import time

import click

from tmuxagents import __version__
from tmuxagents.cli import meant, printing
from tmuxagents.errors import BadRequest, Interrupted, TmuxAgentsError, Unusable
from tmuxagents.runs import documents
from tmuxagents.system import identity, places
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# Problems of the machine, neither of the request nor of our code: errno, kind, message, hint.
_OF_THE_MACHINE = (
    (
        (errno.ENOSPC, errno.EDQUOT),
        "no-space",
        "No space is left on the device: {error}.",
        "make room: df -h",
    ),
    (
        (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM),
        "no-space",
        "The machine has run out of something: {why}.",
        "ulimit -a lists the limits",
    ),
    (
        (errno.EIO, errno.ENOLCK, errno.ESTALE, errno.EUCLEAN),
        "no-permission",
        "The file system does not work: {error}.",
        "set TMUXAGENTS_HOME to a folder on a local disk",
    ),
    (
        (errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EROFS, errno.ENAMETOOLONG),
        "no-permission",
        "{why}: {what}.",
        "set TMUXAGENTS_HOME to a folder of yours",
    ),
)
_MOST_FAULTS = 20  # how many faults of one call are reported
# A group called without a verb raises this. click 8.1 has no such exception and prints the help page.
_HELP: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


def fail(error: BaseException, arguments: Sequence[str]) -> int:
    """Report the error of a call with these arguments; return the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        printing.give_up()
        return 1
    if isinstance(error, _HELP):  # a whole help page, which does not fit on the line of an error
        printing.lines([error.format_message()], printing.ERR)
        return BadRequest.exit_code
    as_json = "--json" in (arguments[: arguments.index("--")] if "--" in arguments else arguments)
    problem, log = problem_of(error)
    with contextlib.suppress(OSError):
        if as_json or not isinstance(problem, Interrupted):  # a person knows that they pressed Ctrl-C
            printing.warn(problem.warnings)
            if as_json:
                printing.document({"v": 1} | documents.error(problem, log=log))
            else:
                words = "".join(f"{printing.folded(safe.text(line))}\n" for line in lines_of(problem))
                printing.write(words.encode("utf-8", "replace"), printing.ERR)
    if isinstance(error, OSError):
        printing.give_up()
    return problem.exit_code


def problem_of(error: BaseException) -> tuple[TmuxAgentsError, str | None]:
    """Return an exception as one of our errors; for a bug, also the path of a log with its traceback."""
    problem = _translate(error)
    if problem is not None:
        return problem, None
    import traceback  # noqa: PLC0415  (only for our own bugs)

    log = None
    with contextlib.suppress(OSError, TmuxAgentsError):
        folder = f"{places.own_home(os.environ)}/hosts/{identity.host()}/logs"
        places.make_folders(folder)
        path = f"{folder}/{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        text = "".join([f"tmuxagents {__version__}\n", *traceback.format_exception(error)])
        places.write_new(path, text.encode("utf-8", "backslashreplace"))
        log = path
    words = f"Something went wrong in tmuxagents itself: {type(error).__name__}."
    hint = f"the log to report is {log}" if log else "no log could be written"
    return TmuxAgentsError(words, kind="internal", hint=hint), log


def _translate(error: BaseException) -> TmuxAgentsError | None:
    """Return our error for an exception that a person can act on."""
    if isinstance(error, TmuxAgentsError):
        error.hint = error.hint or meant.OF_KIND.get(error.kind)
        return error
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return Interrupted("Interrupted.", kind="interrupted")
    if isinstance(error, click.UsageError):
        verb = error.ctx.command_path if error.ctx else "tmuxagents"
        words = " ".join(error.format_message().split())  # some messages are lists over several lines
        words = words.replace("valid integer range", "whole number").replace("valid float range", "number")
        if isinstance(error, click.MissingParameter) and error.param and error.param.name in ("run", "runs"):
            words = "Name a run."
        if isinstance(error, click.NoSuchOption) and error.ctx:
            import difflib  # noqa: PLC0415  (rare)

            name, known = error.option_name, error.possibilities or []
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.0)
            meaning = meant.option(error.ctx.command.name or "", name)
            hint = meaning or (f"did you mean {' or '.join(near)}?" if near else f"see {verb} --help")
            message = f"No such option '{name}'."
            return BadRequest(message, kind="usage", hint=hint, candidates=[] if meaning else near)
        way = None
        if error.ctx and type(error) in (click.MissingParameter, click.UsageError):
            way = meant.arguments(error.ctx.info_name or "")
        return BadRequest(words, kind="usage", hint=way or f"see {verb} --help")
    if isinstance(error, OSError):
        what = error.filename or error
        for numbers, kind, text, hint in _OF_THE_MACHINE:
            if error.errno in numbers:
                message = text.format(error=error, why=error.strerror, what=what)
                return Unusable(message, kind=kind, hint=hint)
    return None


def lines_of(problem: TmuxAgentsError) -> list[str]:
    """Return the lines for a person: the first fault, a hint, and the other faults of a call's tasks."""
    faults = [
        fault.message if fault.message.startswith("tasks[") else f"{fault.field}: {fault.message}"
        for fault in problem.faults
        if (fault.field or "").startswith("tasks[")
    ]
    first, *others = faults if (problem.faults[0].field or "").startswith("tasks[") else [problem.message]
    hint = [f"hint: {problem.hint}"] if problem.hint else []
    return [first, *hint, *(f"also: {words}" for words in others[: _MOST_FAULTS - 1])]
