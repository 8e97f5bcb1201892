"""Waiting for a slot, the handover from the launcher, and stopping, with real wrappers."""

from __future__ import annotations

import json
import os
import signal
import termios
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.apart import apart, become_somebody, let_in
from tests.harness import REPOSITORY, alive, eventually
from tests.status.watchers import begun, sleeper, told, wrapped_by
from tmuxagents.errors import Unusable
from tmuxagents.launch import handover
from tmuxagents.runs import writing
from tmuxagents.status.stop import stop
from tmuxagents.system import fault_injection

if TYPE_CHECKING:
    from tests.harness import Home, Run

WORK = "begin\nanswer toolUse x\nsleep 60"
ONE = {"TMUXAGENTS_MAX_RUNNING": "1"}


def position(run: Run) -> list[int]:
    return [event["position"] for event in run.events() if event["type"] == "queued"]


def test_who_finds_no_slot_waits_in_line_and_then_works(home: Home) -> None:
    first = home.run(WORK).start(ONE)
    first.wait_for("assistant_text")
    second = home.run("done second").start(ONE)
    second.wait_for("queued")
    third = home.run("done third").start(ONE)
    third.wait_for("queued")
    assert (second.status(), third.status()) == ("queued", "queued")
    assert (position(second), position(third)) == ([0], [1])
    eventually(lambda: b"waiting for a slot, 1 before you" in third.screen)  # shown after it is recorded
    first.signal(signal.SIGKILL)  # the kernel frees the slot
    assert first.wrapper is not None
    first.wrapper.wait()
    assert second.wait()["output"] == "second"
    assert third.wait()["output"] == "third"
    started = [run.wait_for("run_started")["at"] for run in (second, third)]
    assert started == sorted(started)


@pytest.mark.parametrize(
    ("number", "reason"), [(signal.SIGTERM, "stopped"), (signal.SIGINT, "parent"), (signal.SIGHUP, "closed")]
)
def test_a_waiting_run_is_ended_like_a_working_one(home: Home, number: int, reason: str) -> None:
    home.run(WORK).start(ONE).wait_for("assistant_text")
    waiting = home.run("pid started\ndone x").start(ONE)
    waiting.wait_for("queued")
    waiting.signal(number)
    result = waiting.wait()
    assert (result["status"], result["reason"], result["startedAt"]) == ("aborted", reason, None)
    assert "started" not in home.recorded()


def test_a_dead_ticket_holds_nobody_up(home: Home) -> None:
    first = home.run(WORK).start(ONE)
    first.wait_for("assistant_text")
    dead = home.run("done x").start(ONE)
    dead.wait_for("queued")
    last = home.run("done last").start(ONE)
    last.wait_for("queued")
    dead.signal(signal.SIGKILL)
    first.signal(signal.SIGTERM)
    assert last.wait()["output"] == "last"


@pytest.mark.parametrize("every", [1, 2, 3])
def test_a_ticket_that_cannot_be_removed_costs_the_run_nothing(home: Home, every: int) -> None:
    first = home.run(WORK).start(ONE)
    first.wait_for("assistant_text")
    waiting = home.run("done second").start({**ONE, fault_injection.VARIABLE: f"unlink:{every}:EROFS"})
    waiting.wait_for("queued")
    last = home.run("done last").start(ONE)
    last.wait_for("queued")
    first.signal(signal.SIGTERM)
    assert waiting.wait()["output"] == "second"
    assert last.wait()["output"] == "last"  # the ticket that stayed holds up no run


@pytest.mark.parametrize(
    "fault",
    [
        *("listdir:1:EIO", "flock:2:ENOLCK", "pipe2:3:EMFILE"),  # while it waits for its turn
        *("stat:5:EIO", "stat:8:EIO"),  # before it holds the run as a whole
    ],
)
def test_a_wrapper_that_cannot_go_on_before_the_start_says_so(home: Home, tmp_path: Path, fault: str) -> None:
    log = tmp_path / "log"
    run = home.run("pid started\ndone x").start(
        {fault_injection.VARIABLE: fault, fault_injection.LOG: str(log)}
    )
    result = run.wait()
    assert log.exists()
    assert (result["status"], result["reason"], result["exitCode"]) == ("failed", "spawn", 1)
    assert result["errorMessage"] == "Failed to spawn sub-agent process"
    assert result["startedAt"] is None
    assert "started" not in home.recorded()


def test_an_agent_that_cannot_do_what_the_plan_asks_for_says_what(home: Home) -> None:
    old: dict[str, Any] = {"agent": "codex", "agentVersion": "0.98.0", "agentCommand": ["/bin/true"]}
    result = home.run("do it", **old, permission="ask").start().wait()
    assert (result["status"], result["reason"]) == ("failed", "config")
    assert result["errorMessage"] == "Codex 0.98.0 cannot ask for permission."


@pytest.mark.parametrize("most", [11, 12, 13, 14])
def test_a_wrapper_without_descriptors_says_so_too(home: Home, most: int) -> None:
    run = home.run("pid started\ndone x").start(prefix=("prlimit", f"--nofile={most}:{most}"))
    assert (run.wait()["reason"], "started" in home.recorded()) == ("spawn", False)


def test_a_wrapper_that_cannot_begin_gives_the_terminal_back(home: Home) -> None:
    run = home.run("done x").start({fault_injection.VARIABLE: "stat:5:EIO"})
    assert run.wrapper is not None
    assert run.wrapper.wait(30) == 3
    assert run.master is not None
    local = termios.tcgetattr(run.master)[3]
    assert local & termios.ECHO
    assert local & termios.ICANON


# --- handed over ---


def handed(home: Home, **other: Any) -> handover.Handed:
    there = os.stat(home.project)
    facts: dict[str, Any] = {
        "environment": {**home.environment, "CHILD_RECORD": str(home.record), "HANDED": "over \udcff"},
        "umask": 0o027,
        "limits": {"RLIMIT_NOFILE": [77, 4096]},
        "working_directory": [there.st_dev, there.st_ino],
        "window": "@7",
    }
    return handover.Handed(**{**facts, **other})


def test_a_child_gets_what_the_launcher_hands_over(home: Home) -> None:
    home.environment["TMUXAGENTS_PI"] = str(REPOSITORY / "tests" / "children" / "echo.py")
    run = home.run("x")
    launcher = handover.LauncherEnds(str(run.folder))
    run.start({"HANDED": "no", "SERVERS": "own"})
    launcher.hand_over(handed(home))
    assert handover.answered([launcher], 20)
    launcher.close()
    assert run.wait()["status"] == "completed"
    seen = json.loads(Path(f"{home.record}.echo").read_text())
    assert (seen["environment"]["HANDED"], seen["umask"]) == ("over \udcff", 0o027)
    assert "SERVERS" not in seen["environment"]
    assert run.wait_for("run_started")["window"] == "@7"
    assert json.loads((run.folder / "wrapper.json").read_text())["tmux"]["window"] == "@7"
    assert not list(run.folder.glob("*.fifo"))


def test_a_large_environment_arrives_whole(home: Home) -> None:
    home.environment["TMUXAGENTS_PI"] = str(REPOSITORY / "tests" / "children" / "echo.py")
    run = home.run("x")
    launcher = handover.LauncherEnds(str(run.folder))
    run.start()
    many = {**handed(home).environment, **{f"V{n}": "x" * 1000 for n in range(500)}}
    launcher.hand_over(handed(home, environment=many))
    assert handover.answered([launcher], 20)
    launcher.close()
    run.wait()
    seen = json.loads(Path(f"{home.record}.echo").read_text())["environment"]
    assert sum(len(value) for name, value in seen.items() if name.startswith("V")) == 500_000


def test_a_replaced_working_directory_starts_nothing(home: Home) -> None:
    run = home.run("pid started\ndone x")
    launcher = handover.LauncherEnds(str(run.folder))
    run.start()
    launcher.hand_over(handed(home, working_directory=[1, 1]))
    assert handover.answered([launcher], 20)
    launcher.close()
    result = run.wait()
    assert (result["reason"], result["errorMessage"]) == ("spawn", "The working directory changed.")
    assert home.recorded() == {}


def test_a_working_directory_that_goes_while_a_run_waits_starts_nothing(home: Home) -> None:
    first = home.run(WORK).start(ONE)
    first.wait_for("assistant_text")
    moved, removed = (home.folder / name for name in ("moved", "removed"))
    waiting = []
    for folder in (moved, removed):
        folder.mkdir()
        waiting.append(home.run("pid started\ndone x", cwd=str(folder)).start(ONE))
        waiting[-1].wait_for("queued")
    moved.rename(home.folder / "elsewhere")
    moved.mkdir()
    removed.rmdir()
    first.signal(signal.SIGKILL)
    for run in waiting:
        result = run.wait()
        assert (result["reason"], result["errorMessage"]) == ("spawn", "The working directory changed.")
        assert (result["exitCode"], result["startedAt"], result["durationMs"]) == (None, None, 0)
    assert "started" not in home.recorded()


def test_a_launcher_that_is_gone_starts_nothing(home: Home) -> None:
    run = home.run("pid started\ndone x")
    handover.LauncherEnds(str(run.folder)).close()
    os.mkfifo(run.folder / handover.ORDERS)  # it died before it could remove the names
    run.start()
    assert run.wrapper is not None
    assert run.wrapper.wait(10) == 4
    eventually(lambda: b"The launcher of this run is gone" in run.screen)
    assert (run.status(), home.recorded()) == ("queued", {})


# --- stopped ---


def test_stop_ends_the_child_and_says_how_it_stands(home: Home) -> None:
    run = home.run(WORK).start()
    run.wait_for("assistant_text")
    child = run.child
    how = stop([str(run.folder)])[0].standing.verdict
    assert how is not None
    assert (how.status, how.reason) == ("aborted", "stopped")
    assert not alive(child)


def test_stop_of_an_ended_run_changes_nothing(home: Home) -> None:
    run = home.run("done fine").start()
    result = run.wait()
    assert stop([str(run.folder)])[0].standing.status == "completed"
    assert run.result() == result


def test_stop_before_there_is_a_window_concludes_the_run(home: Home) -> None:
    run = home.run("pid started\ndone x")
    assert stop([str(run.folder)])[0].standing.status == "aborted"
    assert (run.result() or {})["reason"] == "stopped"
    run.start()
    assert run.wrapper is not None
    assert run.wrapper.wait(10) == 4
    assert home.recorded() == {}


def test_stop_while_the_wrapper_is_just_taking_the_run_reaches_it(home: Home) -> None:
    run = home.run(WORK)
    launcher = handover.LauncherEnds(str(run.folder))
    run.start()  # it has the lock, and waits for what it is to take
    eventually(lambda: _is_locked(run))
    with ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(stop, [str(run.folder)])
        wait([stopping], 0.5)  # by then, it has found no process to ask
        launcher.hand_over(handed(home))
        assert handover.answered([launcher], 20)
        launcher.close()
        (stopped,) = stopping.result(30)
    assert (stopped.standing.status, (run.result() or {})["reason"]) == ("aborted", "stopped")


def _is_locked(run: Run) -> bool:
    held = writing.lock(str(run.folder), 0.0)
    if held is not None:
        os.close(held)
    return held is None


def test_stop_all_stops_those_that_live_here_and_says_which_do_not(home: Home) -> None:
    far = home.run("x")
    wrapped_by(far, 1, host="elsewhere-12345678", boot_id="other")
    told(far, begun())
    refused = json.loads(home.command("stop", "--all", "--json").stdout)["error"]
    assert (refused["kind"], refused["exit"]) == ("run-busy", 4)
    here = home.run("x")
    with sleeper(here) as wrapper:
        wrapped_by(here, wrapper)
        told(here, begun())
        done = home.command("stop", "--all")
        assert (done.returncode, done.stdout) == (0, f"{here.run_id[:8]} aborted (stopped)\n")
    assert done.stderr == (
        f"warning: Run {far.run_id} lives on another host (elsewhere-12345678): "
        "it can only be stopped there.\n"
    )
    assert home.command("stop", here.run_id, far.run_id).returncode == 4


def test_a_run_of_another_user_is_refused_at_once(home: Home) -> None:
    run = home.run("x")

    def act() -> tuple[str, int]:
        become_somebody()
        with pytest.raises(Unusable, match="belongs to another user") as raised:
            stop([str(run.folder)])
        return raised.value.kind, raised.value.exit_code

    with sleeper(run) as wrapper:
        wrapped_by(run, wrapper)
        told(run, begun())
        let_in(run.folder)
        for file in run.folder.iterdir():
            file.chmod(0o644)
        assert apart(act, 5) == ("no-permission", 3)  # it was signalled in vain, and waited for, twice 12 s


def test_stop_of_a_lost_run_ends_what_it_left(home: Home) -> None:
    run = home.run(f"found tool\n{WORK}").start()
    run.wait_for("assistant_text")
    run.signal(signal.SIGKILL)
    assert run.wrapper is not None
    run.wrapper.wait()
    assert stop([str(run.folder)])[0].standing.status == "aborted"
    assert not alive(home.recorded()["tool"])
    assert (run.result() or {})["reason"] == "lost"
