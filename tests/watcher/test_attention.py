"""A watcher tells people that a run needs them: marks until they look, notifications, onAttention."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.apart import apart
from tests.harness import eventually, stop
from tests.status.watchers import told
from tests.terminal import Terminal
from tests.watcher.lookouts import HOOK, Lookout, end, record, settle, shown, working
from tmuxagents.runs import events, writing
from tmuxagents.system import process
from tmuxagents.watcher import telling
from tmuxagents.watcher.screens import MOST_NOTICES, Screens

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness import Home, TmuxServer


@pytest.fixture
def watched(home: Home) -> Lookout:
    return Lookout(home)


def test_a_failure_stays_marked_until_a_person_has_looked(watched: Lookout, tmux_server: TmuxServer) -> None:
    first, second = watched.home.run("x", name="first"), watched.home.run("x", name="second")
    with working(first, tmux_server) as one, working(second, tmux_server) as two:
        watched.start()
        end(first, one, "failed", "error")
        settle(first)
        end(second, two, "failed", "error")
    text = "bg: 0 running, 2 failed / 2 total"
    eventually(lambda: shown(tmux_server) == f"✗ second ✗ first {text}")
    watched.kill()
    watched.start()  # it finds them again
    writing.see(str(first.folder))
    eventually(lambda: shown(tmux_server) == f"✗ second {text}")
    writing.see(str(second.folder))
    eventually(lambda: shown(tmux_server) == text)


def test_a_failure_that_came_after_the_last_look_is_marked(watched: Lookout, tmux_server: TmuxServer) -> None:
    run = watched.home.run("x", name="late")
    writing.see(str(run.folder))
    with working(run, tmux_server) as sleeper:
        watched.start()
        end(run, sleeper, "failed", "error")
    eventually(lambda: shown(tmux_server) == "✗ late bg: 0 running, 1 failed / 1 total")


def test_what_failed_long_ago_is_marked_no_longer(watched: Lookout, tmux_server: TmuxServer) -> None:
    old, fresh = watched.home.run("x", name="old"), watched.home.run("x", name="fresh")
    with working(old, tmux_server) as one, working(fresh, tmux_server) as two:
        for run, sleeper, more_s in ((old, one, 0.0), (fresh, two, 60.0)):
            record(run, "failed", "error", time.time() - telling.KEPT_S + more_s)
            sleeper.kill()
    with working(watched.home.run("x"), tmux_server):
        watched.start()
        settle(old, fresh)
        eventually(lambda: shown(tmux_server) == "✗ fresh bg: 1 running, 2 failed / 3 total")


def test_people_are_notified_by_their_terminals_and_their_desktop(
    watched: Lookout, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    watched.settings(notify="desktop")
    calls, program = tmp_path / "calls", tmp_path / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    program.chmod(0o755)
    home, odd = watched.home, watched.home.run("x", preset="a\x1b]0;x\x07#(b) #[fg=red]c")
    argv = ["tmux", "-S", str(tmux_server.socket), "attach"]
    people = [Terminal(argv, home.environment, home.folder) for _ in range(2)]
    try:
        eventually(lambda: len(tmux_server.run("list-clients").splitlines()) == len(people))
        with working(odd, tmux_server) as sleeper:
            watched.start(PATH=f"{program.parent}:{os.environ['PATH']}")
            told(odd, events.needs_input("confirm", "?"))
            notices = ["? a(b) [fg=red]c waits for you", "✗ a(b) [fg=red]c failed"]
            eventually(lambda: has_been_told(people, notices[0]))
            end(odd, sleeper, "failed", "error")
        eventually(lambda: has_been_told(people, notices[1]))
        expected = [f"--app-name=tmuxagents -- tmuxagents {words}" for words in notices]
        eventually(lambda: calls.read_text().splitlines() == expected)
    finally:
        for person in people:
            person.close()


def has_been_told(people: list[Terminal], words: str) -> bool:
    """Say whether each terminal got a notification once, in both ways."""
    both = [f"\x1b]9;{words}\a".encode(), f"\x1b]777;notify;tmuxagents;{words}\a".encode()]
    return all(person.output.count(one) == 1 for person in people for one in both)


def test_for_a_silent_server_only_the_newest_notices_are_kept(home: Home, tmux_server: TmuxServer) -> None:
    server = f"{tmux_server.pid}.{tmux_server.started}.{tmux_server.socket}"

    def notify() -> None:
        screens = Screens(lambda: None, lambda _: None, lambda _: None)
        stop(tmux_server.pid)
        screens.notify([server], "first")
        screens.step()  # from now on, a call waits for the server
        for number in range(1000):
            screens.notify([server], f"number {number}")
        process.send(tmux_server.pid, tmux_server.started, signal.SIGCONT)
        screens.flush(20)

    person = Terminal(["tmux", "-S", str(tmux_server.socket), "attach"], home.environment, home.folder)
    try:
        eventually(lambda: tmux_server.run("list-clients"))
        apart(notify)
        person.shows("number 999\a")
        shown_at_all = [number for number in range(1000) if f"]9;number {number}\a" in person.text]
        assert shown_at_all == list(range(1000 - MOST_NOTICES, 1000))
        assert has_been_told([person], "first")
    finally:
        person.close()


def test_on_attention_runs_once_each_time_that_a_run_begins_to_wait(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    watched.settings(onAttention=[sys.executable, "-I", "-S", str(HOOK), str(watched.told)])
    run = watched.home.run("x")
    with working(run, tmux_server) as sleeper:
        watched.start()
        for times in (1, 2):
            told(run, events.needs_input("confirm", "?"))
            eventually(lambda times=times: watched.announced() == [f"{run.run_id} waiting"] * times)
            eventually(lambda: "1 waiting" in shown(tmux_server))
            told(run, events.input_given("confirm"))
            eventually(lambda: "waiting" not in shown(tmux_server))
        end(run, sleeper)
    settle(run)
    assert watched.announced() == [f"{run.run_id} waiting"] * 2
