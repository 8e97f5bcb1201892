"""Parts that verbs share: kinds of values, --format and --json, texts, questions to a person. Joins."""

from __future__ import annotations

import contextlib
import signal

import click

from tmuxagents import records
from tmuxagents.cli import HIDDEN, VERBS, meant, printing
from tmuxagents.errors import BadRequest
from tmuxagents.text import figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Verb = Callable[..., Any]


STDIN = "-"
_LONGEST = 16 * 1024 * 1024  # of a text


class DurationType(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # generic from click 8.3 on
    """A duration in seconds, written as 90s, 5m, 1h30m, or as a figure."""

    name = "duration"

    def __init__(self, least: float = 0) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the duration in seconds."""
        if isinstance(value, float):
            return value
        seconds = figures.parse_duration(value)
        if seconds is None:
            with contextlib.suppress(ValueError):
                seconds = float(value)
        if seconds is None or not seconds >= 0:
            self.fail(f"{value!r} is not a duration: write it like {figures.DURATIONS}.", param, ctx)
        if seconds < self._least:
            self.fail(f"{value!r} is less than {figures.exact(self._least)}.", param, ctx)
        return seconds


class _Statuses(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # generic from click 8.3 on
    """One or several status words, with commas between them."""

    name = "statuses"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the words as a tuple."""
        words = value if isinstance(value, tuple) else tuple(value.split(","))
        for word in words:
            if word not in records.STATUSES:
                self.fail(f"{word!r} is not one of {', '.join(records.STATUSES)}.", param, ctx)
        return words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002  (click's signature)
        """Offer the status words."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415  (only for a shell that asks)

        return [CompletionItem(word) for word in records.STATUSES if word.startswith(incomplete)]


DURATION = DurationType()
STATUSES = _Statuses()
FORMAT = click.option(
    "--format", "template", metavar="TEMPLATE", help="Print a line for each by a template, as '{{.name}}'."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
ALWAYS_JSON = click.option(
    "--json", is_flag=True, expose_value=False, help="Accepted for consistency; the output is always JSON."
)


def declaring(*options: Callable[[Verb], Verb]) -> Callable[[Verb], Verb]:
    """Return a decorator that declares several options of a verb, in this order."""

    def declare(verb: Verb) -> Verb:
        for option in reversed(options):
            verb = option(verb)
        return verb

    return declare


def alone(context: click.Context, lists: Verb, *, as_json: bool) -> None:
    """Carry out a group of verbs that is called without a verb: list what there is."""
    if context.invoked_subcommand is None:
        context.invoke(lists, as_json=as_json)
    elif as_json:
        raise BadRequest("--json comes after the verb.", kind="usage")


# --- the task, and other texts ---


def refuse_odd_task(words: Sequence[str], after: Sequence[str]) -> None:
    """Refuse a text that cannot be a task: a verb, a file, or one that needs a previous run and has none."""
    odd = meant.task(" ".join(words), has_previous=bool(after), known=(*VERBS, *HIDDEN))
    if odd is not None:
        message, hint = odd
        raise BadRequest(message, kind="bad-argument", hint=hint, field="task")


def read_task(words: Sequence[str], file: str | None) -> str:
    """Return the task from the argument, a file, stdin or an editor."""
    if len(words) > 1:
        message = f"There are {len(words)} arguments where one task is expected."
        hint = f"quote the task: {_call('do this and that')}{_several()}"
        raise BadRequest(message, kind="usage", hint=hint)
    if words and file is not None:
        message = "The task is given twice: as an argument, and by --task-file."
        raise BadRequest(message, kind="usage", hint="leave one of them out")
    source = file if file is not None else next(iter(words), None)
    if source is None:
        if not printing.has_person():
            hint = f"give it: {_call('the task')}, or - to read it from stdin{_several()}"
            raise BadRequest("There is no task.", kind="empty-task", hint=hint)
        return edited("") or ""
    return read_text(source) if file is None else read_content(source)


def read_text(text: str) -> str:
    """Return a text that was given as an argument; for -, the text on stdin."""
    return read_content(STDIN) if text == STDIN else text


def read_content(file: str, field: str = "task-file") -> str:
    """Return the text of a file, or of stdin. `field`: the option that names it."""
    if file == STDIN:
        source, text = "stdin", printing.read(_LONGEST + 1)
    else:
        source = file
        try:
            with open(file, "rb") as opened:
                text = opened.read(_LONGEST + 1)
        except OSError as error:
            message = f"The file {file} cannot be read: {error.strerror}."
            hint = f"give --{field} a file that you can read, or - to read it from stdin"
            raise BadRequest(message, kind="bad-file", hint=hint, field=field) from error
    if len(text) > _LONGEST:
        message = f"The text in {source} is longer than {_LONGEST // 1024 // 1024} MB."
        raise BadRequest(message, kind="bad-argument", hint="put the bulk into a file", field="task")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"The text in {source} is not valid UTF-8 (byte {error.start + 1})."
        raise BadRequest(message, kind="bad-argument", hint="save it as UTF-8", field="task") from error


def _several() -> str:
    """Return how the called verb takes several tasks; an empty text if it takes only one."""
    return "; several tasks: --tasks FILE" if "tasks_file" in click.get_current_context().params else ""


def _call(task: str) -> str:
    """Return a command line of the called verb with this task."""
    context = click.get_current_context()
    names = ["tmuxagents", context.info_name or "", *(["RUN"] if "run" in context.params else [])]
    return f'{" ".join(names)} "{task}"'


# --- questions to a person ---


class Cancelled(click.exceptions.Exit):
    """The person has cancelled, and nothing was changed."""

    def __init__(self, code: int = 0) -> None:
        printing.lines(["Cancelled."], printing.ERR)
        super().__init__(code)


def can_ask() -> bool:
    """Say whether there is a terminal to ask on."""
    return printing.is_terminal(printing.IN) and printing.is_terminal(printing.ERR)


def confirm(question: str, *, default: bool = False) -> None:
    """Ask for a confirmation. Raise Cancelled on a no, and BadRequest without a terminal."""
    if not can_ask():
        raise BadRequest(question, kind="usage", hint="add --yes")
    if not click.confirm(question, default=default, err=True):
        raise Cancelled


@contextlib.contextmanager
def _leaving() -> Iterator[None]:
    """Turn Ctrl-C and Ctrl-D into Cancelled."""
    try:
        yield
    except click.Abort:
        printing.lines([""], printing.ERR)
        raise Cancelled(128 + signal.SIGINT) from None


class OnTerminal:
    """The person, whom the wizard asks on the terminal where the command was called."""

    def text(self, question: str) -> str:
        """Ask for a line, which may be empty."""
        with _leaving():
            answer: str = click.prompt(question, default="", show_default=False, err=True)
        return answer.strip()

    def choice(self, question: str, choices: tuple[str, ...], default: str) -> str:
        """Ask for one of the given words. An empty default is not shown."""
        shown = f"{question} ({', '.join(filter(None, choices))})"
        which = click.Choice(choices)
        with _leaving():
            answer: str = click.prompt(
                shown, type=which, default=default, show_default=bool(default), show_choices=False, err=True
            )
        return answer

    def prompt(self, question: str) -> str:
        """Ask for a text of any length."""
        answer = self.text(f"{question} (e: in an editor)")
        return (edited("") or "").strip() if answer == "e" else answer

    def agrees(self, question: str, text: str) -> bool:
        """Show a text, and ask whether it is right."""
        printing.lines(text.split("\n"), printing.ERR)
        with _leaving():
            return click.confirm(question, default=True, err=True)


def edited(text: str, suffix: str = ".md") -> str | None:
    """Return a text as the person saved it in $EDITOR; None if they did not save it."""
    try:
        saved: str | None = click.edit(text, extension=suffix)
    except click.UsageError:
        raise
    except click.ClickException as error:
        hint = "set EDITOR to one that works"
        raise BadRequest(error.format_message(), kind="usage", hint=hint) from error
    except UnicodeDecodeError as error:
        message = "What the editor has saved is not UTF-8."
        raise BadRequest(message, kind="bad-argument", hint="save it as UTF-8") from error
    return saved
