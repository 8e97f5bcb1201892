"""launch, retry and stop by the installed command: windows, receipts, refusals, storms, hostile text."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness import PATH, REPOSITORY, TmuxServer, eventually, stop
from tests.status.watchers import COMMAND, checked
from tests.terminal import Terminal
from tmuxagents.errors import Unusable
from tmuxagents.launch.launch import Launcher
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.registry.lookup import Caller
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.desk import Desk

WORKS = "begin\nanswer toolUse so far\nsleep 60"
# --- launched ---------------------------------------------------------------------------------------------


def test_a_launch_prints_the_id_and_tells_people_the_rest(desk: Desk) -> None:
    done = desk("launch", "--name", "scout", WORKS)
    run_id = done.stdout.removesuffix("\n")
    assert re.fullmatch("[0-9a-f]{16}", run_id)
    assert run_id in desk.windows()
    assert done.stderr == "Started scout (model mock/mock-text).\nWatch it: tmuxagents attach scout\n"
    desk.wait_for(run_id, "so far")
    rows = desk("poll").stdout.splitlines()
    assert rows[0] == "bg: 1 running / 1 total"
    words = rows[2].split()
    assert (words[:4], words[-2:]) == ([run_id[:8], "scout", "-", "running"], ["so", "far"])


def test_the_id_is_told_though_nothing_can_be_said_on_stderr(desk: Desk) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "launch", "done x"],
            cwd=desk.home.project,
            env=desk.home.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.returncode, [done.stdout.strip()]) == (0, desk.runs())


def test_a_receipt_is_a_document(desk: Desk) -> None:
    done = desk("launch", "--json", "--timeout", "77", "-m", "mock/x", WORKS)
    receipt = checked(done.stdout, "receipt")
    run = receipt["run"]
    assert (done.stderr, receipt["counts"]["total"], receipt["warnings"]) == ("", 1, [])
    assert receipt["attach"] == f"tmuxagents attach {run['runId'][:8]}"
    assert (run["timeout"], run["requestedModel"], run["mode"]) == (77, "mock/x", "background")
    assert run["tmux"]["socket"] == str(desk.sockets / "tmuxagents")
    assert (run["tmux"]["session"], run["tmux"]["window"]) == ("agents-project", desk.windows()[run["runId"]])


def test_the_child_gets_the_task_to_the_byte_and_the_callers_surroundings(desk: Desk) -> None:
    task = "-x @y $(touch z) #(touch z) `touch z` \"q\" 'q' ; \\;\n\nüñí %H #{pid} trailing;"
    variables = {"TMUXAGENTS_PI": str(REPOSITORY / "tests" / "children" / "echo.py"), "SECRET": "s3cret"}
    run_id = desk.launch("--", task, variables=variables)
    assert desk.result(run_id)["status"] == "completed"
    seen = json.loads(Path(f"{desk.home.record}.echo").read_text())
    assert Path(f"{desk.home.record}.stdin").read_text() == task
    assert seen["cwd"] == str(desk.home.project)
    assert seen["environment"]["SECRET"] == "s3cret"
    assert (desk.folder(run_id) / "prompt.txt").read_text() == task
    for place in (["-g"], ["-t", "agents-project"]):
        assert "s3cret" not in desk.tmux("show-environment", *place)
    commands = desk.tmux("list-panes", "-a", "-F", "#{pane_start_command}")
    assert "touch" not in commands


@pytest.mark.parametrize("source", ["argument", "dash", "file", "file dash"])
def test_a_task_of_a_megabyte_arrives_from_everywhere_it_fits(desk: Desk, source: str) -> None:
    size = 100_000 if source == "argument" else 1_000_000  # the kernel takes no longer argument
    task = "done fine\n" + "ä" * (size // 2)
    if source == "argument":
        run_id = desk.launch(task)
    elif source == "file":
        (desk.home.folder / "task").write_text(task)
        run_id = desk.launch("--task-file", str(desk.home.folder / "task"))
    else:
        run_id = desk.launch(*(["-"] if source == "dash" else ["--task-file", "-"]), input=task)
    assert (desk.folder(run_id) / "prompt.txt").read_text() == task
    assert desk.result(run_id)["output"] == "fine"


def test_an_editor_that_fails_is_no_fault_of_ours(desk: Desk) -> None:
    terminal = Terminal([*COMMAND, "launch"], desk.home.environment | {"EDITOR": "false"}, desk.home.project)
    try:
        assert terminal.left() == 2
        assert "hint: set EDITOR to one that works" in terminal.text
    finally:
        terminal.close()


def test_inside_tmux_the_window_opens_there_without_taking_the_focus(desk: Desk) -> None:
    with TmuxServer(desk.home.folder) as server:
        pane = server.run("display-message", "-p", "#{pane_id}")
        inside = {"TMUX": f"{server.socket},{server.pid},0", "TMUX_PANE": pane}
        before = server.run("display-message", "-p", "-t", "work", "#{window_id} #{session_name}")
        run_id = desk.launch(WORKS, variables=inside)
        assert server.run("list-windows", "-t", "agents-project", "-F", "#{@tmuxagents_run}") == run_id
        assert server.run("display-message", "-p", "-t", "work", "#{window_id} #{session_name}") == before
        assert not desk.sockets.exists()
        meta = json.loads((desk.folder(run_id) / "meta.json").read_text())
        assert meta["tmux"]["launcher"] == f"{server.pid}.{server.started}.{server.socket}"
        desk("stop", run_id, variables=inside)


def test_the_setting_current_puts_windows_into_the_callers_session(desk: Desk) -> None:
    with TmuxServer(desk.home.folder) as server:
        pane = server.run("display-message", "-p", "#{pane_id}")
        inside = {
            "TMUX": f"{server.socket},{server.pid},0",
            "TMUX_PANE": pane,
            "TMUXAGENTS_SESSION": "current",
        }
        done = desk("launch", WORKS, variables=inside)
        run_id = done.stdout.strip()
        assert run_id in server.run("list-windows", "-t", "work", "-F", "#{@tmuxagents_run}")
        desk("stop", run_id)


def test_a_server_that_is_gone_is_ignored_with_one_line(desk: Desk) -> None:
    done = desk("launch", "done x", variables={"TMUX": "/nowhere/tmux,1,0", "TMUX_PANE": "%0"})
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == (
        "warning: $TMUX names a tmux server that is gone (/nowhere/tmux): ignored."
    )
    assert desk.windows()


@pytest.mark.parametrize("place", ["before", "after", "variable", "path"])
def test_the_server_can_be_named(desk: Desk, place: str) -> None:
    path = str(desk.sockets / "other")
    if place == "path":
        desk.sockets.mkdir(mode=0o700)
    how = {
        "before": (["-L", "other", "launch", WORKS], {}),
        "after": (["launch", "-L", "other", WORKS], {}),
        "variable": (["launch", WORKS], {"TMUXAGENTS_SOCKET": "other"}),
        "path": (["launch", "-L", path, WORKS], {}),
    }
    arguments, variables = how[place]
    done = desk(*arguments, variables=variables)
    assert done.returncode == 0, done.stderr
    assert list(desk.windows("other")) == [done.stdout.strip()]


def test_a_repository_below_home_is_its_own_project_while_home_has_a_pi_folder(desk: Desk) -> None:
    (desk.home.folder / ".pi").mkdir()
    repository = desk.home.folder / "code" / "app"
    (repository / ".git").mkdir(parents=True)
    (repository / "src").mkdir()
    run_id = desk.launch("done x", cwd=repository / "src")
    meta = json.loads((desk.folder(run_id) / "meta.json").read_text())
    assert (meta["project"], meta["cwd"]) == (str(repository), str(repository / "src"))
    assert os.readlink(repository / ".pi/subagents/runs" / run_id) == str(desk.folder(run_id))
    assert (repository / ".pi/subagents/runs/.gitignore").read_text() == "*\n"
    assert not list((desk.home.folder / ".pi").iterdir())


def test_where_no_file_can_be_opened_that_is_all_that_is_said(desk: Desk) -> None:
    done = desk("launch", "done x", variables={"TMUXAGENTS_FAULT": "open:1:EMFILE"})
    assert (done.returncode, desk.runs()) == (3, [])
    assert re.fullmatch(r"The machine has run out of something: .*\nhint: .*\n", done.stderr)


def test_a_state_folder_named_from_here_is_the_same_one_for_all_that_is_started(desk: Desk) -> None:
    elsewhere = desk.home.project / "elsewhere"
    elsewhere.mkdir()
    named = {"TMUXAGENTS_HOME": os.path.relpath(desk.home.state, desk.home.project)}
    run_id = desk.launch("--cwd", str(elsewhere), "done fine", variables=named)
    assert desk.result(run_id)["status"] == "completed"
    assert list(desk.home.state.glob("hosts/*/slots/0"))
    assert list(elsewhere.iterdir()) == []


def test_two_runs_in_one_directory_are_told_of(desk: Desk) -> None:
    first = desk.launch(WORKS)
    said = f"warning: {first[:8]} already works in this directory (--after {first[:8]} waits, "
    assert said in desk("launch", "--name", "two", WORKS).stderr
    said = f"warning: two and {first[:8]} already work in this directory"
    assert said in desk("launch", "done x").stderr


# --- refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        ([], 2, "empty-task"),
        ([""], 2, "empty-task"),
        ([" \n"], 2, "empty-task"),
        (["two", "words"], 2, "usage"),
        (["--cwd", "/nowhere", "x"], 2, "bad-cwd"),
        (["--cwd", "/etc/passwd", "x"], 2, "bad-cwd"),
        (["--agent", "nobody", "x"], 2, "unknown-agent"),
        (["--timeout", "0", "x"], 2, "bad-argument"),
        (["--timeout", "9007199254740994", "x"], 2, "bad-argument"),
        (["--timeout", "soon", "x"], 2, "usage"),
        (["--name", "Not Good", "x"], 2, "bad-argument"),
        (["--name", "two words", "x"], 2, "bad-argument"),
        (["--tools", "read", "x"], 2, "usage"),
        (["--task-file", "/nowhere", ""], 2, "usage"),
        (["--task-file", "/nowhere"], 2, "bad-file"),
        (["-L", "a/b", "x"], 2, "usage"),
        (["-L", "s" * 108, "x"], 3, "tmux-unreachable"),
    ],
)
def test_a_refusal_makes_nothing(desk: Desk, arguments: list[str], code: int, kind: str) -> None:
    done = desk("launch", "--json", *arguments)
    error = checked(done.stdout, "error")["error"]
    assert (done.returncode, error["kind"], error["exit"]) == (code, kind, code)
    assert (desk.runs(), desk.sockets.exists()) == ([], False)


@pytest.mark.parametrize(
    ("variables", "code", "kind"),
    [
        ({"PI_SUBAGENTS_CHILD": "1"}, 2, "nested"),
        ({"TMUXAGENTS_PI": "/nowhere/pi"}, 3, "agent-missing"),
        ({"PATH": "/nowhere"}, 3, "tmux-missing"),
    ],
)
def test_surroundings_that_do_not_allow_it(
    desk: Desk, variables: dict[str, str], code: int, kind: str
) -> None:
    done = desk("launch", "--json", "x", variables=variables)
    assert (done.returncode, checked(done.stdout, "error")["error"]["kind"]) == (code, kind)
    assert (desk.runs(), desk.sockets.exists()) == ([], False)


@pytest.mark.parametrize(
    ("says", "kind"), [("tmux 2.9a", "tmux-old"), ("tmux 3.2", "tmux-old"), ("nonsense", "tmux-old")]
)
def test_a_tmux_that_is_too_old_makes_nothing(desk: Desk, says: str, kind: str) -> None:
    folder = desk.home.folder / "old"
    folder.mkdir()
    (folder / "tmux").write_text(f"#!/bin/sh\necho {says}\n")
    (folder / "tmux").chmod(0o755)
    done = desk("launch", "--json", "x", variables={"PATH": f"{folder}:{PATH}"})
    assert (done.returncode, checked(done.stdout, "error")["error"]["kind"]) == (3, kind)
    assert desk.runs() == []


def test_where_there_can_be_no_socket_nothing_is_made(desk: Desk) -> None:
    base = desk.home.folder / "p"  # the name of a socket is short
    (base / ("x" * 150)).mkdir(parents=True)
    (base / "file").touch()
    (base / "o" / f"tmux-{os.getuid()}").mkdir(parents=True)
    (base / "o" / f"tmux-{os.getuid()}").chmod(0o777)
    for variables, words in (
        ({"TMUX_TMPDIR": f"{base}/{'x' * 150}"}, "File name too long."),
        ({"TMUXAGENTS_SOCKET": "/" + "y" * 107}, "File name too long."),
        ({"TMUX_TMPDIR": f"{base}/file"}, "There can be no tmux socket at"),
        ({"TMUX_TMPDIR": f"{base}/o"}, "Others could put a tmux socket into"),
    ):
        done = desk("launch", "--json", "x", variables=variables)
        error = checked(done.stdout, "error")["error"]
        assert (done.returncode, error["kind"]) == (3, "tmux-unreachable")
        assert words in error["message"]
        assert error["hint"]
    assert desk.runs() == []


def test_an_agent_that_cannot_be_started_is_a_result(desk: Desk) -> None:
    program = desk.home.folder / "pi"
    program.write_text("not a program")
    run_id = desk.launch("x", variables={"TMUXAGENTS_PI": str(program)})
    assert [desk.result(run_id)[key] for key in ("status", "reason", "exitCode")] == ["failed", "spawn", 1]


def test_a_name_belongs_to_one_live_run(desk: Desk) -> None:
    first = desk.launch("--name", "scout", WORKS)
    done = desk("launch", "--json", "--name", "scout", WORKS)
    assert checked(done.stdout, "error")["error"]["message"] == (
        'An active run of this project has the name "scout" already.'
    )
    desk("stop", "scout")
    second = desk.launch("--name", "scout", "done x")
    assert desk.result(second)["status"] == "completed"
    assert json.loads(desk("poll", "scout", "--json").stdout)["runs"][0]["runId"] == second
    assert desk.runs() == sorted([first, second])


def test_of_ten_that_want_one_name_one_gets_it(desk: Desk) -> None:
    launches = [desk.start("launch", "--name", "scout", WORKS) for _ in range(10)]
    codes = sorted((launch.communicate(timeout=60), launch.returncode)[1] for launch in launches)
    assert codes == [0] + [2] * 9
    assert len(desk.runs()) == 1


def test_no_room_in_the_queue_makes_nothing(desk: Desk) -> None:
    tickets = desk.home.state / "hosts" / process.host() / "tickets"
    tickets.mkdir(parents=True)
    for number in range(200):
        (tickets / f"{number:020d}-{'a' * 16}").touch()
    done = desk("launch", "--json", "x")
    assert (done.returncode, checked(done.stdout, "error")["error"]["kind"]) == (3, "no-space")
    assert desk.runs() == []


@pytest.mark.parametrize("way", ["folder", "link", "socket"])
def test_what_lies_in_the_way_of_the_queue_stops_no_launch(desk: Desk, way: str) -> None:
    host = desk.home.state / "hosts" / process.host()
    for name in ("slots/0", "gate", f"tickets/{0:020d}-{'a' * 16}"):
        path = host / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if way == "folder":
            (path / "below").mkdir(parents=True)
        elif way == "link":
            path.symlink_to("/dev/null")
        else:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(f"/proc/self/fd/{(folder := os.open(path.parent, os.O_PATH))}/{path.name}")
                os.close(folder)
    run_id = desk.launch("done fine", variables={"TMUXAGENTS_MAX_RUNNING": "1"})
    assert desk.result(run_id)["output"] == "fine"


# --- queued, stopped, again -------------------------------------------------------------------------------


def test_a_window_is_opened_with_the_state_that_its_run_has(desk: Desk) -> None:
    one = {"TMUXAGENTS_MAX_RUNNING": "1"}  # and no watcher puts it right later
    first = desk.launch(WORKS, variables=one)
    desk.wait_for(first, "so far")
    waits = desk.launch("done second", variables=one)
    follows = desk.launch("--after", first, "done third")
    states = desk.tmux("list-windows", "-a", "-F", "#{@tmuxagents_run} #{@tmuxagents_state}").splitlines()
    assert sorted(filter(str.strip, states)) == sorted(
        [f"{first} running", f"{waits} queued", f"{follows} queued"]
    )
    assert desk("stop", first).returncode == 0
    assert desk.result(waits)["output"] == "second"


def test_a_window_says_that_its_run_works_once_it_does(desk: Desk) -> None:
    desk.home.be_watched()
    one = {"TMUXAGENTS_MAX_RUNNING": "1"}
    first = desk.launch(WORKS, variables=one)
    desk.wait_for(first, "so far")
    waits = desk.launch(WORKS, variables=one)
    window = desk.windows()[waits]
    assert desk("stop", first).returncode == 0
    desk.wait_for(waits, "so far")
    eventually(lambda: desk.tmux("display-message", "-p", "-t", window, "#{@tmuxagents_state}") == "running")


def test_more_than_fit_are_queued_and_come_in_turn(desk: Desk) -> None:
    one = {"TMUXAGENTS_MAX_RUNNING": "1"}
    first = desk.launch(WORKS, variables=one)
    desk.wait_for(first, "so far")
    second = desk.launch("done second", variables=one)
    third = desk.launch("done third", variables=one)
    eventually(lambda: "2 queued" in desk("poll").stdout)
    row = next(line for line in desk("poll").stdout.splitlines() if line.startswith(third[:8]))
    assert "queued" in row
    assert "waiting for a slot, 1 before you" in row
    (document,) = json.loads(desk("poll", third, "--json").stdout)["runs"]
    assert (document["status"], document["activity"]) == ("queued", "waiting for a slot, 1 before you")
    assert desk("stop", third).stdout == f"{third[:8]} aborted (stopped)\n"
    assert desk("stop", first).stdout == f"{first[:8]} aborted (stopped)\n"
    assert desk("wait", second).returncode == 0
    assert desk.result(third)["startedAt"] is None


def test_stop_all_stops_what_poll_shows_and_nothing_else(desk: Desk) -> None:
    mine = [desk.launch(WORKS), desk.launch(WORKS)]
    others = desk.launch(WORKS, variables={"TMUXAGENTS_OWNER": "somebody"}, cwd="/tmp")
    for run_id in (*mine, others):
        desk.wait_for(run_id, "so far")
    done = desk("stop", "--all", "--json")
    stopped = checked(done.stdout, "poll")["runs"]
    assert {(run["runId"], run["status"], run["reason"]) for run in stopped} == {
        (run_id, "aborted", "stopped") for run_id in mine
    }
    assert not inspect(str(desk.folder(others))).ended
    assert desk("stop").returncode == 2
    assert desk("stop", "--all", others).returncode == 2
    done = desk("stop", others, mine[0])
    assert (done.returncode, set(done.stdout.splitlines())) == (
        0,
        {f"{others[:8]} aborted (stopped)", f"{mine[0][:8]} had already ended (aborted)"},
    )
    assert done.stderr == f"warning: {others[:8]} belonged to another parent session, somebody\n"
    assert desk("output", mine[0]).stdout.startswith("aborted (stopped); ")


def test_stop_all_without_an_owner_leaves_the_runs_of_other_parents_alone(desk: Desk) -> None:
    nothing = desk("stop", "--all")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "nothing to stop\n", "")
    claude = {"CLAUDE_CODE_SESSION_ID": "5d0c"}
    mine, others = desk.launch(WORKS), desk.launch("--name", "parser", WORKS, variables=claude)
    for run_id in (mine, others):
        desk.wait_for(run_id, "so far")
    done = desk("stop", "--all")
    assert (done.returncode, done.stdout) == (0, f"{mine[:8]} aborted (stopped)\n")
    assert f"left alone, because other parents launched them: {others[:8]} (parser)" in done.stderr
    assert not inspect(str(desk.folder(others))).ended
    again = desk("stop", "--all")
    assert (again.returncode, again.stdout, others[:8] in again.stderr) == (0, "nothing to stop\n", True)
    assert desk("stop", "--all", "--others").stdout == f"{others[:8]} aborted (stopped)\n"


def test_a_parent_that_has_an_owner_stops_its_own(desk: Desk) -> None:
    codex = {"CODEX_THREAD_ID": "0199-a"}
    mine, others = desk.launch(WORKS, variables=codex), desk.launch(WORKS)
    for run_id in (mine, others):
        desk.wait_for(run_id, "so far")
    done = desk("stop", "--all", variables=codex)
    assert done.stdout == f"{mine[:8]} aborted (stopped)\n"
    assert done.stderr == "warning: left alone: 1 of other parents here; --others stops them, too\n"
    unread = json.loads(desk("poll", "--unread", "--json", variables=codex).stdout)["runs"]
    assert unread == []  # a person who stops a run knows how it ended
    theirs = desk("stop", "--all", "--others", variables=codex)
    assert (theirs.stdout, theirs.stderr) == (f"{others[:8]} aborted (stopped)\n", "")


def test_who_stops_a_run_of_somebody_else_by_its_name_is_told_so(desk: Desk) -> None:
    codex = {"CODEX_THREAD_ID": "0199-a"}
    theirs = desk.launch("--name", "parser", WORKS, variables=codex)
    nobodys = desk.launch("--name", "lexer", WORKS)
    for run_id in (theirs, nobodys):
        desk.wait_for(run_id, "so far")
    done = desk("stop", "parser")
    assert done.stdout == f"{theirs[:8]} aborted (stopped)\n"
    assert done.stderr == f"warning: {theirs[:8]} belonged to another parent session, 0199-a\n"
    done = desk("stop", "lexer", variables=codex)
    assert done.stderr == f"warning: {nobodys[:8]} belonged to no parent session\n"


def test_retry_does_the_same_task_again(desk: Desk) -> None:
    first = desk.launch("--name", "scout", "--timeout", "60", "-m", "mock/x", "done fine")
    desk.result(first)
    done = desk("retry", "scout", "--timeout", "90", "--json")
    again = checked(done.stdout, "receipt")["run"]
    assert again["runId"] != first
    assert [again[key] for key in ("task", "name", "timeout", "requestedModel", "sessionId")] == [
        "done fine",
        "scout",
        90,
        "mock/x",
        again["runId"],
    ]
    assert desk.result(again["runId"])["output"] == "fine"
    while_it_lives = desk.launch("--name", "other", WORKS)
    assert json.loads(desk("retry", while_it_lives, "--json").stdout)["run"]["name"] is None
    desk.launch("--name", "scout", WORKS)
    after_another = desk("retry", first)
    assert "another active run has the name scout by now: this one has none" in after_another.stderr


# --- storms and faults ------------------------------------------------------------------------------------


def test_many_launches_at_one_moment_on_a_machine_without_a_server(desk: Desk) -> None:
    home, many = desk.home, 40
    home.be_watched()
    home.environment["TMUXAGENTS_MAX_RUNNING"] = str(many)
    home.environment["TMUXAGENTS_PI"] = str(REPOSITORY / "tests" / "children" / "echo.py")
    launches = [desk.start("launch", f"task {number}") for number in range(many)]
    told = [launch.communicate(timeout=120) for launch in launches]
    assert [launch.returncode for launch in launches] == [0] * many, [err for _, err in told if "hint" in err]
    ids = sorted(out.strip() for out, _ in told)
    assert (len(set(ids)), desk.runs()) == (many, ids)
    assert sorted(desk.windows()) == ids
    assert {desk.result(run_id)["status"] for run_id in ids} == {"completed"}
    assert desk("poll", "-a", "--json").stdout.count('"runId"') == many
    assert len(list(desk.sockets.iterdir())) == 1
    assert len(desk.watchers()) == 1


def test_on_a_disk_without_locks_nothing_is_made(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    surroundings, project = desk.home.environment, str(desk.home.project)
    request = LaunchRequest(task="done x", cwd=project, project=project, agent="pi")
    with monkeypatch.context() as disk:
        disk.setattr(fcntl, "flock", no_locks)
        with pytest.raises(Unusable, match="no locks"):
            Launcher(Caller(surroundings, project), surroundings, umask=0o022).launch(request)
    assert desk.runs() == []


def test_a_stopped_server_is_told_of_within_its_limit_and_starts_nothing_late(desk: Desk) -> None:
    desk.launch("done first")
    pid = int(desk.tmux("display-message", "-p", "#{pid}"))
    stop(pid)
    try:
        begun = time.monotonic()
        done = desk("launch", "--json", "pid started\ndone late")
        took = time.monotonic() - begun
        assert desk("poll").returncode == 0
    finally:
        os.kill(pid, signal.SIGCONT)
    error = checked(done.stdout, "error")["error"]
    assert (done.returncode, error["kind"]) == (3, "tmux-unreachable")
    assert took < 9.9  # the limit of one call, not of two
    (late,) = [run_id for run_id in desk.runs() if "late" in (desk.folder(run_id) / "prompt.txt").read_text()]
    result = desk.result(late)
    assert (result["status"], result["reason"]) == ("failed", "window")
    assert result["errorMessage"].startswith("The window was never opened. tmux")
    # The command is carried out when the server continues. The wrapper in its window finds that it is too
    # late, and closes the window, which would otherwise show the run as running for ever.
    afterwards = desk.launch("done next")
    assert desk.windows()[afterwards] == "@2"  # the late one had been @1
    eventually(lambda: late not in desk.windows())
    assert desk.home.recorded() == {}


def test_no_shell_of_a_person_ever_sees_a_task(desk: Desk) -> None:
    """The default shell records each call, and no call may come."""
    mark, called = desk.home.folder / "mark", desk.home.folder / "called"
    shell = desk.home.folder / "shell"
    shell.write_text(f'#!/bin/sh\necho "$@" >> {called}\nexec sleep 60\n')
    shell.chmod(0o755)
    folder = desk.home.folder / f"d#(touch {mark.name})x;"
    folder.mkdir()
    with TmuxServer(desk.home.folder) as server, attached(server, "work") as seen:
        server.run("set-option", "-g", "default-shell", str(shell))
        inside = {"TMUX": f"{server.socket},{server.pid},0"}
        for number in range(12):  # a client may end its own job before that has run: once is no proof
            task = f"done x\n#(touch {mark}) $(touch {mark}) `touch {mark}` '; touch {mark} ; # \\;{number};"
            run_id = desk.launch("--name", f"n{number}", task, variables=inside, cwd=folder)
            assert desk.result(run_id)["status"] == "completed"
            meta = json.loads((desk.folder(run_id) / "meta.json").read_text())
            assert (meta["task"], meta["cwd"]) == (task, str(folder))
        server.run("switch-client", "-t", "agents-d-touch-mark-x")
        eventually(lambda: b"agents-d-" in seen())  # in the status line of its screen
        server.run("refresh-client")
        assert not list(desk.home.folder.rglob("mark"))
        assert not called.exists()


@contextmanager
def attached(server: TmuxServer, session: str) -> Iterator[Callable[[], bytes]]:
    """Attach a real terminal; yield a function that returns everything shown on it so far."""
    controller, line = pty.openpty()
    client = subprocess.Popen(
        ["tmux", "-S", str(server.socket), "attach", "-t", session],
        stdin=line,
        stdout=line,
        stderr=line,
        env={"PATH": PATH, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(line)
    os.set_blocking(controller, False)
    shown = bytearray()

    def seen() -> bytes:
        with suppress(BlockingIOError, OSError):
            while piece := os.read(controller, 65536):
                shown.extend(piece)
        return bytes(shown)

    try:
        eventually(seen)
        yield seen
    finally:
        client.kill()
        client.wait()
        os.close(controller)


@pytest.mark.parametrize("how", ["kill-window", "kill-session", "kill-server", "socket removed"])
def test_what_becomes_of_a_run_whose_window_goes(desk: Desk, how: str) -> None:
    run_id = desk.launch(WORKS)
    desk.wait_for(run_id, "so far")
    pid = int(desk.tmux("display-message", "-p", "#{pid}"))
    started = process.start_time(pid)
    if how == "socket removed":
        (desk.sockets / "tmuxagents").unlink()
        assert "running" in desk("poll", run_id).stdout
        assert desk("stop", run_id).stdout == f"{run_id[:8]} aborted (stopped)\n"
        os.kill(pid, signal.SIGTERM)
        return
    target = {"kill-window": ["-t", desk.windows()[run_id]], "kill-session": ["-t", "agents-project"]}
    desk.tmux(how, *target.get(how, []))
    result = desk.result(run_id)
    assert (result["status"], result["reason"]) == ("aborted", "closed")
    assert started is not None
    assert process.wait_gone(pid, started, 10)


def test_interrupted_while_it_waits_for_the_window_it_leaves_an_ended_run(desk: Desk) -> None:
    desk.launch("done first")
    pid = int(desk.tmux("display-message", "-p", "#{pid}"))
    stop(pid)
    try:
        launch = desk.start("launch", "pid started\ndone late")
        eventually(lambda: len(desk.made()) == 2)
        launch.send_signal(signal.SIGINT)
        launch.communicate(timeout=20)
        assert launch.returncode == 130
    finally:
        os.kill(pid, signal.SIGCONT)
    late = next(i for i in desk.runs() if "late" in (desk.folder(i) / "prompt.txt").read_text())
    assert desk.result(late)["reason"] == "window"
    assert desk.home.recorded() == {}


# --- started small ----------------------------------------------------------------------------------------


def test_a_launch_imports_nothing_that_it_does_not_need(desk: Desk) -> None:
    line = """from tmuxagents import cli
import atexit, sys
atexit.register(lambda: sys.stderr.write(" ".join(sys.modules)))
cli.main(sys.argv[1:])"""
    done = subprocess.run(
        [sys.executable, "-c", line, "launch", "done x"],
        env=desk.home.environment,
        cwd=desk.home.project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    modules = {name.partition(".")[0] for name in done.stderr.split()}
    assert modules & {"libtmux", "yaml", "watchdog", "rich", "asyncio", "pathlib"} == set()
