"""attach and layouts in the tmux of people who have set it up otherwise: windows are found all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.flows.terminals import Room, by_key, inside
from tests.harness import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness import Home

WORKS = "begin\nanswer toolUse so far\nsleep 600"
SET_UPS = {
    "numbers": ("base-index 1", "pane-base-index 1", "renumber-windows on", "prefix C-a"),
    "bare": ("status off", "default-command 'exec sh'", "remain-on-exit on", "default-shell /bin/sh"),
    "busy": (
        "status 2",
        "automatic-rename on",
        "allow-rename on",
        "mouse on",
        "monitor-bell on",
        "set-titles on",
    ),
    "holding": (
        "destroy-unattached on",
        "detach-on-destroy off",
        "aggressive-resize on",
        "window-size smallest",
    ),
}


@pytest.fixture
def room(home: Home, tmp_path: Path) -> Iterator[Room]:
    made = Room(home, tmp_path)
    yield made
    made.leave()


@pytest.mark.parametrize("name", SET_UPS)
def test_runs_are_found_however_tmux_is_set_up(room: Room, name: str) -> None:
    mine = room.another("mine")
    person = room.at_work(mine)
    mine.run("set-option", "-t", "=work:", "destroy-unattached", "off")
    for words in SET_UPS[name]:
        option, _, value = words.partition(" ")
        mine.run("set-option", "-g", option, value.strip("'"))
    before = room.clients(mine)
    # Names that are the beginning of one another; one window is moved, one renamed, one split.
    runs = {
        label: room.launch(WORKS, "--name", label, **inside(mine)) for label in ("job", "job-1", "job-10")
    }
    windows = room.windows(mine)
    mine.run("split-window", "-d", "-t", windows[runs["job"]], "sleep 600")
    mine.run("rename-window", "-t", windows[runs["job-1"]], "job")
    mine.run("move-window", "-d", "-s", windows[runs["job-10"]], "-t", "=work:")
    for label, run_id in runs.items():
        assert room("attach", label, **by_key(mine, person)).returncode == 0
        assert room.clients(mine)[person.name] == windows[run_id]
    while room.clients(mine) != before:
        assert room("attach", "--back", **by_key(mine, person)).returncode == 0
    assert room("layouts", "open", "grid", **by_key(mine, person)).returncode == 0
    row = ("list-panes", "-s", "-t", "=grid", "-F", "#{@tmuxagents_shows}")
    eventually(lambda: sorted(mine.run(*row).split()) == sorted(runs.values()))
    room("stop", *runs.values())
    eventually(lambda: mine.run(*row).split() == [])
