"""Runs on another machine, over a real sshd: what is seen here, and what people and runs do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.harness import eventually
from tests.machines.pair import LONG_S, Pair, waiting
from tests.status.watchers import COMMAND

if TYPE_CHECKING:
    from tests.terminal import Terminal

DONE = ("completed", "done")
STOPPED = ("aborted", "stopped")
EXHAUSTING = "stderr oh\nflood both 2000\nflood events 3000\n"


def test_a_run_there_has_the_same_files_here(pair: Pair) -> None:
    gate = pair.gate()
    run_id = pair.launch("--name", "one", EXHAUSTING + waiting(gate))
    pair.hears(run_id, "at work")
    told = pair.run(run_id)
    assert (told["status"], told["host"], "unreachableSince" in told) == ("running", "box", False)
    assert "(on box)" in pair("poll").stdout
    gate.touch()
    assert pair.how(run_id) == DONE
    assert pair.differing(run_id) == []
    assert pair("output", run_id).stdout == "fine\n"
    assert pair("wait", run_id).returncode == 0
    assert pair.run(run_id)["status"] == "completed"
    assert not (pair.far_dir(run_id) / "machine.json").exists()
    eventually(lambda: pair.tellings(run_id) == 1, LONG_S)


def test_its_own_window_is_shown_from_here(pair: Pair) -> None:
    run_id, gate = pair.at_gate()
    person = pair.person(*COMMAND, "attach", "--there", run_id)
    _is_there(pair)
    person.shows("at work")
    _leave_there(pair)
    person.process.wait(20)
    gate.touch()
    assert pair.how(run_id) == DONE


def test_enter_leads_from_the_window_here_to_the_window_there(pair: Pair) -> None:
    run_id, gate = pair.at_gate()
    person = pair.person(*COMMAND, "attach", run_id)
    person.shows("Enter shows its window there")
    person.shows("at work")
    _press_until(person, "\r", lambda: bool(pair.far_tmux("list-clients")))
    _leave_there(pair)
    person.shows("back here")
    assert pair.run(run_id)["status"] == "running"
    gate.touch()
    assert pair.how(run_id) == DONE
    eventually(lambda: run_id not in pair.desk.windows() or "completed" in pair.screen(run_id))


def test_ctrl_c_twice_in_the_window_here_stops_it_there(pair: Pair) -> None:
    run_id, _ = pair.at_gate()
    person = pair.person(*COMMAND, "attach", run_id)
    person.shows("at work")
    _press_until(person, "\x03", lambda: "Ctrl-C again within 3 s stops this run" in person.text)
    assert not (pair.near_dir(run_id) / "result.json").exists()
    _press_until(person, "\x03", (pair.far_dir(run_id) / "result.json").exists)
    assert pair.how(run_id) == STOPPED
    assert pair.differing(run_id) == []


def test_stop_and_retry_and_resume(pair: Pair) -> None:
    run_id, gate = pair.at_gate("--name", "again")
    assert pair("stop", run_id).returncode == 0
    assert pair.how(run_id) == STOPPED
    gate.touch()
    done = pair("retry", run_id)
    assert done.returncode == 0, done.stderr
    retried = done.stdout.split()[-1]
    assert pair.how(retried) == DONE
    assert pair.run(retried)["host"] == "box"
    assert pair.differing(retried) == []
    done = pair("resume", retried, "done more", variables={"TMUXAGENTS_OWNER": "parent-1"})
    assert done.returncode == 0, done.stderr
    resumed = done.stdout.split()[-1]
    assert pair.how(resumed) == DONE
    found = pair.run(resumed)
    assert (found["host"], found["resumes"], found["owner"]) == ("box", retried, "parent-1")
    assert pair.differing(resumed) == []
    assert pair("stop", resumed).returncode == 0  # it has ended


def test_runs_wait_for_runs_of_the_other_side(pair: Pair) -> None:
    first, gate = pair.at_gate("--name", "first", answer="from there")
    here = pair("launch", "--after", "first", "done got {previous}").stdout.strip()
    there = pair.launch("--after", here, "done and {previous}")
    again = pair.launch("--after", there, "done at last {previous}")
    assert pair.run(there)["status"] == "queued"
    assert not {there, again} & pair.far_runs()
    gate.touch()
    assert pair.result(again)["output"] == "at last and got from there"
    assert [pair.how(one) for one in (first, here, there, again)] == [DONE] * 4
    assert [pair.differing(one) for one in (first, there, again)] == [[], [], []]


def test_what_waits_for_a_run_that_failed_is_never_handed_over(pair: Pair) -> None:
    failing = pair.launch("exit 3")
    after = pair.launch("--after", failing, "done never")
    last = pair.launch("--after", after, "done never, too")
    assert (pair.how(failing), pair.how(after)) == (("failed", "exit"), ("failed", "dependency"))
    assert pair.how(last) == ("failed", "dependency")
    assert not {after, last} & pair.far_runs()
    eventually(lambda: [pair.tellings(one) for one in (failing, after, last)] == [1, 1, 1], LONG_S)


def test_a_run_that_waits_is_stopped_here(pair: Pair) -> None:
    first, gate = pair.at_gate()
    waits = pair.launch("--after", first, "done never")
    assert pair("stop", waits).returncode == 0
    assert pair.how(waits) == STOPPED
    gate.touch()
    assert pair.how(first) == DONE
    assert waits not in pair.far_runs()


def test_a_run_that_is_removed_here_goes_on_there(pair: Pair) -> None:
    ended = pair.launch("done soon")
    assert pair.how(ended) == DONE
    eventually(lambda: pair.tellings(ended) == 1, LONG_S)
    run_id, gate = pair.at_gate()
    pair.home.end_watcher()
    for one in (ended, run_id):
        (pair.near_dir(one)).rename(pair.lab.folder / f"removed-{one}")
    other, other_gate = pair.at_gate()
    gate.touch()
    eventually((pair.far_dir(run_id) / "result.json").exists, LONG_S)
    other_gate.touch()
    assert pair.how(other) == DONE
    assert not pair.near_dir(run_id).exists()
    assert pair.differing(other) == []


def _is_there(pair: Pair) -> None:
    eventually(lambda: pair.far_tmux("list-clients"), LONG_S)


def _leave_there(pair: Pair) -> None:
    """Let whoever looks at a window over there leave it."""
    for client in pair.far_tmux("list-clients", "-F", "#{client_name}").splitlines():
        pair.far_tmux("detach-client", "-t", client)
    eventually(lambda: not pair.far_tmux("list-clients"), LONG_S)


def _press_until(person: Terminal, key: str, check: object) -> None:
    """Press a key again and again: what comes too soon after another one does not count."""
    assert callable(check)

    def has_come() -> bool:
        person.type(key)
        try:
            return bool(eventually(check, 1.0))
        except AssertionError:
            return False

    eventually(has_come, LONG_S)
