"""A watcher keeps working although things break: the kernel's queue, folders, the registry, odd runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.apart import apart, running
from tests.harness import eventually, stop
from tests.status.watchers import begun, command, counts, registry_of, told, wrapped_by
from tests.watcher.lookouts import Lookout, end, record, settle, working
from tmuxagents.runs import directory, events, logs, writing
from tmuxagents.system import process, watcher_lock
from tmuxagents.watcher.run import ROUND_S, Watcher
from tmuxagents.watcher.runs import GIVEN_UP, Following

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness import Home, Run

QUEUE = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


@pytest.fixture
def watched(home: Home) -> Lookout:
    return Lookout(home)


def at_work(watched: Lookout, number: int, pid: int) -> list[Run]:
    runs = [watched.home.run("x") for _ in range(number)]
    for run in runs:
        wrapped_by(run, pid)
        told(run, begun())
    return runs


# --- events that never come -------------------------------------------------------------------------------


def test_nothing_is_lost_when_the_queue_of_events_overflows(watched: Lookout) -> None:
    with running(["sleep", "1000"]) as sleeper:
        scout, *runs = at_work(watched, 41, sleeper.pid)
        pid, started = watched.start()
        eventually(lambda: watched.has_saved(scout, status="running"))
        told(scout, events.assistant_text("heard"))  # a watcher saves rows, then listens, then reads on
        eventually(lambda: watched.has_saved(scout, activity="heard"))
        stop(pid)
        flood(runs, QUEUE + 4000)
        late = watched.home.run("x")
        for run in (*runs[:20], late):
            record(run)
        sleeper.kill()
        sleeper.wait()
        process.send(pid, started, signal.SIGCONT)
        settle(*runs[:20], late)
        settle(*runs[20:])  # their wrapper is gone as well: they are concluded
    eventually(lambda: all(watched.has_saved(run, concluded=True, announced=True) for run in runs))
    rows = [watched.row(run) for run in runs]
    assert [row and row.event_seq for row in rows] == [len(run.events()) for run in runs]
    eventually(lambda: "overflowed" in watched.log(), 60)  # its thread may still read the queue
    assert watched.watcher() == (pid, started)


def flood(runs: list[Run], number: int) -> None:
    """Write a number of events, to each run in turn, since the kernel joins two equal ones."""
    logs = [run.folder / directory.EVENTS for run in runs]
    for count in range(number):
        event = events.assistant_text(f"event {count}")
        event.seq, event.at = 2 + count // len(runs), time.time()
        with logs[count % len(runs)].open("ab") as log:  # closing it makes the event
            log.write(events.encode(event))


def test_who_keeps_his_log_open_is_followed_and_nobody_is_mistrusted_for_it(watched: Lookout) -> None:
    run = watched.home.run("x")
    with working(run), (run.folder / directory.EVENTS).open("ab", buffering=0) as log:
        watched.start()
        for number in range(2, 5):
            event = events.assistant_text(f"event {number}")
            event.seq, event.at = number, time.time()
            log.write(events.encode(event))
            eventually(lambda number=number: watched.has_saved(run, activity=f"event {number}"))
    assert watched.log() == ""


def test_who_was_silent_is_left_alone_until_he_is_heard(
    watched: Lookout, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = watched.home.run("x")

    def watch() -> list[bool]:
        watcher = Watcher(str(watched.home.state), watched.home.environment)
        told(run, begun())
        watcher._round(set())
        found = [watcher._due() <= watcher._round_at + ROUND_S]  # it may have been speaking all the time
        monkeypatch.setattr(logs, "QUIET_S", -1.0)  # whatever was said was said long ago
        watcher._round(set())
        found.append(watcher._due() == watcher._sweep_at)  # no run is read before the next sweep
        told(run, events.assistant_text("heard"))
        eventually(lambda: watcher._runs.note_events(watcher._tail.changed()))
        monkeypatch.undo()
        watcher._round(set())
        found.append(watcher._due() <= watcher._round_at + ROUND_S)
        return found

    with working(run):
        assert apart(watch) == [True, True, True]


def test_where_watches_are_used_up_changes_are_looked_for_and_it_is_said_once(watched: Lookout) -> None:
    runs = [watched.home.run("x") for _ in range(4)]
    limit = "echo 2 > /proc/sys/user/max_inotify_watches"
    with working(runs[0]), working(runs[1]), working(runs[2]) as third, working(runs[3]):
        line = f'{limit} && exec "$@"'
        argv = ["unshare", "-Ur", "sh", "-c", line, "sh", *watcher_lock.argv(str(watched.home.state))]
        environment = watcher_lock.surroundings(str(watched.home.state), watched.home.environment)
        with subprocess.Popen(argv, env=environment) as watcher:
            try:
                for number in range(4):
                    for run in runs:
                        told(run, events.assistant_text(f"now {number}"))
                    eventually(lambda words=f"now {number}": all_say(watched, runs, words))
                end(runs[2], third)
                settle(runs[2])
                eventually(lambda: "are looked for instead" in watched.log())
                assert len(watched.log().splitlines()) == 1
                assert watcher.poll() is None
            finally:
                watcher.kill()


def all_say(watched: Lookout, runs: list[Run], words: str) -> bool:
    return all(watched.has_saved(run, activity=words) for run in runs)


def test_without_inotify_all_is_seen_by_looking(watched: Lookout) -> None:
    run = watched.home.run("x")
    limit = "echo 0 > /proc/sys/user/max_inotify_instances"
    argv = ["unshare", "-Ur", "sh", "-c", f'{limit} && exec "$@"', "sh"]
    environment = watcher_lock.surroundings(str(watched.home.state), watched.home.environment)
    with working(run) as sleeper:
        argv += watcher_lock.argv(str(watched.home.state))
        with subprocess.Popen(argv, env=environment) as watcher:
            try:
                eventually(lambda: watched.has_saved(run, status="running"))
                later = watched.home.run("x")
                record(later)
                settle(later)
                end(run, sleeper)
                settle(run)
                assert "cannot be watched" in watched.log()
                assert len(watched.log().splitlines()) == 1
            finally:
                watcher.kill()


# --- folders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["moved away", "removed"])
def test_the_folder_of_all_runs_is_replaced(watched: Lookout, how: str) -> None:
    run, gone = watched.home.run("x"), watched.home.run("x")
    runs = run.folder.parent
    with working(run), working(gone):
        pid, _ = watched.start()
        eventually(lambda: watched.has_saved(run, status="running"))
        if how == "removed":
            shutil.rmtree(runs)
        else:
            runs.rename(runs.with_name("away"))
        runs.mkdir()
        again = watched.home.run("x")
        with working(again) as sleeper:
            eventually(lambda: watched.has_saved(again, status="running"))
            eventually(lambda: watched.row(gone) is None)
            told(again, events.assistant_text("heard"))
            eventually(lambda: watched.has_saved(again, activity="heard"))
            end(again, sleeper)
            settle(again)
    assert watched.watcher()[0] == pid


def test_a_directory_that_its_wrapper_makes_again_is_followed_from_the_beginning(watched: Lookout) -> None:
    more, rest = (watched.home.folder / name for name in ("more", "rest"))
    steps = f"begin\nanswer toolUse one\ngate {more}\nanswer toolUse two\ngate {rest}\ndone fine"
    run = watched.home.run(steps).start()
    run.wait_for("assistant_text")
    eventually(lambda: watched.has_saved(run, activity="one"))
    shutil.rmtree(run.folder)
    more.touch()
    eventually(lambda: watched.has_saved(run, activity="two", status="running"))
    rest.touch()
    run.wait()
    settle(run)
    eventually(lambda: watched.has_saved(run, status="completed", announced=True))


# --- the registry -----------------------------------------------------------------------------------------


def remove(path: str) -> None:
    for side in ("", "-wal", "-shm"):
        Path(path + side).unlink(missing_ok=True)


def spoil(path: str) -> None:
    remove(path)
    Path(path).write_bytes(b"garbage " * 1000)


def empty(path: str) -> None:
    Path(path).write_bytes(b"")


def make_newer(path: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA user_version = 99")


DAMAGES: dict[str, Callable[[str], None]] = {
    "removed": remove,
    "garbage": spoil,
    "empty": empty,
    "newer": make_newer,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_answer_depends_on_the_registry_under_a_running_watcher(watched: Lookout, damage: str) -> None:
    watched.hook()
    old, ending, working_on = (watched.home.run("x") for _ in range(3))
    record(old)
    with working(ending) as sleeper, working(working_on):
        pid, _ = watched.start()
        eventually(lambda: watched.has_saved(ending, status="running"))
        settle(old)
        DAMAGES[damage](registry_of(watched.home))
        for _ in range(5):
            assert answer(watched.home) == counts(completed=1, running=2)
        end(ending, sleeper)
        settle(ending)
        new = watched.home.run("x")
        record(new, "failed", "error")
        settle(new)
        assert answer(watched.home) == counts(completed=2, running=1, failed=1)
        eventually(lambda: len(watched.announced()) == 3)
        expected = [f"{old.run_id} completed", f"{ending.run_id} completed", f"{new.run_id} failed"]
        assert sorted(watched.announced()) == sorted(expected)
        if damage == "newer":
            with closing(sqlite3.connect(registry_of(watched.home))) as database, database:
                assert database.execute("PRAGMA user_version").fetchone() == (99,)
        else:
            eventually(lambda: watched.has_saved(new, status="failed", announced=True))
            eventually(lambda: watched.has_saved(old, status="completed", announced=True))
            eventually(lambda: watched.has_saved(working_on, status="running"))
        assert watched.watcher()[0] == pid


def answer(home: Home) -> dict[str, int]:
    """Return the counts of poll, which may warn of the registry."""
    found: dict[str, int] = json.loads(command(home, "poll", "-A", "--json").stdout)["counts"]
    return found


def test_a_registry_that_is_locked_for_long_delays_no_announcement(watched: Lookout) -> None:
    run = watched.home.run("x")
    with working(run) as sleeper:
        watched.start()
        eventually(lambda: watched.has_saved(run, status="running"))
        locker = sqlite3.connect(registry_of(watched.home), isolation_level=None)
        locker.execute("BEGIN EXCLUSIVE")
        end(run, sleeper)
        eventually(lambda: directory.is_announced(str(run.folder)))
        locker.execute("ROLLBACK")
        locker.close()
        eventually(lambda: watched.has_saved(run, status="completed", announced=True))


# --- odd runs ---------------------------------------------------------------------------------------------


def test_odd_things_below_runs_keep_nobody_from_being_seen(watched: Lookout) -> None:
    runs = watched.home.run("x").folder.parent
    odd = [watched.home.run("x") for _ in range(8)]
    with running(["sleep", "1000"]) as sleeper:
        for run in odd[:7]:
            wrapped_by(run, sleeper.pid)
        (odd[0].folder / "result.json").write_bytes(os.urandom(5000))
        (odd[1].folder / "result.json").mkdir()
        os.mkfifo(odd[2].folder / "result.json")
        (odd[3].folder / "events.jsonl").mkdir()
        os.mkfifo(odd[4].folder / "events.jsonl")
        (odd[5].folder / "events.jsonl").write_bytes(os.urandom(100_000) + b"\n" * 50_000)
        (odd[6].folder / "meta.json").write_text('{"runId":"' + odd[6].run_id + '","createdAt":[],"tmux":7}')
        (odd[7].folder / "wrapper.json").write_text('{"pid":"x","tmux":{"socketPath":7,"serverPid":true}}')
        (runs / "0123456789abcdef").mkdir()
        (runs / "not-a-run").mkdir()
        (runs / "file").write_text("x")
        (runs / ("f" * 16)).symlink_to("/")
        pid, _ = watched.start()
        fine = watched.home.run("done fine").start()
        fine.wait()
        settle(fine)
        sleeper.kill()
    lost = watched.home.run("begin\nanswer toolUse x\nsleep 60").start()
    lost.wait_for("assistant_text")
    lost.signal(signal.SIGKILL)
    settle(lost)
    assert watched.watcher()[0] == pid


@pytest.mark.parametrize("launcher", ["².5./x", f"5.{'9' * 5000}./x", "1.2.\ud800", "..", "1.2./x\0"])
def test_a_plan_with_an_odd_name_of_a_server_ends_no_watcher(watched: Lookout, launcher: str) -> None:
    odd = watched.home.run("x", tmux={"socket": None, "session": None, "launcher": launcher})
    record(odd)
    watched.start()
    settle(odd)
    fine = watched.home.run("x")
    record(fine)
    settle(fine)
    assert watched.log() == ""


def test_a_run_that_somebody_else_is_concluding_is_tried_again(watched: Lookout) -> None:
    stuck = watched.home.run("x")
    with running(["sleep", "1000"]) as sleeper:
        wrapped_by(stuck, sleeper.pid)
        told(stuck, begun())
        held = writing.lock(str(stuck.folder), 0)
        assert held is not None
        sleeper.kill()
    pid, started = watched.start(**{watcher_lock.IDLE: "0.2"})
    fine = watched.home.run("x")
    record(fine)
    settle(fine)
    assert stuck.result() is None
    assert not process.wait_gone(pid, started, 1)
    os.close(held)
    settle(stuck)
    assert process.wait_gone(pid, started, 20)


def test_what_fails_again_and_again_is_given_up(watched: Lookout) -> None:
    one = Following(str(watched.home.run("x").folder))
    for _ in range(GIVEN_UP):
        assert one.counts
        one.failed()
        assert one.rests()
        assert not one.is_due()
    assert not one.counts
