"""The task: one argument, a file, stdin, or a text that a person writes in an editor; and tasks files.

Joins.
"""

from __future__ import annotations

import click

from tmuxagents.cli import HIDDEN, VERBS, meant, printing
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

STDIN = "-"
_LONGEST = 16 * 1024 * 1024


def refuse_odd(words: Sequence[str], after: Sequence[str]) -> None:
    """Refuse a task that cannot be meant: a verb, a file, or one that needs a run which it does not name."""
    odd = meant.task(" ".join(words), has_previous=bool(after), known=(*VERBS, *HIDDEN))
    if odd is not None:
        message, hint = odd
        raise BadRequest(message, kind="bad-argument", hint=hint, field="task")


def read(words: Sequence[str], file: str | None) -> str:
    """Return the task from where it was given."""
    if len(words) > 1:
        message = f"There are {len(words)} arguments where one task is expected."
        hint = f"quote the task: {_call('do this and that')}{_several()}"
        raise BadRequest(message, kind="usage", hint=hint)
    if words and file is not None:
        message = "The task is given twice: as an argument, and by --task-file."
        raise BadRequest(message, kind="usage", hint="leave one of them out")
    source = file if file is not None else next(iter(words), None)
    if source is None:
        return _written()
    return source if file is None and source != STDIN else content(source)


def content(file: str, field: str = "task-file") -> str:
    """Return the text of a file, or of stdin. `field`: the option that names it."""
    if file == STDIN:
        return _decoded(printing.read(_LONGEST + 1), "stdin")
    return _decoded(_bytes_of(file, field), file)


def _written() -> str:
    """Let a person write the task."""
    if not (printing.is_terminal(printing.IN) and printing.is_terminal()):
        hint = f"give it: {_call('the task')}, or - to read it from stdin{_several()}"
        raise BadRequest("There is no task.", kind="empty-task", hint=hint)

    from tmuxagents.cli import asking  # noqa: PLC0415  (a launch is to be quick)

    return asking.edited("") or ""


def _several() -> str:
    """Return how the verb that was called takes several tasks, if it does."""
    return "; several tasks: --tasks FILE" if "tasks_file" in click.get_current_context().params else ""


def _call(task: str) -> str:
    """Return the verb that was called with such a task."""
    context = click.get_current_context()
    names = ["tmuxagents", context.info_name or "", *(["RUN"] if "run" in context.params else [])]
    return f'{" ".join(names)} "{task}"'


def _bytes_of(path: str, field: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LONGEST + 1)
    except OSError as error:
        message = f"The file {path} cannot be read: {error.strerror}."
        hint = f"give --{field} a file that you can read, or - to read it from stdin"
        raise BadRequest(message, kind="bad-file", hint=hint, field=field) from error


def _decoded(text: bytes, source: str) -> str:
    if len(text) > _LONGEST:
        message = f"What {source} holds is longer than {_LONGEST // 1024 // 1024} MB."
        raise BadRequest(message, kind="bad-argument", hint="put the bulk into a file", field="task")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"What {source} holds is not valid UTF-8 (byte {error.start + 1})."
        raise BadRequest(message, kind="bad-argument", hint="save it as UTF-8", field="task") from error
