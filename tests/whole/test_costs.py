"""What things cost, counted and not timed: modules, processes, calls of the system, instances, bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from scripts.benchmark.stage import CountedTmux
from scripts.benchmark.watching import Screen
from tests.harness import REPOSITORY, eventually, links_of, waits_for
from tests.status.watchers import command, started, told
from tests.watcher.lookouts import Lookout, end, shown, working
from tmuxagents.runs import events, marks, writing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.desk import Desk
    from tests.harness import Home, Run, TmuxServer

# --- modules at start-up ---

LIBRARIES = {"libtmux", "yaml", "watchdog", "rich", "asyncio", "mcp"}
SLOW = {"subprocess", "logging", "socket", "dataclasses", "pathlib", "sqlite3", "tempfile", "concurrent"}
IMPORTED = """import atexit, os, sys
from tmuxagents import cli
out = os.dup(2)
atexit.register(lambda: os.write(out, " ".join(sys.modules).encode()))
cli.main(sys.argv[1:])"""


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        ("output RUN", set()),
        ("events RUN", set()),
        ("stop RUN", set()),
        ("schema run", {"pathlib"}),
        ("tools", set()),
        ("--help", set()),
        ("models", set()),
        ("presets list", {"yaml"}),
    ],
)
def test_a_verb_imports_what_it_needs(home: Home, line: str, needs: set[str]) -> None:
    run = home.run("x")
    writing.write_result(str(run.folder), {"v": 1, "status": "completed", "reason": "done", "output": "x"})
    words = line.replace("RUN", run.run_id).split()
    assert command(home, *words).returncode == 0  # what the agent was asked is known from now on
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *words],
        env=home.environment,
        cwd=home.project,
        capture_output=True,
        text=True,
        check=False,
    )
    modules = {name.partition(".")[0] for name in done.stderr.splitlines()[-1].split()}
    assert {"click", "tmuxagents"} <= modules
    assert modules & (LIBRARIES | SLOW) == needs


LOOKED = """import sys
sys.path[:0] = sys.argv[1:3]
from tmuxagents.cli import quick
before = set(sys.modules)
assert quick.answer(sys.argv[3:]) == 0
print(*(set(sys.modules) - before), file=sys.stderr)"""
OF_PYTHON = {"_functools", "_sqlite3"}
AT_ONCE = {"errno"}  # of Python's, too; from 3.13 on it is there at every start
OURS = 27  # modules of ours that a look imports, and its answer; each is a tenth of a millisecond


def test_poll_and_statusline_import_hardly_anything(home: Home) -> None:
    run = home.run("x")
    with working(run):
        for path in (home.state / "runs", run.folder):
            mark = marks.mark_of(str(path))
            assert mark is not None
            eventually(lambda mark=mark: marks.is_reliable(mark))
        command(home, "poll", "--json")
        looks = {line: looked(home, *line.split()) for line in ("poll", "statusline", f"poll {run.run_id}")}
    for line, modules in looks.items():
        ours = {name for name in modules if name.startswith("tmuxagents")}
        assert modules - ours - AT_ONCE == OF_PYTHON, line
        assert len(ours) <= OURS, line
    assert "tmuxagents.system.project" not in looks[f"poll {run.run_id}"]


def looked(home: Home, *words: str) -> set[str]:
    """Return what a look imports. Without `site`: what an environment imports at every start is not ours."""
    places = [str(REPOSITORY), str(home.folder)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LOOKED, *places, *words],
        env=home.environment,
        cwd=home.project,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


def test_a_watcher_imports_one_library_and_no_command_line() -> None:
    line = "import sys, tmuxagents.watcher.run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    modules = {name.partition(".")[0] for name in done.stdout.split()}
    assert modules & (LIBRARIES | {"click"}) == {"watchdog"}


# --- what a look asks of the system ---

# Files by an audit hook, which cannot miss one; `stat` has no event, and so is counted where it is called.
COUNTED = """import json, os, sys
from tmuxagents.cli import listing, quick
found = {"proc": 0, "runs": 0, "stat": 0, "started": 0}
runs = os.environ["TMUXAGENTS_HOME"] + "/runs/"
def count(event, values):
    if event == "open" and isinstance(values[0], str):
        found["proc"] += values[0].startswith("/proc/")
        found["runs"] += values[0].startswith(runs)
    if event in ("os.listdir", "os.scandir"):
        found["runs"] += 1
    found["started"] += event in ("os.fork", "os.posix_spawn", "os.exec", "subprocess.Popen")
real = os.stat
def stat(path, **how):
    found["stat"] += 1
    return real(path, **how)
def reads():
    with open("/proc/self/io") as file:
        return [int(line.split()[1]) for line in file if line.startswith(("rchar", "syscr"))]
before, os.stat = reads(), stat
sys.addaudithook(count)
quick.answer(sys.argv[1:])
os.stat = real
found["bytes"], found["read"] = (after - then for after, then in zip(reads(), before))
print(json.dumps(found), file=sys.stderr)"""


def counted(home: Home, line: str) -> dict[str, int]:
    """Return what a look asks of the system."""
    argv = [sys.executable, "-c", COUNTED, *line.split()]
    done = subprocess.run(
        argv, env=home.environment, cwd=home.project, capture_output=True, text=True, check=True
    )
    found: dict[str, int] = json.loads(done.stderr.splitlines()[-1])
    return found


def test_a_look_asks_little_about_each_live_run_and_nothing_about_the_others(home: Home) -> None:
    lines = ("poll", "poll --json", "poll --since 0", "statusline")
    with ExitStack() as stack:
        few = have_more(home, stack, lines)
        for number in range(30):
            run = home.run("x", createdAt=1000.0 + number)
            writing.write_result(str(run.folder), {"v": 1, "status": "completed", "reason": "done"})
            writing.announce(str(run.folder))
        many = have_more(home, stack, lines)
    for line in lines:
        more = {what: (many[line][what] - few[line][what]) / 10 for what in few[line]}
        # Pages of the registry are read, too; how many runs fit into one is SQLite's to say.
        assert more.pop("read") <= 3, line
        assert more.pop("bytes") <= 3 * 4096, line
        # Of each whether its wrapper lives, and what its folder and its events are known by.
        assert more == {"proc": 1.0, "runs": 0.0, "stat": 2.0, "started": 0.0}, line
        assert (few[line]["runs"], few[line]["started"]) == (0, 0), line
        assert few[line]["stat"] <= 10 * 2 + 25, line
        assert few[line]["read"] <= 10 + 40, line


def have_more(home: Home, stack: ExitStack, lines: Iterable[str]) -> dict[str, dict[str, int]]:
    """Have ten more live runs; return what each of these looks asks of the system then."""
    for _ in range(10):
        stack.enter_context(working(home.run("x")))
    for path in (home.state / "runs", *(run.folder for run in home.made)):
        mark = marks.mark_of(str(path))
        assert mark is not None
        eventually(lambda mark=mark: marks.is_reliable(mark))
    command(home, "poll", "--json")  # now it is known how they stand
    return {line: counted(home, line) for line in lines}


def test_a_look_at_a_run_that_talks_reads_what_it_has_said_since(home: Home) -> None:
    # Its plan, its wrapper, a result that may lie there, the end of what was read, and what came since. A
    # name is that of the run that lives, and whether it does is asked before.
    opened = {"poll": 5, "poll --json": 5, "statusline": 5, "poll scout": 10}
    run = home.run("x", name="scout")
    with ExitStack() as stack:
        stack.enter_context(working(run))
        have_more(home, stack, ())
        told(run, *(events.assistant_text(f"part {number} " + "x" * 200) for number in range(10_000)))
        log = (run.folder / "events.jsonl").stat().st_size
        assert counted_after_a_word(home, run, "poll")["bytes"] > log
        for line, files in opened.items():
            found = counted_after_a_word(home, run, line)
            assert found["bytes"] < log / 4, line
            assert (found["runs"], found["started"]) == (files, 0), line


def counted_after_a_word(home: Home, run: Run, line: str) -> dict[str, int]:
    told(run, events.assistant_text("more"))
    return counted(home, line)


# --- processes ---


def test_a_launch_calls_tmux_once_or_twice_and_a_look_never(desk: Desk) -> None:
    """Count the calls where nobody watches: a watcher has calls of its own."""
    calls = CountedTmux(desk.home.folder)
    desk.home.environment["PATH"] = calls.path(desk.home.environment["PATH"])
    desk.result(desk.launch("done x"))  # a server starts with the first
    calls.forget()
    desk.result(desk.launch("done x"))
    assert 1 <= calls.made() <= 2
    calls.forget()
    for line in ("poll -aA --json", "statusline", "wait @last", "output @last", "models"):
        assert desk(*line.split()).returncode == 0
    assert calls.made() == 0
    assert desk.tmux("list-clients") == ""


def test_a_launch_imports_nothing_that_only_other_verbs_need(desk: Desk) -> None:
    desk.result(desk.launch("done x"))
    argv = [sys.executable, "-c", IMPORTED, "launch", "done x"]
    done = subprocess.run(
        argv, env=desk.home.environment, cwd=desk.home.project, capture_output=True, text=True, check=True
    )
    modules = set(done.stderr.splitlines()[-1].split())
    assert "tmuxagents.launch.launch" in modules
    assert not {"_hashlib", "dataclasses", "yaml", "libtmux"} & modules
    others = {
        f"tmuxagents.{name}" for name in ("launch.resume", "launch.retry", "status.send", "tools.answers")
    }
    assert not others & modules


# --- a wrapper ---

# A child that says what comes through a pipe.
SPEAKS = '#!/bin/sh\ncat >/dev/null\nexec cat "$PIPE"\n'
CALL = '{"type":"tool_execution_start","toolCallId":"call_%d","toolName":"read","args":{"path":"part%d"}}\n'


def test_a_line_of_a_child_costs_a_wrapper_one_read_and_a_write_for_each_file_and_the_pane(
    home: Home,
) -> None:
    child, pipe, count = home.folder / "speaks", home.folder / "pipe", 20
    child.write_text(SPEAKS)
    child.chmod(0o755)
    os.mkfifo(pipe)
    run = home.run("x").start({"TMUXAGENTS_PI": str(child), "PIPE": str(pipe)})
    with pipe.open("w", buffering=1) as voice:
        run.wait_for("run_started")
        before = wakes(run)
        for number in range(count):
            voice.write(CALL % (number, number))
            eventually(lambda number=number: len(run.events()) == number + 2)
        reads, writes, waits = (then - now for then, now in zip(wakes(run), before, strict=True))
    run.kill()
    assert reads == count
    assert 3 * count <= writes <= 4 * count + 5  # a line or a title may have come to be shown by itself
    assert (
        count / 2 <= waits <= 2 * count
    )  # a busy machine has it wait for a disk, or brings a line before it sleeps


def wakes(run: Run) -> tuple[int, int, int]:
    """Return how often a wrapper has read, has written, and has had to wait."""
    assert run.wrapper is not None
    folder = f"/proc/{run.wrapper.pid}"
    with open(f"{folder}/io", encoding="ascii") as io, open(f"{folder}/status", encoding="ascii") as status:
        said = dict(line.rstrip("\n").split(":") for line in [*io, *status])
    return int(said["syscr"]), int(said["syscw"]), int(said["voluntary_ctxt_switches"])


# --- the watcher ---


def test_a_change_of_the_status_line_is_two_calls_and_few_bytes_and_one_instance_watches(
    home: Home, tmux_server: TmuxServer
) -> None:
    calls, watched = CountedTmux(home.folder), Lookout(home)
    for option, value in {
        "status-right": "#{E:@tmuxagents_status}",
        "status-right-length": "150",
        "status-interval": "0",
    }.items():
        tmux_server.run("set", "-g", option, value)
    screen = Screen(tmux_server)
    try:
        with working(home.run("x"), tmux_server), working(home.run("x", name="scout"), tmux_server) as two:
            (scout,) = (run for run in home.made if run.meta["name"] == "scout")
            pid, _ = watched.start(PATH=calls.path(home.environment["PATH"]))
            eventually(lambda: shown(tmux_server) == "bg: 2 running / 2 total")
            screen.drain(0.6)
            calls.forget()
            end(scout, two)
            written = screen.read_until(b"scout") + screen.drain(0.3)
            assert (calls.made(), calls.made("set-environment"), calls.made("list-clients")) == (2, 1, 1)
            assert 0 < written <= 300
            assert instances(pid) == 1
    finally:
        screen.close()


def instances(pid: int) -> int:
    """Return how many of the user's few instances of inotify a process holds."""
    return links_of(pid).count("anon_inode:inotify")


def test_who_waits_holds_no_instance_and_starts_nothing(home: Home) -> None:
    with working(home.run("x")) as sleeper, started(home, "wait", home.made[0].run_id) as waiter:
        eventually(lambda: waits_for(waiter.pid))
        assert instances(waiter.pid) == 0
        with open(f"/proc/{waiter.pid}/task/{waiter.pid}/children", encoding="utf-8") as children:
            assert children.read() == ""
        end(home.made[0], sleeper)
        assert waiter.wait(20) == 0
