"""A run's window that a person has split is theirs as long as they work in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.tmux.worlds import an_order, home, new_run

if TYPE_CHECKING:
    from tests.tmux.worlds import Real

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def test_a_split_window_is_closed_when_what_a_person_runs_in_it_has_ended(real: Real) -> None:
    split, whole = new_run(), new_run()
    opened = {run_id: real.tmux.windows.open(an_order(run_id), home()) for run_id in (split, whole)}
    theirs = real.run("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", opened[split].window, "sleep 600")
    for run_id in (split, whole):  # the split one first: its time is over when the other one has gone
        real.end_program(opened[run_id].window)
        assert real.tmux.windows.arm_close(opened[run_id].window, run_id, 1)
    eventually(lambda: whole not in real.tmux.windows.all())
    assert split in real.tmux.windows.all()
    assert theirs in real.run("list-panes", "-a", "-F", "#{pane_id}").splitlines()
    real.run("kill-pane", "-t", theirs)
    eventually(lambda: split not in real.tmux.windows.all())
