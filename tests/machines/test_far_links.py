"""Links that break, killed mirrors and watchers, machines that restart: the runs over there go on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.machines.pair import LONG_S, waiting
from tests.terminals import stopped

if TYPE_CHECKING:
    from tests.machines.pair import Pair

DONE = ("completed", "done")
LOST = ("aborted", "lost")


def test_a_link_that_is_cut_costs_nothing(pair: Pair) -> None:
    run_id, gate = pair.at_gate("--name", "cut")
    other, _ = pair.at_gate()
    pair("stop", other)
    with pair.cut() as cut_at:
        eventually(lambda: pair.since() is not None, LONG_S)
        since = pair.since()
        assert since is not None
        assert cut_at - 10 < since < cut_at + 30
        told = pair.run(run_id)
        assert (told["status"], told["unreachableSince"]) == ("running", since)
        assert "box unreachable for " in pair("poll").stdout
        assert "1 unreachable" in pair("statusline").stdout
        gate.touch()  # it ends over there
        before = len(pair.far_runs())
        refused = pair("launch", "--on", "box", "done never")
        assert (refused.returncode, refused.stdout) == (3, "")
        assert "box is unreachable" in refused.stderr
        assert pair("stop", run_id).returncode == 3
        assert pair.run(run_id)["status"] == "running"
        assert pair.run(other)["status"] == "aborted"
        assert "unreachableSince" not in pair.run(other)
    assert pair.how(run_id) == DONE
    eventually(lambda: pair.since() is None, LONG_S)
    assert pair.differing(run_id) == []
    assert len(pair.far_runs()) == before
    eventually(lambda: pair.tellings(run_id) == 1, LONG_S)
    assert "unreachable" not in pair("statusline").stdout


@pytest.mark.parametrize("whom", ["mirror", "mirror and watcher", "ssh"])
def test_what_is_killed_here_is_taken_up_where_it_was(pair: Pair, whom: str) -> None:
    second, gate = pair.gate(), pair.gate()
    script = f"begin\nanswer toolUse at work\ngate {gate}\nanswer toolUse more\n{waiting(second)}"
    run_id = pair.launch(script)
    pair.hears(run_id, "at work")
    events = pair.near_dir(run_id) / "events.jsonl"
    before = (events.stat().st_ino, events.stat().st_size)
    if "watcher" in whom:
        pair.kill([pair.watcher()])
    if "mirror" in whom:
        eventually(pair.mirrors, LONG_S)
        pair.kill(pair.mirrors())
    else:
        pair.kill(pair.ssh())
    gate.touch()
    eventually(lambda: '"more"' in (pair.far_dir(run_id) / "events.jsonl").read_text(), LONG_S)
    if "watcher" in whom:
        pair.run(run_id)  # who looks starts a watcher, as the window does, and that a mirror
    pair.hears(run_id, '"more"')
    assert events.stat().st_ino == before[0]
    assert events.stat().st_size > before[1]
    second.touch()
    assert pair.how(run_id) == DONE
    assert pair.differing(run_id) == []
    eventually(lambda: pair.tellings(run_id) == 1, LONG_S)


def test_a_machine_that_restarts_says_what_became_of_its_runs(pair: Pair) -> None:
    run_id, _ = pair.at_gate()
    pair.lab.reboot()
    assert pair.how(run_id) == LOST
    assert pair.differing(run_id) == []
    assert pair.run(run_id)["reason"] == "lost"
    eventually(lambda: pair.tellings(run_id) == 1, LONG_S)
    assert pair.how(pair.launch("done again")) == DONE


@pytest.mark.parametrize("breaks", ["ssh", "the link"])
def test_a_hand_over_that_breaks_is_repeated_and_is_one_run(pair: Pair, breaks: str) -> None:
    before = pair.far_runs()
    pair.breaks.touch()
    launching = pair.desk.start("launch", "--on", "box", "pid once\ndone fine")
    done = pair.breaks.with_name("breaks.done")
    eventually(done.exists, LONG_S)
    done.unlink()
    started = pair.record.read_text().count(" once\n")
    if breaks == "ssh":
        pair.kill(pair.near_processes("_far launch"))
    else:
        pair.lab.cut()
    out, err = launching.communicate(timeout=LONG_S)
    pair.lab.mend()
    assert launching.returncode == 0, err
    assert "is handed over again when box answers" in err
    run_id = out.strip()
    assert pair.how(run_id) == DONE
    assert pair.far_runs() - before == {run_id}
    assert json.loads((pair.near_dir(run_id) / "machine.json").read_text())["state"] == "submitted"
    assert not (pair.near_dir(run_id) / "request.json").exists()
    assert pair.record.read_text().count(" once\n") - started <= 1
    assert pair.differing(run_id) == []


def test_a_run_that_is_gone_over_there_has_ended(pair: Pair) -> None:
    run_id, gate = pair.at_gate()
    pair.far_dir(run_id).rename(pair.lab.folder / "gone")
    assert pair.how(run_id) == LOST
    assert pair.result(run_id)["errorMessage"] == "The run is gone on box."
    gate.touch()


def test_a_run_that_can_have_no_window_here_works_all_the_same(pair: Pair) -> None:
    first, gate = pair.at_gate()
    with stopped(int(pair.desk.tmux("display-message", "-p", "#{pid}"))):
        done = pair("launch", "--on", "box", "done fine")
    assert (done.returncode, "It has no window here: tmux at " in done.stderr) == (0, True), done.stderr
    assert pair.how(done.stdout.strip()) == DONE
    gate.touch()
    assert pair.how(first) == DONE
