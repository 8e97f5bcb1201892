"""Prune with real run directories: what goes, what stays, and what readers see meanwhile."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.apart import at_once
from tests.harness import BOOT, Run, alive, eventually, stop
from tests.status.watchers import begun, checked, registry_of, sleeper, told, wrapped_by
from tmuxagents import tmux
from tmuxagents.errors import NoSuchRun, TmuxAgentsError
from tmuxagents.records import Verdict
from tmuxagents.registry import database, lookup
from tmuxagents.runs import documents, lifecycle, writing
from tmuxagents.runs.inspect import inspect
from tmuxagents.settings import load
from tmuxagents.system import process, project
from tmuxagents.upkeep import prune

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness import Home, TmuxServer

DAY = 86400.0
REASONS = {"completed": "done", "failed": "exit", "aborted": "stopped"}


def ended(home: Home, *, age: float, status: str = "completed", **changes: Any) -> Run:
    """Make a run that ended `age` days ago."""
    at = time.time() - age * DAY
    run = home.run("done fine", createdAt=at - 5, **changes)
    verdict = Verdict(status, REASONS[status])
    told(run, begun(), at=at - 5)
    state = lifecycle.RunState()
    state.started_at = at - 5
    result = documents.result(documents.plan_of(run.meta), state, verdict, ended_at=at, duration_s=5)
    writing.write_result(str(run.folder), result)
    return run


@pytest.fixture
def newest(home: Home) -> list[Run]:
    """The hundred runs that stay in any case."""
    return [ended(home, age=0.5) for _ in range(100)]


def said(home: Home, *words: str, **variables: str) -> list[str]:
    done = home.command(*words, env=home.environment | variables)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def pruned(home: Home, *words: str, **variables: str) -> list[dict[str, Any]]:
    """Prune; return what was removed."""
    (line,) = said(home, "prune", *words, "--json", **variables)
    document = checked(line, "prune")
    assert document["bytes"] == sum(one["bytes"] for one in document["removed"])
    assert document["warnings"] == []
    removed: list[dict[str, Any]] = document["removed"]
    return removed


def refused(home: Home, *words: str) -> dict[str, Any]:
    done = home.command("prune", *words, "--json")
    assert done.returncode == 4
    error: dict[str, Any] = checked(done.stdout, "error")["error"]
    return error


def names(removed: list[dict[str, Any]], what: str = "run") -> set[str]:
    return {one["runId"] for one in removed if one["what"] == what}


def rows(home: Home) -> set[str]:
    with database.open_file(registry_of(home)) as book:
        return book.ids()


def everything(home: Home) -> list[str]:
    """Return every path of a home."""
    return sorted(
        f"{folder}/{name}"
        for folder, folders, files in os.walk(home.folder)
        for name in (*folders, *files)
        if not folder.startswith(f"{home.state}/hosts")  # the registry is a cache
    )


# --- what is old ------------------------------------------------------------------------------------------


def test_runs_older_than_thirty_days_go_but_for_the_last_hundred(home: Home, newest: list[Run]) -> None:
    old, young = [ended(home, age=age) for age in (40, 31)], ended(home, age=29)
    before = everything(home)
    planned = pruned(home, "--dry-run")
    assert everything(home) == before
    assert names(planned) == {run.run_id for run in old}
    assert pruned(home) == planned
    assert not any(run.folder.exists() for run in old)
    assert all(run.folder.exists() for run in (*newest, young))
    assert pruned(home) == []
    assert said(home, "prune") == ["nothing to prune"]


def test_without_a_hundred_newer_ones_nothing_goes(home: Home) -> None:
    for _ in range(100):
        ended(home, age=400)
    assert pruned(home) == []


@pytest.mark.usefixtures("newest")
def test_a_failure_goes_only_when_somebody_saw_it(home: Home) -> None:
    seen, unseen = (ended(home, age=50, status="failed") for _ in range(2))
    aborted = ended(home, age=50, status="aborted")
    home.command("poll", seen.run_id)
    assert names(pruned(home)) == {seen.run_id, aborted.run_id}
    assert unseen.folder.exists()


@pytest.mark.usefixtures("newest")
def test_how_long_runs_are_kept_is_a_setting(home: Home) -> None:
    run = ended(home, age=3)
    assert pruned(home, TMUXAGENTS_KEEP_RUNS="all") == []
    assert pruned(home, TMUXAGENTS_KEEP_RUNS="4d") == []
    assert names(pruned(home, TMUXAGENTS_KEEP_RUNS="2d")) == {run.run_id}


@pytest.mark.usefixtures("newest")
def test_what_lives_or_is_not_concluded_stays(home: Home) -> None:
    at = time.time() - 90 * DAY
    with sleeper() as pid:
        live, queued, lost = (home.run("x", createdAt=at) for _ in range(3))
        wrapped_by(live, pid)
        writing.write_result(str(live.folder), {"status": "completed", "reason": "done"})  # forged
        wrapped_by(lost, pid, start_time=1)
        assert pruned(home) == []
    assert all(run.folder.exists() for run in (live, queued, lost))


@pytest.mark.usefixtures("newest")
def test_what_a_live_run_builds_on_stays(home: Home) -> None:
    first, resumed, other = (ended(home, age=60) for _ in range(3))
    home.run("x", after=[first.run_id])
    home.run("x", resumes=resumed.run_id, sessionId=resumed.run_id)
    assert names(pruned(home)) == {other.run_id}
    assert refused(home, first.run_id)["kind"] == "run-busy"
    assert refused(home, resumed.run_id)["kind"] == "run-busy"


def test_all_runs_of_a_session_stay_while_one_is_live(home: Home) -> None:
    first = ended(home, age=1)
    second = ended(home, age=1, resumes=first.run_id, sessionId=first.run_id)
    home.run("x", resumes=second.run_id, sessionId=first.run_id)
    for run in (first, second):
        assert refused(home, run.run_id)["kind"] == "run-busy"
        assert run.folder.exists()


@pytest.mark.usefixtures("newest")
def test_a_run_of_another_host_is_left_to_it(home: Home) -> None:
    run = ended(home, age=60)
    wrapped_by(run, 1, host="elsewhere-12345678", boot_id="other")
    assert pruned(home) == []
    error = refused(home, run.run_id)
    assert (error["kind"], "elsewhere-12345678" in error["message"]) == ("run-busy", True)
    assert run.folder.exists()


@pytest.mark.usefixtures("newest")
def test_a_run_that_somebody_works_on_is_left_for_the_next_time(home: Home) -> None:
    run = ended(home, age=60)
    held = writing.lock(str(run.folder), 1)
    assert held is not None
    assert pruned(home) == []
    os.close(held)
    assert names(pruned(home)) == {run.run_id}


# --- named runs -------------------------------------------------------------------------------------------


def test_a_named_run_goes_at_once_with_its_row_and_its_link(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home.folder))
    run, other = ended(home, age=0, name="scout"), ended(home, age=0)
    for one in (run, other):
        assert project.link(str(home.project), str(one.folder))
    (run.folder / "deep" / "er").mkdir(parents=True)
    (run.folder / "deep" / "er" / "file").write_bytes(b"x" * 5000)
    home.command("poll", "-a")
    assert rows(home) == {run.run_id, other.run_id}
    before = everything(home)
    planned = pruned(home, "--dry-run", "scout")
    assert everything(home) == before
    removed = pruned(home, "scout")
    assert removed == planned
    assert [(one["what"], one["runId"], one["status"]) for one in removed] == [
        ("run", run.run_id, "completed"),
        ("link", run.run_id, None),
    ]
    assert removed[0]["bytes"] > 5000
    assert rows(home) == {other.run_id}
    assert not run.folder.exists()
    assert project.links(str(home.project), f"{home.state}/runs") == [other.run_id]
    assert sorted(os.listdir(home.state / "runs")) == [other.run_id]
    for words in (("poll", run.run_id), ("output", run.run_id), ("prune", run.run_id[:8])):
        done = home.command(*words, "--json")
        assert (done.returncode, json.loads(done.stdout)["error"]["kind"]) == (4, "unknown-run")


def test_what_is_said(home: Home) -> None:
    run, other = ended(home, age=2.5), ended(home, age=0.1, status="failed")
    lines = said(home, "rm", run.run_id, other.run_id)
    assert lines[0].startswith(f"removed run {run.run_id} (completed 2 days ago): ")
    assert lines[1].startswith(f"removed run {other.run_id} (failed 2 hours ago): ")
    assert lines[2].startswith("removed 2 runs: ")
    assert len(lines) == 3


def test_if_one_lives_none_goes(home: Home) -> None:
    done = ended(home, age=1)
    live = home.run("begin\nsleep 60").start()
    live.wait_for("run_started")
    for words in ((done.run_id, live.run_id), (live.run_id, done.run_id), (done.run_id, "ffff", live.run_id)):
        assert refused(home, *words)["kind"] in ("run-running", "unknown-run")
    assert done.folder.exists()
    error = refused(home, live.run_id)
    assert error["kind"] == "run-running"
    assert error["hint"] == f"stop it first: tmuxagents stop {live.run_id[:8]}"
    assert live.status() == "running"
    live.signal(signal.SIGTERM)
    live.wait()
    assert names(pruned(home, live.run_id, done.run_id)) == {live.run_id, done.run_id}


def test_a_lost_run_is_concluded_and_what_is_left_of_it_ended(home: Home) -> None:
    run = home.run("begin\nfound tool\nsleep 60").start()
    left = eventually(lambda: list(home.recorded().values()))
    child = run.child
    run.signal(signal.SIGKILL)
    eventually(lambda: run.status() == "aborted")
    assert names(pruned(home, "--dry-run", run.run_id)) == {run.run_id}
    assert run.result() is None
    (removed,) = pruned(home, run.run_id)
    assert (removed["runId"], removed["status"]) == (run.run_id, "aborted")
    assert not any(alive(pid) for pid in (child, *left))


@pytest.mark.parametrize(("age_s", "goes"), [(30, False), (90, True)])
def test_a_run_whose_window_never_came_goes_when_it_will_not_come(
    home: Home, age_s: float, *, goes: bool
) -> None:
    run = home.run("x", createdAt=time.time() - age_s)
    if not goes:
        assert refused(home, run.run_id)["kind"] == "run-running"
        assert run.folder.exists()
        return
    for words in (("--dry-run",), ()):
        (removed,) = pruned(home, *words, run.run_id)
        assert (removed["runId"], removed["status"]) == (run.run_id, "failed")
    assert not run.folder.exists()


def test_prune_old_is_not_what_rm_means(home: Home) -> None:
    done = home.command("rm")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "Name a run to remove.")


# --- seen meanwhile ---------------------------------------------------------------------------------------


def test_who_reads_meanwhile_sees_the_truth_or_no_run(home: Home) -> None:
    runs = [ended(home, age=1) for _ in range(60)]
    for run in runs:
        wrapped_by(run, 1, start_time=1)
    caller = lookup.Caller(home.environment, str(home.project))
    seen: set[str] = set()
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            for run in runs:
                try:
                    seen.add(inspect(str(run.folder)).standing.status)
                except NoSuchRun:
                    seen.add("none")

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        eventually(lambda: seen == {"completed"})
        for run in runs:
            prune.prune_named([run.run_id], caller)
    finally:
        over.set()
        for reader in readers:
            reader.join()
    assert seen == {"completed", "none"}


def test_a_poll_of_everything_goes_on_while_runs_are_pruned(home: Home) -> None:
    runs = [ended(home, age=1) for _ in range(40)]
    stay = ended(home, age=1)
    caller = lookup.Caller(home.environment, str(home.project))

    def poll() -> list[list[str]]:
        found = []
        while (home.state / "runs" / runs[-1].run_id).exists():
            done = home.command("poll", "-a", "--json")
            assert done.returncode == 0, done.stderr
            found.append([run["status"] for run in checked(done.stdout)["runs"]])
        return found

    def remove() -> list[list[str]]:
        for run in runs:
            prune.prune_named([run.run_id], caller)
        return []

    polls = [statuses for found in at_once([poll, poll, remove]) for statuses in found]
    assert {status for statuses in polls for status in statuses} == {"completed"}
    assert [run["runId"] for run in checked(home.command("poll", "-a", "--json").stdout)["runs"]] == [
        stay.run_id
    ]
    assert rows(home) == {stay.run_id}


@pytest.mark.usefixtures("newest")
def test_many_prunes_at_once_remove_everything_once(home: Home) -> None:
    old = [ended(home, age=60) for _ in range(30)]
    caller = lookup.Caller(home.environment, str(home.project))
    settings = load.load(home.environment, None)

    def act() -> list[str]:
        done = prune.prune_old(caller, settings, windows=False)
        assert done.warnings == []
        return sorted(done.run_ids)

    found = [run_id for ids in at_once([act] * 4) for run_id in ids]
    assert sorted(found) == sorted(run.run_id for run in old)
    assert len(os.listdir(home.state / "runs")) == 100


def test_of_two_that_remove_the_same_run_one_is_told_that_there_is_none(home: Home) -> None:
    caller = lookup.Caller(home.environment, str(home.project))
    for _ in range(10):
        run = ended(home, age=1)

        def act(run_id: str = run.run_id) -> str:
            try:
                return str(len(prune.prune_named([run_id], caller).run_ids))
            except TmuxAgentsError as error:
                return error.kind

        assert sorted(at_once([act, act])) == ["1", "unknown-run"]


# --- windows ----------------------------------------------------------------------------------------------


def in_window(home: Home, server: TmuxServer, script: str) -> tuple[Run, tmux.Opened]:
    """Run a script in a window of its own, as launch opens it."""
    run = home.run(script)
    variables = [f"{name}={value}" for name, value in run.environment().items() if name != "TERM"]
    argv = ["/usr/bin/env", *variables, sys.executable, "-I", "-S", str(BOOT), str(run.folder)]
    order = tmux.Order(run.run_id, name="scout", argv=argv, state="running")
    owner = tmux.Home(["agents-app"], owner="a" * 16)
    return run, tmux.Tmux(str(server.socket)).windows.open(order, owner)


def windows(server: TmuxServer) -> set[str]:
    return set(tmux.Tmux(str(server.socket)).windows.all())


def in_dead_window(home: Home, server: TmuxServer, script: str = "done fine") -> Run:
    run, opened = in_window(home, server, script)
    run.wait_gone()
    pane = ("display-message", "-p", "-t", opened.pane, "#{pane_dead}")
    eventually(lambda: server.run(*pane) == "1")
    return run


def test_dead_windows_of_ended_runs_are_closed_and_no_others(home: Home, tmux_server: TmuxServer) -> None:
    fine, bad = in_dead_window(home, tmux_server), in_dead_window(home, tmux_server, "begin\nexit 3")
    live, _ = in_window(home, tmux_server, "begin\nsleep 60")
    live.wait_for("run_started")
    elsewhere = tmux.Order("0123456789abcdef", name="x", argv=["/bin/true"], state="running")
    home_of_others = tmux.Home(["agents-other"], owner="b" * 16)
    tmux.Tmux(str(tmux_server.socket)).windows.open(elsewhere, home_of_others)  # of another state directory
    before = tmux_server.run("list-windows", "-a", "-F", "#{window_id} #{@tmuxagents_run}")
    planned = pruned(home, "--dry-run")
    assert tmux_server.run("list-windows", "-a", "-F", "#{window_id} #{@tmuxagents_run}") == before
    said = [
        home.command("prune", "--dry-run", env=home.environment | {"TMUXAGENTS_OWNER": who}) for who in "ab"
    ]
    assert all(" 2 windows (2 of other parents)" in done.stdout for done in said)
    assert " 2 windows" in home.command("prune", "--dry-run").stdout.splitlines()[-1]
    removed = pruned(home)
    assert removed == planned
    assert names(removed, "window") == {fine.run_id, bad.run_id}
    assert {one["path"] for one in removed} == {os.path.realpath(tmux_server.socket)}
    assert windows(tmux_server) == {live.run_id, "0123456789abcdef"}
    assert all(run.folder.exists() for run in (fine, bad, live))
    assert "work" in tmux_server.run("list-sessions")


def test_a_name_of_a_server_that_means_none_hinders_no_prune(home: Home) -> None:
    ended(home, age=0.5)
    assert len(said(home, "poll", "--all")) > 1
    with closing(sqlite3.connect(registry_of(home), isolation_level=None)) as book:
        assert book.execute("UPDATE run SET server = 'gone'").rowcount == 1
    assert pruned(home) == []


def test_the_watcher_leaves_windows_of_runs_that_stay(home: Home, tmux_server: TmuxServer) -> None:
    run = in_dead_window(home, tmux_server)
    caller = lookup.Caller(home.environment, str(home.project))
    assert prune.prune_old(caller, load.load(home.environment, None), windows=False).removed == []
    assert windows(tmux_server) == {run.run_id}
    assert names(pruned(home, run.run_id), "window") == {run.run_id}
    assert windows(tmux_server) == set()


def test_a_server_that_does_not_answer_keeps_its_windows_and_nothing_else(
    home: Home, tmux_server: TmuxServer
) -> None:
    run = in_dead_window(home, tmux_server)
    stop(tmux_server.pid)
    try:
        done = home.command("prune", run.run_id, "--json")
    finally:
        os.kill(tmux_server.pid, signal.SIGCONT)
    document = checked(done.stdout, "prune")
    assert [one["what"] for one in document["removed"]] == ["run"]
    assert "did not answer" in document["warnings"][0]
    assert not run.folder.exists()


def test_a_server_that_is_gone_is_not_asked(home: Home, tmux_server: TmuxServer) -> None:
    run = in_dead_window(home, tmux_server)
    tmux_server.run("kill-server")
    assert process.wait_gone(tmux_server.pid, tmux_server.started, 5)
    assert [one["what"] for one in pruned(home, run.run_id)] == ["run"]


# --- what else is left ------------------------------------------------------------------------------------


def aged(path: Path, hours: float) -> Path:
    at = time.time() - hours * 3600
    os.utime(path, (at, at), follow_symlinks=False)
    return path


@pytest.fixture
def runs(home: Home) -> Path:
    folder = home.state / "runs"
    folder.mkdir(parents=True)
    return folder


def leftovers(home: Home, *words: str) -> set[str]:
    return {one["path"] for one in pruned(home, *words) if one["what"] == "leftover"}


def test_what_killed_launches_wrappers_and_prunes_left_goes_when_it_is_old(home: Home, runs: Path) -> None:
    stay: list[Path] = []
    go: list[Path] = []
    for name in (".new-", ".displaced-"):
        for hours, to in ((0.5, stay), (2, go)):
            folder = runs / f"{name}{hours}"
            folder.mkdir()
            (folder / "file").write_bytes(b"x" * 10)
            to.append(aged(folder, hours))
    hidden = runs / ".removing-0123456789abcdef-012345"
    hidden.mkdir()
    empty, young = runs / ("0" * 16), runs / ("1" * 16)
    for folder in (empty, young):
        folder.mkdir()
    run = ended(home, age=1)
    for name in ("orders.fifo", "answer.fifo"):
        os.mkfifo(run.folder / name)
    passing = run.folder / "live"
    passing.mkdir()
    (passing / "input").write_text("x")
    go += [hidden, aged(empty, 2), aged(run.folder / "orders.fifo", 2), aged(passing, 2)]
    stay += [young, run.folder / "answer.fifo", run.folder]
    assert leftovers(home, "--dry-run") == {str(path) for path in go}
    assert all(path.exists() for path in (*go, *stay))
    assert leftovers(home) == {str(path) for path in go}
    assert not any(path.exists() for path in go)
    assert all(path.exists() for path in stay)


def test_the_pipes_of_a_launch_that_lasts_stay(home: Home, runs: Path) -> None:
    run = home.run("x", createdAt=time.time() - 7200)
    os.mkfifo(run.folder / "orders.fifo")
    aged(run.folder / "orders.fifo", 2)
    assert runs.exists()
    assert leftovers(home) == set()


def test_old_logs_and_set_aside_registries_go(home: Home, runs: Path) -> None:
    host = home.state / "hosts" / process.host()
    (host / "logs").mkdir(parents=True)
    old, young = host / "logs" / "old.log", host / "logs" / "young.log"
    broken, used = host / "registry.db.broken", host / "registry.lock"
    for path in (old, young, broken, used):
        path.write_text("x")
    for path in (old, broken, used):
        aged(path, 31 * 24)
    assert runs.exists()
    assert leftovers(home) == {str(old), str(broken)}
    assert young.exists()
    assert used.exists()


def test_rows_of_runs_that_are_gone_are_dropped_and_told(home: Home) -> None:
    run, other = ended(home, age=1), ended(home, age=1)
    home.command("poll", "-a")
    os.rename(run.folder, home.folder / "away")
    before = rows(home)
    assert names(pruned(home, "--dry-run"), "row") == {run.run_id}
    assert rows(home) == before == {run.run_id, other.run_id}
    assert names(pruned(home), "row") == {run.run_id}
    assert rows(home) == {other.run_id}


def test_links_to_nothing_go_and_links_of_others_stay(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home.folder))
    elsewhere = home.folder / "elsewhere"
    elsewhere.mkdir()
    run = ended(home, age=1)
    gone = ended(home, age=1, project=str(elsewhere))
    home.command("poll", "-aA")
    for place, one in ((home.project, run), (home.project, gone), (elsewhere, gone)):
        assert project.link(str(place), str(one.folder))
    other = elsewhere / project.LINKS / ("0" * 16)
    other.symlink_to("/nonexistent")
    os.rename(gone.folder, home.folder / "away")
    removed = [one for one in pruned(home) if one["what"] == "link"]
    places = {f"{place}/{project.LINKS}/{gone.run_id}" for place in (home.project, elsewhere)}
    assert {one["path"] for one in removed} == places
    assert not any(os.path.lexists(path) for path in places)
    assert (home.project / project.LINKS / run.run_id).exists()
    assert other.is_symlink()


# --- the registry -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("newest")
def test_without_a_registry_that_can_be_read_nothing_is_lost(home: Home) -> None:
    fine, bad = ended(home, age=60), ended(home, age=60, status="failed")
    path = registry_of(home)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"garbage" * 1000)
    done = home.command("prune", "--json")
    document = checked(done.stdout, "prune")
    assert names(document["removed"]) == {fine.run_id}
    assert len(document["warnings"]) == 1
    assert bad.folder.exists()


def test_where_nothing_was_launched_pruning_makes_nothing(home: Home) -> None:
    assert said(home, "prune") == ["nothing to prune"]
    assert not home.state.exists()
