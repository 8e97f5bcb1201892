"""A wait keeps the registry open while it sleeps: that disturbs no other process and changes no answer."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.damage import a_folder_in_its_place, deleted, emptied, of_a_newer_program, replaced_by_garbage
from tests.harness import eventually, waits_for
from tests.status.watchers import checked, command, counts, document, registry_of, started
from tests.watcher.lookouts import end, working
from tmuxagents.registry import database, lookup
from tmuxagents.runs import marks, writing
from tmuxagents.status import poll, snapshot
from tmuxagents.status.snapshot import DOCUMENTS
from tmuxagents.text import jsonline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.harness import Home, Run


@contextlib.contextmanager
def sleeping(waiter: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a process that waits for the wrapper of a run; end the process if it does not exit by itself."""
    with waiter:
        try:
            eventually(lambda: waits_for(waiter.pid))
            yield waiter
        finally:
            waiter.kill()


def saved(home: Home, run: Run) -> database.Row | None:
    with database.open_file(registry_of(home)) as book:
        return book.row(run.run_id)


def with_its_folder(path: str) -> None:
    shutil.rmtree(os.path.dirname(path))


DAMAGE = (deleted, with_its_folder, replaced_by_garbage, emptied, of_a_newer_program, a_folder_in_its_place)


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_end_is_told_whatever_became_of_the_registry_meanwhile(
    home: Home, damage: Callable[[str], None]
) -> None:
    run, other = home.run("x", name="scout"), home.run("x")
    with working(run) as wrapper, working(other):
        with sleeping(started(home, "wait", run.run_id, "--json")) as waiter:
            damage(registry_of(home))
            end(run, wrapper)
            out, _ = waiter.communicate(timeout=20)
        told = checked(out)
        assert (waiter.returncode, told["counts"], told["timedOut"]) == (0, counts(completed=1), False)
        assert [(one["name"], one["status"]) for one in told["runs"]] == [("scout", "completed")]
        later = command(home, "poll", "--json")  # it warns if the registry is left as it is
        assert checked(later.stdout)["counts"] == counts(completed=1, running=1)


def test_a_sleeping_waiter_keeps_nobody_from_the_registry(home: Home) -> None:
    run = home.run("x")
    with working(run) as wrapper, sleeping(started(home, "wait", run.run_id)) as waiter:
        raw = sqlite3.connect(registry_of(home), timeout=0, isolation_level=None)
        raw.execute("BEGIN EXCLUSIVE")
        raw.execute("UPDATE run SET cwd = '/elsewhere'")
        raw.execute("COMMIT")
        (busy, _, _), *_ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert (busy, os.path.getsize(registry_of(home) + "-wal")) == (0, 0)
        raw.close()
        end(run, wrapper)
        assert waiter.wait(20) == 0
    row = saved(home, run)
    assert row is not None
    assert (row.status, row.concluded, row.polled_at is not None) == ("completed", True, True)


@pytest.mark.parametrize("more", [(), ("--since", "0"), ("--any", "--since", "0")])
def test_an_end_that_was_waited_for_was_seen(home: Home, more: tuple[str, ...]) -> None:
    run = home.run("x")
    with working(run) as wrapper, sleeping(started(home, "poll", "--wait", run.run_id, *more)) as waiter:
        end(run, wrapper, "failed", "error")
        assert waiter.wait(20) == 1
    row = saved(home, run)
    assert row is not None
    assert row.polled_at is not None
    assert command(home, "wait", run.run_id).returncode == 1


def test_a_wrapper_that_is_killed_with_a_result_in_the_folder_of_another_run_is_lost(home: Home) -> None:
    run, other = home.run("x"), home.run("x")
    with working(run) as wrapper, working(other), sleeping(started(home, "wait", run.run_id)) as waiter:
        wrapper.kill()
        wrapper.wait()
        assert waiter.wait(20) == 1
        assert [one["reason"] for one in document(home, "poll", run.run_id)["runs"]] == ["lost"]
        assert document(home, "poll", other.run_id)["runs"][0]["status"] == "running"


# --- what is left to do after the end ---

WOKEN = """import json, os, sys
from tmuxagents.cli import quick
from tmuxagents.status import wait
found = {"opened": [], "listed": 0, "connected": 0, "imported": []}
def count(event, values):
    if event == "open" and isinstance(values[0], str):
        found["opened"].append(os.path.basename(values[0]))
    found["listed"] += event in ("os.listdir", "os.scandir")
    found["connected"] += event == "sqlite3.connect"
    if event == "import":
        found["imported"].append(values[0])
real, hooked = wait.Waiting.pause, []
def pause(self, *more, **named):
    real(self, *more, **named)
    if not hooked:
        hooked.append(sys.addaudithook(count))
wait.Waiting.pause = pause
code = quick.answer(sys.argv[1:])
os.write(2, json.dumps(found).encode())
os._exit(code)"""


def test_once_a_run_has_ended_little_is_left_to_be_done(home: Home) -> None:
    run, others = home.run("x"), [home.run("x") for _ in range(3)]
    with working(run) as wrapper, working(others[0]), working(others[1]):
        waiter = subprocess.Popen(
            [sys.executable, "-c", WOKEN, "wait", run.run_id],
            env=home.environment,
            cwd=home.project,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with sleeping(waiter):
            end(run, wrapper)
            _, told = waiter.communicate(timeout=20)
    found = json.loads(told)
    assert waiter.returncode == 0
    # Whether the wrapper lives; the result; whether a watcher is there to announce it.
    assert sorted(found["opened"]) == ["boot_id", "machine-id", "result.json", "stat", "watcher.lock"]
    assert (found["connected"], found["listed"], found["imported"]) == (0, 0, [])


# --- the document of a poll as it is put together ---


def test_a_poll_is_the_same_document_whether_the_registry_stored_its_runs_or_not(home: Home) -> None:
    loud = 'a\u2028b\x7f\x85,"elapsedSeconds":1} , "runCount":7 \U0001f600 \'é\''
    runs = [home.run(loud), home.run("x", name="scout"), home.run("y")]
    whole = home.run("z", sessionId=runs[1].run_id)
    writing.write_result(str(runs[2].folder), {"v": 1, "status": "completed", "reason": "done"})
    with working(runs[0]), working(runs[1]), working(whole):
        settled([home.state / "runs", *(run.folder for run in runs), whole.folder])
        command(home, "poll", "-a")
        caller = lookup.Caller(home.environment, str(home.project))
        query = poll.query_of(caller, ended=True, wanted=DOCUMENTS)
        found = snapshot.take(query, caller)
        assert runs[0].run_id not in found.views  # its document came from the registry; the others were read
        assert set(found.json) == {runs[0].run_id}
        assert poll.as_json(found, caller) == jsonline.encode(poll.as_document(found, caller))
        complete = snapshot.take(poll.query_of(caller, ended=True), caller)
        ours, theirs = poll.as_document(found, caller), poll.as_document(complete, caller)
        for changing in (ours, theirs):
            changing["at"] = changing["cursor"] = 0
            for run in changing["runs"]:
                run["elapsedSeconds"] = 0
        assert jsonline.encode(ours) == jsonline.encode(theirs)
        assert [run["runCount"] for run in ours["runs"]].count(2) == 2


def settled(folders: Iterable[object]) -> None:
    for folder in folders:
        mark = marks.mark_of(str(folder))
        assert mark is not None
        eventually(lambda mark=mark: marks.is_reliable(mark))
