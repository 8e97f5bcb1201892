"""Questions to a person on this terminal, and texts that a person writes in an editor. Joins."""

from __future__ import annotations

import contextlib
import signal

import click

from tmuxagents.cli import printing
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Cancelled(click.exceptions.Exit):
    """The person has cancelled, and nothing was changed."""

    def __init__(self, code: int = 0) -> None:
        printing.lines(["Cancelled."], printing.ERR)
        super().__init__(code)


def is_possible() -> bool:
    """Say whether there is a terminal to ask on."""
    return printing.is_terminal(printing.IN) and printing.is_terminal(printing.ERR)


def confirm(question: str, *, default: bool = False) -> None:
    """Ask for a confirmation. Raise Cancelled on a no, and BadRequest without a terminal."""
    if not is_possible():
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
