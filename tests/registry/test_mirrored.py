"""Reading a run that works on another machine: only its files count, and silence ends nothing."""

from __future__ import annotations

import os
import shutil
import threading
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.status.watchers import begun, command, document, registry_of, told
from tmuxagents import records
from tmuxagents.launch import elsewhere
from tmuxagents.machines import code, hosts, link, refs
from tmuxagents.registry import current, database
from tmuxagents.runs import directory, documents, events, marks, writing
from tmuxagents.runs.conclude import conclude
from tmuxagents.runs.endings import STOPPED, Cause
from tmuxagents.runs.inspect import inspect
from tmuxagents.runs.reading import RunReader
from tmuxagents.text import jsonline

if TYPE_CHECKING:
    from tests.harness import Home, Run

HERE: dict[str, object] = {"project": None, "socket": None, "session": None, "launcher": None, "after": []}
RESULT = {
    "v": 1,
    "status": "aborted",
    "reason": "lost",
    "errorMessage": "gone",
    "startedAt": 1.0,
    "durationMs": 1,
}


@pytest.fixture
def far(home: Home) -> Run:
    """A run that was handed over and has events; its wrapper is, or was, on another machine."""
    run = home.run("x", name="far")
    told(run, begun(), events.tool_call("1", "read", {"path": "a"}), events.assistant_text("one"))
    here = {**HERE, "project": str(home.project)}
    marker = elsewhere.marker("box", "ssh", state="submitted", here=here, tmux=None)
    writing.replace(str(run.folder), directory.MACHINE, jsonline.encode(marker))
    writing.take_plan(str(run.folder), (run.folder / directory.META).read_bytes())
    who = records.Identity(host="far", boot_id="0" * 8, pid_namespace=1, pid=1, start_time=1)
    assert writing.claim(str(run.folder), documents.wrapper(who, {}, 1.0))
    return run


def how(run: Run) -> tuple[str, str | None, str | None]:
    found = inspect(str(run.folder)).standing.verdict
    assert found is not None
    return found.status, found.reason, found.error_message


def test_a_marker_that_a_child_has_written_says_nothing(home: Home) -> None:
    run = home.run("x")
    (run.folder / directory.MACHINE).write_text('{"v":1,"host":"box","state":"submitted"}')
    assert inspect(str(run.folder)).host is None


def test_it_is_never_lost_and_never_concluded(far: Run) -> None:
    run = inspect(str(far.folder))
    assert (run.standing.status, run.host, run.ended) == ("running", "box", False)
    for cause in (None, STOPPED):
        assert conclude(str(far.folder), cause=cause, never_came="no wrapper came") is None
    assert not (far.folder / directory.RESULT).exists()


def test_it_ends_here_once_its_machine_says_that_it_is_gone(far: Run) -> None:
    cause = Cause("aborted", "lost", "The run is gone on box.")
    conclude(str(far.folder), cause=cause, never_came=cause.message, gone=True)
    assert how(far) == ("aborted", "lost", "The run is gone on box.")


def test_its_result_counts_whatever_lives_here(far: Run) -> None:
    writing.replace(str(far.folder), directory.RESULT, jsonline.encode(RESULT))
    assert how(far) == ("aborted", "lost", "gone")


def test_reading_goes_on_at_a_checkpoint(far: Run) -> None:
    first = RunReader()
    assert first.facts(str(far.folder)).presence == records.MIRRORED
    point = first.checkpoint()
    assert point is not None
    log = far.folder / directory.EVENTS
    read = log.read_bytes()
    with log.open("r+b") as file:  # files are not read twice, so this is not seen
        file.write(b"x")
    told(far, events.assistant_text("two"))
    second = RunReader(checkpoint=point)
    assert second.facts(str(far.folder)).presence == records.MIRRORED
    assert second.state.text == "two"
    assert second.state.tool_count == first.state.tool_count == 1
    assert read


def test_its_row_is_current_until_a_byte_comes(home: Home, far: Run) -> None:
    mark = marks.mark_of(str(far.folder))
    assert mark is not None
    eventually(lambda: marks.is_reliable(mark))
    command(home, "poll", "-A")
    with database.open_file(registry_of(home)) as book:
        row = book.row(far.run_id)
    assert row is not None
    assert (row.wrapper, row.host) == (records.MIRRORED, "box")
    check = current.CurrentCheck(f"{home.state}/runs")
    assert check.is_current(row)
    told(far, events.assistant_text("two"))
    assert not check.is_current(row)


def test_silence_is_told_beside_the_state(home: Home, far: Run) -> None:
    (told_of,) = document(home, "poll", "-A")["runs"]
    assert "unreachableSince" not in told_of
    link.write(str(home.state), "box", heard_at=5.0, since=7.0, why="no")
    (told_of,) = document(home, "poll", "-A")["runs"]
    assert (told_of["status"], told_of["host"], told_of["unreachableSince"]) == ("running", "box", 7.0)
    assert "box unreachable for" in command(home, "poll", "-A").stdout
    assert "1 unreachable" in command(home, "statusline", "-A").stdout
    writing.replace(str(far.folder), directory.RESULT, jsonline.encode(RESULT))
    (told_of,) = document(home, "poll", "-A", "-a")["runs"]
    assert (told_of["status"], "unreachableSince" in told_of) == ("aborted", False)


def test_what_is_known_of_a_host_may_be_damaged(home: Home) -> None:
    folder = link.folder(str(home.state))
    os.makedirs(folder)
    for text in ("", "{", "[]", '{"unreachableSince": "x"}', "x" * 9000):
        with open(f"{folder}/box.json", "w", encoding="utf-8") as file:
            file.write(text)
        assert link.unreachable(str(home.state)) == {}
    shutil.rmtree(folder)
    assert link.unreachable(str(home.state)) == {}


def test_a_reader_never_takes_it_for_a_run_of_this_machine(far: Run) -> None:
    meta, over = (far.folder / directory.META).read_bytes(), threading.Event()

    def take_in() -> None:
        while not over.is_set():
            writing.take_plan(str(far.folder), meta)
            writing.change_machine(str(far.folder), {"waiting": None})

    writer = threading.Thread(target=take_in)
    writer.start()
    try:
        assert [inspect(str(far.folder)).host for _ in range(300)] == ["box"] * 300
    finally:
        over.set()
        writer.join()


def test_what_is_written_down_of_the_machine_and_of_the_code_loses_nothing_of_each_other(
    far: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, over = str(far.folder), threading.Event()
    sent = {"repository": "/r/.git", "key": refs.key("/r/.git", "sha1"), "form": "sha1", "commit": "c" * 40}
    writing.change_machine(folder, {"code": sent})
    monkeypatch.setattr(code, "bring_back", lambda *_: refs.Left({}, ["x"]))
    host = hosts.Host("box", hosts.SSH, "box", ("tmuxagents",), "/there", "1")

    def bring() -> None:
        while not over.is_set():
            code.bring_back_of(folder, host, {})

    writer = threading.Thread(target=bring)
    writer.start()
    try:
        for number in range(300):
            writing.change_machine(folder, {"waiting": str(number)})
            assert (directory.read_machine(folder) or {})["waiting"] == str(number)
    finally:
        over.set()
        writer.join()
    assert (directory.read_machine(folder) or {})["code"]["back"]["kept"] == ["x"]
