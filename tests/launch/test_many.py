"""Many children at once: the limit of windows, calls side by side, and queued runs that end early."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import eventually
from tests.status.watchers import checked
from tests.torture import matrix

if TYPE_CHECKING:
    from pathlib import Path

    from tests.desk import Desk

LOOK_S = 0.02


def tasks(desk: Desk, name: str, *items: dict[str, Any]) -> str:
    path: Path = desk.home.folder / f"{name}.json"
    path.write_text(json.dumps(items))
    return str(path)


def shown_at_work(desk: Desk) -> int:
    """Return how many windows show a working child."""
    with suppress(subprocess.CalledProcessError):  # there is no server yet
        return desk.tmux("list-windows", "-a", "-F", "#{@tmuxagents_state}").splitlines().count("running")
    return 0


def test_sixteen_tasks_never_have_more_than_four_windows_at_work(desk: Desk) -> None:
    go = desk.home.folder / "go"
    answers = [f"answer {number} of many" for number in range(16)]
    file = tasks(desk, "many", *({"task": f"gate {go}\ndone {answer}"} for answer in answers))
    call = desk.start("run", "--tasks", file, "--json")
    most = eventually(lambda: (now := shown_at_work(desk)) >= 4 and now)
    go.touch()
    while call.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            call.wait(LOOK_S)
        most = max(most, shown_at_work(desk))
    out, err = call.communicate()
    assert (call.returncode, err) == (0, "")
    document = checked(out)
    assert most == 4
    assert [run["output"] for run in document["runs"]] == answers
    for run in document["runs"]:
        at_once = [r for r in document["runs"] if r["startedAt"] <= run["startedAt"] < r["endedAt"]]
        assert len(at_once) <= 4
    used = [run["usage"]["totalTokens"] for run in document["runs"]]
    assert (min(used) > 0, document["usage"]["totalTokens"]) == (True, sum(used))


def test_calls_and_launches_side_by_side_do_not_disturb_each_other(desk: Desk) -> None:
    files = [
        tasks(
            desk, name, *({"task": f"done {name}{number}", "name": f"{name}{number}"} for number in range(3))
        )
        for name in ("left-", "right-")
    ]
    calls = [desk.start("run", "--tasks", file, "--json") for file in files]
    launches = [desk.start("launch", f"done alone {number}") for number in range(5)]
    alone = [launch.communicate(timeout=60)[0].strip() for launch in launches]
    documents = [checked(call.communicate(timeout=60)[0]) for call in calls]
    assert [one.returncode for one in (*calls, *launches)] == [0] * 7
    for name, document in zip(("left-", "right-"), documents, strict=True):
        assert [run["output"] for run in document["runs"]] == [f"{name}{number}" for number in range(3)]
        assert {run["callId"] for run in document["runs"]} == {document["runs"][0]["runId"]}
    assert [desk.result(run_id)["output"] for run_id in alone] == [f"alone {number}" for number in range(5)]
    whole = checked(desk("poll", "--all", "--json").stdout)
    assert (whole["counts"]["completed"], whole["counts"]["total"], len(desk.runs())) == (11, 11, 11)


@pytest.fixture
def queue(desk: Desk) -> tuple[Desk, list[str]]:
    """Launch a run that works, one that waits for a slot, and one that waits for both."""
    desk.home.be_watched()
    desk.home.environment["TMUXAGENTS_MAX_RUNNING"] = "1"
    go = desk.home.folder / "go"
    first = desk.launch(f"gate {go}\ndone one")
    desk.wait_for(first, "run_started")
    second = desk.launch("done two")
    desk.wait_for(second, "queued")
    return desk, [first, second, desk.launch("--after", first, "--after", second, "done got {previous}")]


def test_a_killed_watcher_changes_nothing_for_those_that_wait(queue: tuple[Desk, list[str]]) -> None:
    desk, runs = queue
    for watcher in eventually(desk.watchers):
        os.kill(watcher, signal.SIGKILL)
    (desk.home.folder / "go").touch()
    outputs = [desk.result(run_id)["output"] for run_id in runs]
    assert outputs == ["one", "two", "got one"]
    assert (desk.folder(runs[2]) / "prompt.txt").read_text() == "done got one\n\ntwo"


def test_a_killed_server_ends_those_that_wait_like_those_that_work(queue: tuple[Desk, list[str]]) -> None:
    desk, runs = queue
    os.kill(int(desk.tmux("display-message", "-p", "#{pid}")), signal.SIGKILL)
    results = [desk.result(run_id) for run_id in runs]
    assert [(result["status"], result["reason"]) for result in results] == [("aborted", "closed")] * 3
    assert {result["errorMessage"] for result in results} == {"The tmux server ended."}
    assert [result["startedAt"] is None for result in results] == [False, True, True]
    assert desk("wait", *runs).returncode == 1


def test_a_storm_on_the_queue_loses_nobody_and_starts_nobody_twice() -> None:
    outcome = matrix.queue_storm(3, runs=24).carry_out()  # scripts/torture has more, and longer ones
    assert outcome.wrong == []
