"""The verb top: all runs on the whole screen, the transcript of the chosen one beside them. Joins."""

from __future__ import annotations

import os

import click

from tmuxagents.cli import printing
from tmuxagents.errors import Unusable
from tmuxagents.registry import lookup

_HINT = "tmuxagents poll --follow prints what changes"


@click.command("top", epilog="Example: tmuxagents top --all-projects")
@click.option("-a", "--all", "ended", is_flag=True, help="Show also runs that ended more than an hour ago.")
@click.option("-A", "--all-projects", "everywhere", is_flag=True, help="Of all projects and parents.")
@click.option("--keep", "keeps", is_flag=True, hidden=True)
def top_verb(*, ended: bool, everywhere: bool, keeps: bool) -> None:
    """Watch all runs on the whole screen, with the transcript of the chosen one.

    Enter attaches to it, / searches, ? shows all keys, q leaves.
    """
    has_terminal = printing.is_terminal(printing.IN) and printing.is_terminal(printing.OUT)
    if not has_terminal or os.environ.get("TERM", "dumb") == "dumb":
        raise Unusable("top needs a terminal.", kind="no-tty", hint=_HINT)
    from tmuxagents.top import acts, app, runs, view  # noqa: PLC0415  (textual, for this verb alone)

    caller = lookup.here()
    keep = None
    if keeps:
        from tmuxagents.layouts import follow  # noqa: PLC0415  (in the pane of a layout)

        keeper = follow.keeper(os.environ, caller.folder)
        keep = keeper.keep if keeper is not None else None
    shown = view.TopView(ended=ended, everywhere=everywhere)
    raise SystemExit(app.TopApp(shown, runs.TopRuns(caller), acts.act, keep).show())


VERBS = {"top": top_verb}
