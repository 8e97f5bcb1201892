"""The verb that answers a question of a child: answer. Joins."""

from __future__ import annotations

import click

from tmuxagents.cli import options, printing
from tmuxagents.errors import BadRequest
from tmuxagents.registry import lookup
from tmuxagents.status.answer import Answering
from tmuxagents.tools import answers


@click.command(epilog="Example: tmuxagents answer 01a1ee15 allow")
@click.argument("run", metavar="RUN")
@click.argument("said", nargs=-1, metavar="[ASK] ANSWER")
@options.JSON
def answer(*, run: str, said: tuple[str, ...], as_json: bool) -> None:
    """Answer the question of RUN with allow, deny, one of its options, or a text.

    ASK is the id of the question, needed where RUN asks several things (poll RUN --json lists them).
    """
    if not said:
        hint = f"allow, deny, an option or a text; tmuxagents output {run} prints what the run has answered"
        raise BadRequest("The answer is missing.", kind="usage", hint=hint)
    caller = lookup.here()
    by = f"parent {caller.owner}" if caller.owner else "a person"
    found, ask, who = Answering(lookup.find_run(run, caller), by=by).answer(said)
    if as_json:
        from tmuxagents.registry import sessions  # noqa: PLC0415

        printing.document({"v": 1} | sessions.document(found, caller))
        return
    printing.lines([answers.answered(found.run_id, ask["text"], who)])


VERBS = {"answer": answer}
