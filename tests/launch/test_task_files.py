"""Tasks files for launch and run by the installed command, and the output of run without a terminal."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

from tests.harness import eventually

if TYPE_CHECKING:
    from tests.desk import Desk

WARNING = "in this directory"
WORKS = "begin\nsleep 60"
FAILS = "begin\nanswer length half of it\nsettle"


def written(desk: Desk, document: Any) -> str:
    path = desk.home.folder / "tasks.json"
    path.write_text(json.dumps(document))
    return str(path)


CHAIN = {
    "defaults": {"agent": "pi", "timeout": 60},
    "tasks": [{"name": "one", "task": "done first"}, {"task": "done got {previous}", "after": "one"}],
}


def test_launch_takes_a_tasks_file_and_a_task_can_wait_for_another(desk: Desk) -> None:
    done = desk("launch", "--tasks", written(desk, CHAIN))
    first, second = done.stdout.split()
    assert (done.returncode, WARNING in done.stderr) == (0, False)
    plan = json.loads((desk.folder(second) / "meta.json").read_text())
    assert (plan["after"], plan["agent"], plan["timeout"], plan["mode"]) == ([first], "pi", 60, "background")
    assert desk.result(first)["output"] == "first"
    assert desk.result(second)["output"] == "got first"


def test_run_takes_the_same_file_and_a_chain_is_no_crowd(desk: Desk) -> None:
    done = desk("run", "--tasks", written(desk, CHAIN))
    assert (done.returncode, WARNING in done.stderr) == (0, False), done.stderr
    assert done.stdout.startswith("[1] one: completed (run ")
    working = desk.launch(WORKS)
    behind = desk("launch", "--after", working, "done x")
    last = desk("launch", "--after", behind.stdout.strip(), "done x")
    assert (WARNING in behind.stderr, WARNING in last.stderr) == (False, False)
    assert WARNING in desk("launch", "done x").stderr
    desk("stop", working)


def test_concurrency_is_that_of_the_option_else_of_the_file(desk: Desk) -> None:
    tasks = [{"task": WORKS}, {"task": WORKS}, {"task": WORKS}]
    file = written(desk, {"concurrency": 1, "tasks": tasks})
    for option, most in ((("--concurrency", "2"), 2), ((), 1)):
        before = set(desk.made())
        running = desk.start("run", *option, "--tasks", file)
        eventually(lambda before=before, most=most: len(set(desk.made()) - before) == most)
        for run_id in set(desk.made()) - before:
            desk.wait_for(run_id, "run_started")
        assert len(set(desk.made()) - before) == most
        running.send_signal(signal.SIGTERM)
        _, said = running.communicate(timeout=60)
        assert (running.returncode, "SIGTERM: aborted 3 of 3 runs" in said) == (143, True)


def test_a_wrong_key_is_answered_with_the_right_ones(desk: Desk) -> None:
    done = desk("run", "--tasks", written(desk, [{"task": "x", "prompts": "y"}]))
    assert (done.returncode, done.stdout) == (2, "")
    keys = "preset, task, model, cwd, name, timeout, files, agent, permission, on, after"
    assert f"the keys are {keys}" in done.stderr
    assert "tmuxagents schema tasks" in done.stderr


# --- run, off a terminal ------------------------------------------------------------------------------------


def test_off_a_terminal_run_prints_ends_only_and_cuts_the_long_answers_of_several(desk: Desk) -> None:
    long = "done " + "x" * 9000
    done = desk("run", "--tasks", written(desk, [{"task": long}, {"task": "done x"}]))
    assert (done.returncode, 4000 < len(done.stdout) < 4500) == (0, True)
    assert any(f"tmuxagents output {run_id} prints all" in done.stdout for run_id in desk.made())
    alone = desk("run", long)
    assert (len(alone.stdout), alone.stderr.count("\n")) == (9001, 1), "the answer, and what it has used"
    assert len(desk("run", "--max-bytes", "400", long).stdout) < 600
    gate = desk.home.folder / "gate"
    with desk.start("run", "--progress", f"begin\ngate {gate}\ndone x") as call:
        assert call.stderr
        assert any(" running " in line for line in call.stderr)
        gate.touch()
        assert call.wait(30) == 0


def test_several_ends_are_told_as_they_come(desk: Desk) -> None:
    done = desk("run", "--tasks", written(desk, [{"name": "good", "task": "done fine"}, {"task": FAILS}]))
    ends = [line for line in done.stderr.splitlines() if "good" in line]
    assert (len(ends), "completed" in ends[0], "running" in done.stderr) == (1, True, False)


def test_the_text_of_a_failed_child_is_not_taken_for_its_answer(desk: Desk) -> None:
    done = desk("run", FAILS)
    assert done.returncode == 1
    first, second = done.stdout.splitlines()
    assert first.startswith("failed (length)")
    assert first.endswith("; what follows is unfinished")
    assert second == "half of it"
