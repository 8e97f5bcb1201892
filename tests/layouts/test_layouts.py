"""Layouts by the installed command, on real servers: what is opened, what comes and goes, what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness import PATH, REPOSITORY, TmuxServer, eventually
from tests.presets.shelf import EXAMPLE
from tests.status.watchers import checked
from tests.terminals import WORKS, Room, inside
from tmuxagents.layouts import layout as layouts_layout
from tmuxagents.tmux import servers

SHIPPED = ["dashboard", "default", "fleet", "grid"]
PLAIN = "windows: [{panes: [null]}]\n"


def put(room: Room, name: str, text: str, *, project: bool = False) -> Path:
    folder = room.home.project / ".pi" / "layouts" if project else room.home.agent_dir / "layouts"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def opened(room: Room, name: str, **variables: str) -> dict[str, Any]:
    """Open a layout behind everybody's back; return what is said of it."""
    done = room("layouts", "open", name, "--json", **variables)
    assert done.returncode == 0, done.stderr
    return checked(done.stdout, "layout")


def error(room: Room, *words: str) -> dict[str, Any]:
    done = room("layouts", *words, "--json")
    found: dict[str, Any] = checked(done.stdout, "error")["error"]
    assert done.returncode == found["exit"]
    return found


def panes(room: Room, session: str) -> list[list[str]]:
    """Return window, run and pane of each pane of a session, as they stand there."""
    row = "#{window_name} #{?@tmuxagents_shows,#{@tmuxagents_shows},-} #{pane_id}"
    here = f"#{{==:#{{session_name}},{session}}}"
    return [line.split() for line in room.tmux("list-panes", "-a", "-f", here, "-F", row).splitlines()]


def screen(room: Room, pane: str) -> str:
    return room.tmux("capture-pane", "-p", "-t", pane)


# --- the files --------------------------------------------------------------------------------------------


def test_those_of_the_project_the_user_and_the_program_are_listed(room: Room) -> None:
    put(room, "mine", f"{PLAIN}x-tmuxagents: {{description: Of mine}}\n")
    put(room, "grid", PLAIN, project=True)
    bad = put(room, "bad", "windows:\n  - layout: tilde\n    panes: [null]\n")
    done = room("layouts")
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:]] == [
        ["dashboard", "shipped"],
        ["default", "shipped"],
        ["fleet", "shipped"],
        ["grid", "project"],
        ["grid", "shipped"],
        ["mine", "global"],
    ]
    assert done.stderr.splitlines()[0].startswith(
        f"warning: {bad}, line 2: windows[0].layout: it is not one of"
    )
    assert "layout grid: the project's file hides" in done.stderr
    found = checked(room("layouts", "list", "--json").stdout, "layout")
    assert [one["name"] for one in found["layouts"] if one["hiddenBy"]] == ["grid"]
    shown = checked(room("layouts", "show", "shipped:grid", "--json").stdout, "layout")
    assert shown == {"v": 1} | found["layouts"][-2]
    assert "  window grid (tiled)\n    top\n" in room("layouts", "show", "shipped:grid").stdout
    assert (error(room, "show", "bad")["kind"], error(room, "open", "bad")["kind"]) == ("bad-layout",) * 2
    assert error(room, "open", "gird")["candidates"] == ["grid"]


def test_what_others_could_have_written_is_not_read(room: Room, tmp_path: Path) -> None:
    put(room, "mine", PLAIN).chmod(0o666)
    (room.home.agent_dir / "layouts" / "away.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "planted.yaml").write_text(PLAIN)
    (room.home.project / ".pi").mkdir()
    (room.home.project / ".pi" / "layouts").symlink_to(tmp_path / "theirs")
    done = room("layouts")
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == SHIPPED
    assert len(done.stderr.splitlines()) == 2
    assert "others can write to it" in error(room, "open", "mine")["message"]


def test_a_layout_that_would_end_a_server_never_reaches_it(room: Room) -> None:
    run_id = room.launch()
    pid = servers.listening(str(room.own))
    for layout in ("tilde", "''", "-o", "'b25e,80x24,0,0,0'", "'-E'"):
        put(room, "mine", f"windows:\n  - panes: [null]\n    layout: {layout}\n")
        found = error(room, "open", "mine")
        assert (found["kind"], found["faults"][0]["field"]) == ("bad-layout", "windows[0].layout")
        assert ", line 3: " in found["message"]
    assert servers.listening(str(room.own)) == pid
    assert [*room.windows()] == [run_id]


def test_a_clone_runs_no_command(room: Room, tmp_path: Path) -> None:
    put(room, "default", f"windows: [{{panes: ['touch {tmp_path}/ran']}}]\n", project=True)
    assert error(room, "open", "default")["kind"] == "bad-layout"
    put(room, "default", "start_directory: out\nwindows: [{panes: [null]}]\n", project=True)
    (room.home.project / "out").symlink_to(tmp_path)
    assert "leads out of the project" in error(room, "open", "default")["message"]
    assert not room.own.exists()


@pytest.mark.parametrize("name", SHIPPED)
def test_each_shipped_one_loads_in_tmuxp(name: str, tmp_path: Path) -> None:
    wanted = layouts_layout.parse(
        (REPOSITORY / "layouts" / f"{name}.yaml").read_text(),
        name=name,
        source=layouts_layout.SHIPPED,
        path=name,
    )
    with TmuxServer(tmp_path) as server:
        tmuxp = [str(Path(sys.executable).with_name("tmuxp")), "load", "-d", "-y", "-S", str(server.socket)]
        environment = {"PATH": PATH, "HOME": str(tmp_path), "SHELL": "/bin/sh", "LANG": "C.UTF-8"}
        subprocess.run(
            [*tmuxp, str(REPOSITORY / "layouts" / f"{name}.yaml")],
            env=environment,
            check=True,
            timeout=60,
            capture_output=True,
        )
        row = "#{window_name} #{window_panes}"
        there = server.run("list-windows", "-t", f"={wanted.session}", "-F", row).splitlines()
    assert there == [f"{window.name} {len(window.panes)}" for window in wanted.windows]


# --- opened -----------------------------------------------------------------------------------------------


def test_a_grid_has_a_tile_for_each_live_run_and_for_no_other(room: Room) -> None:
    first = room.launch()
    found = opened(room, "grid")
    assert (found["made"], found["sessionName"], found["launched"]) == (True, "grid", [])

    def tiles() -> list[str]:
        return [run_id for _, run_id, _ in panes(room, "grid") if run_id != "-"]

    eventually(lambda: tiles() == [first])
    second = room.launch()
    eventually(lambda: sorted(tiles()) == sorted([first, second]))
    runs, shows = [first, second], {run_id: pane for _, run_id, pane in panes(room, "grid")}
    eventually(lambda: second[:8] in screen(room, shows[second]))
    border = "#{E:pane-border-format}"

    def titles() -> list[str]:
        return [room.tmux("display-message", "-p", "-t", shows[one], border) for one in runs]

    title = r"▶ %s · running · (\d+m )?\d+s"
    eventually(
        lambda: all(re.search(title % one[:8], text) for one, text in zip(runs, titles(), strict=True))
    )
    before = titles()
    eventually(lambda: titles() != before)  # time goes by
    heights = room.tmux("list-panes", "-s", "-t", "=grid", "-F", "#{pane_width} #{pane_top} #{pane_left}")
    assert len({line.split()[1] for line in heights.splitlines()}) == 2  # two rows of tiles
    room("stop", first)
    eventually(lambda: tiles() == [second])
    room("stop", second)
    eventually(lambda: len(panes(room, "grid")) == 1)
    assert opened(room, "grid") == found | {"made": False}


def test_a_pane_goes_on_to_the_newest_run(room: Room) -> None:
    shows = "{shell_command: 'true', x-tmuxagents: {show: transcript, run: newest}}"
    put(room, "newest", f"windows: [{{panes: [{{x-tmuxagents: {{show: top}}}}, {shows}]}}]\n")
    opened(room, "newest")
    (_, _, top), (_, _, newest) = panes(room, "newest")
    eventually(lambda: "No run is active" in screen(room, top))
    eventually(lambda: "No run has been launched here yet." in screen(room, newest))
    for _ in range(2):
        run_id = room.launch()
        eventually(lambda run_id=run_id: run_id[:8] in screen(room, newest))
    eventually(lambda: "bg here: 2 running / 2 total" in screen(room, top))
    room("stop", run_id)
    eventually(lambda: "aborted (stopped)" in screen(room, newest))


def test_the_default_one_holds_the_runs_own_windows(room: Room) -> None:
    run_id = room.launch("begin\nanswer toolUse so far\nsleep 600", "--name", "finder")
    person = room.person("layouts", "open")
    eventually(lambda: [row[0] for row in panes(room, "runs")] == ["top", "finder"])
    assert room.clients().keys() == {person.name}
    window = room.windows()[run_id]
    room.tmux("select-window", "-t", "=runs:finder")
    room.looks_at(person, window)
    room("stop", run_id)
    room.tmux("kill-session", "-t", "=runs")
    assert room.windows() == {run_id: window}  # it was only shown there
    assert person.left() == 0


def test_inside_tmux_the_client_goes_there_and_nobody_elses(room: Room) -> None:
    mine = room.another("mine")
    person = room.at_work(mine)
    mine.run("new-session", "-d", "-s", "other", "sleep 600")
    other = room.at_work(mine, "other")
    before = room.clients(mine)
    put(room, "mine", f"session_name: other\n{PLAIN}")  # the name is somebody else's already
    done = room("layouts", "open", "mine", **inside(mine))
    assert (done.returncode, done.stderr) == (0, "")
    after = room.clients(mine)
    assert (after[other.name], after[person.name] != before[person.name]) == (before[other.name], True)
    names = mine.run("list-sessions", "-F", "#{session_name}").splitlines()
    assert sorted(name[:6] for name in names) == ["other", "other-", "work"]


def test_a_person_on_another_server_is_taken_there_and_comes_back(room: Room) -> None:
    mine = room.another("mine")
    person = room.at_work(mine)
    put(room, "mine", PLAIN)
    socket = str(room.own)
    room.own.parent.mkdir()
    assert room("layouts", "open", "mine", "-L", socket, **inside(mine)).returncode == 0
    eventually(lambda: list(room.clients()) == [person.name])
    room.detach(person)
    eventually(lambda: list(room.clients(mine)) == [person.name])


def test_without_a_terminal_the_session_is_made_and_told_of(room: Room) -> None:
    put(room, "mine", PLAIN)
    for words in ((), ("--detached",)):
        done = room("layouts", "open", "mine", *words)
        said = f"session mine; show it with: tmux -u -S {room.own} attach-session -t =mine\n"
        assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


def test_a_fleet_is_launched_whole_or_not_at_all(room: Room) -> None:
    names = ("repo-scout", "reviewer", "writer")
    presets = room.home.agent_dir / "subagents"
    presets.mkdir()
    text = EXAMPLE.replace("model: github-copilot/gpt-4o\n", "")
    for name in names[:2]:
        (presets / f"{name}.md").write_text(text.replace("repo-scout", name))
    found = error(room, "open", "fleet")
    assert (found["kind"], found["exit"]) == ("unknown-preset", 2)
    assert not room.own.exists()
    (presets / "writer.md").write_text(text.replace("repo-scout", "writer"))
    made = opened(room, "fleet")
    runs = [json.loads(Path(room.run_dir(run_id), "meta.json").read_text()) for run_id in made["launched"]]
    assert [run["preset"] for run in runs] == [*names]
    assert len({run["callId"] for run in runs}) == 1
    assert opened(room, "fleet")["launched"] == []  # opened again, nothing is launched


def test_options_and_commands_of_a_person_are_theirs_to_the_letter(room: Room) -> None:
    folder = room.home.folder / "a #(touch x) b"
    folder.mkdir()
    text = f"""
start_directory: "{folder}"
options: {{"@note": "#(touch x) $HOME ; é"}}
windows:
  - layout: main-vertical
    options: {{main-pane-width: 33}}
    panes: [null, 'printf "%s|" "$PWD" ''a;b'' "#{{pane_id}}" >out', null]
"""
    put(room, "mine", text)
    opened(room, "mine", SHELL="/bin/sh")
    assert room.tmux("show-options", "-qv", "-t", "=mine:", "@note") == "#(touch x) $HOME ; é"
    eventually(lambda: (folder / "out").exists() and (folder / "out").read_text().endswith("}|"))
    assert (folder / "out").read_text() == f"{folder}|a;b|#{{pane_id}}|"
    widths = room.tmux("list-panes", "-t", "=mine:", "-F", "#{pane_width}").splitlines()
    assert widths[0] == "33"
    assert sorted(os.listdir(folder)) == ["out"]


def test_where_it_cannot_be_built_whole_nothing_is_left(room: Room) -> None:
    text = "windows:\n  - panes: [null]\n  - panes: [null]\n    options: {no-such-option: 5}\n"
    put(room, "mine", text)
    run_id = room.launch(WORKS)
    done = room("layouts", "open", "mine")
    assert (done.returncode, "no-such-option" in done.stderr) == (3, True)
    assert room.tmux("list-sessions", "-F", "#{session_name}") == "agents-project"
    assert [*room.windows()] == [run_id]
