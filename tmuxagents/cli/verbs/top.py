"""The verb top: all runs on a full screen, drawn anew each second, and keys to do something about them.

Joins.
"""

from __future__ import annotations

import os
import sys

import click

from tmuxagents.attach import rules
from tmuxagents.attach import screen as attach_screen
from tmuxagents.attach.screen import FullScreen
from tmuxagents.cli import printing
from tmuxagents.cli.verbs import attaching
from tmuxagents.errors import NoSuchRun, Unusable
from tmuxagents.layouts import follow
from tmuxagents.registry import lookup
from tmuxagents.runs import output
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import foreground, process
from tmuxagents.text import safe
from tmuxagents.views import top, top_rows
from tmuxagents.views import top_runs as watching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.views.top import Board
    from tmuxagents.views.top_rows import Entry, Spans

_ROUND_S = 1.0
_IDLE_ROUND_S = 2.0  # where nothing is live
_HINT = "tmuxagents poll --follow prints what changes"
_SELF = (sys.executable, "-P", "-m", "tmuxagents")
_COLOURS = {
    top_rows.TITLE: "1",
    top_rows.HEAD: "1",
    top_rows.ASIDE: "2",
    top_rows.PROBLEM: "31",
    top_rows.GOOD: "32",
    top_rows.BUSY: "36",
    top_rows.CALLS: "33;1",
}


@click.command("top", epilog="Example: tmuxagents top --all-projects")
@click.option("-a", "--all", "ended", is_flag=True, help="Show runs that have ended, too.")
@click.option("-A", "--all-projects", "everywhere", is_flag=True, help="Of all projects and parents.")
@click.option("--keep", "keeps", is_flag=True, hidden=True)
def top_verb(*, ended: bool, everywhere: bool, keeps: bool) -> None:
    """Show all runs on the whole screen, as they go on: what each does, how long, and what it costs.

    Enter attaches to the chosen one, o shows its answer, s stops it, / filters, q leaves.
    """
    if attaching.terminal() is None or os.environ.get("TERM", "dumb") == "dumb":
        raise Unusable("There is no terminal here that could be drawn on.", kind="no-tty", hint=_HINT)
    caller = lookup.here()
    keeper = follow.keeper(os.environ, caller.folder) if keeps else None
    _Top(caller, top.TopView(ended=ended, everywhere=everywhere), keeper).show()


class _Top:
    """The view while it is shown."""

    def __init__(self, caller: Caller, view: top.TopView, keeper: follow.Keeper | None) -> None:
        self._caller = caller
        self._view = view
        self._keeper = keeper
        self._watch = watching.TopRuns(caller)
        self._stopping: list[foreground.Beside] = []

    def show(self) -> None:
        """Show it until the person has seen enough, or the terminal is gone."""
        with FullScreen() as screen:
            while True:
                self._draw(screen, self._look())
                keys = screen.typed(_ROUND_S if self._watch.live else _IDLE_ROUND_S)
                if keys is None or not all(self._press(key, screen) for key in attach_screen.keys(keys)):
                    return

    def _look(self) -> Board:
        view = self._view
        board = self._watch.look(everywhere=view.everywhere, ended=view.ended)
        view.message = view.message or next(iter(board.warnings), "")
        if self._keeper is not None:
            self._keeper.keep(self._watch.live)
        self._stopping = [one for one in self._stopping if not one.is_over()]
        return board

    def _draw(self, screen: FullScreen, board: Board) -> None:
        self._view.take(board.entries)
        lines = self._view.draw(board, *screen.size())
        has_colours = not os.environ.get("NO_COLOR")
        screen.draw([_painted(line, has_colours=has_colours) for line in lines])

    def _press(self, key: str, screen: FullScreen) -> bool:
        """Do what a key says; say whether to go on."""
        wish = self._view.press(key)
        return wish is None or (wish != top.LEAVE and self._carry_out(wish, screen))

    def _carry_out(self, wish: str, screen: FullScreen) -> bool:
        """Do what a key asks for; say whether to go on."""
        entry = self._view.entry
        if entry is None:
            return True
        if wish == top.STOP:
            self._stopping.append(foreground.Beside([*_SELF, "stop", entry.run_id], quiet=True))
            self._view.message = f"{entry.label} is being stopped."
        elif wish == top.OUTPUT:
            with screen.lent():
                self._output(entry)
        else:
            with screen.lent():
                problem = foreground.lend([*_SELF, "attach", entry.run_id])
            self._view.message = (problem or "").partition("\n")[0]
            # A popup has no pane to come back to: the run would be shown behind it.
            return problem is not None or "TMUX" not in os.environ or "TMUX_PANE" in os.environ
        return True

    def _output(self, entry: Entry) -> None:
        """Show the last answer of a run in a pager, else print it and wait for Enter."""
        try:
            text = output.answer(inspect(f"{self._caller.runs}/{entry.run_id}"))
        except NoSuchRun as error:
            text = error.message
        body = safe.text(text or "There is no answer yet.").encode("utf-8", "replace") + b"\n"
        less = process.find_program("less", os.environ.get("PATH", ""))
        argv = rules.pager(os.environ, has_less=less is not None)
        if argv is not None and argv[0] == "less":
            argv = [*argv, "-+F", "-+X"]  # else a short answer would be gone before anybody has read it
        if argv is None or not foreground.page(argv, [body]):
            printing.write(body + b"\nEnter goes back.")
            os.read(0, 1)


def _painted(line: Spans, *, has_colours: bool) -> str:
    """Return a line of the screen as the terminal takes it."""
    if not has_colours:
        return "".join(text for _, text in line).rstrip()
    return "".join(_painted_part(style, text) for style, text in line if text)


def _painted_part(style: str, text: str) -> str:
    bare = style.removeprefix(top_rows.CHOSEN)
    codes = [code for code in ("7" if bare != style else "", _COLOURS.get(bare, "")) if code]
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if codes else text


VERBS = {"top": top_verb}
