"""What a run's files cost others: a child makes one of them 1 TB long, or puts something else there."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from tests.apart import apart
from tests.harness import eventually
from tests.status.watchers import COMMAND, command, told
from tests.torture.memory import status_kb
from tests.watcher.lookouts import Lookout, end, settle, working
from tmuxagents.errors import NotPossible
from tmuxagents.runs import directory, events, inspect, logs, output, reading, writing
from tmuxagents.runs.conclude import conclude
from tmuxagents.runs.events import STEER, InboxMessage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.desk import Desk
    from tests.harness import Home, Run

T = TypeVar("T")
TB = 1024**4
MOST_KB = 64 * 1024
DOCTOR_KB = 56 * 1024  # it takes half of that by itself, and reads each log once
QUICK_S = 5.0
FILES = (
    *(
        directory.EVENTS,
        logs.INBOX,
        directory.OUTPUT,
        directory.TRANSCRIPT,
        directory.META,
        directory.RESULT,
        directory.WRAPPER,
    ),
    *(
        directory.PROMPT,
        directory.STDOUT,
        directory.STDERR,
        directory.SESSION,
        directory.ANNOUNCED,
        directory.LOCK,
    ),
)
RESULT = {"v": 1, "status": "completed", "reason": "done", "output": "fine"}
# A process of its own, small: what a program has used at most begins with what its parent had.
MEASURE = """import json, os, resource, sys, time
most = 1 << 30
pid = os.fork()
if not pid:
    resource.setrlimit(resource.RLIMIT_AS, (most, most))  # so that no failure takes the memory of the machine
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.execv(sys.argv[1], sys.argv[1:])
begun = time.monotonic()
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
took = time.monotonic() - begun
with open(f"/proc/{pid}/schedstat") as file:  # how long it had a core, and how long it waited for one
    worked, waited = map(int, file.read().split()[:2])
took *= max(worked, 1) / max(worked + waited, 1)
_, status, used = os.wait4(pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_maxrss, took]))
"""


def make_long(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(TB)


def put_fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def put_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def put_device(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


WAYS = (make_long, put_fifo, put_folder, put_device)


def measured(home: Home, *words: str) -> tuple[int, int, float, str]:
    """Run a verb; return its exit code, the most memory it took in KB, how long it took, and its stderr.

    A machine that is busy with others takes longer by a factor, which is left out.
    """
    argv = [sys.executable, "-I", "-S", "-c", MEASURE, shutil.which(COMMAND[0]) or COMMAND[0], *COMMAND[1:]]
    done = subprocess.run(
        [*argv, *words],
        env=home.environment,
        cwd=home.project,
        capture_output=True,
        text=True,
        timeout=40,
        check=True,
    )
    code, peak, took = json.loads(done.stdout)
    return code, peak, took, done.stderr


def bounded(act: Callable[[], T]) -> T:
    """Carry out an act of ours in a process of its own that gets no memory beyond 1 GB more."""

    def limited() -> T:
        most = (status_kb(os.getpid(), "VmSize") << 10) + (1 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        return act()

    return apart(limited)


def costs_nothing(home: Home, *words: str, codes: tuple[int, ...] = (0,), most_kb: int = MOST_KB) -> None:
    code, peak, took, said = measured(home, *words)
    assert code in codes, (words, said)
    assert peak <= most_kb, words
    assert took < QUICK_S, words
    assert "Traceback" not in said, words


@pytest.fixture
def other(home: Home) -> Run:
    """Return a run that has ended well."""
    run = home.run("x", name="other")
    (run.folder / directory.OUTPUT).write_text("fine")
    writing.write_result(str(run.folder), {**RESULT, "runId": run.run_id})
    return run


@pytest.mark.parametrize("way", WAYS)
def test_no_file_of_a_run_costs_another_run_anything(
    home: Home, other: Run, way: Callable[[Path], None]
) -> None:
    assert other.result() is not None
    hostile = [(name, home.run("x", name=name.replace(".", "-").lower())) for name in FILES]
    for name, run in hostile:
        writing.write_result(str(run.folder), {**RESULT, "runId": run.run_id})
        way(run.folder / name)
    lost = home.run("x")  # nothing has concluded it yet
    told(lost, events.run_started({"pid": 1}))
    way(lost.folder / directory.EVENTS)
    for line in (
        "poll --json",
        "poll other",
        "output other",
        "statusline",
        "transcript other",
        "prune --dry-run",
    ):
        costs_nothing(home, *line.split())
    costs_nothing(home, "wait", "other")
    costs_nothing(home, "stop", "other", codes=(0, 4))
    costs_nothing(home, "doctor", codes=(0, 1, 3), most_kb=DOCTOR_KB)


@pytest.mark.parametrize("way", [make_long, put_fifo])
def test_a_live_run_costs_those_beside_it_nothing(
    home: Home, other: Run, way: Callable[[Path], None]
) -> None:
    run = home.run("x", name="hostile")
    with working(run):
        told(run, events.assistant_text("one"))
        way(run.folder / directory.EVENTS)
        for _ in range(2):
            costs_nothing(home, "poll", "--json")
        costs_nothing(home, "wait", other.run_id)
        costs_nothing(home, "output", "hostile", codes=(0, 4))  # 4: no answer yet
        for name in (logs.INBOX, directory.TRANSCRIPT):
            way(run.folder / name)
        codes = (0,) if way is put_fifo else (4,)
        for line in ("events hostile", "transcript hostile", "transcript --json hostile"):
            costs_nothing(home, *line.split(), codes=codes)
        costs_nothing(home, "transcript", "--session", "hostile")


def test_a_run_is_launched_beside_huge_files_and_gets_the_answer_of_one_before_it(desk: Desk) -> None:
    before = desk.launch("done fine", "--name", "before")
    costs_nothing(desk.home, "wait", before)
    for name in FILES:
        if name not in (directory.META, directory.RESULT, directory.WRAPPER, directory.EVENTS):
            make_long(desk.folder(before) / name)
    hostile = desk.home.run("x")
    with working(hostile):
        make_long(hostile.folder / directory.EVENTS)
        costs_nothing(desk.home, "launch", "--name", "last", "--after", "before", "done got {previous}")
        costs_nothing(desk.home, "wait", "last")
        answer = desk("output", "last").stdout
        assert answer == "got fine\n"
        costs_nothing(desk.home, "resume", "before", "done again")


def seen(run: Run, checkpoint: str | None = None) -> dict[str, Any]:
    """Look at a run; return what is told of it."""

    def look() -> dict[str, Any]:
        found = inspect.inspect(str(run.folder), checkpoint=checkpoint)
        facts = {"status": found.standing.status, "text": found.state.text, "does": found.activity}
        return facts | {"checkpoint": found.checkpoint() if found.checkpoint else None}

    return bounded(look)


def test_a_run_whose_events_are_not_all_read_says_so(home: Home) -> None:
    run = home.run("x", name="hostile")

    def read() -> tuple[int, str]:
        with pytest.raises(NotPossible) as refused:
            list(output.event_lines(str(run.folder), after=0, follow=True))
        return refused.value.exit_code, refused.value.message

    with working(run):
        told(run, events.assistant_text("one"))
        make_long(run.folder / directory.EVENTS)
        found = seen(run)
        assert (found["status"], found["text"]) == ("running", "one")
        assert "is not read" in found["does"]
        code, message = bounded(read)
        assert (code, message.startswith("Not all of ")) == (4, True)


def test_what_follows_a_line_that_is_too_long_is_read(home: Home) -> None:
    run = home.run("x", name="hostile")
    with working(run):
        told(run, events.assistant_text("one"))
        log = run.folder / directory.EVENTS
        os.truncate(log, log.stat().st_size + 20 * 1024 * 1024)
        with log.open("ab") as file:
            file.write(b"\n")
        before = seen(run)
        assert "8 MB" in before["does"]
        assert before["checkpoint"] is not None
        two = events.assistant_text("two")
        two.seq, two.at = 9, time.time()
        with log.open("ab") as file:
            file.write(events.encode(two))
        assert [seen(run, point)["text"] for point in (None, before["checkpoint"])] == ["two", "two"]


def test_too_many_events_prove_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    run = home.run("x")
    with working(run) as wrapper:
        told(
            run,
            events.assistant_text("one"),
            events.usage({}),
            events.turn_end("stop"),
            events.settled(aborted=False),
        )
        wrapper.kill()
        wrapper.wait()
    monkeypatch.setattr(reading, "_MOST_LINES", 5)
    monkeypatch.setattr(reading, "_SLICE", 16)  # so that each line is a piece
    assert inspect.inspect(str(run.folder)).standing.status == "completed"
    told(run, events.resumed())
    found = conclude(str(run.folder))
    assert found is not None
    assert (found["status"], found["reason"]) == ("aborted", "lost")


def test_a_watcher_beside_huge_files_stays_small_and_tells_of_the_others(home: Home) -> None:
    lookout = Lookout(home)
    hostile, run = home.run("x"), home.run("x")
    with working(hostile), working(run) as sleeper:
        pid, _ = lookout.start()
        eventually(lambda: lookout.has_saved(run, status="running"))
        for name in (directory.EVENTS, directory.RESULT, directory.TRANSCRIPT, logs.INBOX):
            make_long(hostile.folder / name)
        end(run, sleeper)
        settle(run)
        eventually(lambda: "above 8 MB" in command(home, "poll", "--all").stdout)
        assert 0 < status_kb(pid, "VmHWM") <= MOST_KB


def test_a_wrapper_whose_files_are_huge_ends_its_run_as_ever(home: Home) -> None:
    run = home.run("begin\nanswer toolUse x\nsleep 1\ndone fine").start()
    run.wait_for("turn_end")
    assert run.wrapper is not None
    for name in (
        directory.EVENTS,
        directory.TRANSCRIPT,
        directory.STDOUT,
        directory.STDERR,
        logs.INBOX,
        directory.WRAPPER,
    ):
        make_long(run.folder / name)
    peak = 0
    while run.wrapper.poll() is None:
        peak = max(peak, status_kb(run.wrapper.pid, "VmHWM"))
        time.sleep(0.01)
    result = run.wait()
    assert (result["status"], result["output"]) == ("completed", "fine")
    assert 0 < peak <= MOST_KB


# --- a plan -------------------------------------------------------------------------------------------------

LARGE = 62 * 1024 * 1024


def forge_plan(run: Run, size: int = LARGE) -> None:
    """Have a child write over the plan of its run: with a task as large as any file that is read at once.

    One letter of it takes four bytes in memory, and so then do all others.
    """
    path = run.folder / directory.META
    path.write_text(json.dumps(json.loads(path.read_text()) | {"task": "\U0001f40d" + "x" * size}))


def test_a_large_forged_plan_costs_nobody_anything(home: Home, other: Run) -> None:
    assert other.result() is not None
    hostile = home.run("x", name="hostile")
    with working(hostile):
        told(hostile, events.assistant_text("one"))
        costs_nothing(home, "poll", "hostile")
        forge_plan(hostile)
        for line in ("poll --json", "poll other", "output other", "statusline", "doctor", "prune --dry-run"):
            costs_nothing(home, *line.split(), codes=(0, 1, 3))
        for verb in ("poll", "output", "transcript", "attach", "stop"):
            costs_nothing(home, verb, "hostile", codes=(0, 1, 3, 4, 5))


def test_a_watcher_beside_a_large_forged_plan_stays_small(home: Home) -> None:
    lookout = Lookout(home)
    hostile, run = home.run("x"), home.run("x")
    with working(hostile), working(run) as sleeper:
        told(hostile, events.run_started({"pid": 1}))
        forge_plan(hostile)
        pid, _ = lookout.start()
        eventually(lambda: lookout.has_saved(run, status="running"))
        told(hostile, events.assistant_text("one"))
        end(run, sleeper)
        settle(run)
        eventually(lambda: run.run_id[:8] in command(home, "poll", "--all").stdout)
        assert 0 < status_kb(pid, "VmHWM") <= MOST_KB


def test_a_wrapper_whose_plan_is_forged_stays_small_and_writes_it_anew(home: Home) -> None:
    gate = home.folder / "gate"
    run = home.run(f"begin\nanswer toolUse x\ngate {gate}\ndone fine").start()
    run.wait_for("turn_end")
    assert run.wrapper is not None
    before = json.loads((run.folder / directory.META).read_text())
    forge_plan(run)
    gate.touch()
    peak = 0
    while run.wrapper.poll() is None:
        peak = max(peak, status_kb(run.wrapper.pid, "VmHWM"))
        time.sleep(0.01)
    assert run.wait()["output"] == "fine"
    assert json.loads((run.folder / directory.META).read_text()) == before
    assert 0 < peak <= MOST_KB


def test_a_task_as_large_as_is_taken_works_in_every_verb(desk: Desk) -> None:
    task = "done fine\n" + "\x01" * (16 * 1024 * 1024 - 10)  # its plan is 96 MB of JSON
    run_id = desk.launch("--name", "large", "-", input=task)
    assert desk("wait", run_id).returncode == 0
    assert desk("output", "large").stdout == "fine\n"
    shown = json.loads(desk("poll", "--all", "--json").stdout)
    assert [run["task"] == task for run in shown["runs"]] == [True]
    assert "completed" in desk("poll", run_id).stdout
    assert "fine" in desk("transcript", run_id).stdout
    for verb in (["retry", run_id], ["resume", run_id, "done more"]):
        more = desk(*verb)
        assert (more.returncode, desk("wait", more.stdout.strip()).returncode) == (0, 0), more.stderr


def test_a_large_plan_counts_if_it_is_the_sealed_one(desk: Desk) -> None:
    run_id = desk.launch("-", input="done fine\n" + "x" * directory.BIGGEST_PLAN)
    desk.result(run_id)
    run_dir = desk.folder(run_id)
    plan, sealed = run_dir / directory.META, desk.home.state / directory.SEALED / run_id
    true = plan.read_text()
    plan.write_text(true.replace("xx", "yy", 1))  # just as long
    assert directory.read_plan(str(run_dir)) is None
    plan.write_text(true)
    assert directory.read_plan(str(run_dir)) is not None
    kept = sealed.read_text()
    for text in ("", kept.replace('"sizes":{"meta.json":', '"sizes":{"meta.json":"x",'), "[]", "{"):
        sealed.write_text(text)
        assert directory.read_plan(str(run_dir)) is None


# --- the inbox ----------------------------------------------------------------------------------------------


def test_a_huge_inbox_is_not_read_and_takes_no_message(tmp_path: Path) -> None:
    assert logs.append_message(str(tmp_path), STEER, "one") == 1
    make_long(tmp_path / logs.INBOX)

    def looks() -> int:
        box = logs.Inbox(str(tmp_path))
        assert [message.text for message in box.fresh()] == ["one"]
        assert box.fresh() == []
        with pytest.raises(OSError, match="more than 64 MB"):
            logs.append_message(str(tmp_path), STEER, "two")
        return status_kb(os.getpid(), "VmHWM")

    begun = status_kb(os.getpid(), "VmRSS")
    assert bounded(looks) <= begun + 40 * 1024


def test_a_full_inbox_is_taken_in_pieces_and_in_order(tmp_path: Path) -> None:
    for number in range(5):
        logs.append_message(str(tmp_path), STEER, f"{number}" * 600_000)
    box = logs.Inbox(str(tmp_path))
    found: list[InboxMessage] = []
    while messages := box.fresh():
        assert len(messages) <= 3
        found += messages
    assert [message.inbox_id for message in found] == [1, 2, 3, 4, 5]
