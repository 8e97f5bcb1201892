"""poll, wait and statusline around real wrappers: states, scopes, waiting, changes, damaged registries."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.apart import running
from tests.damage import a_folder_in_its_place, deleted, emptied, garbage, of_a_newer_program
from tests.harness import eventually, waits_for
from tests.status.watchers import (
    COMMAND,
    begun,
    checked,
    command,
    counts,
    document,
    registry_of,
    sleeper,
    started,
    told,
    wrapped_by,
)
from tests.terminal import Terminal
from tmuxagents.errors import NoSuchRun
from tmuxagents.registry import database, lookup
from tmuxagents.runs import events
from tmuxagents.system import process
from tmuxagents.text import safe
from tmuxagents.text.width import columns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.harness import Home, Run

WORKS = "begin\nanswer toolUse so far\nsleep 60"
FAILS = "begin\nanswer length half\nsettle"
RESULT = {"v": 1, "status": "completed", "reason": "done", "startedAt": 1.0, "endedAt": 2.0, "durationMs": 1}
IN_USE = {"TMUXAGENTS_OWNER": "me"}


def ended(home: Home, script: str = "done fine", **changes: Any) -> Run:
    run = home.run(script, **changes)
    run.start().wait()
    return run


def working(home: Home, **changes: Any) -> Run:
    run = home.run(WORKS, **changes).start()
    run.wait_for("assistant_text")
    return run


def shown(text: str) -> list[list[str]]:
    """Return the rows of a table as words: short id, name, status."""
    header, *rows = text.splitlines()[1:] or [""]
    places = [(one.start(), one.end()) for one in re.finditer(r"\S+ *", header)]
    kinds = header.split()
    cells = [
        dict(
            zip(
                kinds,
                (row[start:end].split(" (")[0].split("  ")[0].strip() for start, end in places),
                strict=True,
            )
        )
        for row in rows
    ]
    return [[cell["ID"], cell["NAME"], cell["STATUS"]] for cell in cells]


# --- states ---


def test_where_nothing_was_launched_asking_makes_nothing(home: Home) -> None:
    assert command(home, "poll").stdout == "bg: 0 running / 0 total\n"
    assert document(home, "poll", "-aA")["counts"] == counts()
    assert command(home, "poll", "--wait").returncode == 0
    assert command(home, "statusline").stdout == "\n"
    assert not home.state.exists()


def test_each_state_is_counted_and_shown(home: Home) -> None:
    lost, live = working(home), working(home, name="scout", preset="repo-scout")
    later = time.time() + 1
    waits = home.run("done later", after=[live.run_id], createdAt=later)
    fine, bad = ended(home, createdAt=later + 1), ended(home, FAILS, createdAt=later + 2)
    lost.signal(signal.SIGKILL)
    eventually(lambda: lost.status() == "aborted")
    first, header, *rows = command(home, "poll").stdout.splitlines()
    assert first == "bg: 1 running, 1 queued, 1 failed / 5 total"
    assert header.split() == ["ID", "NAME", "PRESET", "STATUS", "TIME", "AGE", "MODEL", "COST", "ACTIVITY"]
    assert [re.split("  +", row) for row in rows[:2]] == [
        [
            waits.run_id[:8],
            "done later",
            "-",
            "queued",
            "-",
            "0s",
            "mock-text",
            "-",
            f"waits for {live.run_id[:8]}",
        ],
        [live.run_id[:8], "scout", "repo-scout", "running", *re.split("  +", rows[1])[4:8], "so far"],
    ]
    everything = command(home, "poll", "-a").stdout
    assert shown(command(home, "poll").stdout) == shown(everything)  # all have ended within the hour
    assert everything.splitlines()[0] == first
    active = [(waits, "done later", "queued"), (live, "scout", "running")]
    over = [(bad, "failed"), (fine, "completed"), (lost, "aborted")]
    assert shown(everything)[:2] == [[run.run_id[:8], name, state] for run, name, state in active]
    assert sorted((row[0], row[2]) for row in shown(everything)[2:]) == sorted(
        (run.run_id[:8], state) for run, state in over
    )
    assert re.search(r"failed \(length\) +\ds ", everything)
    assert "The answer was cut at the model" in everything


def test_on_a_terminal_the_table_has_its_width(home: Home) -> None:
    live = working(home)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, 46, 0, 0))
    with subprocess.Popen([*COMMAND, "poll"], stdout=slave, env=home.environment, cwd=home.project) as poller:
        assert poller.wait(20) == 0
    os.close(slave)
    text = os.read(master, 4096).decode()
    os.close(master)
    row = safe.text(text.splitlines()[2])
    assert row.startswith(f"●  {live.run_id[:8]}  ")
    assert row.endswith("  so far")
    assert 46 - columns(row.removesuffix("so far")) >= 16  # for its activity
    assert columns(row) <= 46


def test_the_document_of_a_poll(home: Home) -> None:
    bad, live = ended(home, FAILS), working(home, name="scout")
    before = time.time()
    found = document(home, "poll", "--all")
    assert (found["scope"], found["project"], found["owner"]) == ("project", str(home.project), None)
    assert (found["counts"], found["timedOut"]) == (counts(running=1, failed=1), False)
    assert [run["runId"] for run in found["runs"]] == [live.run_id, bad.run_id]
    assert (found["usage"]["totalTokens"], found["usage"]["cost"]) == (30, 0.002)
    assert before - 0.01 <= found["at"] <= time.time()
    again = ended(home, sessionId=bad.run_id)
    assert [run["runCount"] for run in document(home, "poll", again.run_id, bad.run_id)["runs"]] == [2, 2]


def test_a_named_run_is_shown_in_whatever_state(home: Home) -> None:
    fine, live = ended(home, name="fine"), working(home)
    ended(home, FAILS)
    for references, ids in (
        (("fine",), [fine.run_id]),
        ((live.run_id[:5], "fine", fine.run_id, "@last"), None),
    ):
        found = document(home, "poll", *references)
        assert found["scope"] == "named"
        assert [run["runId"] for run in found["runs"]][-1] == fine.run_id
        assert ids is None or [run["runId"] for run in found["runs"]] == ids
    assert (found["counts"], len(found["runs"])) == (counts(running=1, completed=1, failed=1), 3)


@pytest.mark.parametrize("verb", ["status", "ps", "ls"])
def test_other_words_for_poll(home: Home, verb: str) -> None:
    assert command(home, verb).stdout == "bg: 0 running / 0 total\n"


def test_a_run_elsewhere_is_shown_as_its_files_say(home: Home) -> None:
    run = home.run("done fine", name="far")
    wrapped_by(run, os.getpid(), host="other-1234abcd", boot_id="another")
    told(run, begun(), events.assistant_text("thinks"))
    status, _, row = command(home, "poll").stdout.splitlines()
    assert status == "bg: 1 running / 1 total"
    assert re.search(r"  running \(on other-1234abcd\)  \ds of 1m .*  thinks$", row)
    assert command(home, "wait", "--timeout", "0.1", "far").returncode == 124


def test_what_was_seen_ended_is_remembered_and_who_polled_it(home: Home) -> None:
    fine, bad, lost = ended(home), ended(home, FAILS), working(home)
    command(home, "poll", "--json")
    lost.signal(signal.SIGKILL)
    eventually(lambda: lost.status() == "aborted")
    command(home, "poll", bad.run_id)
    with database.open_file(registry_of(home)) as book:
        rows = {run.run_id: book.row(run.run_id) for run in (fine, bad, lost)}
        assert [row.status for row in rows.values() if row] == ["completed", "failed", "aborted"]
        assert [row.concluded for row in rows.values() if row] == [True, True, False]
        assert [row.polled_at is None for row in rows.values() if row] == [True, False, True]
    home.environment["TMUXAGENTS_OWNER"] = "nobody"
    assert document(home, "poll", "-A")["counts"] == counts(completed=1, failed=1, aborted=1)


# --- scopes ---


def test_whose_runs_are_meant(home: Home, tmp_path: Path) -> None:
    here, owned = working(home), working(home, owner="me")
    far = home.run("done x", project=str(tmp_path))
    done = command(home, "poll")
    assert [row[0] for row in shown(done.stdout)] == [owned.run_id[:8], here.run_id[:8]]
    assert done.stderr == "1 more elsewhere (-A)\n"
    mine = command(home, "poll", **IN_USE)
    assert (shown(mine.stdout)[0][0], mine.stdout.splitlines()[0]) == (
        owned.run_id[:8],
        "bg: 1 running / 1 total",
    )
    assert mine.stderr == "1 of other parents here, 1 active (--others)\n1 more elsewhere (-A)\n"
    everything = command(home, "poll", "-A", **IN_USE)
    assert {row[0] for row in shown(everything.stdout)} == {run.run_id[:8] for run in (here, owned, far)}
    assert everything.stderr == ""
    scopes = [document(home, "poll", *how, **variables) for how, variables in (((), IN_USE), (("-A",), {}))]
    assert [(found["scope"], found["owner"]) for found in scopes] == [("owner", "me"), ("all", None)]
    assert [found["others"] for found in scopes] == [{"active": 1, "total": 1}, None]


def test_a_parent_finds_its_runs_again_after_a_restart(home: Home, tmp_path: Path) -> None:
    """It then has another session id, and its runs belong to the earlier session."""
    works, over = working(home, name="works", owner="before"), home.run("done x", name="over", owner="before")
    over.start().wait()
    home.run("done x", owner="me", project=str(tmp_path))
    home.run("done x", owner="they", project=str(tmp_path)).start().wait()
    told_of = "2 of other parents here, 1 active (--others)"
    new = command(home, "poll", **IN_USE)
    assert new.stderr == f"{told_of}\n"
    assert document(home, "poll", **IN_USE)["others"] == {"active": 1, "total": 2}
    here = command(home, "poll", "--others", **IN_USE)
    assert ([row[0] for row in shown(here.stdout)], here.stderr) == (
        [works.run_id[:8], over.run_id[:8]],
        "1 more elsewhere (-A)\n",
    )
    found = document(home, "poll", "--others", "--unread", **IN_USE)
    assert ([run["name"] for run in found["runs"]], found["others"]) == (["over"], None)
    by_session = command(home, "poll", TMUXAGENTS_OWNER="before")
    assert [row[0] for row in shown(by_session.stdout)] == [works.run_id[:8], over.run_id[:8]]
    assert command(home, "output", "over", **IN_USE).returncode == 0
    assert document(home, "poll", "--others", "--unread", **IN_USE)["runs"] == []


def test_the_status_line_counts_what_belongs_to_the_server(home: Home) -> None:
    with sleeper() as server:
        start = process.start_time(server)
        tmux = {"socketPath": "/run/x,y", "serverPid": server, "serverStartTime": start, "window": "@1"}
        ours, other, theirs = home.run("x", owner="somebody"), home.run("x"), home.run("x")
        for run, place in ((ours, tmux), (other, tmux | {"serverStartTime": 1}), (theirs, None)):
            wrapped_by(run, server, tmux=place)
            told(run, begun())
        inside = {"TMUX": f"/run/x,y,{server},0"}
        assert command(home, "statusline", **inside).stdout == "bg: 1 running / 1 total\n"
        assert command(home, "statusline").stdout == "bg: 3 running / 3 total\n"
        for nobody in ("999999999", "²", "9" * 5000):
            shown = command(home, "statusline", TMUX=f"/run/x,{nobody},0").stdout
            assert shown == "bg: 3 running / 3 total\n", nobody
        assert document(home, "statusline", **inside)["scope"] == "server"
        told(ours, events.Event("needs_input", {"kind": "select"}))
        assert command(home, "statusline", **inside).stdout == "bg: 1 running, 1 waiting / 1 total\n"


def test_the_status_line_empties_some_time_after_the_last_end(home: Home) -> None:
    run = ended(home, FAILS)
    assert command(home, "statusline").stdout == "bg: 0 running, 1 failed / 1 total\n"
    result = json.loads((run.folder / "result.json").read_text())
    os.unlink(registry_of(home))
    (run.folder / "result.json").write_text(json.dumps(result | {"endedAt": time.time() - 301}))
    assert command(home, "statusline").stdout == "\n"
    working(home)
    assert command(home, "statusline").stdout == "bg: 1 running, 1 failed / 2 total\n"


# --- waiting ---


def test_waiting_ends_with_the_runs_and_tells_the_outcome(home: Home) -> None:
    one, two = (home.run(f"begin\nsleep {n}\nanswer stop x\nsettle") for n in (0.3, 0.6))
    ended(home, FAILS, name="bad")
    for run in (one, two):
        run.start()
    done = command(home, "wait", one.run_id, two.run_id)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "bg: 0 running / 2 total")
    assert [row[2] for row in shown(done.stdout)] == ["completed", "completed"]
    assert command(home, "wait", one.run_id, "bad", "--timeout", "inf").returncode == 1
    assert command(home, "poll", "--wait", "bad").returncode == 1
    assert command(home, "poll", "bad").returncode == 0
    # No run is active, so the wait is over, however the others ended.
    assert command(home, "poll", "--wait", "-a").returncode == 0


def test_waiting_for_any_ends_with_the_first(home: Home) -> None:
    slow = working(home)
    quick = home.run("begin\nsleep 0.5\nanswer stop x\nsettle").start()
    done = document(home, "wait", "--any", slow.run_id, quick.run_id)
    assert {run["runId"]: run["status"] for run in done["runs"]} == {
        slow.run_id: "running",
        quick.run_id: "completed",
    }


def test_waiting_for_all_that_is_active(home: Home) -> None:
    gate = home.folder / "gate"
    quick = home.run(f"begin\ngate {gate}\nanswer length x\nsettle").start()
    quick.wait_for("run_started")
    with started(home, "poll", "--wait") as waiter:
        eventually(lambda: waits_for(waiter.pid) == 1)
        gate.touch()
        said = waiter.communicate(timeout=20)[0]
    ((short, _, status),) = shown(said)
    assert (waiter.returncode, short, status) == (1, quick.run_id[:8], "failed")


def test_waiting_is_over_after_the_timeout_and_stops_nothing(home: Home) -> None:
    live = working(home)
    began = time.monotonic()
    found = command(home, "wait", live.run_id, "--timeout", "0.3", "--json")
    assert 0.3 <= time.monotonic() - began < 30
    assert (found.returncode, found.stderr) == (124, "")
    assert (checked(found.stdout)["timedOut"], live.status()) == (True, "running")
    assert command(home, "poll", "--follow", "--timeout", "0").returncode == 124


def test_who_waits_sleeps_in_one_call_until_a_wrapper_is_killed(home: Home) -> None:
    runs = [working(home) for _ in range(3)]
    with started(home, "wait", "--timeout", "1e300", *(run.run_id for run in runs)) as waiter:
        eventually(lambda: waits_for(waiter.pid) == 3)
        before = switches(waiter.pid)
        with pytest.raises(subprocess.TimeoutExpired):
            waiter.wait(0.3)
        assert switches(waiter.pid) == before
        for run in runs:
            run.signal(signal.SIGKILL)
        assert waiter.wait(10) == 1
        assert waiter.stdout is not None
        assert [row[2] for row in shown(waiter.stdout.read())] == ["aborted"] * 3


def switches(pid: int) -> str:
    """Return how often a process has gone to sleep."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(line for line in file if line.startswith("voluntary_ctxt_switches"))


def test_waiting_begins_before_there_is_a_wrapper(home: Home) -> None:
    run = home.run("done fine")
    with started(home, "wait", run.run_id) as waiter:
        eventually(lambda: registry_knows(home, run))
        run.start()
        assert waiter.wait(20) == 0


def registry_knows(home: Home, run: Run) -> bool:
    if not os.path.exists(registry_of(home)):
        return False
    with database.open_file(registry_of(home)) as book:
        return book.row(run.run_id) is not None


def test_a_live_run_in_the_hands_of_a_person_counts_when_it_settles(home: Home) -> None:
    with sleeper() as wrapper:
        run = home.run("x", driver="live")
        wrapped_by(run, wrapper)
        told(run, begun(), events.assistant_text("so?"))
        assert command(home, "wait", run.run_id, "--timeout", "0").returncode == 124
        with started(home, "wait", run.run_id) as waiter:
            eventually(lambda: waits_for(waiter.pid))
            told(run, events.Event("human_input", {"text": "go on"}), events.turn_end("stop"))
            told(run, events.settled(aborted=False))
            assert waiter.wait(10) == 0
        assert document(home, "poll", run.run_id)["runs"][0]["settled"]


@pytest.mark.parametrize("verb", ["poll --wait", "wait", "poll --follow --wait"])
def test_a_removed_run_is_waited_for_no_longer_and_did_not_complete(home: Home, verb: str) -> None:
    run = home.run("done fine")
    argv = [*COMMAND, *verb.split(), run.run_id]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with running(argv, cwd=home.project, env=home.environment, **pipes) as waiter:
        eventually(lambda: registry_knows(home, run))
        shutil.rmtree(run.folder)
        said, warned = waiter.communicate(timeout=20)
    assert waiter.returncode == 1
    assert said.endswith("bg: 0 running / 0 total\n")
    assert f"the run {run.run_id} is gone" in warned


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_waiting_is_interrupted_with_130(home: Home, more: tuple[str, ...]) -> None:
    run = working(home)
    with started(home, "wait", run.run_id, *more) as waiter:
        eventually(lambda: waits_for(waiter.pid))
        waiter.send_signal(signal.SIGINT)
        said, _ = waiter.communicate(timeout=20)
    assert waiter.returncode == 130
    if more:
        error = checked(said, "error")["error"]
        assert (error["kind"], error["exit"]) == ("interrupted", 130)
    else:
        assert said == ""
    assert run.status() == "running"


# --- following ---


def test_following_tells_each_change_and_ends_with_the_document(home: Home) -> None:
    run = home.run(
        'begin\nanswer toolUse first\nsleep 1.3\ntool read {"path":"a.ts"}\nsleep 1.3\nanswer stop x\nsettle'
    )
    run.start()
    run.wait_for("assistant_text")
    done = command(home, "poll", "--follow", "--json")
    *lines, last = done.stdout.splitlines()
    runs = [checked(line)["run"] for line in lines]
    assert [(told["status"], told["activity"]) for told in runs if told["status"] == "running"] == [
        ("running", "first"),
        ("running", "Finished reading a.ts"),
    ]
    assert runs[-1]["status"] == "completed"
    found = checked(last)
    assert ([run["status"] for run in found["runs"]], found["counts"]) == (["completed"], counts(completed=1))
    assert done.returncode == 0


def test_following_as_text_and_its_outcome(home: Home) -> None:
    bad = ended(home, FAILS, name="bad")
    done = command(home, "poll", "-f", "bad")
    line, *rest = done.stdout.splitlines()
    words = rf"{bad.run_id[:8]} bad failed \(length\) \ds The answer was cut at the model's output limit\."
    assert re.fullmatch(words, line)
    assert (rest[0], done.returncode) == ("bg: 0 running, 1 failed / 1 total", 0)
    assert command(home, "poll", "-f", "--wait", "bad").returncode == 1
    assert command(home, "poll", "-f").stdout == "bg: 0 running, 1 failed / 1 total\n"


def test_a_person_who_follows_sees_the_time_of_day_and_colours(home: Home) -> None:
    bad = ended(home, FAILS, name="bad")
    person = Terminal([*COMMAND, "poll", "-f", "bad"], {**home.environment, "TERM": "xterm"}, home.project)
    assert person.left() == 0
    line = person.text.splitlines()[0]
    person.close()
    words = rf"\x1b\[2m\d\d:\d\d:\d\d \x1b\[0m\x1b\[31m✗ \x1b\[0m{bad.run_id[:8]} bad failed \(length\) .+"
    assert re.fullmatch(words, line)


# --- changes ---


def test_changes_since_a_cursor(home: Home) -> None:
    live, waits = working(home, name="scout"), home.run("done x")
    lines = command(home, "poll", "--since", "0").stdout.splitlines()
    assert {line.rpartition(" ")[0] for line in lines[:2]} == {
        f"{live.run_id[:8]} running scout",
        f"{waits.run_id[:8]} queued -",
    }
    cursor = lines[2].removeprefix("cursor ")
    nothing, same = command(home, "poll", "--since", cursor).stdout.splitlines()
    assert (nothing, same.rpartition(".")[0]) == ("no change", f"cursor {cursor}".rpartition(".")[0])
    assert command(home, "poll", "--since", lines[2]).stdout.startswith("no change\n")  # the whole line
    live.signal(signal.SIGTERM)
    live.wait()
    found = document(home, "poll", "--since", cursor, kind="changes")
    assert (found["counts"], found["reset"]) == (counts(queued=1, aborted=1), False)
    (change,) = found["changes"]
    assert change == {
        "runId": live.run_id,
        "status": "aborted",
        "reason": "stopped",
        "activity": None,
        "name": "scout",
    }
    line, _ = command(home, "poll", "--since", cursor).stdout.splitlines()
    assert re.fullmatch(rf"{live.run_id[:8]} aborted scout \d+s stopped", line)
    assert document(home, "poll", "--since", found["cursor"], kind="changes")["changes"] == []


def test_the_cursor_of_a_machine_without_runs_goes_on_with_the_first(home: Home) -> None:
    first = document(home, "poll")["cursor"]
    nothing, again = command(home, "poll", "--since", first).stdout.splitlines()
    assert (nothing, again.split()[0]) == ("no change", "cursor")
    assert not home.state.exists()
    quick, live = ended(home), working(home)
    gone = ended(home)
    assert document(home, "poll", "-a")["counts"]["total"] == 3
    assert command(home, "prune", gone.run_id).returncode == 0
    for cursor in (first, again.split()[1]):
        found = document(home, "poll", "--since", cursor, kind="changes")
        assert found["reset"] is False
        assert {change["runId"]: change["status"] for change in found["changes"]} == {
            quick.run_id: "completed",
            live.run_id: "running",
        }
    found = document(home, "poll", "--since", found["cursor"], kind="changes")
    assert (found["changes"], found["reset"]) == ([], False)


def test_the_first_call_is_told_of_what_has_ended_already(home: Home) -> None:
    good, bad = ended(home, name="good"), ended(home, FAILS, name="bad")
    for words in (("poll", "--since", "0"), ("poll", "--wait", "--any", "--since", "0")):
        done = command(home, *words)
        *lines, last = done.stdout.splitlines()
        assert {line.rpartition(" ")[0].rpartition(" ")[0] for line in lines} >= {
            f"{bad.run_id[:8]} failed bad"
        }
        assert any(line.startswith(f"{good.run_id[:8]} completed good") for line in lines)
    again = command(home, "poll", "--since", last.removeprefix("cursor "))
    assert again.stdout.splitlines()[0] == "no change"
    named = command(home, "poll", "--wait", "--any", "--since", "0", "good")
    assert (named.returncode, named.stdout.splitlines()[0].split()[1]) == (0, "completed")


def test_all_runs_are_twenty_for_a_program_and_how_many_more_there_are(home: Home) -> None:
    with sleeper() as wrapper:
        for _ in range(23):
            run = home.run("x")
            wrapped_by(run, wrapper)
            told(run, begun())
            (run.folder / "result.json").write_text(json.dumps(RESULT | {"runId": run.run_id}))
    shown = command(home, "poll", "-a")
    assert len(shown.stdout.splitlines()) == 2 + 20
    assert shown.stderr == "3 more have ended (-n 23)\n"
    assert len(shown.stdout) < 4096
    assert len(command(home, "poll", "-n", "23").stdout.splitlines()) == 2 + 23
    assert len(document(home, "poll", "-a")["runs"]) == 23


def test_a_child_that_is_quiet_shows_since_when(home: Home) -> None:
    run = home.run("x", name="scout")
    with sleeper() as wrapper:
        wrapped_by(run, wrapper)
        told(run, begun(), events.tool_call("1", "bash", {"command": "npm test"}), at=time.time() - 45)
        (line,) = [line for line in command(home, "poll").stdout.splitlines() if "scout" in line]
        assert re.search(r"npm test · quiet 4\ds$", line), line
        late = command(home, "wait", "--output", "--timeout", "0", "scout")
        assert re.search(r"\[1\] scout: running: npm test · quiet 4\ds \(run", late.stdout), late.stdout
        told(run, events.tool_result("1", "bash", is_error=False, text="", duration_ms=1))
        assert "quiet" not in command(home, "poll").stdout


def test_waiting_for_what_has_changed(home: Home) -> None:
    slow = working(home)
    cursor = command(home, "poll", "--since", "0").stdout.splitlines()[-1].removeprefix("cursor ")
    quick = home.run("begin\nsleep 3\nanswer length x\nsettle").start()
    quick.wait_for("run_started")
    first = command(home, "poll", "--wait", "--any", "--since", cursor)
    line, last = first.stdout.splitlines()
    assert (first.returncode, line.split()[:2]) == (1, [quick.run_id[:8], "failed"])
    # A run that had ended before is not waited for.
    again = command(home, "poll", "--wait", "--any", "--since", cursor)
    assert (again.returncode, quick.run_id[:8] in again.stdout) == (0, True)
    late = command(home, "poll", "--wait", "--since", last.removeprefix("cursor "), "--timeout", "0.2")
    assert (late.returncode, late.stdout.splitlines()[0]) == (124, "no change")
    slow.signal(signal.SIGTERM)
    done = document(home, "poll", "--wait", "--since", cursor, slow.run_id, kind="changes")
    assert [(one["runId"], one["status"]) for one in done["changes"]] == [(slow.run_id, "aborted")]


def test_a_run_that_is_lost_is_told_once(home: Home) -> None:
    live = working(home)
    cursor = document(home, "poll")["cursor"]
    live.signal(signal.SIGKILL)
    eventually(lambda: live.status() == "aborted")
    found = document(home, "poll", "--since", cursor, kind="changes")
    assert [change["reason"] for change in found["changes"]] == ["lost"]
    assert document(home, "poll", "--since", found["cursor"], kind="changes")["changes"] == []


def test_after_the_registry_was_lost_everything_since_is_told_again(home: Home) -> None:
    old, live, lost = ended(home, createdAt=1.0), working(home), home.run("x", createdAt=2.0)
    result = json.loads((old.folder / "result.json").read_text())
    (old.folder / "result.json").write_text(json.dumps(result | {"endedAt": 1.0}))
    os.utime(old.folder / "result.json", (1.0, 1.0))
    with sleeper() as wrapper:
        wrapped_by(lost, wrapper)
        told(lost, begun(), at=2.0)  # its last event is long ago
        cursor = document(home, "poll")["cursor"]
    recent = ended(home)
    assert lost.status() == "aborted"
    os.unlink(registry_of(home))
    found = document(home, "poll", "--since", cursor, kind="changes")
    assert found["reset"]
    assert {change["runId"]: change["status"] for change in found["changes"]} == {
        live.run_id: "running",
        lost.run_id: "aborted",
        recent.run_id: "completed",
    }
    assert command(home, "poll", "--since", "5f3a.1.2").stdout.splitlines()[0] == "reset"
    for wrong in ("nonsense", "yesterday", ""):
        refused = command(home, "poll", "--since", wrong)
        assert (refused.stdout, refused.returncode) == ("", 2)
        assert "neither a time nor a cursor" in refused.stderr
    assert document(home, "poll", "--since", found["cursor"], kind="changes")["reset"] is False


def test_changes_of_named_runs_only(home: Home) -> None:
    one, two = working(home, name="one"), working(home, name="two")
    found = document(home, "poll", "--since", "0", "two", kind="changes")
    assert [change["runId"] for change in found["changes"]] == [two.run_id]
    assert (found["counts"], one.status()) == (counts(running=1), "running")


# --- no registry to lean on ---


def truncated(path: str) -> None:
    os.truncate(path, 8192)


def forgetful(path: str) -> None:
    with database.open_file(path) as book:
        book.forget(list(book.ids())[1:])
        book.absorb([], [], "not this folder")


def of_other_types(path: str) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE run SET created_at = 'x', elapsed_s = 'x'")


DAMAGE: list[tuple[Callable[[str], None], str]] = [
    (deleted, ""),
    (forgetful, ""),
    (garbage, "warning: the registry was damaged (file is not a database) and is made anew"),
    (emptied, "warning: the registry was damaged (it is no registry) and is made anew"),
    (truncated, "warning: the registry was damaged (database disk image is malformed) and is made anew"),
    (of_other_types, "warning: the registry was damaged (it holds what nobody wrote) and is made anew"),
    (of_a_newer_program, "warning: the registry is not used (it was written by a newer tmuxagents)"),
    (a_folder_in_its_place, "warning: the registry is not used (unable to open database file)"),
]


@pytest.mark.parametrize(("damage", "warning"), DAMAGE, ids=[damage.__name__ for damage, _ in DAMAGE])
def test_no_answer_depends_on_the_registry(home: Home, damage: Callable[[str], None], warning: str) -> None:
    lost = working(home)
    working(home, name="scout", owner="me")
    ended(home, FAILS), ended(home, project="/far"), home.run("x", after=[lost.run_id])
    lost.signal(signal.SIGKILL)
    eventually(lambda: lost.status() == "aborted")
    questions = (("poll", "-a"), ("poll", "scout"), ("poll", "-A"), ("statusline",))
    before = [answer(home, *question) for question in questions]
    damage(registry_of(home))
    first = command(home, *questions[0])
    assert (first.stderr.count("warning"), first.stderr[: len(warning)]) == (1 if warning else 0, warning)
    kept = damage in (of_a_newer_program, a_folder_in_its_place)
    assert kept or damage is of_other_types or registry_knows(home, lost)  # else the next question makes it
    assert [answer(home, *question) for question in questions] == before
    assert command(home, *questions[0]).stderr.count("warning") == int(kept)


def answer(home: Home, *question: str) -> Any:
    """Return an answer without the values that change with time."""
    if question[0] == "statusline":
        return command(home, *question).stdout
    found = json.loads(command(home, *question, "--json").stdout)
    moving = ("elapsedSeconds", "activity")
    runs = [{key: value for key, value in run.items() if key not in moving} for run in found["runs"]]
    return found["counts"], found["scope"], found["usage"], runs


def test_a_run_that_the_registry_does_not_know_is_found(home: Home) -> None:
    ended(home)
    past = time.time() - 10
    os.utime(home.state / "runs", (past, past))
    assert document(home, "poll")["counts"] == counts(completed=1)
    with database.open_file(registry_of(home)) as book:
        assert book.folder() is not None  # the folder is known as a whole, so it is not listed again
    new = home.run("x")
    assert [run["runId"] for run in document(home, "poll")["runs"]] == [new.run_id]
    os.utime(home.state / "runs", (past, past))
    document(home, "poll")
    shutil.rmtree(new.folder)
    assert document(home, "poll")["counts"] == counts(completed=1)


def test_the_counts_follow_the_directories(home: Home) -> None:
    with sleeper() as wrapper:
        run = home.run("x")
        wrapped_by(run, wrapper)
        told(run, begun())
        assert document(home, "poll")["counts"] == counts(running=1)
        (run.folder / "wrapper.json").unlink()
        assert command(home, "poll").stdout.splitlines()[0] == "bg: 0 running, 1 queued / 1 total"
        (run.folder / "meta.json").unlink()
        assert document(home, "poll", "-A")["counts"] == counts()
        assert command(home, "poll", "--since", "0").stdout.splitlines()[0] == "no change"


def test_many_that_ask_at_once_make_one_registry(home: Home) -> None:
    for _ in range(30):
        run = home.run("x")
        (run.folder / "result.json").write_text('{"status":"failed","reason":"error"}')
    askers = [started(home, "poll", "-a") for _ in range(12)]
    texts = {re.sub(r" +\d+s ", " ", asker.communicate(timeout=30)[0]) for asker in askers}  # without ages
    assert [asker.returncode for asker in askers] == [0] * 12
    (text,) = texts
    assert text.splitlines()[0] == "bg: 0 running, 30 failed / 30 total"
    with database.open_file(registry_of(home)) as book:
        assert book.last_change() == 30


def test_a_folder_that_changes_right_now_is_not_trusted_yet(home: Home) -> None:
    home.run("x")
    document(home, "poll")
    with database.open_file(registry_of(home)) as book:
        assert book.folder() is None
    past = time.time() - 10
    broken = home.state / "runs" / "0123456789abcdef"
    broken.mkdir()
    os.utime(home.state / "runs", (past, past))
    assert document(home, "poll")["counts"] == counts(queued=1)
    with database.open_file(registry_of(home)) as book:
        assert book.folder() is None  # a directory may become a run without a change of the folder's time
    (broken / "meta.json").write_text(
        json.dumps({"runId": broken.name, "createdAt": 1, "project": str(home.project)})
    )
    assert command(home, "poll").stdout.splitlines()[0] == "bg: 0 running, 2 queued / 2 total"


def test_a_locked_registry_is_not_waited_for_long(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    live = working(home)
    document(home, "poll")
    holder = sqlite3.connect(registry_of(home), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(lookup, "PATIENCE_S", 0.1)
    new = home.run("x")  # which would have to be saved, but cannot be
    caller = lookup.Caller(home.environment, str(home.project))
    ids, warnings = lookup.with_registry(caller, lambda book: [row.run_id for row in book.open_rows()])
    assert set(ids) == {live.run_id, new.run_id}
    assert warnings == ["the registry is not used (database is locked); the run directories are read instead"]
    holder.close()


# --- found ---


def test_a_reference_is_an_id_a_name_its_beginning_or_the_last_run(home: Home, tmp_path: Path) -> None:
    here = str(home.project)
    plans: list[dict[str, Any]] = [
        {"name": "scout", "createdAt": 3.0},
        {"name": "scout", "createdAt": 4.0, "project": str(tmp_path)},
        {"name": "other", "createdAt": 5.0, "project": str(tmp_path), "owner": "me"},
        {"name": "live", "createdAt": 1.0},
        {"name": "abc", "createdAt": 2.0, "owner": "me"},
    ]
    ids = [f"{n}c0ffee000000000" for n in range(len(plans))]  # no name is similar to it
    runs = [home.run("x", runId=one, sessionId=one, **plan) for one, plan in zip(ids, plans, strict=True)]
    twins = [
        home.run("x", runId=f"beef{n}0000000000a", createdAt=6.0 + n, sessionId=runs[0].run_id)
        for n in (1, 2)
    ]
    for run in (*runs[:3], runs[4], *twins):
        told(run, begun())
        (run.folder / "result.json").write_text('{"status":"failed","reason":"error"}')
    newer = home.run("x", runId="9c0ffee000000000", name="live", createdAt=9.0)
    (newer.folder / "result.json").write_text('{"status":"failed","reason":"error"}')
    last = {"": newer, "me": runs[2], "nobody": None}
    for owner, newest in last.items():
        caller = lookup.Caller(home.environment | {"TMUXAGENTS_OWNER": owner}, here)
        assert found("@last", caller) == (newest and newest.run_id)
        means = {"scout": runs[0], "other": runs[2], "live": runs[3], "abc": runs[4], "beef1": twins[0]}
        means |= {run.run_id: run for run in runs} | {run.run_id[:6]: run for run in runs}
        assert {name: found(name, caller) for name in means} == {n: run.run_id for n, run in means.items()}
        refused = [refusal("beef", caller), refusal("ffff", caller), refusal("bee", caller)]
        assert refused == [
            ("ambiguous-run", [twin.run_id for twin in twins]),
            ("unknown-run", []),
            ("unknown-run", [twin.run_id for twin in twins]),
        ]
        for odd in ("f" * 16, "", "x" * 4000, "../..", "a\nb", "\udcff", "@first", "beef9"):
            assert refusal(odd, caller)[0] == "unknown-run"
    session = [os.path.basename(folder) for folder in lookup.session(str(runs[0].folder), caller)]
    assert session == [runs[0].run_id, *(twin.run_id for twin in twins)]


def test_a_name_means_a_parents_own_run_before_those_of_others(home: Home, tmp_path: Path) -> None:
    plans: list[dict[str, Any]] = [
        {"owner": "me", "createdAt": 1.0},
        {"owner": "they", "createdAt": 2.0},
        {"owner": "me", "createdAt": 3.0, "project": str(tmp_path)},
    ]
    mine, theirs, _ = [home.run("x", name="scout", **plan) for plan in plans]
    (mine.folder / "result.json").write_text('{"status":"failed","reason":"error"}')
    meant = {
        owner: found(
            "scout", lookup.Caller(home.environment | {"TMUXAGENTS_OWNER": owner}, str(home.project))
        )
        for owner in ("me", "they", "nobody", "")
    }
    others = dict.fromkeys(("they", "nobody", ""), theirs.run_id)
    assert meant == {"me": mine.run_id, **others}


def found(reference: str, caller: lookup.Caller) -> str | None:
    try:
        return os.path.basename(lookup.find_run(reference, caller))
    except NoSuchRun:
        return None


def refusal(reference: str, caller: lookup.Caller) -> tuple[str, list[str]]:
    with pytest.raises(NoSuchRun) as raised:
        lookup.find_run(reference, caller)
    return raised.value.kind, raised.value.candidates


# --- asked wrongly, and what it costs ---


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (("wait",), 2, "usage"),
        (("wait", "ffffffff"), 4, "unknown-run"),
        (("poll", "ffffffff"), 4, "unknown-run"),
        (("poll", "--any"), 2, "usage"),
        (("poll", "--timeout", "3"), 2, "usage"),
        (("poll", "--wait", "--timeout", "-1"), 2, "usage"),
        (("poll", "--wait", "--timeout", "nan"), 2, "usage"),
        (("poll", "--since", "0", "--any"), 2, "usage"),
        (("poll", "--since", "0", "--follow"), 2, "usage"),
        (("statusline", "extra"), 2, "usage"),
    ],
)
def test_a_refusal(home: Home, arguments: tuple[str, ...], code: int, kind: str) -> None:
    done = command(home, *arguments, "--json")
    error = checked(done.stdout, "error")["error"]
    assert (done.returncode, error["kind"], error["exit"], done.stderr) == (code, kind, code, "")


def test_a_state_directory_that_nothing_can_be_called_is_no_fault_of_ours(home: Home) -> None:
    home.environment["TMUXAGENTS_HOME"] = f"/{'s' * 5000}"
    done = command(home, "poll", "--json")
    assert (done.returncode, checked(done.stdout, "error")["error"]["kind"]) == (3, "no-permission")


LONG_WAY = """from tmuxagents import cli
import atexit, sys
atexit.register(lambda: sys.stderr.write(" ".join(sys.modules)))
cli.main(sys.argv[1:])"""
SHORT_WAY = """from tmuxagents.cli import quick
import sys
assert quick.answer(sys.argv[1:]) is not None
sys.stderr.write(" ".join(sys.modules))"""
DEAR = {
    *("libtmux", "yaml", "watchdog", "rich", "asyncio", "subprocess", "logging", "socket", "dataclasses"),
    *("argparse", "tempfile", "secrets", "random", "pathlib", "msgspec", "sqlite3"),
}


@pytest.mark.parametrize(
    "verb", ["poll", "poll --since 0", "poll --json", "wait @last --timeout 0", "statusline", "ps -a"]
)
def test_nothing_dear_is_imported(home: Home, verb: str) -> None:
    working(home)
    for way, more in ((LONG_WAY, set()), (SHORT_WAY, {"click", "typing"})):
        done = subprocess.run(
            [sys.executable, "-c", way, *verb.split()],
            env=home.environment,
            cwd=home.project,
            capture_output=True,
            text=True,
            check=False,
        )
        modules = {name.partition(".")[0] for name in done.stderr.split()}
        assert {"_sqlite3", "tmuxagents"} <= modules
        assert modules & (DEAR | more) == set()


def test_no_text_of_a_run_reaches_the_terminal_as_it_is(home: Home) -> None:
    with sleeper() as wrapper:
        run = home.run("x", name="a\x1b]52;c;eA==\x07b", preset="\x1b[31mred\n")
        wrapped_by(run, wrapper, tmux={"window": "\x1b[2J"})
        told(run, begun(), events.assistant_text("one\ntwo\x1b[2J\u202e three \ud800"))
        for arguments in (("poll",), ("poll", "--since", "0"), ("poll", "-f", "--timeout", "0")):
            text = command(home, *arguments).stdout
            assert "\x1b" not in text
            assert "ab" in text
        assert "one two three" in command(home, "poll").stdout
