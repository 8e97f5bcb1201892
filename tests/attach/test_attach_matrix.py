"""`attach` and layouts in tmux servers with unusual settings: the windows are still found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually, real_pi
from tests.terminals import Room, by_key, inside
from tmuxagents.runs import directory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.harness import ModelServer, TmuxServer

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


def set_up(server: TmuxServer, options: Sequence[str]) -> None:
    for words in options:
        option, _, value = words.partition(" ")
        server.run("set-option", "-g", option, value.strip("'"))


@pytest.mark.parametrize("name", SET_UPS)
def test_runs_are_found_however_tmux_is_set_up(room: Room, name: str) -> None:
    mine = room.another("mine")
    person = room.at_work(mine)
    mine.run("set-option", "-t", "=work:", "destroy-unattached", "off")
    set_up(mine, SET_UPS[name])
    before, panes = room.clients(mine), room.panes(mine)
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
    prefix = "\x01" if "prefix C-a" in SET_UPS[name] else "\x02"
    far = room.launch(WORKS, "--name", "far")
    for label, there in (("job", mine), ("far", None)):
        assert room("attach", label, **by_key(mine, person)).returncode == 0
        assert (
            room.clients(there)[person.name] == (room.windows(there) | windows)[(runs | {"far": far})[label]]
        )
        room.detach(person, there, prefix if there else "\x02")
        eventually(lambda: room.panes(mine) == panes)  # they came back to the pane that they left
    assert room("stop", far).returncode == 0
    assert room("layouts", "open", "grid", **by_key(mine, person)).returncode == 0
    row = ("list-panes", "-s", "-t", "=grid", "-F", "#{@tmuxagents_shows}")
    eventually(lambda: sorted(mine.run(*row).split()) == sorted(runs.values()))
    rows = json.loads(room("poll", "--json", *runs.values()).stdout)["runs"]
    assert [run["status"] for run in rows] == ["running"] * len(runs)
    assert room("stop", *runs.values()).returncode == 0
    assert {room.result(run_id)["reason"] for run_id in runs.values()} == {"stopped"}
    eventually(lambda: mine.run(*row).split() == [])


@pytest.mark.parametrize("name", SET_UPS)
def test_a_live_child_is_seen_told_and_stopped_however_tmux_is_set_up(
    room: Room, name: str, models: ModelServer
) -> None:
    mine = room.another("mine")
    person = room.at_work(mine)
    mine.run("set-option", "-t", "=work:", "destroy-unattached", "off")
    shell, called = room.folder / "shell", room.folder / "called"
    shell.write_text(
        f'#!/bin/sh\necho "$@" >> {called}\nexec sleep 60\n'
    )  # as unusual as fish; it logs its calls
    shell.chmod(0o755)
    set_up(mine, [*SET_UPS[name], f"default-shell {shell}"])
    for file in ("models.json", "settings.json"):
        (room.home.agent_dir / file).write_bytes((models.agent_dir / file).read_bytes())
    room.home.environment["TMUXAGENTS_PI"] = real_pi()
    done = room("launch", "--live", "#bash:sleep 300", **inside(mine))
    run_id = done.stdout.strip()
    assert done.returncode == 0, done.stderr
    log = f"{room.run_dir(run_id)}/events.jsonl"
    eventually(lambda: b'"tool_call"' in (directory.read_bytes(log) or b""), 90)
    assert room("attach", run_id, **by_key(mine, person)).returncode == 0
    assert room.clients(mine)[person.name] == room.windows(mine)[run_id]
    assert room("send", run_id, "Then #say:Told.").returncode == 0
    (run,) = json.loads(room("poll", "--json", run_id).stdout)["runs"]
    assert (run["status"], run["driver"]) == ("running", "live")
    assert room("stop", run_id).returncode == 0
    assert room.result(run_id)["reason"] == "stopped"
    assert not called.exists()  # by none of the four
