"""The command without a verb: top on a terminal, help elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.status.watchers import COMMAND
from tests.terminal import Terminal

if TYPE_CHECKING:
    from tests.harness import Home


def test_on_a_terminal_it_opens_top(home: Home) -> None:
    terminal = Terminal([*COMMAND], home.environment, home.project)
    terminal.shows("\x1b[?1049h")  # the whole screen
    terminal.type("q")
    assert terminal.left() == 0
    terminal.close()


def test_on_a_terminal_that_cannot_be_drawn_on_it_prints_help(home: Home) -> None:
    terminal = Terminal([*COMMAND], home.environment | {"TERM": "dumb"}, home.project)
    terminal.shows("Usage: tmuxagents")
    assert terminal.left() == 0
    terminal.close()


def test_elsewhere_it_prints_help(home: Home) -> None:
    done = home.command()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == home.command("--help").stdout
