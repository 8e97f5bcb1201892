"""The verb send: a message to a live child."""

from __future__ import annotations

import click

from tmuxagents import jsonline
from tmuxagents.cli import calling, options, streams, tasks, words
from tmuxagents.commands import known, reading, sessions
from tmuxagents.commands import send as sending
from tmuxagents.core import catalogue_words, sanitize
from tmuxagents.edges import inbox
from tmuxagents.errors import BadRequest

TIMED_OUT = 124


@click.command(epilog='Example: tmuxagents send 01a1ee15 "Look into src/ only."')
@click.argument("run", metavar="RUN")
@click.argument("text", metavar="TEXT")
@click.option(
    "--steer", "kind", flag_value=inbox.STEER, default=True, help="Between two of its steps (the default)."
)
@click.option("--follow-up", "kind", flag_value=inbox.FOLLOW_UP, help="When it is done with what it does.")
@click.option("--wait", "waits", is_flag=True, help="Wait for what it comes to, and print that.")
@click.option("--timeout", type=float, metavar="S", help="With --wait: wait no longer.")
@options.JSON
def send(  # noqa: PLR0913  (one parameter an option)
    *, run: str, text: str, kind: str, waits: bool, timeout: float | None, as_json: bool
) -> int:
    """Say TEXT to the live child of RUN (- reads stdin). It is delivered once the child has taken it."""
    if timeout is not None and not waits:
        raise BadRequest("--timeout says how to wait.", kind="usage", hint="add --wait")
    if timeout is not None and not timeout >= 0:  # NaN, too: it would wait for ever
        raise BadRequest(f"--timeout must be 0 seconds or more, not {timeout:g}.", kind="usage")
    caller = calling.caller()
    message = sending.Sending(known.find(run, caller))
    found = message.send(tasks.content(text) if text == tasks.STDIN else text, kind)
    later = message.wait(timeout) if waits else found
    if as_json:
        streams.write(jsonline.encode(sessions.document(later or found, caller)))
    elif not waits:
        words.lines([catalogue_words.delivered(found.run_id)])
    elif later is not None:
        answer = reading.answer(later) or ""
        words.lines([sanitize.text(answer) if streams.is_terminal() else answer])
    if later is None:
        return TIMED_OUT
    return 0 if not waits or sending.went_well(later) else 1


VERBS = {"send": send}
