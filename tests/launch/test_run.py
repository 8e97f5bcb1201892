"""run by the installed command: one child or many in the foreground, in order, cancelled, refused, seen."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
from typing import TYPE_CHECKING, Any

import pyte
import pytest

from tests.harness import eventually
from tests.status.watchers import COMMAND, checked
from tests.terminal import Screen, Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.desk import Desk

WORKS = "begin\nanswer toolUse so far\nsleep 60"
FAILS = "begin\nanswer length half\nsettle"


@pytest.fixture
def tasks(desk: Desk) -> Path:
    """Return the path for a tasks file."""
    return desk.home.folder / "tasks.json"


def written(path: Path, *tasks: Any) -> str:
    path.write_text(json.dumps([task if isinstance(task, dict) else {"task": task} for task in tasks]))
    return str(path)


def states(desk: Desk) -> dict[str, tuple[str, str]]:
    """Return how each run ended, by its name or task."""
    found = {}
    for run_id in desk.runs():
        meta = json.loads((desk.folder(run_id) / "meta.json").read_text())
        result = desk.result(run_id)
        found[meta["name"] or meta["task"]] = (result["status"], result["reason"])
    return found


# --- what it prints ---------------------------------------------------------------------------------------


def test_one_child_and_its_answer(desk: Desk) -> None:
    done = desk("run", "--name", "scout", "done In src/auth.ts.")
    (run_id,) = desk.runs()
    assert (done.returncode, done.stdout) == (0, "In src/auth.ts.\n")
    assert desk("output", run_id).stdout == done.stdout
    assert done.stderr == "1 run · ↑10 ↓5 · $0.001\n"
    meta = json.loads((desk.folder(run_id) / "meta.json").read_text())
    assert (meta["mode"], meta["callId"], meta["taskIndex"]) == ("single", run_id, 0)


def test_what_a_shell_takes_from_run_is_what_output_prints_however_long(desk: Desk) -> None:
    done = desk("run", f"done {'long ' * 2000}end")
    (run_id,) = desk.runs()
    assert len(done.stdout) > 10_000
    assert done.stdout == desk("output", run_id).stdout


def test_a_child_that_waits_for_a_slot_says_so(desk: Desk) -> None:
    desk.home.environment["TMUXAGENTS_MAX_RUNNING"] = "1"
    first = desk.launch(WORKS)
    desk.wait_for(first, "so far")
    with desk.start("run", "--progress", "done x") as call:
        assert call.stderr
        assert any(line.endswith(" done x queued - waiting for a slot\n") for line in call.stderr)
        desk("stop", first)
        assert call.wait(30) == 0


def test_a_child_that_fails(desk: Desk) -> None:
    done = desk("run", FAILS)
    (run_id,) = desk.runs()
    assert (done.returncode, done.stdout) == (1, desk("output", run_id).stdout)
    assert done.stdout.startswith("failed (length): The answer was cut at the model's output limit; what")


def test_many_children_in_the_order_of_the_file_whatever_becomes_of_them(desk: Desk, tasks: Path) -> None:
    file = written(tasks, {"task": "begin\nsleep 1\ndone slow", "name": "slow"}, FAILS, "done quick")
    done = desk("run", "--tasks", file, "--json")
    document = checked(done.stdout, "poll")
    assert (done.returncode, done.stderr) == (1, "")
    assert [run["output"] for run in document["runs"]] == ["slow", "half", "quick"]
    assert [run["taskIndex"] for run in document["runs"]] == [0, 1, 2]
    assert {run["callId"] for run in document["runs"]} == {document["runs"][0]["runId"]}
    assert {run["mode"] for run in document["runs"]} == {"parallel"}
    assert len(desk.windows()) == 3


def test_no_more_at_once_than_allowed(desk: Desk, tasks: Path) -> None:
    desk.home.environment["TMUXAGENTS_MAX_CONCURRENCY"] = "2"
    file = written(tasks, *(f"begin\nsleep 0.4\ndone {number}" for number in range(6)))
    done = desk("run", "--tasks", file, "--json")
    runs = checked(done.stdout, "poll")["runs"]
    assert [run["output"] for run in runs] == list("012345")
    for run in runs:
        at_once = [r for r in runs if r["startedAt"] <= run["startedAt"] < r["endedAt"]]
        assert len(at_once) <= 2


def test_one_that_cannot_be_opened_does_not_stop_the_others(desk: Desk, tasks: Path) -> None:
    other = desk.home.folder / "other"
    other.mkdir()
    desk.home.environment["TMUXAGENTS_MAX_CONCURRENCY"] = "1"
    file = written(
        tasks, "pid first\nbegin\nsleep 1\ndone a", {"task": "done b", "cwd": str(other)}, "done c"
    )
    call = desk.start("run", "--tasks", file, "--json")
    eventually(lambda: "first" in desk.home.recorded())
    other.rmdir()  # after everything was found to be well
    out, _ = call.communicate(timeout=30)
    runs = checked(out, "poll")["runs"]
    assert [(run["status"], run["reason"]) for run in runs] == [
        ("completed", "done"),
        ("failed", "spawn"),
        ("completed", "done"),
    ]
    assert call.returncode == 1


def test_options_count_for_tasks_that_say_nothing_else(desk: Desk, tasks: Path) -> None:
    (desk.home.folder / "sub").mkdir()
    file = written(tasks, {"task": "done a", "timeout": 70}, {"task": "done b", "cwd": "sub"})
    done = desk("run", "--tasks", file, "--timeout", "90", "--json")
    runs = checked(done.stdout, "poll")["runs"]
    assert [run["timeout"] for run in runs] == [70, 90]
    assert [run["cwd"] for run in runs] == [str(desk.home.project), str(desk.home.folder / "sub")]


@pytest.mark.parametrize("source", ["yaml", "stdin"])
def test_tasks_come_as_yaml_and_from_stdin(desk: Desk, source: str) -> None:
    text = "tasks:\n  - task: done one\n  - {task: done two, name: second}\n"
    if source == "stdin":
        done = desk("run", "--tasks", "-", input=text)
    else:
        (desk.home.folder / "t.yaml").write_text(text)
        done = desk("run", "--tasks", str(desk.home.folder / "t.yaml"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n\n")[1::2] == ["one", "two\n"]
    assert done.stderr.splitlines()[-1] == "2 runs · ↑20 ↓10 · $0.002"
    assert "[2] second: completed" in done.stdout


# --- refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "items", "kind"),
    [
        ([], None, "empty-task"),
        (["--tasks", "FILE", "task"], ["done x"], "usage"),
        (["--tasks", "FILE", "-m", "a/b"], ["done x"], "usage"),
        (["--tasks", "FILE", "--name", "n"], ["done x"], "usage"),
        (["--tasks", "/nowhere"], None, "bad-file"),
        (["--tasks", "FILE"], [], "bad-tasks"),
        (["--tasks", "FILE"], [{"task": "done x"}, {"task": "y", "chain": "z"}], "removed"),
        (["--tasks", "FILE"], [{"task": "done x"}, {"task": "y", "cwd": "/nowhere"}], "bad-cwd"),
        (["--tasks", "FILE"], [{"task": "done x", "name": "n"}, {"task": "y", "name": "n"}], "bad-argument"),
    ],
)
def test_a_fault_of_the_call_starts_nothing(
    desk: Desk, tasks: Path, arguments: list[str], items: list[Any] | None, kind: str
) -> None:
    if items is not None:
        written(tasks, *items)
    argv = [str(tasks) if word == "FILE" else word for word in arguments]
    done = desk("run", "--json", *argv)
    error = checked(done.stdout, "error")["error"]
    assert (done.returncode, error["kind"]) == (2, kind)
    assert (desk.runs(), desk.sockets.exists()) == ([], False)


def test_a_file_that_is_not_there_is_named_with_its_option_and_a_hint(desk: Desk) -> None:
    for verb, option in (("run", "tasks"), ("launch", "task-file")):
        error = checked(desk(verb, "--json", f"--{option}", "/nowhere").stdout, "error")["error"]
        assert (error["kind"], error["faults"][0]["field"]) == ("bad-file", option)
        assert f"--{option}" in error["hint"]


def test_each_faulty_task_is_named(desk: Desk, tasks: Path) -> None:
    file = written(tasks, {"task": "x", "cwd": "/nowhere"}, {"task": "y"}, {"task": "z", "name": "Bad Name"})
    done = desk("run", "--json", "--tasks", file)
    faults = checked(done.stdout, "error")["error"]["faults"]
    assert [(fault["field"], fault["kind"]) for fault in faults] == [
        ("tasks[2].name", "bad-argument"),
        ("tasks[0].cwd", "bad-cwd"),
    ]
    first, _, second = desk("run", "--tasks", file).stderr.splitlines()
    assert first.startswith("tasks[2].name: The name 'Bad Name'"), "people are told which task, too"
    assert second.startswith("also: tasks[0].cwd: The working directory /nowhere")


def test_the_only_task_of_a_file_is_named_as_one_of_several_is(desk: Desk, tasks: Path) -> None:
    file = written(tasks, {"task": "x", "cwd": "/nowhere"})
    (fault,) = checked(desk("run", "--json", "--tasks", file).stdout, "error")["error"]["faults"]
    assert (fault["field"], fault["kind"]) == ("tasks[0].cwd", "bad-cwd")
    assert desk("run", "--tasks", file).stderr.startswith("tasks[0].cwd: The working directory /nowhere")
    (fault,) = checked(desk("run", "--json", "--cwd", "/nowhere", "x").stdout, "error")["error"]["faults"]
    assert fault["field"] == "cwd", "a task that is given as an argument stands in no list"


# --- cancelled --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_calls_children_and_only_those(
    desk: Desk, tasks: Path, number: signal.Signals
) -> None:
    other = desk.launch("--name", "other", WORKS)
    desk.wait_for(other, "so far")
    desk.home.environment["TMUXAGENTS_MAX_CONCURRENCY"] = "2"
    names = [{"task": f"pid {name}\n{WORKS}", "name": name} for name in ("one", "two", "three")]
    call = desk.start("run", "--tasks", written(tasks, *names))
    eventually(lambda: {"one", "two"} <= set(desk.home.recorded()))
    call.send_signal(number)
    out, _ = call.communicate(timeout=30)
    assert call.returncode == 128 + number
    assert out.count(": aborted (parent): cancelled (run ") == 3
    assert desk("poll", other, "--json").stdout.count('"status":"running"') == 1
    desk("stop", other)
    ended = states(desk)
    assert ended.pop("other") == ("aborted", "stopped")
    assert ended == dict.fromkeys(("one", "two", "three"), ("aborted", "parent"))
    assert "three" not in desk.home.recorded()


def test_a_lost_connection_stops_nothing(desk: Desk, tasks: Path) -> None:
    desk.home.environment["TMUXAGENTS_MAX_CONCURRENCY"] = "1"
    file = written(tasks, "pid first\nbegin\nsleep 1\ndone one", "done two")
    controller, line = pty.openpty()
    call = subprocess.Popen(
        [*COMMAND, "run", "--tasks", file],
        stdin=line,
        stdout=line,
        stderr=line,
        env=desk.home.environment,
        cwd=desk.home.project,
        start_new_session=True,
    )
    os.close(line)
    eventually(lambda: "first" in desk.home.recorded())
    os.close(controller)
    call.send_signal(signal.SIGHUP)
    call.wait(30)
    assert len(desk.runs()) == 2
    assert {how for how, _ in states(desk).values()} == {"completed"}


def test_a_reader_that_leaves_stops_nothing(desk: Desk) -> None:
    reading, writing = os.pipe()
    call = subprocess.Popen(
        [*COMMAND, "run", "begin\nsleep 0.5\ndone x"],
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=writing,
        env=desk.home.environment,
        cwd=desk.home.project,
    )
    os.close(writing)
    os.close(reading)
    call.wait(30)
    (run_id,) = desk.runs()
    assert desk.result(run_id)["status"] == "completed"


# --- seen -------------------------------------------------------------------------------------------------


def test_what_is_to_be_warned_of_is_said_once_whoever_looks(desk: Desk) -> None:
    first = desk.launch(WORKS)
    desk.wait_for(first, "so far")
    said = f"warning: {first[:8]} already works in this directory"
    (line,) = desk("run", "done x", "--json").stderr.splitlines()
    assert line.startswith(said)
    assert desk("run", "done x").stderr.count(said) == 1
    person = Terminal([*COMMAND, "run", "done x"], desk.home.environment, desk.home.project)
    try:
        assert person.left() == 0
    finally:
        person.close()
    assert person.text.count(said) == 1
    assert person.text.index(said) < person.text.rindex(" done x  completed in ")


def test_five_tasks_with_one_equal_warning_say_it_once_above_one_picture(desk: Desk, tasks: Path) -> None:
    desk.wait_for(desk.launch(WORKS), "so far")
    file = written(tasks, *(f"begin\nsleep 0.3\ndone {number}" for number in range(5)))
    person = Terminal([*COMMAND, "run", "--tasks", file], desk.home.environment, desk.home.project)
    try:
        assert person.left() == 0
    finally:
        person.close()
    screen = pyte.HistoryScreen(100, 24, history=1000)
    pyte.ByteStream(screen).feed(bytes(person.output))
    past = ["".join(line[at].data for at in range(100)) for line in screen.history.top]
    rows = [row.rstrip() for row in (*past, *screen.display)]
    assert sum("already work" in row for row in rows) == 1
    assert [row for row in rows if row.startswith("5 runs: ")] == ["5 runs: 5 completed · ↑50 ↓25 · $0.005"]
    assert [
        sum(row.startswith(f"✓ begin sleep 0.3 done {number}") for row in rows) for number in range(5)
    ] == [1] * 5


def test_on_a_terminal_there_is_a_block_for_each_child(desk: Desk, tasks: Path) -> None:
    desk.home.environment |= {"TERM": "xterm"}
    first = 'begin\ntool bash {"command":"make assets"}\nsleep 60'
    file = written(tasks, {"task": first, "name": "one"}, {"task": "done all good", "name": "two"})
    controller, line = pty.openpty()
    fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 70, 0, 0))
    call = subprocess.Popen(
        [*COMMAND, "run", "--tasks", file],
        stdin=line,
        stdout=line,
        stderr=line,
        env=desk.home.environment,
        cwd=desk.home.project,
        start_new_session=True,
    )
    os.close(line)
    os.set_blocking(controller, False)
    screen = Screen(70, 30)
    stream = pyte.ByteStream(screen)

    def shown() -> list[str]:
        with contextlib.suppress(BlockingIOError, OSError):
            stream.feed(os.read(controller, 65536))
        return [row.rstrip() for row in screen.display]

    eventually(lambda: "  → bash → make assets" in shown())
    eventually(lambda: shown()[0].startswith("2 runs: 1 running, 1 completed · "))
    rows = shown()
    one, two = (next(n for n, row in enumerate(rows) if f" {name}  " in row) for name in ("one", "two"))
    assert re.match(r"● one  \ds of 10m · 1 tool", rows[one])
    assert re.match(r"✓ two  completed in \ds · ↑10 ↓5 · ", rows[two])
    before = rows[one]
    eventually(lambda: shown()[one] != before)  # its time goes on
    call.send_signal(signal.SIGINT)
    eventually(lambda: any("[1] one: aborted (parent): cancelled" in row for row in shown()))
    assert shown()[0].startswith("2 runs: 1 completed, 1 aborted")
    assert re.match(r"■ one  cancelled after \d+s", shown()[1])
    assert shown()[2] == rows[two]
    assert call.wait(20) == 130
    os.close(controller)
