"""The state table of docs/run-directory.md, row by row, on real directories and real processes."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import eventually
from tests.status import watchers
from tmuxagents.launch.call import Task
from tmuxagents.records import LOST_MESSAGE, Identity
from tmuxagents.runs import documents, endings, events, output, writing
from tmuxagents.runs.conclude import NEVER_OPENED, conclude
from tmuxagents.runs.inspect import inspect
from tmuxagents.runs.reading import RunReader
from tmuxagents.system import process
from tmuxagents.tools.door import Child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness import Home, Run

STARTED = events.run_started({"pid": 1, "pidStartTime": 1, "wrapperPid": 1})
ANSWERED = (events.assistant_text("fine"), events.turn_end("stop"), events.settled(aborted=False))
FORGED = {"v": 1, "status": "completed", "reason": "done", "output": "forged"}
FAILED = {"v": 1, "status": "failed", "reason": "error", "errorMessage": "401", "exitCode": 0}


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "100"]) as process_:
        yield process_
        process_.kill()


@pytest.fixture
def run(home: Home) -> Run:
    return home.run("done fine")


@pytest.fixture
def wrapper(run: Run) -> Iterator[int]:
    with watchers.sleeper(run) as pid:
        yield pid


def identity(pid: int, **other: Any) -> Identity:
    me = process.myself()
    facts = {"host": me.host, "boot_id": me.boot_id, "pid_namespace": me.pid_namespace, "pid": pid}
    return Identity(**{**facts, "start_time": process.start_time(pid) or 1, **other})


def wrapped_by(run: Run, who: Identity) -> None:
    tmux = dict.fromkeys(("socketPath", "serverPid", "serverStartTime", "window", "pane"))
    assert writing.claim(str(run.folder), documents.wrapper(who, tmux, time.time()))


def told(run: Run, *log: events.Event) -> None:
    with (run.folder / "events.jsonl").open("ab") as file:
        for seq, event in enumerate(log, 1):
            event.seq, event.at = seq, 1000.0 + seq
            file.write(events.encode(event))


def recorded(run: Run, result: dict[str, Any]) -> None:
    (run.folder / "result.json").write_text(json.dumps(result))


def state(run: Run) -> tuple[str, str | None, str | None]:
    standing = inspect(str(run.folder)).standing
    how = standing.verdict
    return standing.status, how.reason if how else None, how.note if how else None


def test_no_wrapper_and_no_result_is_queued_until_somebody_concludes(home: Home) -> None:
    run = home.run("done fine")
    assert state(run) == ("queued", None, None)
    assert conclude(str(run.folder)) is None
    result = conclude(str(run.folder), never_came=f"{NEVER_OPENED} no space for a new pane")
    assert result is not None
    assert (result["reason"], result["exitCode"], result["startedAt"]) == ("window", None, None)
    assert result["errorMessage"] == "The window was never opened. no space for a new pane"
    assert state(run) == ("failed", "window", None)


def test_a_wrapper_without_events_waits(run: Run, wrapper: int) -> None:
    wrapped_by(run, identity(wrapper))
    assert state(run) == ("queued", None, None)
    told(run, events.Event("queued", {"position": 3}))
    assert state(run) == ("queued", None, None)
    assert conclude(str(run.folder), never_came=NEVER_OPENED) is None


def test_a_wrapper_with_events_works_whatever_result_lies_there(run: Run, wrapper: int) -> None:
    wrapped_by(run, identity(wrapper))
    told(run, STARTED, *ANSWERED)
    assert state(run) == ("running", None, None)
    recorded(run, FORGED)
    assert state(run) == ("running", None, None)
    assert conclude(str(run.folder)) is None


def test_the_wrapper_is_gone_and_the_result_says_how_it_ended(home: Home) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(os.getpid(), start_time=1))
    told(run, STARTED, *ANSWERED)
    recorded(run, FAILED)
    assert state(run) == ("failed", "error", None)
    assert conclude(str(run.folder)) == FAILED


def test_when_a_run_began_is_known_though_a_full_disk_has_swallowed_the_event(home: Home) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(os.getpid(), start_time=1))
    told(run, *ANSWERED)
    recorded(run, {**FAILED, "startedAt": 1000.5, "endedAt": 1003.0, "durationMs": 2500})
    shown = inspect(str(run.folder)).document(2000.0)
    assert (shown["status"], shown["startedAt"], shown["elapsedSeconds"]) == ("failed", 1000.5, 2.5)


@contextlib.contextmanager
def no_descriptors() -> Iterator[None]:
    """Let this process open no more files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open("/", os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_could_not_be_read_is_read_at_the_next_look(wrapper: int, run: Run) -> None:
    wrapped_by(run, identity(wrapper))
    told(run, STARTED)
    reading = RunReader()

    def look() -> str | None:
        with no_descriptors(), pytest.raises(OSError, match="Too many open files"):
            reading.facts(str(run.folder), "here" if reading.wrapper else None)
        assert reading.has_news(str(run.folder))
        assert reading.facts(str(run.folder)).presence == "here"
        return reading.state.text

    assert look() is None
    told(run, *ANSWERED)
    assert look() == "fine"


def test_a_forged_moment_of_the_end_is_none(home: Home) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(os.getpid(), start_time=1))
    told(run, STARTED, *ANSWERED)
    recorded(run, {**FAILED, "endedAt": 1e300})
    folder = str(run.folder)
    assert inspect(folder).document(2000.0)["endedAt"] == 1004.0
    *_, end = output.session_lines([folder], follow=False, times=True)
    assert end.endswith(b" Failed (error) after 3s: 401")


def test_what_a_killed_writer_left_half_written_goes_when_the_run_is_concluded(home: Home) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(os.getpid(), start_time=1))
    told(run, STARTED)
    for name in ("output.md", "result.json", "wrapper.json"):
        (run.folder / f".{name}.0123456789ab").write_text("half")
    (run.folder / ".output.md.folder").mkdir()
    (run.folder / ".mine").write_text("not ours")
    assert conclude(str(run.folder)) is not None
    assert {path.name for path in run.folder.iterdir() if path.name[0] == "."} == {
        ".mine",
        ".output.md.folder",
    }


def test_a_result_that_cannot_be_read_is_none(home: Home) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(os.getpid(), start_time=1))
    told(run, STARTED, *ANSWERED)
    (run.folder / "result.json").write_text('{"status":"compl')
    assert state(run) == ("completed", "done", "wrapper lost")
    assert (conclude(str(run.folder)) or {})["note"] == "wrapper lost"
    assert state(run) == ("completed", "done", "wrapper lost")


def test_the_wrapper_is_gone_and_nothing_was_started(home: Home) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(os.getpid(), start_time=1))
    assert state(run) == ("aborted", "lost", None)
    result = conclude(str(run.folder)) or {}
    assert (result["reason"], result["errorMessage"], result["startedAt"]) == ("lost", LOST_MESSAGE, None)
    assert result["durationMs"] == 0


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (ANSWERED, ("completed", "done", "wrapper lost")),
        (ANSWERED[:2], ("aborted", "lost", None)),
        ((events.turn_end("length"), events.settled(aborted=False)), ("aborted", "lost", None)),
        ((events.turn_end("stop"), events.settled(aborted=True)), ("aborted", "lost", None)),
        ((*ANSWERED, events.tool_call("c", "ls", {})), ("aborted", "lost", None)),
    ],
)
def test_the_wrapper_is_gone_and_the_events_decide(
    home: Home, log: tuple[events.Event, ...], expected: tuple[str, str, str | None]
) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(os.getpid(), start_time=1))
    told(run, STARTED, *log)
    assert state(run) == expected
    result = conclude(str(run.folder)) or {}
    assert (result["status"], result["reason"], result["note"]) == expected
    assert state(run) == expected


def test_a_torn_last_event_counts_for_nothing(home: Home) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(os.getpid(), start_time=1))
    told(run, STARTED, *ANSWERED)
    events_file = run.folder / "events.jsonl"
    events_file.write_bytes(events_file.read_bytes()[:-2])
    assert state(run) == ("aborted", "lost", None)


def test_a_zombie_is_gone(home: Home) -> None:
    run = home.run("begin\nanswer toolUse x\nsleep 60").start()
    run.wait_for("assistant_text")
    assert state(run)[0] == "running"
    run.signal(signal.SIGKILL)  # not reaped, since we are its parent
    eventually(lambda: state(run) == ("aborted", "lost", None))


def test_another_boot_of_this_host_is_over(home: Home) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(os.getpid(), boot_id="another"))
    told(run, STARTED)
    assert state(run) == ("aborted", "lost", None)


@pytest.mark.parametrize("other", [{"host": "elsewhere-1", "boot_id": "another"}, {"pid_namespace": 1}])
def test_what_runs_elsewhere_is_shown_and_left_alone(home: Home, other: dict[str, Any]) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(os.getpid(), start_time=1, **other))
    told(run, STARTED, *ANSWERED)
    standing = inspect(str(run.folder)).standing
    assert (standing.status, standing.foreign) == ("running", True)
    assert conclude(str(run.folder), cause=endings.STOPPED, never_came=NEVER_OPENED) is None
    assert run.result() is None


def test_a_stopped_run_is_concluded_as_stopped(home: Home) -> None:
    run = home.run("begin\nanswer toolUse x\nsleep 60").start()
    run.wait_for("assistant_text")
    child = run.child
    run.signal(signal.SIGKILL)
    assert run.wrapper is not None
    run.wrapper.wait()
    result = conclude(str(run.folder), cause=endings.STOPPED) or {}
    assert (result["status"], result["reason"], result["errorMessage"]) == ("aborted", "stopped", "Stopped.")
    assert process.start_time(child) is None


def test_a_leftover_that_inherited_the_lock_is_ended_first(home: Home) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(os.getpid(), start_time=1))
    path = f"{run.folder}/run.lock"
    line = f"import fcntl, os, time; fcntl.flock(os.open({path!r}, os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)"
    marked = {"TMUXAGENTS_RUN": run.run_id, "PATH": "/usr/bin:/bin"}
    argv = ["python3", "-c", f"{line}; print('held', flush=True); time.sleep(100)"]
    with subprocess.Popen(argv, env=marked, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert (conclude(str(run.folder)) or {})["reason"] == "lost"
        assert holder.wait(5) == -signal.SIGTERM


def test_a_call_shows_no_child_at_work_that_it_knows_to_have_ended(
    home: Home, sleeper: subprocess.Popen[bytes]
) -> None:
    run = home.run("done fine")
    wrapped_by(run, identity(sleeper.pid))
    told(run, STARTED, *ANSWERED)
    prepared: Any = SimpleNamespace(plan=documents.plan_of(run.meta))
    task = Task(0, prepared, str(run.folder.parent))
    child = Child(task)
    recorded(run, FORGED)
    assert child.look()
    assert child.run.standing.status == "running"  # its wrapper is about to exit
    sleeper.kill()
    sleeper.wait()
    assert not child.look()  # no file has changed
    task.ended = True  # the kernel has reported its end to the call
    assert child.look()
    assert child.run.standing.status == "completed"
