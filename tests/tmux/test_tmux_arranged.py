"""What our checks of layouts let through, tmux takes: the server lives, and the panes stand so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tmuxagents.layouts import checks
from tmuxagents.tmux import library, runner

if TYPE_CHECKING:
    from tests.tmux.worlds import Real

pytestmark = pytest.mark.usefixtures("nothing_hangs")

# Three panes in windows of several sizes; tmux counts its own panes, whatever numbers stand there.
TEXTS = (
    "120x40,0,0{60x40,0,0,0,29x40,61,0,1,29x40,91,0,2}",
    "120x40,0,0[120x20,0,0,0,120x9,0,21,1,120x9,0,31,2]",
    "80x24,0,0{40x24,0,0,9,39x24,41,0[39x12,41,0,8,39x11,41,13,7]}",
    "80x24,0,0{40x24,0,0,39x24,41,0[39x12,41,0,39x11,41,13]}",
    "5x1,0,0{1x1,0,0,0,1x1,2,0,1,1x1,4,0,2}",
)


def test_what_is_let_through_does_no_harm(real: Real) -> None:
    window = real.run("display-message", "-p", "-t", "=work:", "#{window_id}")
    for _ in range(2):
        real.run("split-window", "-d", "-t", window, "sleep 600")
    before = real.tmux.identity()
    there = library.BoundedServer(runner.Runner(real.socket)).window(window)
    for text in (*checks.NAMES, *(f"{checks.checksum(text)},{text}" for text in TEXTS)):
        assert checks.fault(text, 3) is None
        there.select_layout(text)
        printed = real.run("display-message", "-p", "-t", window, "#{window_layout}")
        assert checks.fault(printed, 3) is None
    assert real.tmux.identity() == before
    assert real.run("display-message", "-p", "-t", window, "#{window_panes}") == "3"
