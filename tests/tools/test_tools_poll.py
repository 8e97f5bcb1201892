"""The cost of many children for a parent that follows them from start to end and reads their cut answers."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from tests.status.watchers import begun, command, sleeper, told, wrapped_by
from tmuxagents.runs import events

if TYPE_CHECKING:
    from tests.harness import Home, Run

FLEET, AT_ONCE, BUDGET = 100, 16, 5 * 1024


def end(run: Run) -> None:
    """End a run as its wrapper does."""
    told(run, events.assistant_text("An answer that is none of the cost."), events.settled(aborted=False))
    (run.folder / "wrapper.json").unlink()  # its process lives on, for the others
    result = {"v": 1, "runId": run.run_id, "status": "completed", "reason": "done", "output": "An answer."}
    result |= {"startedAt": time.time() - 1, "endedAt": time.time(), "exitCode": 0, "durationMs": 1000}
    (run.folder / "result.json").write_text(json.dumps(result))


def test_following_a_hundred_runs_to_their_end_costs_next_to_nothing(home: Home) -> None:
    cursor, cost, lines = "0", 0, []

    def poll() -> None:
        nonlocal cursor, cost
        said = command(home, "poll", "--since", cursor).stdout
        cost += len(said.encode())
        lines.extend(said.splitlines()[:-1])
        cursor = said.splitlines()[-1].removeprefix("cursor ")

    home.run("x", name="first")  # without any run, nothing would be asked
    poll()
    made = []
    with sleeper() as pid:
        for start in range(0, FLEET, AT_ONCE):  # as many as may run; once they have ended, the next ones
            now = [home.run("x", name=f"task-{start + number}") for number in range(AT_ONCE)]
            for run in now:
                wrapped_by(run, pid)
                told(run, begun())
            for run in now:
                end(run)
            made += now
            poll()
        poll()
    assert sorted(line.split()[0] for line in lines if " completed " in line) == sorted(
        run.run_id[:8] for run in made
    )
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "no change"
    assert cost <= BUDGET, f"{cost} bytes"


def test_a_fleet_that_works_all_at_once_costs_no_more(home: Home) -> None:
    with sleeper() as pid:
        runs = [home.run("x") for _ in range(FLEET)]
        for run in runs:
            wrapped_by(run, pid)
            told(run, begun())
        first = command(home, "poll", "--since", "0").stdout
        for run in runs:
            end(run)
        cursor = first.splitlines()[-1].removeprefix("cursor ")
        last = command(home, "poll", "--wait", "--since", cursor).stdout
    assert (first.count(" running "), last.count(" completed ")) == (FLEET, FLEET)
    assert len((first + last).encode()) <= BUDGET


def test_an_answer_is_cut_to_its_head_and_its_tail_and_names_the_file(home: Home) -> None:
    run = home.run("done " + "a" * 5000 + "THE MIDDLE" + "z" * 5000)
    run.start().wait()
    said = command(home, "output", "--max-bytes", "400", run.run_id).stdout
    assert (said[0], said.rstrip()[-1], "THE MIDDLE" in said) == ("a", "z", False)
    assert f"9610 bytes left out; tmuxagents output {run.run_id} prints all" in said
    assert len(said.encode()) < 400 + 200
