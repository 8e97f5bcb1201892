"""The watcher announces each run once, concludes lost runs, and is there when it is needed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.apart import apart, running
from tests.harness import alive, eventually
from tests.status.watchers import counts, document, told, wrapped_by
from tests.watcher.lookouts import Lookout, end, record, settle, shown, working
from tmuxagents.records import LOST_MESSAGE
from tmuxagents.registry import database, learn
from tmuxagents.runs import directory, events
from tmuxagents.runs.conclude import NEVER_OPENED
from tmuxagents.system import process, watcher_lock
from tmuxagents.watcher.run import Watcher

if TYPE_CHECKING:
    from tests.harness import Home, Run, TmuxServer


@pytest.fixture
def watched(home: Home) -> Lookout:
    return Lookout(home)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


# --- one run ----------------------------------------------------------------------------------------------


def test_a_wrapper_starts_the_watcher_that_tells_of_its_run(watched: Lookout) -> None:
    watched.hook()
    run = watched.home.run("begin\nanswer toolUse so far\nsleep 1\ndone fine").start()
    run.wait_for("assistant_text")
    pid, _ = watched.watcher()
    eventually(lambda: watched.has_saved(run, status="running", activity="so far", announced=False))
    assert run.wrapper is not None
    assert parent_of(pid) != run.wrapper.pid
    assert children_of(run.wrapper.pid) == [run.child]  # nor a zombie of what has started it
    run.wait()
    settle(run)
    eventually(lambda: watched.has_saved(run, status="completed", concluded=True, announced=True))
    eventually(lambda: watched.announced() == [f"{run.run_id} completed"])
    assert (run.result() or {})["leftBehind"] == []
    assert watched.watcher()[0] == pid
    assert watched.log() == ""


def test_a_wrapper_at_its_end_starts_another_watcher(watched: Lookout) -> None:
    run = watched.home.run("begin\nanswer toolUse so far\nsleep 1\ndone fine").start()
    run.wait_for("assistant_text")
    first = watched.watcher()
    watched.kill()
    run.wait()
    settle(run)
    assert watched.watcher() != first


def test_what_is_written_below_runs_is_the_announcement_and_no_more(watched: Lookout) -> None:
    run = watched.home.run("done fine").start()
    run.wait()
    before = {path.name: path.stat().st_mtime_ns for path in run.folder.iterdir()}
    before.pop(directory.ANNOUNCED, None)
    settle(run)
    eventually(lambda: watched.has_saved(run, announced=True))
    after = {path.name: path.stat().st_mtime_ns for path in run.folder.iterdir()}
    assert after.pop(directory.ANNOUNCED)
    assert after == before
    assert os.listdir(run.folder.parent) == [run.run_id]
    assert (run.folder / directory.ANNOUNCED).stat().st_mode & 0o777 == 0o600


def test_a_run_that_ends_while_nobody_watches_is_told_of_later(home: Home) -> None:
    runs = [home.run(script).start() for script in ("done fine", "answer error no\nsettle")]
    ended = [run.wait()["status"] for run in runs]
    assert ended == ["completed", "failed"]
    watched = Lookout(home)
    watched.hook()
    watched.start()
    settle(*runs)
    eventually(lambda: len(watched.announced()) == 2)
    watched.kill()
    watched.start()
    eventually(lambda: watched.has_saved(runs[0], announced=True))
    expected = {f"{run.run_id} {status}" for run, status in zip(runs, ended, strict=True)}
    assert (set(watched.announced()), len(watched.announced())) == (expected, 2)


def test_a_result_that_lies_there_while_the_wrapper_lives_is_no_end(watched: Lookout) -> None:
    watched.hook()
    run = watched.home.run("x")
    with working(run) as sleeper:
        watched.start()
        record(run, "failed", "error")
        told(run, events.assistant_text("still here"))
        eventually(lambda: watched.has_saved(run, activity="still here"))
        assert watched.has_saved(run, status="running", concluded=False)
        assert not directory.is_announced(str(run.folder))
        end(run, sleeper)
        settle(run)
    eventually(lambda: watched.announced() == [f"{run.run_id} completed"])


def test_a_lost_run_is_concluded_and_told_of(watched: Lookout) -> None:
    watched.hook()
    run = watched.home.run("begin\nfound tool\nanswer toolUse x\nsleep 60").start()
    run.wait_for("assistant_text")
    child = run.child
    run.signal(signal.SIGKILL)
    eventually(lambda: watched.announced() == [f"{run.run_id} aborted"])
    result = run.result() or {}
    assert (result["reason"], result["errorMessage"]) == ("lost", LOST_MESSAGE)
    assert not alive(child)
    eventually(lambda: run.left_over() == [])  # the hook names the run, too, and may not have ended yet
    assert not any(map(alive, watched.home.recorded().values()))


def test_others_are_told_of_while_lost_runs_are_concluded(watched: Lookout) -> None:
    deaf = "ignore SIGTERM\nbegin\nanswer toolUse x\nsleep 60"
    stubborn = [watched.home.run(deaf).start() for _ in range(8)]
    for run in stubborn:
        run.wait_for("assistant_text")
    watched.watcher()
    for run in stubborn:
        run.signal(signal.SIGKILL)
    other = watched.home.run("x")
    record(other)
    settle(other)
    assert not any(run.result() for run in stubborn)  # what is left of each gets 2 s to leave
    settle(*stubborn)
    assert [(run.result() or {})["reason"] for run in stubborn] == ["lost"] * 8


def test_a_run_whose_window_never_came_is_concluded_after_a_minute(watched: Lookout) -> None:
    late = watched.home.run("x", createdAt=time.time() - 61)
    early = watched.home.run("x", createdAt=time.time() - 30)
    watched.start()
    settle(late)
    result = late.result() or {}
    assert (result["status"], result["reason"], result["errorMessage"]) == ("failed", "window", NEVER_OPENED)
    eventually(lambda: watched.has_saved(early, status="queued"))
    assert early.result() is None


def test_a_run_of_another_host_is_shown_and_left_to_its_watcher(watched: Lookout) -> None:
    live, ended = watched.home.run("x"), watched.home.run("x")
    for run in (live, ended):
        wrapped_by(run, os.getpid(), host="elsewhere", boot_id="another")
    record(ended)
    watched.start(**{watcher_lock.IDLE: "0.5"})
    eventually(lambda: watched.has_saved(ended, status="completed"))
    assert watched.has_saved(live, status="queued")
    eventually(lambda: watched.home.watcher() is None)
    assert (live.result(), directory.is_announced(str(ended.folder))) == (None, False)


def test_an_end_that_a_watcher_of_another_namespace_saw_is_told_of_by_one_of_ours(watched: Lookout) -> None:
    run, foreign = watched.home.run("x"), watched.home.run("x")
    wrapped_by(run, os.getpid(), start_time=1)
    wrapped_by(foreign, os.getpid(), pid_namespace=1)
    for ended in (run, foreign):
        record(ended)
    with database.open_file(database.path_of(str(watched.home.state))) as book:
        for ended in (run, foreign):
            row = learn.row_of(str(ended.folder))
            assert row is not None
            row.host = process.host()
            book.save([row])
    assert watched.home.command("poll", "-A", foreign.run_id).returncode == 0
    free = watcher_lock.take(str(watched.home.state))
    assert free is not None  # nobody was started
    os.close(free)
    assert watched.home.command("poll", "-A", run.run_id).returncode == 0
    eventually(lambda: directory.is_announced(str(run.folder)))
    assert not directory.is_announced(str(foreign.folder))


def test_a_live_child_is_announced_when_it_settles_and_its_end_is_not(watched: Lookout) -> None:
    watched.hook()
    run = watched.home.run("x", driver="live")
    batch = watched.home.run("x")
    with working(run) as sleeper, working(batch):
        watched.start()
        for each in (run, batch):
            told(each, events.turn_end("stop"), events.settled(aborted=False, attended=True))
        eventually(lambda: watched.announced() == [f"{run.run_id} running"])
        assert watched.has_saved(run, status="running", settled=True)
        told(run, events.resumed(), events.turn_end("stop"), events.settled(aborted=False, attended=True))
        end(run, sleeper)
        eventually(lambda: watched.has_saved(run, status="completed", concluded=True))
        assert not directory.is_announced(str(batch.folder))
    settle(batch)
    eventually(lambda: len(watched.announced()) == 2)
    assert [line.split()[0] for line in watched.announced()] == [run.run_id, batch.run_id]


def test_a_run_that_is_removed_is_forgotten(watched: Lookout) -> None:
    kept, run = watched.home.run("x"), watched.home.run("x")
    with working(kept):
        with working(run):
            watched.start()
            eventually(lambda: watched.has_saved(run, status="running"))
            run.folder.rename(run.folder.parent.with_name("away"))
        eventually(lambda: watched.row(run) is None)
        eventually(lambda: watched.has_saved(kept, status="running"))


# --- once, over everything --------------------------------------------------------------------------------


def test_two_watchers_tell_of_each_run_once(watched: Lookout) -> None:
    watched.hook()
    home = str(watched.home.state)
    under_another_name = [
        "unshare",
        "-Uru",
        "sh",
        "-c",
        'hostname other && exec "$@"',
        "sh",
        *watcher_lock.argv(home),
    ]
    environment = watcher_lock.surroundings(home, watched.home.environment)
    with subprocess.Popen(under_another_name, env=environment) as second:
        try:
            first = watched.start()
            folders = watched.home.state / "hosts"
            eventually(lambda: len(list(folders.glob(f"*/{watcher_lock.LOCK}"))) == 2)
            runs = [watched.home.run(f"sleep 0.{number}\ndone fine").start() for number in range(1, 9)]
            for run in runs:
                run.wait()
            settle(*runs)
            eventually(lambda: len(watched.announced()) == len(runs))
            for book in folders.glob("*/registry.db"):
                eventually(lambda book=book: all_are_saved(str(book), runs))
            assert (second.poll(), watched.watcher()) == (None, first)
        finally:
            second.kill()
    assert sorted(watched.announced()) == sorted(f"{run.run_id} completed" for run in runs)


def all_are_saved(book: str, runs: list[Run]) -> bool:
    with database.open_file(book) as found:
        rows = [found.row(run.run_id) for run in runs]
    return all(row is not None and row.announced and row.concluded for row in rows)


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_any_time_it_tells_of_each_run_once_and_the_status_is_right(
    watched: Lookout, tmux_server: TmuxServer, seed: int
) -> None:
    dice = random.Random(seed)
    watched.hook()
    scripts = [f"begin\nanswer toolUse x\nsleep {dice.uniform(0, 4):.2f}\ndone fine" for _ in range(8)]
    runs = [watched.home.run(script).start_in(tmux_server) for script in scripts]
    while any(run.result() is None for run in runs):
        time.sleep(dice.uniform(0, 0.4))
        watched.kill()
        in_fact = sum(run.status() == "completed" for run in runs)
        seen = document(watched.home, "poll", "-A")["counts"]
        assert in_fact <= seen["completed"] <= sum(run.status() == "completed" for run in runs)
    watched.start()  # the last one may have been killed after the last wrapper went
    eventually(lambda: shown(tmux_server).endswith("bg: 0 running / 8 total"))
    settle(*runs)
    eventually(lambda: all(watched.has_saved(run, announced=True) for run in runs))
    lines = watched.announced()
    assert len(set(lines)) == len(lines)  # a hook may be killed with the watcher, but none runs twice
    assert set(lines) <= {f"{run.run_id} completed" for run in runs}
    assert document(watched.home, "poll", "-A")["counts"] == counts(completed=8)


def test_killed_while_the_last_run_works_the_status_is_right_soon_after_the_end(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    run = watched.home.run("begin\nanswer toolUse x\nsleep 1.5\ndone fine").start_in(tmux_server)
    run.wait_for("assistant_text")
    eventually(lambda: shown(tmux_server) == "bg: 1 running / 1 total")
    watched.watcher()
    watched.kill()
    assert document(watched.home, "poll", "-A")["counts"] == counts(running=1)
    run.wait_gone()
    assert document(watched.home, "poll", "-A")["counts"] == counts(completed=1)
    eventually(lambda: shown(tmux_server).endswith("bg: 0 running / 1 total"))


# --- there when needed, gone when not ---------------------------------------------------------------------


def test_it_leaves_when_it_has_been_quiet_and_lets_the_lock_go(watched: Lookout) -> None:
    watched.hook()
    run = watched.home.run("sleep 1\ndone fine").start({watcher_lock.IDLE: "0.5"})
    pid, started = watched.watcher()
    run.wait()
    assert process.wait_gone(pid, started, 20)
    assert len(watched.announced()) == 1
    assert watched.home.watcher() is None
    held = watcher_lock.take(str(watched.home.state))
    assert held is not None
    os.close(held)


def test_it_stays_for_a_run_that_works_or_waits(watched: Lookout) -> None:
    run, queued = watched.home.run("x"), watched.home.run("x")
    with working(run) as sleeper:
        wrapped_by(queued, os.getpid())
        pid, started = watched.start(**{watcher_lock.IDLE: "0.1"})
        assert not process.wait_gone(pid, started, 2.5)
        end(run, sleeper)
        settle(run)
        assert not process.wait_gone(pid, started, 1)


def test_it_lets_the_lock_go_before_it_looks_for_the_last_time(watched: Lookout) -> None:
    home = str(watched.home.state)
    was_free: list[bool] = []
    late: list[Run] = []

    class Leaving(Watcher):
        def _begun(self) -> set[str]:
            held = watcher_lock.take(home)
            was_free.append(held is not None)
            if held is not None:
                os.close(held)
            if not late:  # launched just before, by somebody who found the lock still held
                late.append(watched.home.run("x"))
                record(late[0])
            return super()._begun()

    def watch() -> tuple[list[bool], bool]:
        held = watcher_lock.take(home)
        assert held is not None
        Leaving(home, watched.home.environment | {watcher_lock.IDLE: "0.1"}).run(held)
        return was_free, directory.is_announced(str(late[0].folder))

    assert apart(watch) == ([True, True], True)


def test_no_run_is_unseen_that_begins_while_it_leaves(watched: Lookout) -> None:
    dice = random.Random(4)
    quick = watched.home.environment | {watcher_lock.IDLE: "0.03"}
    pids = set()
    for _ in range(40):
        run = watched.home.run("x")
        record(run)
        watcher_lock.ensure(str(watched.home.state), quick)
        eventually(lambda run=run: directory.is_announced(str(run.folder)))
        found = watched.home.watcher()
        pids.add(found[0] if found else 0)
        time.sleep(dice.uniform(0.0, 0.09))
    assert len(pids) > 3  # it did leave now and then


def test_a_reader_that_finds_something_to_conclude_starts_it(watched: Lookout) -> None:
    run = watched.home.run("x")
    with running(["sleep", "1000"]) as sleeper:
        wrapped_by(run, sleeper.pid)
        assert document(watched.home, "poll")["counts"] == counts(queued=1)
        assert watched.home.watcher() is None
        sleeper.kill()
    assert document(watched.home, "poll", run.run_id)["counts"] == counts(aborted=1)
    watched.watcher()
    settle(run)
    assert (run.result() or {})["reason"] == "lost"


def test_a_reader_that_finds_an_end_nobody_was_told_of_starts_it(home: Home) -> None:
    run = home.run("done fine").start()
    run.wait()
    watched = Lookout(home)
    assert document(home, "poll", run.run_id)["counts"] == counts(completed=1)
    settle(run)
    pid = watched.watcher()
    document(home, "poll", run.run_id)
    assert watched.watcher() == pid


def test_the_hidden_verb_watches_unless_somebody_does(watched: Lookout) -> None:
    run = watched.home.run("x")
    with working(run):
        argv = [str(Path(sys.executable).with_name("tmuxagents")), "_watch"]
        with subprocess.Popen(argv, env=watched.home.environment) as first:
            try:
                assert watched.watcher()[0] == first.pid
                assert watched.home.command("_watch").returncode == 0
                eventually(lambda: watched.has_saved(run, status="running"))
            finally:
                first.kill()
